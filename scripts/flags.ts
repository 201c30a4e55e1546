/** Reads the flags of a script. Whatever is wrong with them is a usage message and exit code 2. */
import { parseArgs, type ParseArgsConfig } from "node:util"

/** A flag that cannot be used; its message is for the person who typed it. */
export class UsageError extends Error {
  override readonly name = "UsageError"
}

const isUsageError = (error: unknown): error is Error =>
  error instanceof UsageError ||
  (error instanceof TypeError &&
    "code" in error &&
    String(error.code).startsWith("ERR_PARSE_ARGS_"))

/** The flags as `parseArgs` gives them; without positionals, and with `--help`. */
export const flagsOf = <const Options extends NonNullable<ParseArgsConfig["options"]>>(
  options: Options,
) =>
  parseArgs({
    args: process.argv.slice(2),
    options: { ...options, help: { type: "boolean", short: "h" } },
    strict: true,
    allowPositionals: false,
  }).values

/** Runs a script: bad flags end it with its usage and code 2, everything else with code 1. */
export const runScript = async (usage: string, main: () => Promise<void>): Promise<void> => {
  if (process.argv.slice(2).some((argument) => argument === "--help" || argument === "-h")) {
    console.log(usage)
    return
  }
  try {
    await main()
  } catch (error) {
    if (isUsageError(error)) {
      console.error(`${error.message}\n\n${usage}`)
      process.exitCode = 2
      return
    }
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}

/** Reads the flags of a script. Whatever is wrong with them is a usage message and exit code 2. */
import { parseArgs, type ParseArgsConfig } from "node:util"
import { stoppedExitCode } from "./stopOnSignals.ts"

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

/**
 * The folder that relative paths start at: npm runs scripts in the package's folder, and the person
 * who named a path was in another.
 */
export const callersFolder = (): string => process.env["INIT_CWD"] ?? process.cwd()

const wasStopped = (error: unknown): boolean =>
  error instanceof Error && error.name === "AbortError"

/**
 * Runs a script: bad flags end it with its usage and code 2, an AbortError (it was told to end) with
 * code 130, everything else with code 1.
 */
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
    if (wasStopped(error)) {
      process.exitCode = stoppedExitCode
      return
    }
    console.error(error instanceof Error ? error.message : String(error))
    process.exitCode = 1
  }
}

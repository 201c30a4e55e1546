/**
 * The process `heddle`: runs the command line, says why it ends, and ends with its code.
 *
 * - M1 Whoever reads the output may leave: a closed pipe ends the command, quietly. That is never 0, which says that all
 *   was done; and output that cannot be written for another reason is told.
 * - M2 Ctrl-C ends what is under way, and the process with 130; a second one does not wait for that.
 * - M3 No stack is ever shown.
 */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Cause, Effect, Exit, Layer } from "effect"
import { CliConfig, CliOutput, Command, GlobalFlag } from "effect/cli"
import * as NodeRuntime from "@effect/platform-node/NodeRuntime"
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ExitCode } from "./ExitCode.ts"
import { heddle } from "./Heddle.ts"
import { asksForJson } from "./JsonFlag.ts"
import { Output } from "./Output.ts"
import { jsonLine, plainLines } from "./Plain.ts"
import { makePresenter } from "./Presenter.ts"
import { Stopped } from "./Stopped.ts"

/** Of the package: beside the sources, and two folders above the built file. */
const version = (): string => {
  for (const path of ["../package.json", "../../package.json"]) {
    try {
      const { name, version: found } = JSON.parse(
        readFileSync(join(import.meta.dirname, path), "utf8"),
      ) as { name?: unknown; version?: unknown }
      if (name === "heddle" && typeof found === "string") return found
    } catch {
      // the other one
    }
  }
  return "unknown"
}

const isForMachines = asksForJson(process.argv.slice(2))

const tell = ({ error, exitCode, next, what }: Stopped): void => {
  const text = isForMachines
    ? jsonLine({
        exitCode,
        message: what,
        ...(next === undefined ? {} : { next }),
        ...(error === undefined ? {} : { error }),
      })
    : plainLines([`heddle: ${what}`, ...(next === undefined ? [] : [next])].join("\n"))
  process.stderr.write(`${text}\n`)
}

/** The code of an end; says why, unless that has been said. */
const codeOf = (exit: Exit.Exit<unknown, unknown>): number => {
  if (Exit.isSuccess(exit)) return ExitCode.ok
  if (Cause.hasInterruptsOnly(exit.cause)) return ExitCode.interrupted // M2
  const error = Cause.squash(exit.cause)
  if (error instanceof Stopped) {
    tell(error)
    return error.exitCode
  }
  const { _tag: tag, errors } = (error ?? {}) as { _tag?: unknown; errors?: ReadonlyArray<unknown> }
  if (tag === "ShowHelp") return errors?.length === 0 ? ExitCode.ok : ExitCode.usage
  tell(
    new Stopped({
      exitCode: ExitCode.refused,
      what: `This is a defect of heddle: ${error instanceof Error ? error.message : String(error)}`, // M3
      next: "Please report it, with the command that you gave.",
    }),
  )
  return ExitCode.refused
}

const leave = (error: NodeJS.ErrnoException): void => {
  if (error.code === "EPIPE") process.exit(ExitCode.unread) // M1
  tell(
    new Stopped({
      exitCode: ExitCode.refused,
      what: `Standard output cannot be written (${error.code ?? "?"})`,
      next: "What was asked may have been done: look before you repeat it.",
    }),
  )
  process.exit(ExitCode.refused) // M1
}
process.stdout.on("error", leave)
process.stderr.on("error", () => undefined)

let interruptions = 0
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.on(signal, () => {
    interruptions += 1
    if (interruptions > 1) process.exit(ExitCode.interrupted) // M2
  })
}

const services = Layer.mergeAll(
  NodeServices.layer,
  Output.layer({ stdout: process.stdout, stderr: process.stderr }),
  CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version] }),
  CliOutput.layerPresenter(makePresenter(isForMachines)),
)

Command.run(heddle, { version: version() }).pipe(
  Effect.provide(services),
  NodeRuntime.runMain({
    disableErrorReporting: true,
    teardown: (exit, end) => end(codeOf(exit)),
  }),
)

/** How help, the version and mistakes on the command line are shown. */
import { Console, Effect } from "effect"
import { CliOutput } from "effect/cli"
import { ExitCode } from "./ExitCode.ts"
import { jsonLine } from "./Plain.ts"

/** A mistake is one line and where the help is, on standard error; the help itself is long. */
const mistakes = (
  errors: ReadonlyArray<{ readonly message: string }>,
  commandPath: ReadonlyArray<string>,
  isForMachines: boolean,
): string => {
  const next = `See ${commandPath.join(" ")} --help.`
  const messages = errors.map((error) => error.message)
  return isForMachines
    ? jsonLine({ exitCode: ExitCode.usage, message: messages.join("\n"), next })
    : [...messages.map((message) => `heddle: ${message}`), next].join("\n")
}

export const makePresenter = (isForMachines: boolean): CliOutput.Presenter => ({
  present: (event) => {
    switch (event._tag) {
      case "InvalidInvocation":
        return Console.error(mistakes(event.errors, event.commandPath, isForMachines))
      case "Version":
        return Console.log(event.version)
      default:
        return Effect.suspend(() => CliOutput.defaultPresenter.present(event))
    }
  },
})

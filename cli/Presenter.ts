/** How help, the version and mistakes on the command line are shown. */
import { Console, Effect } from "effect"
import { CliOutput } from "effect/cli"

/** A mistake is one line and where the help is, on standard error; the help itself is long. */
const mistakes = (
  errors: ReadonlyArray<{ readonly message: string }>,
  commandPath: ReadonlyArray<string>,
): string =>
  [
    ...errors.map((error) => `heddle: ${error.message}`),
    `See ${commandPath.join(" ")} --help.`,
  ].join("\n")

export const presenter: CliOutput.Presenter = {
  present: (event) =>
    event._tag === "InvalidInvocation"
      ? Console.error(mistakes(event.errors, event.commandPath))
      : event._tag === "Version"
        ? Console.log(event.version)
        : Effect.suspend(() => CliOutput.defaultPresenter.present(event)),
}

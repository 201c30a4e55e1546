/** A question before what cannot be undone: asked at a terminal, and elsewhere to be answered by `--yes`. */
import { Effect, Terminal } from "effect"
import { Flag, Prompt } from "effect/cli"
import { ExitCode } from "./ExitCode.ts"
import { Stopped } from "./Stopped.ts"

export const yes = Flag.Boolean("yes").pipe(
  Flag.withAlias("y"),
  Flag.withDescription("Do not ask"),
  Flag.withDefault(false),
)

const stopped = (what: string, next: string): Stopped =>
  new Stopped({ exitCode: ExitCode.usage, what, next })

/** Fails unless somebody says yes. */
export const confirm = Effect.fnUntraced(function* (message: string, isSaid: boolean) {
  if (isSaid) return
  const asks = process.stdin.isTTY && process.stdout.isTTY
  if (!asks) return yield* stopped(message, "Say --yes if you mean it.")
  const answer = yield* Prompt.run(Prompt.Confirm({ message, initial: false })).pipe(
    Effect.catchIf(Terminal.isQuitError, () => Effect.interrupt),
  )
  if (!answer) return yield* stopped("Nothing was done", "It was not confirmed.")
})

/** Waiting for a settlement, with a line of progress for whoever watches. */
import { Clock, Effect, Fiber, Option } from "effect"
import type { Submitted } from "../client/HeddleClient.ts"
import { commandLine } from "../contracts/CommandLine.ts"
import type { Settlement } from "../contracts/Settlement.ts"
import { ExitCode } from "./ExitCode.ts"
import type { CallError } from "./Remedies.ts"
import type { Session } from "./Session.ts"
import { Stopped } from "./Stopped.ts"
import { durationOf } from "./Times.ts"

/** Says every second for how long it has been so. */
export const ticking = <A, E, R>(
  session: Session,
  text: (elapsed: string) => string,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => {
  if (!session.output.watched) return effect
  const ticks = Effect.gen(function* () {
    const startedAt = yield* Clock.currentTimeMillis
    for (;;) {
      const now = yield* Clock.currentTimeMillis
      yield* session.output.progress(text(durationOf(now - startedAt)))
      yield* Effect.sleep(1_000)
    }
  })
  return Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(ticks)
    return yield* Effect.ensuring(
      effect,
      Effect.andThen(Fiber.interrupt(fiber), session.output.progressEnds),
    )
  })
}

/** The settlement; `Stopped` with 7 when it has not come in time. */
export const waitFor = Effect.fnUntraced(function* (
  session: Session,
  submitted: Submitted,
  timeoutMillis: number | undefined,
): Effect.fn.Return<Settlement, CallError | Stopped> {
  const settled = ticking(
    session,
    (elapsed) => `Waiting for ${submitted.threadId} ${submitted.submissionId}: ${elapsed}`,
    session.client.awaitSettled(submitted),
  )
  if (timeoutMillis === undefined) return yield* settled
  const found = yield* Effect.timeoutOption(settled, timeoutMillis)
  if (Option.isSome(found)) return found.value
  const place = [submitted.threadId, submitted.submissionId]
  return yield* new Stopped({
    exitCode: ExitCode.timedOut,
    what: `It has not settled within ${durationOf(timeoutMillis)}`,
    next: `It goes on: ${commandLine("wait", place)} waits on, ${commandLine("explain", place)} tells what for.`,
  })
})

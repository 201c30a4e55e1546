/**
 * When to pull the plug: about half-way, and in the middle of a run.
 *
 * A run takes some milliseconds, so the records of long documents are followed as they are written,
 * and the moment is a step that was just recorded with others to come.
 *
 * - M1 Not before about half has settled, and only while something accepted has not.
 * - M2 No run is waited for beyond three quarters, or longer than a bound: then the moment is now.
 */
import { Deferred, Effect, Stream } from "effect"
import type { ObserveFrame, OwnerId } from "../../contracts/index.ts"
import type { DemoClient } from "./Client.ts"
import type { Ledger } from "./Ledger.ts"
import type { PlannedThread } from "./Plan.ts"

/** How long a run between two steps is looked for, from half-way on. */
const lookMillis = 10_000

export interface Moment {
  /** To be told whenever something was accepted, refused or settled. */
  readonly note: Effect.Effect<void>
  /** All work is done: it never comes, if it has not come. */
  readonly close: Effect.Effect<void>
  /** Follows a thread while its document is processed. Ends when there is nothing to look for. */
  readonly follow: (thread: PlannedThread) => Effect.Effect<void>
  readonly await: Effect.Effect<"reached" | "never">
}

/** Tells a record that is the first of the steps of its run: the longest part is still to come. */
export const makeFirstStep = (): ((frame: ObserveFrame) => boolean) => {
  let entered = false
  return (frame) => {
    if (frame._tag !== "Record") return false
    const { kind } = frame.record
    const isFirst = entered && kind === "StepCompleted"
    entered = kind === "InputApplied" || (entered && !isFirst)
    return isFirst
  }
}

const charactersOf = ({ submissions }: PlannedThread): number =>
  submissions[0]?.input.text.length ?? 0

/** The length that a quarter of the documents have or exceed. */
export const longFrom = (plan: ReadonlyArray<PlannedThread>): number => {
  const lengths = plan.map(charactersOf).toSorted((a, b) => b - a)
  return lengths[Math.floor(lengths.length / 4)] ?? 0
}

/** The moment of one run of the demonstration. */
export const makeMoment = Effect.fnUntraced(function* (options: {
  readonly client: DemoClient
  readonly ownerId: OwnerId
  readonly plan: ReadonlyArray<PlannedThread>
  readonly ledger: Ledger
}) {
  const { client, ownerId, ledger } = options
  const charactersMin = longFrom(options.plan)
  const halfWay = yield* Deferred.make<"reached" | "never">()
  const now = yield* Deferred.make<void>()

  const note = Effect.suspend(() => {
    if (!ledger.isHalfWay) return Effect.void // M1
    const reached = Deferred.succeed(halfWay, "reached")
    const tooLate = ledger.isLate ? Deferred.succeed(now, undefined) : Effect.void // M2
    return Effect.asVoid(Effect.andThen(reached, tooLate))
  })

  const follow = (thread: PlannedThread) =>
    Effect.suspend(() => {
      if (charactersOf(thread) < charactersMin || Deferred.isDoneUnsafe(now)) return Effect.void
      const isFirstStep = makeFirstStep()
      return client.observe({ ownerId, threadId: thread.threadId }).pipe(
        Stream.takeUntil((frame) => isFirstStep(frame) && ledger.isHalfWay), // M1
        Stream.runLast,
        Effect.flatMap(() => (ledger.isHalfWay ? Deferred.succeed(now, undefined) : Effect.void)),
        // It is only looked at: what fails here fails where it is asked for, too.
        Effect.ignore,
      )
    })

  const look = Effect.andThen(
    Effect.timeoutOption(Deferred.await(now), lookMillis), // M2
    Deferred.succeed(now, undefined),
  )
  return {
    note,
    close: Effect.asVoid(Deferred.succeed(halfWay, "never")),
    follow,
    await: Effect.tap(Deferred.await(halfWay), (reached) =>
      reached === "never" ? Effect.void : look,
    ),
  } satisfies Moment
})

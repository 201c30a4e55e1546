/**
 * Telling the owner of what a run has queued for others, while the run goes on: as soon as its call has left, so that
 * nothing waits for the end of a long run. What is lost here is found by the owner's look at the run.
 */
import { Effect } from "effect"
import type { Running } from "./Fact.ts"
import { pushReport } from "./PushReport.ts"

/** Once for all that is queued in one turn. */
export const tellOwner = ({ live, thread }: Running): Effect.Effect<void> =>
  Effect.suspend(() => {
    // The answer of the call that drives carries the report.
    if (!live.outlived || thread.telling) return Effect.void
    thread.telling = true
    const turnOver = Effect.callback<void>((resume) =>
      thread.host.macrotask(() => resume(Effect.void)),
    )
    const told = Effect.andThen(
      turnOver,
      Effect.suspend(() => {
        thread.telling = false
        return pushReport(thread, live.identity)
      }),
    )
    return Effect.asVoid(Effect.forkDetach(told))
  })

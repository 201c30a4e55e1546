/**
 * How long the code of a wave holds its object: its turns, measured.
 *
 * The scheduler of the wave's fibers notes when one of them begins to compute, and a task behind that turn reads
 * the clock again: where the clock stands still while an object computes, it goes on by then.
 */
import { Effect, Scheduler } from "effect"
import type { ObjectHost } from "../platform/ObjectHost.ts"

/** Has an effect's turns measured; `tell` is called for each that took longer than `millis`. */
export const measured = <A, E, R>(
  host: Pick<ObjectHost, "macrotask" | "now">,
  millis: number,
  tell: () => void,
  effect: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => {
  let since: number | undefined
  const note = (): void => {
    if (since !== undefined) return
    const begun = host.now()
    since = begun
    host.macrotask(() => {
      since = undefined
      if (host.now() - begun > millis) tell()
    })
  }
  return Effect.flatMap(Effect.service(Scheduler.Scheduler), (scheduler) =>
    Effect.provideService(effect, Scheduler.Scheduler, {
      executionMode: scheduler.executionMode,
      makeDispatcher: () => scheduler.makeDispatcher(),
      shouldYield: (fiber) => {
        note()
        return scheduler.shouldYield(fiber)
      },
    }),
  )
}

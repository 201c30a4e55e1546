/**
 * Declared retries: how long to wait, and when waiting may end the attempt.
 */
import { Duration, Effect } from "effect"
import type { RetryPolicy } from "./Agent.ts"
import type { Running } from "./Fact.ts"

/** The delay before the `retry`-th try after the first, from 1. Milliseconds, an integer. */
export const retryDelayMillis = (policy: RetryPolicy, retry: number): number => {
  const base = Duration.toMillis(policy.delay ?? 100)
  const maximum = Duration.toMillis(policy.maxDelay ?? Duration.minutes(5))
  return Math.ceil(Math.min(maximum, base * (policy.factor ?? 2) ** Math.min(retry - 1, 60)))
}

const turnOver = (running: Running): Effect.Effect<void> =>
  Effect.callback((resume) => running.thread.host.macrotask(() => resume(Effect.void)))

/**
 * Waits until no body of a step runs, also after whatever was about to start has started. Looks
 * again after each body, never on a timer.
 */
export const waitForQuiet = (running: Running): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* turnOver(running)
    while (running.live.bodies > 0) {
      yield* bodyEnd(running)
      yield* turnOver(running)
    }
  })

const bodyEnd = (running: Running): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const { bodyEnds } = running.live
    const told = () => resume(Effect.void)
    bodyEnds.add(told)
    return Effect.sync(() => bodyEnds.delete(told))
  })

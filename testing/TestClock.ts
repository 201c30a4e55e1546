/**
 * The test clock: the queue's time as a test moves it.
 *
 * - T1 Time stands still until a test moves it, or asks for something that takes time. What is due at once is run
 *   without being told, though an owner's alarm for it is a millisecond ahead.
 * - T2 Work that never comes to rest is told, not waited for.
 */
import { Data, Duration } from "effect"
import type { Queue } from "./Queue.ts"

/** Something goes on and on. Remedy: look for a loop that never waits, or for a wait that is far too short. */
export class Restless extends Data.TaggedError("Restless")<{ readonly message: string }> {}

/** A call can get no answer: it waits, and nothing is left to do. Remedy: call something else first. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly message: string }> {}

/** How much may happen, and how far time may move, while a test waits for one thing. */
const stepsMax = 100_000
export const horizonMillis = 30 * 24 * 3_600_000

export interface TestClock {
  /** Runs all that is due at once. */
  readonly settle: () => void
  /** Moves time on, and runs what comes due meanwhile. */
  readonly advance: (duration: Duration.Input) => void
  /** Moves time to the next thing that is due before a time, and runs it. False if there is none. */
  readonly next: (until: number) => boolean
  /** Moves time until nothing is due any more. */
  readonly rest: () => void
  /** Runs until it is so, moving time as far as that needs. */
  readonly until: (isSo: () => boolean) => void
}

export const makeTestClock = (queue: Queue): TestClock => {
  const run = (until: () => number, isEnough: () => boolean): void => {
    const last = queue.steps() + stepsMax
    while (!isEnough() && queue.step(until()))
      if (queue.steps() > last)
        throw new Restless({ message: `Not at rest after ${stepsMax} steps` }) // T2
  }
  const never = () => false
  const settle = () => run(() => queue.now() + 1, never) // T1
  return {
    settle,
    advance: (duration) => {
      const millis = Duration.toMillis(duration)
      if (!Number.isFinite(millis)) throw new RangeError("time moves by a finite duration")
      const target = queue.now() + Math.ceil(millis)
      queue.at(target, undefined, "advance", () => {})
      run(() => target, never)
    },
    next: (until) => {
      settle()
      const moved = queue.step(until)
      settle()
      return moved
    },
    rest: () => {
      const end = queue.now() + horizonMillis
      run(() => end, never)
      if (queue.waiting() > 0) throw new Restless({ message: "Not at rest after 30 days" }) // T2
    },
    until: (isSo) => run(() => Number.POSITIVE_INFINITY, isSo),
  }
}

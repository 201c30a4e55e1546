/**
 * The test clock: the queue's time as a test moves it.
 *
 * - T1 Time stands still until a test moves it, or asks for something that takes time. What is due at once is run
 *   without being told, though an owner's alarm for it is a millisecond ahead.
 * - T2 Work that never comes to rest is told, not waited for.
 * - T3 Time does not move while something real is under way that a handler waits for, as far as that is known.
 */
import { Data, Duration } from "effect"
import { drainMicrotasks } from "./Microtasks.ts"
import type { Queue } from "./Queue.ts"
import type { Turning } from "./Turning.ts"
import type { HeldCrypto } from "./WebCrypto.ts"

/** Something goes on and on. Remedy: look for a loop that never waits, or for a wait that is far too short. */
export class Restless extends Data.TaggedError("Restless")<{ readonly message: string }> {}

/** A call can get no answer: it waits, and nothing is left to do. Remedy: call something else first. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly message: string }> {}

/** How much may happen, and how far time may move, while a test waits for one thing. */
const stepsMax = 100_000
export const horizonMillis = 30 * 24 * 3_600_000
const restless =
  "Not at rest after 30 days: something is still due, a schedule or a long sleep perhaps. `advance` moves time as far as you say"

export interface TestClock {
  /** Runs all that is due at once. */
  readonly settle: () => Turning<void>
  /** Moves time on, and runs what comes due meanwhile. */
  readonly advance: (duration: Duration.Input) => Turning<void>
  /** Moves time to the next thing that is due before a time, and runs it. False if there is none. */
  readonly next: (until: number) => Turning<boolean>
  /** Moves time until nothing is due any more. */
  readonly rest: () => Turning<void>
  /** Runs until it is so, moving time as far as that needs. */
  readonly until: (isSo: () => boolean) => Turning<void>
}

/** Throws for what is no time that can pass. */
const millisOf = (duration: Duration.Input): number => {
  const isNumber = typeof duration === "number"
  const millis = isNumber ? duration : Duration.toMillis(duration)
  if (!Number.isFinite(millis) || millis < 0)
    throw new RangeError("time moves by a finite duration, and not back")
  return Math.ceil(millis)
}

export const makeTestClock = (
  queue: Queue,
  real: Pick<HeldCrypto, "deliver" | "isBusy">,
): TestClock => {
  /** Runs the next thing; false when there is none before a time. */
  const step = function* (until: number): Turning<boolean> {
    while (real.isBusy() && queue.isIdle()) {
      yield // T3
      real.deliver()
      drainMicrotasks()
    }
    return queue.step(until)
  }
  const run = function* (until: () => number, isEnough: () => boolean): Turning<void> {
    const last = queue.steps() + stepsMax
    while (!isEnough() && (yield* step(until())))
      if (queue.steps() > last)
        throw new Restless({ message: `Not at rest after ${stepsMax} steps` }) // T2
  }
  const never = () => false
  const settle = () => run(() => queue.now() + 1, never) // T1
  return {
    settle,
    advance: function* (duration) {
      const target = queue.now() + millisOf(duration)
      queue.at(target, undefined, "advance", () => {})
      yield* run(() => target, never)
    },
    next: function* (until) {
      yield* settle()
      const moved = yield* step(until)
      yield* settle()
      return moved
    },
    rest: function* () {
      const end = queue.now() + horizonMillis
      yield* run(() => end, never)
      if (queue.waiting() > 0) throw new Restless({ message: restless }) // T2
    },
    until: (isSo) => run(() => Number.POSITIVE_INFINITY, isSo),
  }
}

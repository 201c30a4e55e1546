/** What a test has in its hands: time, and the deaths of objects. */
import type { Duration } from "effect"
import type { Crash, CrashOptions, CrashPoint } from "./CrashPoints.ts"
import type { ObjectKind } from "./Incarnation.ts"
import { addressOf, type Place, type TestKit } from "./TestKit.ts"

export interface TestControls {
  /** The test clock's time: epoch milliseconds. */
  readonly now: () => number
  /** Runs all that is due at once. Time moves by the millisecond or two that alarms for it are ahead. */
  readonly settle: () => Promise<void>
  /** Moves time on by exactly this much, and runs all that comes due meanwhile. Rejects for what is no time. */
  readonly advance: (duration: Duration.Input) => Promise<void>
  /** Moves time to the next thing that is due, and runs it. False if nothing is. */
  readonly advanceToNext: () => Promise<boolean>
  /**
   * Moves time until nothing is due any more: all has settled, or waits for somebody. Rejects with `Restless` where something is
   * still due after 30 days: beside a schedule nothing ever rests.
   */
  readonly advanceToRest: () => Promise<void>
  /** Has an object die where its code reaches a failpoint. */
  readonly crashAt: (point: CrashPoint, options?: CrashOptions) => void
  /** The thread's object dies now; also from within a handler or a fake of the test. Throws where nobody ever called it. */
  readonly crash: (place: Place) => void
  /** The owner's object dies now. */
  readonly crashOwner: (ownerId?: string) => void
  /** The crashes at crash points so far: a test that counts on one says so. */
  readonly crashes: () => ReadonlyArray<Crash>
  /** Frees the databases. */
  readonly close: () => void
}

export const testControls = (kit: TestKit): TestControls => {
  const { clock, inTest, objects } = kit
  const { crashPoints, platform, queue } = objects
  const crash = (kind: ObjectKind, name: string): void => {
    const object = platform.objects().find((one) => one.kind === kind && one.name === name)
    // A test that has nobody die would go on to prove nothing.
    if (object === undefined) throw new TypeError(`No ${kind} ${name} was ever called`)
    platform.crash(object)
  }
  return {
    now: queue.now,
    settle: () => inTest(clock.settle),
    advance: (duration) => inTest(() => clock.advance(duration)),
    advanceToNext: () => inTest(() => clock.next(Number.POSITIVE_INFINITY)),
    advanceToRest: () => inTest(clock.rest),
    crashAt: (point, options = {}) => crashPoints.set(point, options),
    crash: (place) => {
      const { ownerId, threadId } = addressOf(kit, place)
      crash("thread", `${ownerId}/${threadId}`)
    },
    crashOwner: (ownerId = kit.ownerId) => crash("owner", ownerId),
    crashes: () => [...crashPoints.happened],
    close: () => {
      for (const { state } of platform.objects()) state.close()
    },
  }
}

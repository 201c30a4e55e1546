/** For how long an object is active: what the bill of its duration is computed from. */
import { describe, expect, it } from "vitest"
import { makeActivity, watchTimers, whileActive } from "../../../bench/Activity.ts"

const counted = () => {
  const clock = { now: 0 }
  const spans: Array<number> = []
  const activity = makeActivity(
    (millis) => spans.push(millis),
    () => clock.now,
  )
  return { activity, clock, spans }
}

/** Timers that fire when the test says so. */
const makeTimers = () => {
  const armed = new Map<number, () => void>()
  const timers = {
    setTimeout: (run: () => void): number => {
      armed.set(armed.size + 1, run)
      return armed.size
    },
    clearTimeout: (timer: number): void => void armed.delete(timer),
  }
  return { armed, timers }
}

describe("an object", () => {
  it("is active once while several of its calls overlap", () => {
    const { activity, clock, spans } = counted()
    activity.begin()
    clock.now = 10
    activity.begin()
    clock.now = 15
    activity.end()
    clock.now = 30
    activity.end()
    expect(spans).toEqual([30])
  })

  it("stays active after a call while a timer that the call has set is pending, and no longer", async () => {
    const { activity, clock, spans } = counted()
    const { armed, timers } = makeTimers()
    watchTimers(timers)
    let cleared = 0
    await whileActive(activity, async () => {
      await Promise.resolve()
      timers.setTimeout(() => undefined)
      cleared = timers.setTimeout(() => undefined)
    })
    clock.now = 40
    timers.clearTimeout(cleared)
    expect(spans).toEqual([])
    clock.now = 50
    armed.get(1)?.()
    expect(spans).toEqual([50])
  })

  it("has nothing to do with timers of others", async () => {
    const { activity, clock, spans } = counted()
    const { armed, timers } = makeTimers()
    watchTimers(timers)
    timers.setTimeout(() => undefined)
    await whileActive(activity, async () => {
      clock.now = 5
    })
    clock.now = 50
    armed.get(1)?.()
    expect(spans).toEqual([5])
  })

  it("is at rest after a timer that has thrown", async () => {
    const { activity, spans } = counted()
    const { armed, timers } = makeTimers()
    watchTimers(timers)
    await whileActive(activity, async () => {
      timers.setTimeout(() => {
        throw new Error("it does not end well")
      })
    })
    expect(() => armed.get(1)?.()).toThrow("does not end well")
    expect(spans).toHaveLength(1)
  })
})

/** The owner's alarm as the platform delivers it. */
import { runDurableObjectAlarm } from "cloudflare:test"
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { openLoom } from "./loom.ts"

const hour = 3_600_000

/** Has the object's alarms delivered an hour late, and tells the times it meant. */
const delayAlarms = (storage: DurableObjectStorage): ReadonlyArray<number> => {
  const armed: Array<number> = []
  const set = storage.setAlarm.bind(storage)
  kept.push(storage)
  Object.defineProperty(storage, "setAlarm", {
    value: (at: number) => {
      armed.push(at)
      return set(at + hour)
    },
  })
  return armed
}

/** Held so that the method replaced above stays replaced. */
const kept: Array<object> = []

describe("the alarm that a pass sets at its begin", () => {
  it.live("comes due under the running handler, and neither cancels it nor is lost", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("plain")
      const held = loom.plan("owner", "select:before", "hold")
      const receipt = yield* loom.submit()
      yield* loom.until("the pass is held, its own re-arm overdue", async () => {
        const { alarmAt } = await loom.rows()
        return held.reached && alarmAt !== null && alarmAt < Date.now() - 100
      })
      // Neither cancelled nor joined: the pass that is held is the only one that has begun.
      const row = (yield* Effect.promise(loom.rows)).rows["maintenance"]?.[0]
      expect(row).toMatchObject({ unfinished: 1, last_pass: null })
      yield* loom.inOwner(() => held.release())
      expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed", attempts: 1 })
      yield* loom.quiet
    }),
  )

  it.live("is what brings the work back when the pass dies under it", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("plain")
      const death = loom.plan("owner", "begin:after")
      const receipt = yield* loom.submit()
      yield* loom.until("the pass died", () => death.reached)
      expect(yield* loom.settled(receipt)).toMatchObject({ outcome: "completed", attempts: 1 })
      yield* loom.quiet
    }),
  )
})

describe("an alarm that is due and not yet delivered", () => {
  it.live("is not set again by submits: that would cancel the delivery", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("plain")
      // The platform takes its time: what the owner arms is delivered an hour later, or by hand.
      const armed = yield* loom.inOwner(({ storage }) => delayAlarms(storage))
      const first = yield* loom.submit({ thread: "due" })
      yield* loom.until("the lane is due and armed for", async () => {
        const lane = (await loom.rows()).rows["lanes"]?.[0]
        const dueAt = armed.at(-1) ?? Infinity
        return lane?.["enrolled"] === null && dueAt < Date.now() - 20
      })
      const before = armed.length
      const others = yield* Effect.forEach(
        // Of the lane that is due, and of others.
        Array.from({ length: 20 }, (_, index) => ({
          thread: index % 2 === 0 ? "due" : `t${index}`,
        })),
        loom.submit,
        { concurrency: 20 },
      )
      expect(armed.slice(before)).toEqual([])
      const delivery = Effect.promise(() => runDurableObjectAlarm(loom.owner()))
      expect(yield* delivery).toBe(true)
      yield* Effect.forEach([first, ...others], loom.settled, { concurrency: 21 })
    }),
  )
})

import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { pushLine, withHeartbeat } from "../../../contracts/transport/PushLine.ts"
import { settle } from "./probe.ts"

/** A reader that takes a push when told, and counts how many are under way. */
const reader = () => {
  const gates: Array<() => void> = []
  const sizes: Array<number> = []
  let underWay = 0
  const most = { underWay: 0 }
  const sink = (values: ReadonlyArray<unknown>) => {
    sizes.push(values.length)
    most.underWay = Math.max(most.underWay, ++underWay)
    return new Promise<void>((resolve) =>
      gates.push(() => {
        underWay--
        resolve()
      }),
    )
  }
  return { gates, most, sink, sizes }
}

describe("a line", () => {
  it.effect("has no probe under way beside a push, however long that takes", () =>
    Effect.gen(function* () {
      const { gates, most, sink, sizes } = reader()
      const line = pushLine(sink)
      const handler = Effect.andThen(line.push([1]), Effect.never)
      const running = yield* Effect.forkChild(withHeartbeat(handler, line, 1_000))
      yield* settle
      yield* TestClock.adjust(5_000)
      yield* settle
      expect(sizes).toEqual([1])
      gates[0]?.()
      yield* settle
      expect(sizes).toEqual([1, 0])
      expect(most.underWay).toBe(1)
      yield* Fiber.interrupt(running)
    }),
  )

  it.effect("is probed a heartbeat after its last push, not in the middle of a busy stream", () =>
    Effect.gen(function* () {
      const taken: Array<number> = []
      const line = pushLine((values) => {
        taken.push(values.length)
        return Promise.resolve()
      })
      const busy = Effect.andThen(Effect.sleep(600), line.push([1])).pipe(
        Effect.repeat({ times: 4 }),
      )
      const running = yield* Effect.forkChild(
        withHeartbeat(Effect.andThen(busy, Effect.never), line, 1_000),
      )
      yield* settle
      for (let step = 0; step < 5; step++) {
        yield* TestClock.adjust(600)
        yield* settle
      }
      expect(taken).toEqual([1, 1, 1, 1, 1])
      yield* TestClock.adjust(999)
      yield* settle
      expect(taken).toHaveLength(5)
      yield* TestClock.adjust(1)
      yield* settle
      expect(taken).toEqual([1, 1, 1, 1, 1, 0])
      yield* Fiber.interrupt(running)
    }),
  )

  it.effect("carries at most 16 values a push, in order, and pushes nothing after a refusal", () =>
    Effect.gen(function* () {
      const pushes: Array<ReadonlyArray<unknown>> = []
      const line = pushLine((values) => {
        pushes.push(values)
        return pushes.length < 3 ? Promise.resolve() : Promise.reject(new Error("gone"))
      })
      const values = Array.from({ length: 60 }, (_, index) => index)
      expect(yield* line.push(values.slice(0, 20))).toBe(true)
      expect(pushes.map(({ length }) => length)).toEqual([16, 4])
      expect(pushes.flat()).toEqual(values.slice(0, 20))
      expect(yield* line.push(values.slice(20))).toBe(false)
      expect(pushes).toHaveLength(3)
      expect(yield* line.push([1])).toBe(false)
      expect(pushes).toHaveLength(3)
    }),
  )
})

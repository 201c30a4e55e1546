/** Publication in the real runtime, into a real queue with a consumer. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { consumed, given, recordsIn, refused } from "./loom-sink.ts"
import { openLoom } from "./loom.ts"

const noop = { agent: "noop", input: null }

describe("a deployment that publishes to a queue", () => {
  it.live("has its consumer get each record of each thread", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("published")
      for (const thread of ["a", "b", "a", "b", "a"]) yield* loom.submit({ thread })
      yield* loom.quiet
      for (const thread of ["a", "b"]) {
        const records = yield* loom.history(thread)
        yield* loom.until(
          "the consumer has all",
          () => recordsIn(consumed, loom.ownerId, thread).length === records.length,
        )
        expect(recordsIn(consumed, loom.ownerId, thread)).toEqual(records)
      }
    }),
  )

  it.live("holds up a thread whose records are refused, and no other", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("published")
      refused.add(`${loom.ownerId}/a`)
      const first = yield* loom.submit({ ...noop, thread: "a" })
      const second = yield* loom.submit({ ...noop, thread: "a" })
      const other = yield* loom.submit({ ...noop, thread: "b" })
      const last = yield* loom.submit({ ...noop, thread: "b" })
      for (const receipt of [first, other, last]) yield* loom.settled(receipt)
      expect((yield* loom.history("a")).map(({ kind }) => kind)).toEqual([
        "InputApplied",
        "Settled",
      ])
      refused.delete(`${loom.ownerId}/a`)
      yield* loom.settled(second)
      yield* loom.quiet
      expect(recordsIn(given, loom.ownerId, "a")).toEqual(yield* loom.history("a"))
      const batches = given.filter(
        ({ ownerId, threadId }) => ownerId === loom.ownerId && threadId === "a",
      )
      expect(batches.map(({ first: from, last: to }) => [from, to])).toEqual([
        [1, 2],
        [3, 4],
      ])
    }),
  )

  it.live("sends a record that is too large for a message without its payload", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("published")
      yield* loom.submit({ ...noop, input: "x".repeat(150_000) })
      yield* loom.quiet
      yield* loom.until(
        "the consumer has all",
        () => recordsIn(consumed, loom.ownerId).length === 2,
      )
      const [applied, settled] = recordsIn(consumed, loom.ownerId)
      expect(applied).toMatchObject({ kind: "InputApplied", omittedBytes: expect.any(Number) })
      expect(applied).not.toHaveProperty("payload")
      expect(settled).toHaveProperty("payload")
    }),
  )
})

/** Order and receipts: what is accepted first runs first, and one intent is accepted once. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { bodies } from "./loom-agents.ts"
import { expectContiguous, openLoom } from "./loom.ts"

const threads = ["a", "b", "c"]
const each = 50

describe("a thread", () => {
  it.live("runs its submissions in the order of their receipts, whatever is interleaved", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("plain")
      const wanted = Array.from({ length: each }, (_, value) =>
        threads.map((thread) => ({ thread, input: { value } })),
      ).flat()
      const receipts = yield* Effect.forEach(wanted, loom.submit, { concurrency: 12 })
      yield* Effect.forEach(receipts, loom.settled, { concurrency: 12 })
      for (const thread of threads) {
        const own = receipts.filter((receipt) => receipt.threadId === thread)
        const bySequence = own.toSorted((first, second) => first.sequence - second.sequence)
        expect(bySequence.map((receipt) => receipt.sequence)).toEqual(
          Array.from({ length: each }, (_, index) => index + 1),
        )
        const records = yield* loom.history(thread)
        expectContiguous(records)
        const order = (kind: string) =>
          records.filter((record) => record.kind === kind).map((record) => record.submissionId)
        const accepted = bySequence.map((receipt) => receipt.submissionId)
        expect(order("InputApplied")).toEqual(accepted)
        expect(order("Settled")).toEqual(accepted)
        // One run at a time: whatever a run records stands between its input and its settlement.
        expect([...new Set(records.map((record) => record.submissionId))]).toEqual(accepted)
        const perRun = records.length / each
        expect(records.map((record) => record.submissionId)).toEqual(
          accepted.flatMap((id) => Array.from({ length: perRun }, () => id)),
        )
      }
      yield* loom.quiet
    }),
  )

  it.live("gives one receipt to one intent, one after the other and all at once", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("plain")
      const first = yield* loom.submit({ key: "k" })
      const again = yield* loom.submit({ key: "k" })
      expect(again).toEqual({ ...first, duplicate: true })
      const crowd = yield* Effect.forEach(
        Array.from({ length: 20 }, () => ({ key: "crowd" })),
        loom.submit,
        { concurrency: "unbounded" },
      )
      expect(new Set(crowd.map((receipt) => receipt.submissionId)).size).toBe(1)
      expect(crowd.filter((receipt) => !receipt.duplicate)).toHaveLength(1)
      const other = yield* Effect.flip(loom.submit({ key: "k", input: { value: 2 } }))
      expect(other).toMatchObject({ _tag: "IdempotencyConflict" })
      for (const receipt of [first, ...crowd.slice(0, 1)]) yield* loom.settled(receipt)
      yield* loom.quiet
      const settled = (yield* loom.history()).filter((record) => record.kind === "Settled")
      expect(settled).toHaveLength(2)
      expect(bodies.get(`${loom.ownerId}/a#1 first`)).toBe(1)
      expect(bodies.get(`${loom.ownerId}/a#2 first`)).toBe(1)
    }),
  )
})

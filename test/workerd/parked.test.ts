/** What a parked submission costs those behind it, counted by the platform itself. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { takeCount } from "./loom-meter.ts"
import { type Loom, openLoom } from "./loom.ts"

const noop = { agent: "noop", input: null }

const takeRead = (loom: Loom) =>
  loom.inThread("a", () => {
    const { read, statements } = takeCount(`${loom.ownerId}/a`)
    return { read, statements }
  })

/** Settles so many, the pass held until all are there. */
const settleMany = Effect.fnUntraced(function* (loom: Loom, count: number) {
  const receipts = yield* Effect.forEach(
    Array.from({ length: count }, () => noop),
    loom.submit,
    {
      concurrency: 16,
    },
  )
  yield* Effect.forEach(receipts, loom.settled, { concurrency: 16 })
  yield* loom.quiet
})

describe("a parked submission", () => {
  it.live("costs those behind it the same few reads, however many have settled since", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("metered")
      yield* loom.submit({ agent: "doubt", input: null })
      yield* loom.until("it is parked", async () => {
        const { rows } = await loom.rows()
        return String(rows["lanes"]?.[0]?.["report"]).includes('"parked":1')
      })
      yield* loom.quiet
      const costs: Array<number> = []
      for (const behind of [10, 200]) {
        yield* settleMany(loom, behind)
        yield* takeRead(loom)
        for (let index = 0; index < 5; index++) {
          yield* loom.submit(noop)
          yield* loom.quiet
        }
        costs.push((yield* takeRead(loom)).read / 5)
      }
      const [few, many] = costs
      expect(many).toBe(few)
      // Twenty without a parked one, and two for the wait that each report tells.
      expect(few).toBeLessThanOrEqual(40)
    }),
  )
})

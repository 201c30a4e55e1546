/** What the work costs, counted by the platform: rows, blocks, alarm writes, and what a reply waits for. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { runDurableObjectAlarm } from "cloudflare:test"
import { type Count, orderOf, takeCount } from "./loom-meter.ts"
import { killAll, type Loom, openLoom } from "./loom.ts"

const noop = { agent: "noop", input: null }

const take = Effect.fnUntraced(function* (loom: Loom) {
  const owner = yield* loom.inOwner(() => takeCount(loom.ownerId))
  const thread = yield* loom.inThread("a", () => takeCount(`${loom.ownerId}/a`))
  return { owner, thread }
})

/** Per submission, with the statements that cost most. */
const perSubmission = (counts: ReadonlyArray<Count>, submissions: number) => {
  const sum = (pick: (count: Count) => number): number =>
    counts.reduce((total, count) => total + pick(count), 0) / submissions
  return {
    written: sum((count) => count.written),
    read: sum((count) => count.read),
    blocks: sum((count) => count.blocks),
    alarmWrites: sum((count) => count.alarmWrites),
    statements: counts
      .flatMap((count) => Object.entries(count.statements))
      .filter(([, count]) => count.read + count.written > 0)
      .toSorted(
        ([, first], [, second]) => second.read + second.written - first.read - first.written,
      )
      .map(
        ([text, { read, times, written }]) =>
          `${(written / submissions).toFixed(2)} written, ${(read / submissions).toFixed(2)} read, ` +
          `${(times / submissions).toFixed(2)} times: ${text.slice(0, 90)}`,
      ),
  }
}

/** Does it once before the count, so that tables and objects are there. */
const warm = Effect.fnUntraced(function* () {
  const loom = yield* openLoom("metered")
  yield* loom.settled(yield* loom.submit(noop))
  yield* loom.quiet
  yield* take(loom)
  return loom
})

const told = (title: string, cost: ReturnType<typeof perSubmission>): void => {
  const { alarmWrites, blocks, read, statements, written } = cost
  const [rows, reads] = [written.toFixed(2), read.toFixed(2)]
  process.stdout.write(
    `${title}: ${rows} rows written, ${reads} read, ${blocks.toFixed(2)} blocks, ` +
      `${alarmWrites.toFixed(2)} alarm writes\n  ${statements.join("\n  ")}\n`,
  )
}

/** More lanes, put beside the others as they are: each owes nothing, or waits for a day to come. */
const addLanes = (loom: Loom, count: number, work: "dispatch" | null) =>
  loom.inOwner(({ storage }) => {
    const next = work === null ? null : (Date.now() + 86_400_000) * 1_000
    storage.sql.exec(
      `INSERT INTO lanes (thread_id, report, enrolled, must_visit, suspect, marks, work, slow,
         next_at, outbox_at)
       WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       SELECT 'lane-' || i, NULL, NULL, 0, 0, '{}', ?, i % 2, ? + i, NULL FROM n`,
      count,
      work,
      next,
    )
    return takeCount(loom.ownerId)
  })

describe("a submission that does nothing", () => {
  for (const known of [10, 10_000])
    it.live(`costs 16 rows written and 23 read, alone, of ${known} threads known`, () =>
      Effect.gen(function* () {
        const loom = yield* warm()
        yield* addLanes(loom, known, null)
        const times = 20
        const costs = []
        for (let index = 0; index < times; index++) {
          yield* loom.submit(noop)
          yield* loom.quiet
          const { owner, thread } = yield* take(loom)
          costs.push(perSubmission([owner, thread], 1))
        }
        const settled = (yield* loom.history()).filter((record) => record.kind === "Settled")
        expect(settled).toHaveLength(times + 1)
        // Most of them: on a slow machine one of them may take a visit more.
        const middle = costs.toSorted((one, other) => one.written - other.written)[times / 2]
        if (middle !== undefined) told("alone", middle)
        expect(middle).toMatchObject({ written: 16, read: 23, alarmWrites: 4 })
      }),
    )

  it.live("costs at most 12 rows written and 25 read, in a full queue", () =>
    Effect.gen(function* () {
      const loom = yield* warm()
      const times = 200
      const held = loom.plan("owner", "begin:before", "hold")
      const receipts = yield* Effect.forEach(
        Array.from({ length: times }, () => noop),
        loom.submit,
        { concurrency: 16 },
      )
      yield* loom.until("the pass is held", () => held.reached)
      yield* loom.inOwner(() => held.release())
      yield* loom.quiet
      const { owner, thread } = yield* take(loom)
      const ends = yield* Effect.forEach(receipts, loom.settled, { concurrency: 16 })
      expect(ends.map((end) => end.outcome)).toEqual(receipts.map(() => "completed"))
      const cost = perSubmission([owner, thread], times)
      told("in a full queue", cost)
      expect(cost.written).toBeLessThanOrEqual(12)
      expect(cost.read).toBeLessThanOrEqual(25)
      expect(cost.alarmWrites).toBeLessThanOrEqual(0.3)
    }),
  )
})

describe("an object that starts again", () => {
  it.live("finds its tables by one row of its schema, however many tables and indexes it has", () =>
    Effect.gen(function* () {
      const loom = yield* warm()
      yield* killAll
      yield* loom.submit(noop)
      yield* loom.quiet
      const { owner, thread } = yield* take(loom)
      for (const { statements } of [owner, thread]) {
        const looks = Object.entries(statements).filter(([text]) => text.includes("sqlite_schema"))
        expect(looks.map(([, { read, times }]) => read / times)).toEqual([1])
      }
    }),
  )
})

describe("many submissions of one call", () => {
  for (const threads of [1, 20])
    it.live(
      `cost at most ${threads === 1 ? 12 : 13} rows written each, of ${threads} new threads, and two blocks of the owner`,
      () =>
        Effect.gen(function* () {
          const loom = yield* warm()
          const times = 200
          const items = Array.from({ length: times }, (_, index) => ({
            ...noop,
            thread: threads === 1 ? "a" : `t${index % threads}`,
          }))
          const held = loom.plan("owner", "begin:before", "hold")
          const order = orderOf(loom.ownerId)
          order.splice(0)
          const receipts = yield* loom.manyAccepted(items)
          yield* loom.until("the call is finished", () => {
            const [first, ...rest] = order.filter((entry) => entry === "owner block")
            return first !== undefined && rest.length > 0
          })
          expect(order.slice(0, 1)).toEqual(["owner block"])
          expect(order.filter((entry) => entry === "thread block")).toHaveLength(threads)
          expect(order.indexOf("owner reply")).toBeGreaterThan(threads)
          yield* loom.until("the pass is held", () => held.reached)
          const accepted = yield* loom.inOwner(() => takeCount(loom.ownerId))
          expect(accepted.blocks).toBe(2)
          yield* loom.inOwner(() => held.release())
          yield* loom.quiet
          yield* Effect.forEach(receipts, loom.settled, { concurrency: 16 })
          const counts = [accepted, yield* loom.inOwner(() => takeCount(loom.ownerId))]
          for (const thread of new Set(items.map((one) => one.thread)))
            counts.push(yield* loom.inThread(thread, () => takeCount(`${loom.ownerId}/${thread}`)))
          const cost = perSubmission(counts, times)
          told(`of one call, ${threads} threads`, cost)
          // Each thread that is new makes its tables: their rows are of its first submission, not of each.
          expect(cost.written).toBeLessThanOrEqual(threads === 1 ? 12 : 13)
          expect(cost.read).toBeLessThanOrEqual(threads === 1 ? 25 : 30)
          expect(cost.alarmWrites).toBeLessThanOrEqual(0.3)
        }),
    )
})

describe("a pass that finds nothing due", () => {
  it.live("reads 4 rows and writes none, of 10 threads and of 10,000", () =>
    Effect.gen(function* () {
      const costs = []
      for (const lanes of [10, 10_000]) {
        const loom = yield* warm()
        yield* addLanes(loom, lanes, "dispatch")
        yield* loom.inOwner(({ storage }) => storage.setAlarm(Date.now() + 3_600_000))
        yield* take(loom)
        expect(yield* Effect.promise(() => runDurableObjectAlarm(loom.owner()))).toBe(true)
        const { owner } = yield* take(loom)
        const cost = perSubmission([owner], 1)
        told(`caught up, ${lanes} lanes`, cost)
        costs.push({ read: cost.read, written: cost.written })
        expect(yield* loom.inOwner(({ storage }) => storage.getAlarm())).toBeGreaterThan(
          Date.now() + 80_000_000,
        )
      }
      const [few, many] = costs
      expect(few).toEqual(many)
      expect(few).toMatchObject({ read: 4, written: 0 })
    }),
  )
})

describe("the reply to a submit", () => {
  it.live("waits for the owner's enrolment and the thread's admission, and for nothing else", () =>
    Effect.gen(function* () {
      const loom = yield* warm()
      const held = loom.plan("owner", "begin:before", "hold")
      const order = orderOf(loom.ownerId)
      order.splice(0)
      yield* loom.submit(noop)
      yield* loom.until("the mutation is finished", () => order.length >= 4)
      expect(order.slice(0, 4)).toEqual([
        "owner block",
        "thread block",
        "owner reply",
        "owner block",
      ])
      yield* loom.until("the pass is held", () => held.reached)
      yield* loom.inOwner(() => held.release())
      yield* loom.quiet
    }),
  )
})

/** A thread that goes on for long holds up nobody but itself: with the documented limits. */
import { afterAll, describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { defaultLimits } from "../../contracts/Limits.ts"
import { bodies } from "./loom-agents.ts"
import { killAll, type Loom, openLoom } from "./loom.ts"

/** Runs that never end would look at their owner's watch in other tests. */
afterAll(() => Effect.runPromise(killAll))

const gated = (thread: string) => ({ thread, input: { value: 1, gate: thread } })

const started = (loom: Loom, thread: string, body: string) =>
  bodies.get(`${loom.ownerId}/${thread}#1 ${body}`) === 1

const states = Effect.fnUntraced(function* (loom: Loom, threads: ReadonlyArray<string>) {
  const found = yield* Effect.forEach(threads, (name) =>
    loom.inThread(name, ({ storage }) =>
      storage.sql.exec<{ state: string }>("SELECT state FROM submissions").one(),
    ),
  )
  return found.map(({ state }) => state)
})

describe("sixteen threads whose steps go on", () => {
  const names = Array.from({ length: 16 }, (_, index) => `slow-${index}`)

  it.live("hold no slot: a seventeenth settles at once, and all settle when their steps end", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("plain")
      const slow = yield* Effect.forEach(names, (name) => loom.submit(gated(name)), {
        concurrency: 16,
      })
      yield* loom.until("all sixteen are in their steps", () =>
        names.every((name) => started(loom, name, "gate")),
      )
      const submittedAt = Date.now()
      const quick = yield* loom.submit({ thread: "quick", agent: "noop", input: null })
      expect(yield* loom.settled(quick)).toMatchObject({ outcome: "completed" })
      // Less than an owner waits for a turn at most.
      expect(Date.now() - submittedAt).toBeLessThan(defaultLimits.dispatchGraceMillis)
      expect(yield* states(loom, names)).toEqual(names.map(() => "running"))
      yield* Effect.forEach(names, (name) => loom.open(name, name))
      const ends = yield* Effect.forEach(slow, loom.settled, { concurrency: 16 })
      expect(ends.map((end) => end.outcome)).toEqual(names.map(() => "completed"))
      yield* loom.idle
      for (const name of names) expect(started(loom, name, "gate")).toBe(true)
    }),
  )
})

describe("the end of a run that outlived its turn", () => {
  it.live("brings the thread's next submission to run, long before the owner would look", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("plain")
      yield* loom.submit(gated("a"))
      yield* loom.until("the owner watches the run", async () => {
        const { alarmAt, rows } = await loom.rows()
        const running = rows["maintenance"]?.[0]?.["running"] === 1
        return running && alarmAt !== null && alarmAt > Date.now() + 20_000
      })
      const next = yield* loom.submit({ thread: "a" })
      yield* loom.until("the next one only waits for it", async () => {
        const { alarmAt, rows } = await loom.rows()
        const finished = rows["lanes"]?.[0]?.["enrolled"] === null
        return finished && alarmAt !== null && alarmAt > Date.now() + 20_000
      })
      const openedAt = Date.now()
      yield* loom.open("a")
      expect(yield* loom.settled(next)).toMatchObject({ sequence: 2, outcome: "completed" })
      expect(Date.now() - openedAt).toBeLessThan(20_000)
      yield* loom.idle
    }),
  )
})

describe("a handler that hangs", () => {
  it.live("holds neither its owner's pass nor another thread", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("plain")
      yield* loom.submit({ thread: "hung", agent: "hang", input: null })
      yield* loom.until("it hangs", () => started(loom, "hung", "hang"))
      const other = yield* loom.submit({ thread: "other" })
      expect(yield* loom.settled(other)).toMatchObject({ outcome: "completed" })
      yield* loom.until("the pass has ended", async () => {
        const row = (await loom.rows()).rows["maintenance"]?.[0]
        return row?.["unfinished"] === 0 && String(row["last_pass"]).includes('"quiescent"')
      })
      expect(yield* states(loom, ["hung"])).toEqual(["running"])
      expect(yield* loom.client.rpc.maintenanceStatus({ ownerId: loom.ownerId })).toMatchObject({
        nonterminal: 1,
        runningLanes: 1,
        dueLanes: 0,
      })
    }),
  )
})

/** The storage of a simulated object: what a crash leaves of it. */
import { describe, expect, it } from "vitest"
import {
  type BlockStatement,
  type Breaks,
  type DurableState,
  makeDurableState,
} from "../../testing/DurableState.ts"
import { inTask } from "../../testing/Microtasks.ts"
import { makeQueue, type Queue } from "../../testing/Queue.ts"
import { makeRandom } from "../../testing/Random.ts"
import { makeTrace } from "../../testing/Trace.ts"

interface Given {
  readonly queue: Queue
  readonly state: DurableState
  readonly alarms: Array<number | null>
}

const given = (
  flushMillis = 10,
  breaks?: (statement: BlockStatement) => Breaks | undefined,
): Given => {
  const queue = makeQueue({
    random: makeRandom(1),
    pace: { preempts: 0, shuffles: 0, bursts: 1, yields: 0, lags: 0 },
    startsAt: 0,
    trace: (now) => makeTrace({ lines: 0, now }),
  })
  const alarms: Array<number | null> = []
  const state = makeDurableState({
    queue,
    kind: "test of storage",
    label: "test",
    flushMillis: () => flushMillis,
    breaks,
    onBatch: () => undefined,
    onAlarm: (at) => void alarms.push(at),
  })
  return { queue, state, alarms }
}

const runAll = ({ queue }: Given): void => {
  while (queue.step(1_000_000)) {
    // Each step does its own work.
  }
}

const rows = ({ state }: Given): ReadonlyArray<unknown> =>
  state.hasTable("facts") ? state.read("SELECT n FROM facts ORDER BY n").map(({ n }) => n) : []

const write = ({ state }: Given, n: number): void => {
  const storage = state.viewOf({ holdsStorage: true })
  storage.transaction(() => {
    if (!state.hasTable("facts")) storage.sql.run("CREATE TABLE facts (n INTEGER)")
    storage.sql.run("INSERT INTO facts VALUES (?)", n)
    storage.alarm.set(n)
  })
}

describe("a block that fails before its end", () => {
  for (const fails of ["errs", "no room"] as const)
    for (const at of ["writes", "commits"] as const)
      it(`leaves nothing of itself, its alarm among it: it ${fails} as it ${at}`, () =>
        inTask(() => {
          let isBroken = false
          const world = given(10, ({ does }) => (isBroken && does === at ? fails : undefined))
          write(world, 1)
          isBroken = true
          expect(() => write(world, 2)).toThrow("the storage failed")
          expect([rows(world), world.state.alarmAt()]).toEqual([[1], 1])
          isBroken = false
          write(world, 3)
          runAll(world)
          expect([rows(world), world.alarms]).toEqual([[1, 3], [3]])
        }))

  it("takes back the tables that it made", () =>
    inTask(() => {
      const world = given(10, ({ does }) => (does === "commits" ? "errs" : undefined))
      expect(() => write(world, 1)).toThrow("the storage failed")
      expect(world.state.hasTable("facts")).toBe(false)
    }))

  it("still reads where there is no room, and writes no more until its end", () =>
    inTask(() => {
      const world = given(10, ({ does }) => (does === "reads" ? "no room" : undefined))
      write(world, 1)
      const { sql, transaction } = world.state.viewOf({ holdsStorage: true })
      expect(() =>
        transaction(() => {
          expect(sql.all("SELECT n FROM facts")).toEqual([{ n: 1 }])
          expect(sql.all("SELECT n FROM facts")).toEqual([{ n: 1 }])
          expect(() => sql.run("DELETE FROM facts")).toThrow("the storage failed")
          expect(() => sql.run("DELETE FROM facts")).toThrow("the storage failed")
        }),
      ).not.toThrow()
      expect(rows(world)).toEqual([1])
    }))
})

describe("a crash", () => {
  it("takes back what was not flushed, with the alarm, and keeps the rest", () =>
    inTask(() => {
      const world = given()
      write(world, 1)
      runAll(world)
      write(world, 2)
      expect([rows(world), world.state.alarmAt()]).toEqual([[1, 2], 2])
      world.state.crash()
      expect([rows(world), world.state.alarmAt()]).toEqual([[1], 1])
      expect(world.alarms).toEqual([1])
    }))

  it("leaves no tables where their making was not flushed, the first time and every time", () =>
    inTask(() => {
      for (let round = 0; round < 3; round++) {
        const world = given()
        write(world, 1)
        world.state.crash()
        expect(world.state.hasTable("facts")).toBe(false)
        write(world, 2)
        runAll(world)
        expect(rows(world)).toEqual([2])
        world.state.close()
      }
    }))

  it("has what waited at the gate for what it took back never leave", () =>
    inTask(() => {
      const world = given()
      const left: Array<number> = []
      write(world, 1)
      world.state.whenFlushed(() => left.push(1))
      runAll(world)
      write(world, 2)
      world.state.whenFlushed(() => left.push(2))
      world.state.crash()
      runAll(world)
      expect(left).toEqual([1])
    }))
})

describe("a block that throws", () => {
  it("leaves nothing, and what came before it stands", () =>
    inTask(() => {
      const world = given()
      write(world, 1)
      const storage = world.state.viewOf({ holdsStorage: true })
      expect(() =>
        storage.transaction(() => {
          storage.sql.run("INSERT INTO facts VALUES (9)")
          storage.alarm.set(9)
          throw new Error("it broke")
        }),
      ).toThrow("it broke")
      expect([rows(world), world.state.alarmAt()]).toEqual([[1], 1])
    }))
})

describe("an incarnation that was replaced", () => {
  it("can neither read nor write", () => {
    const world = given()
    const tenant = { holdsStorage: true }
    const storage = world.state.viewOf(tenant)
    tenant.holdsStorage = false
    expect(() => storage.sql.all("SELECT 1")).toThrow("the storage failed")
    expect(() => storage.transaction(() => undefined)).toThrow("the storage failed")
    expect(() => storage.alarm.set(1)).toThrow("the storage failed")
  })
})

/** No more attempts of an agent run at once than its limit, and who waits is first come, first served. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { AgentId, ThreadId } from "../../../contracts/Identifiers.ts"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise
const limited = AgentId.make("limited")
const other = AgentId.make("other")
const names = ["z", "m", "a", "k", "b", "c", "d"]

type World = ReturnType<typeof makeOwnerWorld>

const makeWorld = (maximum: number) =>
  makeOwnerWorld({
    maxRunning: new Map([[limited, maximum]]),
    limits: { watchMillis: 30, watchMaxMillis: 30 },
  })

const runs = (world: World, name: string): boolean =>
  String(world.lane(name)?.["report"]).includes('"running"')

const running = (world: World) => names.filter((name) => runs(world, name))

const submitAll = async (world: World) => {
  for (const name of names) {
    world.thread(name).turn = "run"
    await run(world.submit(name, name, 1, limited))
  }
}

/** The run of this thread ends, and its thread says so. */
const end = async (world: World, name: string) => {
  world.thread(name).turn = "settle"
  world.thread(name).endRun()
  const threadId = ThreadId.make(name)
  const asThread = world.connect(callerHeaders({ _tag: "Thread", ownerId, threadId }))
  await run(asThread.report({ ownerId, threadId, report: world.thread(name).report() }))
}

describe("an agent's limit", () => {
  it("holds back who would be one too many, and the first of them goes next", async () => {
    const world = makeWorld(2)
    await submitAll(world)
    const order: Array<string> = []
    while (order.length < names.length) {
      await world.alarmsUntil("two run, or all the rest", () => {
        const most = Math.min(2, names.length - order.length)
        expect(running(world).length).toBeLessThanOrEqual(2)
        return running(world).length === most
      })
      const started = names.filter((name) => world.thread(name).turns > 0)
      expect(started).toEqual(names.slice(0, Math.min(names.length, order.length + 2)))
      const [first = ""] = running(world)
      order.push(first)
      await end(world, first)
    }
    expect(order).toEqual(names)
    await world.quiet()
  })

  it("delays no lane of another agent, however many are held before it", async () => {
    const world = makeWorld(1)
    for (let index = 0; index < 40; index++) {
      world.thread(`held-${index}`).turn = "run"
      await run(world.submit(`held-${index}`, `held-${index}`, 1, limited))
    }
    await run(world.submit("free", "free", 1, other))
    await world.alarmsUntil("the other has settled", () => world.thread("free").settled.length > 0)
    const turns = Array.from({ length: 40 }, (_, index) => world.thread(`held-${index}`).turns)
    expect(turns.filter((count) => count > 0)).toHaveLength(1)
  })

  it("is told, and what waits for it writes nothing and rings nothing of its own", async () => {
    const world = makeOwnerWorld({ maxRunning: new Map([[limited, 1]]) })
    await submitAll(world)
    await world.alarmsUntil("the others are held", () =>
      names.slice(1).every((name) => world.lane(name)?.["work"] === `held:${limited}`),
    )
    await world.alarmsUntil("the pass is over", () => (world.storage.alarmAt() ?? 0) > Date.now())
    expect(world.storage.alarmAt()).toBeGreaterThan(Date.now() + 10_000)
    const status = await run(world.client.laneStatus({ ownerId, threadId: "a" as ThreadId }))
    expect(status).toMatchObject({ work: "held", running: false })
    const { obligations } = await run(world.client.obligations({ ownerId }))
    const held = obligations.filter(({ blocker }) => blocker === "held")
    expect(held).toHaveLength(names.length - 1)
    expect(held[0]).toMatchObject({ name: limited, threadId: "a" })
  })

  it("holds over a crash in the middle of a turn, whose outcome nobody knows", async () => {
    const world = makeWorld(2)
    await submitAll(world)
    for (let round = 0; round < 5; round++) {
      const object = { died: false }
      world.setFailpoints({
        reach: (point) =>
          Effect.suspend(() => {
            if (object.died || point !== "report:before") return Effect.void
            object.died = true
            world.crash()
            return Effect.never
          }),
      })
      // The pass that dies never returns: the test goes on once its object is dead.
      void (async () => {
        while (!object.died) {
          await world.deliver()
          await new Promise((resolve) => setImmediate(resolve))
        }
      })()
      await world.until("the object died", () => object.died)
      await world.alarmsUntil("two run", () => running(world).length === 2)
      const started = names.filter((name) => world.thread(name).queued > 0 && runsIn(world, name))
      expect(started.length).toBeLessThanOrEqual(2)
      const [first = ""] = running(world)
      await end(world, first)
    }
  })

  it("lets the first of those it holds go when a run ends, with no other stimulus", async () => {
    const world = makeOwnerWorld({ maxRunning: new Map([[limited, 1]]) })
    await submitAll(world)
    await world.alarmsUntil(
      "the rest is held",
      () => world.lane("d")?.["work"] === `held:${limited}`,
    )
    await world.alarmsUntil("the pass is over", () => (world.storage.alarmAt() ?? 0) > Date.now())
    await end(world, "z")
    await world.alarmsUntil("the next runs", () => runs(world, "m"))
    expect(running(world)).toEqual(["m"])
  })

  it("that a deployment raises or takes away holds nobody", async () => {
    for (const [limits, expected] of [
      [new Map([[limited, 3]]), 3],
      [new Map<AgentId, number>(), names.length],
    ] as const) {
      const world = makeWorld(1)
      await submitAll(world)
      await world.alarmsUntil("one runs", () => running(world).length === 1)
      world.crash({ maxRunning: limits })
      await world.alarmsUntil("so many run", () => running(world).length === expected)
      expect(running(world)).toEqual(names.slice(0, expected))
    }
  })

  it("is exact where a row of an older version tells no counts", async () => {
    const world = makeWorld(2)
    await submitAll(world)
    await world.alarmsUntil("two run", () => running(world).length === 2)
    world.storage.sql.run("UPDATE maintenance SET running_of = NULL")
    world.crash()
    await end(world, "z")
    await world.alarmsUntil("the third runs", () => runs(world, "a"))
    expect(running(world)).toEqual(["m", "a"])
  })
})

/** Whether its thread itself says so, whatever its owner has heard. */
const runsIn = (world: World, name: string): boolean =>
  world.thread(name).report().head?.state === "running"

describe("the limit of an agent", () => {
  it.each(["constructor", "toString", "valueOf", "__proto__"])(
    "holds whatever its name is (%s)",
    async (name) => {
      const agent = AgentId.make(name)
      const world = makeOwnerWorld({ maxRunning: new Map([[agent, 1]]) })
      for (const thread of ["a", "b"]) {
        world.thread(thread).turn = "run"
        await Effect.runPromise(world.submit(thread, thread, 1, agent))
      }
      const isHeld = () => String(world.lane("b")?.["work"]).startsWith("held")
      await world.alarmsUntil("both are known", () => isHeld() || world.thread("b").running)
      expect(["a", "b"].filter((thread) => world.thread(thread).running)).toHaveLength(1)
    },
  )
})

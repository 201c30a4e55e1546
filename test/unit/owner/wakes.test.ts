/** What has a pass look at its lanes again while calls of it are under way. */
import { Effect } from "effect"
import { afterEach, describe, expect, it, vi } from "vitest"
import { ready } from "./lanes.ts"
import { makeOwnerWorld } from "./OwnerWorld.ts"

afterEach(() => void vi.useRealTimers())

const run = Effect.runPromise

const aMinute = 60_000

/** A world in whose pass one call never ends. */
const busyWorld = async () => {
  const world = makeOwnerWorld({
    limits: { coverMillis: aMinute, mutationMillis: aMinute, dispatchGraceMillis: aMinute },
  })
  world.thread("busy").turn = "hang"
  await run(world.submit("busy"))
  return world
}

type World = Awaited<ReturnType<typeof busyWorld>>

const startPass = async (world: World): Promise<void> => {
  await world.until("its alarm is due", () => (world.storage.alarmAt() ?? Infinity) <= Date.now())
  void world.deliver()
  await world.until("the call is under way", () => world.thread("busy").turns > 0)
}

/** Lets everything run that can. */
const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

describe("a pass that waits", () => {
  it("is not woken by submits that are being admitted: it looks by itself before their cover ends", async () => {
    const world = await busyWorld()
    await startPass(world)
    const reached = new Map<string, number>()
    const count = (point: string) => reached.get(point) ?? 0
    world.setFailpoints({
      reach: (point) => Effect.sync(() => void reached.set(point, count(point) + 1)),
    })
    await settle()
    const before = count("select:before")
    for (let nth = 1; nth <= 10; nth++) {
      world.thread(`t${nth}`).receiving = "hang"
      void run(world.submit(`t${nth}`)).catch(() => undefined)
      await world.until("its lane is enrolled", () => count("enroll:after") === nth)
      await settle()
    }
    expect(count("select:before") - before).toBe(0)
  })

  it("is woken by what is due at once", async () => {
    const world = await busyWorld()
    await startPass(world)
    await settle()
    await run(world.submit("a"))
    await world.until("it is settled", () => world.thread("a").settled.length > 0)
  })

  it("finds what came due between its last look and its wait", async () => {
    vi.useFakeTimers({ toFake: ["Date"] })
    const world = await busyWorld()
    const dueAt = Date.now() + 50
    const thread = world.thread("a")
    thread.replaces = ready({ revision: 1, dueAt })
    thread.onTurn = () => void (thread.replaces = undefined)
    await run(world.submit("a"))
    world.setFailpoints({
      reach: (point) =>
        Effect.sync(() => {
          if (point === "select:after" && Date.now() < dueAt) vi.setSystemTime(dueAt + 5)
        }),
    })
    vi.setSystemTime(world.storage.alarmAt() ?? 0)
    await startPass(world)
    await vi.waitUntil(() => thread.settled.length > 0)
  })
})

/** An owner enters the registry: owed beside its first mutation, whatever happens, and once. */
import { Effect } from "effect"
import { afterEach, describe, expect, it, vi } from "vitest"
import { entered, isDue, owedFromNow } from "../../../owner-object/Entry.ts"
import { makeRegistry } from "./makeRegistry.ts"
import { olderTables } from "./olderTables.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"
import { limits, now } from "./lanes.ts"

const run = Effect.runPromise

const makeWorld = (options: WorldOptions = {}) => {
  const registry = makeRegistry()
  const world = makeOwnerWorld({ registry: registry.target, ...options })
  const entry = (): unknown => {
    const text = world.storage.sql.all("SELECT entry FROM maintenance")[0]?.["entry"]
    return typeof text === "string" ? JSON.parse(text) : text
  }
  return { world, registry, entry }
}

const slowRetry = { registryRetryMillis: 60_000, registryRetryMaxMillis: 60_000 }

/** What goes on in time that passes by turns of the event loop, so that the same happens in it each time. */
const inSteadyTime = async <A>(work: Promise<A>): Promise<A> => {
  const seen = { isOver: false }
  const ends = work.finally(() => void (seen.isOver = true))
  while (!seen.isOver) {
    for (let turn = 0; turn < 12; turn++) await new Promise((resolve) => setImmediate(resolve))
    await vi.advanceTimersByTimeAsync(1)
  }
  return ends
}

const nobody = new Promise<never>(() => undefined)

describe("an owner", () => {
  afterEach(() => void vi.useRealTimers())

  it("enters the registry in the pass of its first mutation, and never again", async () => {
    const { entry, registry, world } = makeWorld()
    await run(world.submit("a"))
    expect(entry()).toMatchObject({ _tag: "Owed", tries: 0 })
    expect(registry.state.calls).toBe(0)
    await world.quiet()
    expect(registry.rows()).toMatchObject([{ owner_id: ownerId }])
    expect(entry()).toEqual({ _tag: "Entered" })
    await run(world.submit("b"))
    world.crash()
    await run(world.submit("c"))
    await world.quiet()
    expect(registry.state.calls).toBe(1)
  })

  it("gives its receipt while the registry hangs, and has its lanes served", async () => {
    const { registry, world } = makeWorld({ limits: { registryMillis: 500 } })
    registry.state.mood = "hangs"
    await run(world.submit("a"))
    const pass = world.alarmsUntil("settled", () => world.thread("a").settled.length === 1)
    await world.until("settled", () => world.thread("a").settled.length === 1)
    await run(world.submit("b"))
    await world.until("the next, too", () => world.thread("b").settled.length === 1)
    expect({ calls: registry.state.calls, passEnded: !world.isDelivering() }).toEqual({
      calls: 1,
      passEnded: false,
    })
    await pass
    registry.state.mood = "here"
    await world.quiet()
    expect(registry.rows()).toHaveLength(1)
  })

  for (const mood of ["away", "mute", "hangs"] as const) {
    it(`tries again, less and less often, while the registry is ${mood}`, async () => {
      const { entry, registry, world } = makeWorld({
        limits: {
          registryMillis: 5,
          registryRetryMillis: 100,
          registryRetryMaxMillis: 400,
        },
      })
      registry.state.mood = mood
      await run(world.submit("a"))
      const waits = []
      for (let tries = 1; tries <= 4; tries++) {
        const before = Date.now()
        await world.alarmsUntil(`try ${tries} has ended`, () => {
          const owed = entry() as { tries: number }
          return owed.tries === tries && !world.isDelivering()
        })
        const owed = entry() as { dueAt: number }
        expect(world.storage.alarmAt()).toBe(owed.dueAt)
        waits.push(Math.round((owed.dueAt - before) / 100))
        // The next try is due now, as if its time had come.
        world.storage.sql.run(
          "UPDATE maintenance SET entry = ?",
          JSON.stringify({ ...owed, dueAt: Date.now() }),
        )
        world.storage.alarm.set(Date.now())
        world.crash()
      }
      expect(waits).toEqual([1, 2, 4, 4])
      expect(registry.state.calls).toBe(4)
      registry.state.mood = "here"
      await world.quiet()
      expect(entry()).toEqual({ _tag: "Entered" })
      expect(registry.rows()).toHaveLength(1)
    })
  }

  it("that dies in its call of the registry does not repeat it before its backoff", async () => {
    const { entry, registry, world } = makeWorld({ limits: slowRetry })
    const died = new Promise<void>((resolve) => {
      world.setFailpoints({
        reach: (point) =>
          Effect.suspend(() => {
            if (point !== "enter:before") return Effect.void
            world.setFailpoints({ reach: () => Effect.void })
            world.crash()
            resolve()
            return Effect.promise(() => nobody)
          }),
      })
    })
    await run(world.submit("a"))
    void world.alarmsUntil("dead", () => registry.state.calls > 0).catch(() => undefined)
    await died
    await world.alarmsUntil("settled, and the pass is over", () => {
      const later = (world.storage.alarmAt() ?? 0) > Date.now() + 30_000
      return world.thread("a").settled.length === 1 && later
    })
    expect(registry.state.calls).toBe(1)
    expect(entry()).toMatchObject({ _tag: "Owed", tries: 1 })
    expect(world.storage.alarmAt()).toBe((entry() as { dueAt: number }).dueAt)
  })

  it("whose alarm for its entry is lost sets it again at the next request", async () => {
    const { entry, registry, world } = makeWorld({ limits: slowRetry })
    registry.state.mood = "away"
    await run(world.submit("a"))
    await world.alarmsUntil("only the entry is owed", () => {
      const settled = world.thread("a").settled.length === 1
      return settled && registry.state.calls === 1 && !world.isDelivering()
    })
    world.storage.alarm.delete()
    world.crash()
    await run(world.client.maintenanceStatus({ ownerId }))
    expect(world.storage.alarmAt()).toBe((entry() as { dueAt: number }).dueAt)
  })

  it("of tables from before there was a registry enters with its next mutation", async () => {
    const { entry, registry, world } = makeWorld()
    await run(world.submit("a"))
    await world.quiet()
    olderTables(world.storage.sql, 2)
    registry.storage.sql.run("DELETE FROM owners")
    world.crash()
    const before = world.storage.dump()
    await run(world.client.maintenanceStatus({ ownerId }))
    expect(world.storage.dump()).toBe(before)
    await run(world.submit("a"))
    await world.quiet()
    expect(entry()).toEqual({ _tag: "Entered" })
    expect(registry.rows()).toHaveLength(1)
  })

  it("of such tables ends an unfinished pass although nothing is due", async () => {
    const { world } = makeWorld()
    await run(world.submit("a"))
    await world.quiet()
    olderTables(world.storage.sql, 2)
    world.storage.sql.run("UPDATE maintenance SET unfinished = 1")
    world.storage.alarm.set(Date.now())
    world.crash()
    await world.quiet()
    expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
      unfinishedPasses: 0,
    })
  })

  it("of a deployment without a registry owes no entry", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    expect(world.storage.sql.all("SELECT entry FROM maintenance")).toEqual([{ entry: null }])
  })

  it("that owed its entry when the registry was taken away is quiet without it", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    world.storage.sql.run(
      "UPDATE maintenance SET entry = ?",
      JSON.stringify({ _tag: "Owed", tries: 3, dueAt: 1 }),
    )
    world.crash()
    await run(world.client.maintenanceStatus({ ownerId }))
    expect(world.storage.alarmAt()).toBeNull()
    await run(world.submit("a"))
    await world.quiet()
  })

  it("that has entered and is idle writes nothing for it, and a submission no row more", async () => {
    const written = async (world: ReturnType<typeof makeOwnerWorld>) => {
      await run(world.submit("a"))
      await world.quiet()
      const before = world.storage.counts().written
      for (let index = 0; index < 5; index++) {
        await run(world.submit("a"))
        await world.quiet()
      }
      const after = world.storage.counts().written
      world.storage.alarm.set(Date.now())
      await world.quiet()
      return { five: after - before, idle: world.storage.counts().written - after }
    }
    vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] })
    const entering = await inSteadyTime(written(makeWorld().world))
    const without = await inSteadyTime(written(makeOwnerWorld()))
    expect(entering).toEqual(without)
    expect(entering.idle).toBe(0)
  })
})

describe("the entry", () => {
  it("goes with any pass until its first try, and then at its time", () => {
    const owed = owedFromNow({ _tag: "None" }, now, limits)
    expect(owed).toEqual({ _tag: "Owed", tries: 0, dueAt: now + limits.coverMillis })
    expect(isDue(owed, true, now)).toBe(true)
    expect(isDue(owed, false, now + 1_000_000)).toBe(false)
    const tried = { _tag: "Owed", tries: 1, dueAt: now + 5 } as const
    expect([4, 5].map((later) => isDue(tried, true, now + later))).toEqual([false, true])
    expect(owedFromNow(tried, now, limits)).toBe(tried)
    expect(owedFromNow(entered, now, limits)).toBe(entered)
  })
})

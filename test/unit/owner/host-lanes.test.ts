/** Host lanes: finite waves of the application's own, beside all that threads need. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { checkHostLanes, type HostLane } from "../../../owner-object/HostLane.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"
import { limits } from "./lanes.ts"

const run = Effect.runPromise

/** A lane whose waves do this, while it wants them. */
const laneOf = (wave: (n: number) => Effect.Effect<unknown, unknown>, wants = Infinity) => {
  const state = { waves: 0, nextAt: 1 as number | undefined }
  const lane: HostLane = {
    name: "imports",
    allowanceMillis: 20,
    run: () => Effect.suspend(() => wave(++state.waves)),
    nextDeadline: () => Effect.sync(() => (state.waves < wants ? state.nextAt : undefined)),
  }
  return { state, lane }
}

const fast = { hostPauseMillis: 5, hostRetryMillis: 5, hostRetryMaxMillis: 20 }

const makeWorld = (lane: HostLane, options: WorldOptions = {}) =>
  makeOwnerWorld({ hostLanes: [lane], ...options, limits: { ...fast, ...options.limits } })

const statusOf = async (world: ReturnType<typeof makeOwnerWorld>) =>
  (await run(world.client.maintenanceStatus({ ownerId }))).hostLanes?.[0]

/** Holds the object for a while, as a computation does. */
const compute = (millis: number) =>
  Effect.sync(() => {
    const until = performance.now() + millis
    while (performance.now() < until);
  })

describe("a host lane", () => {
  it("runs a wave at a time until it wants no more, and then no alarm stands", async () => {
    let running = 0
    const { lane, state } = laneOf(
      () =>
        Effect.gen(function* () {
          running += 1
          expect(running).toBe(1)
          yield* Effect.sleep(2)
          running -= 1
        }),
      3,
    )
    // More than a slow machine takes for a wave.
    const world = makeWorld({ ...lane, allowanceMillis: 5_000 })
    await run(world.submit("a"))
    await world.alarmsUntil("three waves", () => state.waves === 3)
    await world.quiet()
    expect(state.waves).toBe(3)
    expect(await statusOf(world)).toEqual({ name: "imports", state: "idle", failures: 0 })
  })

  it("that hangs holds up no thread and is interrupted when its allowance is spent", async () => {
    let interrupted = 0
    const { lane, state } = laneOf(() =>
      Effect.onInterrupt(Effect.never, () => Effect.sync(() => (interrupted += 1))),
    )
    const world = makeWorld(
      { ...lane, allowanceMillis: 200 },
      { limits: { hostRetryMillis: 60_000, hostRetryMaxMillis: 60_000 } },
    )
    await run(world.submit("a"))
    const alarms = world.alarmsUntil("interrupted", () => interrupted === 1)
    await world.until("it hangs", () => state.waves === 1)
    await run(world.submit("b"))
    await world.until("the thread is served", () => world.thread("b").settled.length === 1)
    expect(interrupted).toBe(0)
    await alarms
    await world.until("committed", () => !world.isDelivering())
    expect(await statusOf(world)).toMatchObject({ state: "waiting", failures: 1 })
    expect(world.storage.alarmAt()).toBeGreaterThan(Date.now() + 30_000)
  })

  it("whose time is told from the clock comes at the time that was told first", async () => {
    const { lane, state } = laneOf(() => Effect.void)
    const world = makeWorld({
      ...lane,
      allowanceMillis: 5_000,
      nextDeadline: ({ now }) => Effect.succeed(state.waves < 2 ? now + 100 : undefined),
    })
    await run(world.submit("a"))
    await world.alarmsUntil("two waves", () => state.waves === 2)
    await world.quiet()
    expect(await statusOf(world)).toMatchObject({ state: "idle", failures: 0 })
  })

  it("is asked again by the alarm where its object dies before the answer", async () => {
    const { lane, state } = laneOf(() => Effect.void, 1)
    let isSilent = true
    const world = makeWorld(
      { ...lane, nextDeadline: (about) => (isSilent ? Effect.never : lane.nextDeadline(about)) },
      { limits: { hostReadMillis: 200 } },
    )
    await run(world.submit("a"))
    await world.alarmsUntil("settled", () => world.thread("a").settled.length === 1)
    await world.until("its event has ended", () => !world.isDelivering())
    expect(world.storage.alarmAt()).not.toBeNull()
    world.crash()
    isSilent = false
    await world.alarmsUntil("a wave", () => state.waves === 1)
    await world.quiet()
    expect(await statusOf(world)).toMatchObject({ state: "idle", failures: 0 })
  })

  /** A lane whose questions are answered when the test says so, with what was so as each was asked. */
  const slowLane = () => {
    const { lane, state } = laneOf(() => Effect.sync(() => (state.nextAt = undefined)))
    const asked: Array<() => void> = []
    const slow = { isSlow: true }
    const nextDeadline = () =>
      Effect.suspend(() => {
        const told = state.nextAt
        if (!slow.isSlow) return Effect.succeed(told)
        return Effect.promise(
          () => new Promise<typeof told>((done) => asked.push(() => done(told))),
        )
      })
    return { asked, lane: { ...lane, allowanceMillis: 5_000, nextDeadline }, slow, state }
  }

  it("is asked once more where an event asks during the question", async () => {
    const { asked, lane, slow, state } = slowLane()
    state.nextAt = undefined
    const world = makeWorld(lane, { limits: { hostReadMillis: 60_000 } })
    await run(world.submit("a"))
    await world.alarmsUntil("settled", () => world.thread("a").settled.length === 1)
    await world.until("its event has ended", () => !world.isDelivering())
    expect(asked).toHaveLength(1)
    state.nextAt = 1
    await run(world.submit("b"))
    await world.alarmsUntil("settled", () => world.thread("b").settled.length === 1)
    await world.until("its event has ended", () => !world.isDelivering())
    slow.isSlow = false
    asked[0]?.()
    await world.alarmsUntil("a wave", () => state.waves === 1)
  })

  it("is asked by the life that begins during the question", async () => {
    const { asked, lane, slow, state } = slowLane()
    slow.isSlow = false
    state.nextAt = undefined
    let fails = false
    const world = makeWorld(lane, {
      limits: { hostReadMillis: 60_000 },
      storageFault: (use) => {
        if (use !== "transaction" || !fails) return
        fails = false
        throw new Error("the storage failed")
      },
    })
    await run(world.submit("a"))
    await world.quiet()
    world.crash()
    slow.isSlow = true
    await statusOf(world)
    await world.until("it is asked", () => asked.length === 1)
    // A block fails, which ends this life; the next one is begun by a read.
    fails = true
    await run(Effect.exit(world.submit("a")))
    state.nextAt = 1
    slow.isSlow = false
    await statusOf(world)
    asked[0]?.()
    await world.alarmsUntil("a wave", () => state.waves === 1)
  })

  it("that wants its next wave at no time that is counted wants none", async () => {
    for (const never of [Number.MAX_SAFE_INTEGER, Infinity]) {
      const { lane, state } = laneOf(() => Effect.sync(() => (state.nextAt = never)))
      const world = makeWorld({ ...lane, allowanceMillis: 5_000 })
      await run(world.submit("a"))
      await world.alarmsUntil("a wave", () => state.waves === 1)
      await world.quiet()
      expect(await statusOf(world)).toEqual({ name: "imports", state: "idle", failures: 0 })
    }
  })

  it("of which a time is stored that no alarm can have wants none", async () => {
    const { lane, state } = laneOf(() => Effect.void, 1)
    let isSilent = false
    const world = makeWorld(
      {
        ...lane,
        allowanceMillis: 5_000,
        nextDeadline: (about) => (isSilent ? Effect.never : lane.nextDeadline(about)),
      },
      { limits: { hostReadMillis: 60_000 } },
    )
    await run(world.submit("a"))
    await world.alarmsUntil("a wave", () => state.waves === 1)
    await world.quiet()
    isSilent = true
    const stored = { imports: { nextAt: Number.MAX_SAFE_INTEGER, failures: 0, offences: 0 } }
    world.storage.sql.run("UPDATE maintenance SET host_lanes = ?", JSON.stringify(stored))
    world.crash()
    expect(await statusOf(world)).toEqual({ name: "imports", state: "idle", failures: 0 })
  })

  it("as long as a whole event has its waves", async () => {
    const { lane, state } = laneOf(() => Effect.void, 1)
    const world = makeWorld(
      { ...lane, allowanceMillis: 1_000 },
      { limits: { passYieldMillis: 1_000, letGoMillis: 1_000 } },
    )
    let selects = 0
    world.setFailpoints({
      // No event looks at its lanes in the very millisecond in which it starts.
      reach: (point) =>
        Effect.suspend(() => {
          if (point !== "select:before") return Effect.void
          selects += 1
          return Effect.sleep(3)
        }),
    })
    await run(world.submit("a"))
    await world.alarmsUntil("a wave", () => state.waves === 1 || selects > 100)
    expect(state.waves).toBe(1)
    await world.quiet()
  })

  it("that fails waits longer each time, once an event, and is forgiven when it succeeds", async () => {
    const { lane, state } = laneOf((n) => (n < 4 ? Effect.fail("no") : Effect.void), 4)
    const world = makeWorld(lane)
    await run(world.submit("a"))
    await world.alarmsUntil("failed", () => state.waves === 3)
    await world.quiet()
    expect(state.waves).toBe(4)
    expect(await statusOf(world)).toMatchObject({ state: "idle", failures: 0 })
  })

  it("that has failed is not started again in the same event", async () => {
    let begin: () => void = () => undefined
    const begun = new Promise<void>((resolve) => (begin = resolve))
    let end: () => void = () => undefined
    const held = new Promise<void>((resolve) => (end = resolve))
    let failed = false
    // It fails while the other one runs, so in an event that goes on.
    const failsOnce = Effect.andThen(
      Effect.promise(() => begun),
      Effect.suspend(() => ((failed = true), Effect.fail("no"))),
    )
    const failing = laneOf((n) => (n === 1 ? failsOnce : Effect.void), 2)
    const holding = laneOf(() => Effect.suspend(() => (begin(), Effect.promise(() => held))), 1)
    // More than a slow machine takes for all of this.
    const allowanceMillis = 20_000
    const hostLanes = [
      { ...failing.lane, allowanceMillis },
      { ...holding.lane, name: "holder", allowanceMillis },
    ]
    const world = makeOwnerWorld({ hostLanes, limits: fast })
    await run(world.submit("a"))
    const alarms = world.alarmsUntil("again", () => failing.state.waves === 2)
    await world.until("it has failed", () => failed)
    const since = Date.now()
    await world.until("its backoff is over", () => Date.now() > since + 50)
    await run(world.submit("b"))
    await world.until("the event goes on", () => world.thread("b").settled.length === 1)
    expect(failing.state.waves).toBe(1)
    end()
    await alarms
    await world.quiet()
  })

  it("that kills its object has been charged, and comes back after its backoff", async () => {
    const { lane, state } = laneOf(() =>
      Effect.suspend(() => {
        world.crash()
        return Effect.never
      }),
    )
    const world = makeWorld(
      { ...lane, allowanceMillis: 5_000 },
      { limits: { hostRetryMillis: 60_000, hostRetryMaxMillis: 60_000 } },
    )
    await run(world.submit("a"))
    await world.alarmsUntil("it died", () => state.waves === 1)
    await world.alarmsUntil("it waits", () => (world.storage.alarmAt() ?? 0) > Date.now() + 30_000)
    expect(state.waves).toBe(1)
    expect(await statusOf(world)).toMatchObject({ failures: 1, state: "waiting" })
  })

  it("that ignores its interruption keeps its next waves from starting, each a failure", async () => {
    let end: () => void = () => undefined
    const stubborn = new Promise<void>((resolve) => (end = resolve))
    const { lane, state } = laneOf(
      (n) => (n === 1 ? Effect.uninterruptible(Effect.promise(() => stubborn)) : Effect.void),
      2,
    )
    const world = makeWorld(lane)
    await run(world.submit("a"))
    const failures = () => {
      const row = world.storage.sql.all("SELECT host_lanes FROM maintenance")[0]?.["host_lanes"]
      return typeof row === "string"
        ? (JSON.parse(row) as { imports: { failures: number } }).imports.failures
        : 0
    }
    await world.alarmsUntil("more failed", () => failures() >= 4)
    expect(state.waves).toBe(1)
    end()
    await world.alarmsUntil("the second ran", () => state.waves === 2)
    await world.quiet()
  })

  it("whose turns hold the object is stopped and shown, until another version is deployed", async () => {
    const { lane, state } = laneOf(() => compute(30))
    const world = makeWorld(lane, { limits: { hostTurnMillis: 15 } })
    await run(world.submit("a"))
    await world.quiet()
    expect(state.waves).toBe(3)
    expect(await statusOf(world)).toMatchObject({ state: "stopped", stopped: "v1" })
    world.crash()
    await run(world.submit("b"))
    await world.quiet()
    expect(state.waves).toBe(3)
    world.crash({ codeVersion: "v2" })
    await run(world.submit("c"))
    await world.alarmsUntil("it runs again", () => state.waves > 3)
  })

  it("wakes its owner again when its deadline appears after all was quiet", async () => {
    const { lane, state } = laneOf(() => Effect.void, 1)
    state.nextAt = undefined
    const world = makeWorld(lane)
    await run(world.submit("a"))
    await world.quiet()
    state.nextAt = 1
    world.crash()
    await statusOf(world)
    await world.alarmsUntil("the wave was made", () => state.waves === 1)
    await world.quiet()
  })

  it("that cannot tell its time, or throws at once, fails alone", async () => {
    const lane: HostLane = {
      name: "broken",
      allowanceMillis: 20,
      run: () => {
        throw new Error("at once")
      },
      nextDeadline: () => {
        throw new Error("at once")
      },
    }
    const world = makeWorld(lane)
    await run(world.submit("a"))
    await world.alarmsUntil("served", () => world.thread("a").settled.length === 1)
    await world.alarmsUntil("failed", () => (world.storage.alarmAt() ?? 0) > Date.now())
    expect(await statusOf(world)).toMatchObject({ name: "broken", state: "waiting" })
  })

  it("cannot be deployed without a sound allowance and a name of its own", () => {
    const { lane } = laneOf(() => Effect.void)
    for (const allowanceMillis of [0, 300_001, 1.5, Number.NaN])
      expect(() => checkHostLanes([{ ...lane, allowanceMillis }], limits)).toThrow(TypeError)
    expect(() => checkHostLanes([lane, lane], limits)).toThrow("Two host lanes")
    expect(() =>
      checkHostLanes([{ ...lane, allowanceMillis: 100 }], { ...limits, passYieldMillis: 50 }),
    ).toThrow("passYieldMillis")
  })
})

/** The owner dies at every failpoint, its storage fails at every block, messages are lost and late. */
import { Effect, Exit, Fiber } from "effect"
import { describe, expect, it } from "vitest"
import type { IdempotencyKey, ThreadId } from "../../../contracts/Identifiers.ts"
import type { HostLane } from "../../../owner-object/HostLane.ts"
import { ownerFailpoints } from "../../../owner-object/Owner.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import { messageTo } from "./FakeOutbox.ts"
import { makeSink } from "./FakePublication.ts"
import { makeRegistry } from "./makeRegistry.ts"
import { agent, makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise

/** A promise that the test resolves. */
const gate = () => {
  let open: () => void = () => undefined
  const opened = new Promise<void>((resolve) => (open = resolve))
  return { open, opened }
}

type World = ReturnType<typeof makeOwnerWorld>

/** Dies at a point, the first time it is reached, and never comes back from it. */
const dieAt = (world: World, point: string) => {
  const died = gate()
  let armed = true
  world.setFailpoints({
    reach: (reached) =>
      Effect.suspend(() => {
        if (!armed || reached !== point) return Effect.void
        armed = false
        world.crash()
        died.open()
        return Effect.never
      }),
  })
  return { died: died.opened, reached: () => !armed }
}

/** What has to happen before a point can be reached at all. */
const prepare = (world: World, name: string): void => {
  const thread = world.thread("a")
  if (name === "recover" || name === "fault") thread.lost = true
  if (name === "fault") thread.recovery = "fail"
  if (name === "visit") thread.turn = "fail"
  if (name === "binding") thread.turn = "binding"
  if (name === "publish") thread.publication.isOn = true
  if (carries(name)) thread.sends(messageTo({ ownerId, threadId: "c" }, "for c"))
}

/** Points that only the carrying of an outbox reaches. */
const carries = (name: string): boolean => ["claim", "deliver", "acknowledge"].includes(name)

/** A host lane with one wave to make. */
const onceLane = () => {
  const hosted = { waves: 0, lane: undefined as unknown as HostLane }
  hosted.lane = {
    name: "once",
    allowanceMillis: 20,
    run: () => Effect.sync(() => (hosted.waves += 1)),
    nextDeadline: () => Effect.sync(() => (hosted.waves === 0 ? 1 : undefined)),
  }
  return hosted
}

/** Points that only a forgetting reaches. */
const forgets = (name: string): boolean => name === "condemn" || name === "forget"

const forgetThread = (world: World) =>
  world.client.forgetThread({
    ownerId,
    threadId: "b" as ThreadId,
    author: "ann",
    reason: "asked to",
    abort: true,
  })

const submitMany = (world: World) =>
  world.client.submitMany({
    ownerId,
    submissions: ["a 1", "b 1", "a 2"].map((text) => ({
      threadId: text.slice(0, 1) as ThreadId,
      agent,
      input: null,
      idempotencyKey: text as IdempotencyKey,
    })),
  })

describe("an owner that dies", () => {
  for (const name of ownerFailpoints) {
    for (const side of ["before", "after"]) {
      it(`at ${name}:${side} settles the input exactly once, by the alarm alone`, async () => {
        const registry = makeRegistry()
        const hosted = onceLane()
        const taken = makeSink()
        const world = makeOwnerWorld({
          limits: { bindingWaitMillis: 5, faultRetryMillis: 5, hostRetryMillis: 5 },
          registry: registry.target,
          ...(name === "publish" ? { sink: taken.sink } : {}),
          ...(name === "host" ? { hostLanes: [hosted.lane] } : {}),
        })
        prepare(world, name)
        const { died, reached } = dieAt(world, `${name}:${side}`)
        const first = Effect.runFork(world.submit("a", "once"))
        if (forgets(name)) Effect.runFork(forgetThread(world))
        const alarms = (async () => {
          while (!reached()) {
            // A pass would take what has ended into a block of its own, and there would be none to finish it.
            if (name !== "finish") await world.deliver().catch(() => undefined)
            await new Promise((resolve) => setImmediate(resolve))
          }
        })()
        // A pass that died never returns from its alarm: the test goes on when the object is dead.
        await Promise.race([died, alarms.then(() => died)])
        world.thread("a").turn = "settle"
        world.thread("a").recovery = "repair"
        const received = Fiber.await(first)
        if (name === "enroll" || name === "body") {
          const receipt = await run(world.submit("a", "once"))
          expect(receipt.sequence).toBe(1)
        } else {
          expect(Exit.isSuccess(await run(received))).toBe(true)
        }
        // What nobody was told and nothing holds is not done by itself: its caller repeats it.
        if (name === "condemn" && side === "before") await run(forgetThread(world))
        await world.quiet()
        expect(world.thread("a").settled).toEqual([1])
        if (forgets(name)) {
          expect(world.thread("b").forgottenAt).toBeDefined()
          expect(world.lane("b")).toBeUndefined()
        }
        if (carries(name)) {
          expect(world.thread("a").outbox.entries).toEqual([])
          expect(world.thread("c").admitted).toMatchObject([{ input: "for c" }])
          expect(world.thread("c").settled).toEqual([1])
        }
        if (name === "publish") {
          const seen = taken.sequencesOf("a")
          expect(seen.filter((sequence, at) => seen.indexOf(sequence) === at)).toEqual([1, 2])
          expect(taken.batches.length).toBe(side === "after" ? 2 : 1)
          expect(world.thread("a").publication.published).toBe(2)
        }
        if (name === "host") {
          expect(hosted.waves).toBeGreaterThan(0)
          expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
            hostLanes: [{ name: "once", state: "idle" }],
          })
        }
        expect(registry.rows()).toMatchObject([{ owner_id: ownerId }])
        expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
          nonterminal: 0,
          dueLanes: 0,
          unfinishedPasses: 0,
        })
      })
    }
  }

  for (const name of ["enroll", "body", "finish"]) {
    for (const side of ["before", "after"]) {
      it(`at ${name}:${side} of many submissions settles each exactly once`, async () => {
        const world = makeOwnerWorld()
        const { died } = dieAt(world, `${name}:${side}`)
        const first = Effect.runFork(submitMany(world))
        await died
        if (name === "finish") await run(Fiber.await(first))
        const { outcomes } = await run(submitMany(world))
        expect(outcomes.map(({ _tag }) => _tag)).toEqual(["Accepted", "Accepted", "Accepted"])
        await world.quiet()
        expect(world.thread("a").settled).toEqual([1, 2])
        expect(world.thread("b").settled).toEqual([1])
        expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
          nonterminal: 0,
          lanes: 2,
          dueLanes: 0,
        })
      })
    }
  }

  it("after the thread accepted and before it heard of it owes the work, and does it", async () => {
    const world = makeOwnerWorld()
    const { died } = dieAt(world, "body:after")
    Effect.runFork(world.submit("a"))
    await died
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("twice in the same pass does not come back twenty times a second", async () => {
    const world = makeOwnerWorld({ limits: { passRetryMillis: 50, passRetryMaxMillis: 60_000 } })
    await run(world.submit("a"))
    await world.until("the alarm is due", () => (world.storage.alarmAt() ?? Infinity) <= Date.now())
    const waits = []
    for (let index = 0; index < 4; index++) {
      const { died } = dieAt(world, "begin:after")
      world.storage.alarm.set(Date.now() - 1)
      void world.deliver()
      await died
      waits.push((world.storage.alarmAt() ?? 0) - Date.now())
    }
    expect(waits.map((wait) => Math.round(wait / 50))).toEqual([1, 2, 4, 8])
  })
})

describe("a lost submission", () => {
  it("is not made by a pass that visits while a mutation is in flight and an owner that dies", async () => {
    const landing = gate()
    const sent = gate()
    const world = makeOwnerWorld({
      hooks: {
        request: async (message): Promise<Fate> => {
          if (message._tag === "Request" && message.tag === "admit") {
            sent.open()
            await landing.opened
          }
          return "deliver"
        },
      },
    })
    Effect.runFork(world.submit("a", "k"))
    await sent.opened
    // A wake has the lane visited although its mutation is under way: such a visit has no fence.
    await run(world.client.wake({ ownerId, threadId: "a" as ThreadId }))
    await world.alarmsUntil("the lane was visited", () => world.thread("a").visits === 1)
    expect(world.lane("a")).toMatchObject({ enrolled: expect.any(String) })
    expect(world.thread("a").fence).toBeUndefined()
    world.crash()
    landing.open()
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("is not made by a request that lands after its caller died and the lane was visited", async () => {
    const landing = gate()
    const sent = gate()
    let held = true
    const world = makeOwnerWorld({
      hooks: {
        request: async (message): Promise<Fate> => {
          if (held && message._tag === "Request" && message.tag === "admit") {
            held = false
            sent.open()
            await landing.opened
          }
          return "deliver"
        },
      },
    })
    const dead = Effect.runFork(world.submit("a", "k"))
    await sent.opened
    world.crash()
    await world.quiet()
    expect(world.thread("a").fence).toBeDefined()
    landing.open()
    await run(Fiber.await(dead))
    expect(world.thread("a").queued).toBe(0)
    const receipt = await run(world.submit("a", "k"))
    expect(receipt).toMatchObject({ sequence: 1, duplicate: false })
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("is not made by a submit that reports a running head", async () => {
    const world = makeOwnerWorld({ limits: { watchMillis: 30, watchMaxMillis: 30 } })
    world.thread("a").turn = "run"
    await run(world.submit("a"))
    await world.alarmsUntil("the run is told", () => world.thread("a").turns > 0)
    await run(world.submit("a"))
    await world.alarmsUntil("the second is finished", () => world.lane("a")?.["enrolled"] === null)
    expect(world.storage.alarmAt()).not.toBeNull()
    // The end of the run is pushed as a report, and the report is lost.
    world.thread("a").turn = "settle"
    world.thread("a").endRun()
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1, 2])
  })

  it("is not made by a reply that is lost", async () => {
    let lose = true
    const world = makeOwnerWorld({
      hooks: {
        reply: (message) => {
          if (!lose || message._tag !== "Request" || message.tag !== "admit") return "deliver"
          lose = false
          return "drop"
        },
      },
    })
    const exit = await run(Effect.exit(world.submit("a", "k")))
    expect(Exit.isFailure(exit) && String(exit.cause)).toContain("Unavailable")
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
    expect(await run(world.submit("a", "k"))).toMatchObject({ sequence: 1, duplicate: true })
  })
})

const hostile: unknown = new Proxy(
  {},
  {
    get: () => {
      throw new Error("looked at")
    },
    ownKeys: () => {
      throw new Error("listed")
    },
    getPrototypeOf: () => {
      throw new Error("asked what it is")
    },
  },
)

const circular = new Error("disk")
circular.cause = circular

describe("storage that fails", () => {
  const uses = ["transaction", "commit"] as const
  it.each(uses)(
    "at the %s of any one block leaves an alarm, and the input settles once",
    async (failingUse) => {
      for (let failing = 1; failing <= 12; failing++) {
        let blocks = 0
        const world = makeOwnerWorld({
          storageFault: (use) => {
            if (use === failingUse && ++blocks === failing) throw new Error("disk I/O error")
          },
        })
        const first = await run(Effect.exit(world.submit("a", "k")))
        if (Exit.isFailure(first)) {
          expect(String(first.cause)).toContain("StorageUnavailable")
          await run(world.submit("a", "k"))
        }
        await world.alarmsUntil(`settled, block ${failing} failing`, () => {
          const owes = world.thread("a").queued > 0
          if (owes) expect(world.storage.alarmAt() !== null || world.isDelivering()).toBe(true)
          return world.thread("a").settled.length === 1
        })
        await world.quiet()
        expect(world.thread("a").settled).toEqual([1])
      }
    },
  )

  it.each([
    ["an object without a prototype", Object.create(null)],
    ["what throws when it is looked at", hostile],
    ["nothing", undefined],
    ["a symbol", Symbol("disk")],
    ["an error that contains itself", circular],
  ])("with %s is told as such, and leaves an alarm", async (_, thrown: unknown) => {
    let failing = false
    const world = makeOwnerWorld({
      limits: { alarmFallbackMillis: 1 },
      storageFault: (use) => {
        if (failing && use === "commit") throw thrown
      },
    })
    await run(world.submit("a", "k"))
    failing = true
    expect(await run(Effect.flip(world.submit("a", "l")))).toMatchObject({
      _tag: "StorageUnavailable",
    })
    world.storage.alarm.delete()
    await world.runtime().alarm()
    expect(world.storage.alarmAt()).not.toBeNull()
    failing = false
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("at the start for ten times answers each event alone and heals", async () => {
    let failures = 0
    let failing = false
    const world = makeOwnerWorld({
      limits: { alarmFallbackMillis: 1 },
      storageFault: (use) => {
        if (!failing || use !== "alarm") return
        failures += 1
        throw new Error("could not be read")
      },
    })
    await run(world.submit("a"))
    world.crash()
    failing = true
    const refused = await run(Effect.exit(world.client.maintenanceStatus({ ownerId })))
    expect(Exit.isFailure(refused) && String(refused.cause)).toContain("Unavailable")
    await world.alarmsUntil("it failed ten times", () => {
      expect(world.storage.alarmAt()).not.toBeNull()
      return failures >= 10
    })
    failing = false
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })
})

describe("an alarm", () => {
  it("that is missing or long overdue is repaired by any request, and only then", async () => {
    const world = makeOwnerWorld({ limits: { coverMillis: 5_000 } })
    await run(world.submit("a"))
    world.thread("a").turn = "hang"
    const status = () => run(world.client.maintenanceStatus({ ownerId }))
    await status()
    for (const lostAt of [null, Date.now() - 61_000]) {
      if (lostAt === null) world.storage.alarm.delete()
      else world.storage.alarm.set(lostAt)
      world.crash()
      await status()
      expect(world.storage.alarmAt()).toBeGreaterThan(Date.now() - 1_000)
    }
    const dueAt = Date.now() - 30_000
    world.storage.alarm.set(dueAt)
    world.crash()
    await status()
    await run(world.submit("b"))
    expect(world.storage.alarmAt()).toBe(dueAt)
  })

  it("of a due lane is served while 64 clients submit without pause", async () => {
    const world = makeOwnerWorld({ alarmLagMillis: 20 })
    await run(world.submit("due"))
    const served = () => world.thread("due").settled.length > 0
    const accepted: Array<number> = []
    const clients = Array.from({ length: 64 }, async (_, index) => {
      let count = 0
      for (; count < 50 && !served(); count++) {
        await run(Effect.exit(world.submit(`busy-${index}`)))
        await new Promise((resolve) => setImmediate(resolve))
      }
      accepted.push(count)
    })
    await world.alarmsUntil("the due lane was served", served)
    await Promise.all(clients)
    // Not one of them had to stop first.
    expect(Math.max(...accepted)).toBeLessThan(50)
  })

  it("outlives a pass that hangs beyond its ceiling", async () => {
    const world = makeOwnerWorld({
      limits: { passCeilingMillis: 60, closeMillis: 5, alarmFallbackMillis: 20 },
    })
    await run(world.submit("a"))
    let hung = 0
    world.setFailpoints({
      reach: (point) => (point === "begin:before" && hung++ === 0 ? Effect.never : Effect.void),
    })
    world.storage.alarm.delete()
    void world.runtime().alarm()
    await world.until("the pass hangs", () => hung === 1)
    world.storage.alarm.set(Date.now())
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("is armed by any request while a pass hangs beyond its ceiling", async () => {
    const world = makeOwnerWorld({ limits: { passCeilingMillis: 20, closeMillis: 1 } })
    await run(world.submit("a"))
    await world.hangPass(30)
    await run(world.client.maintenanceStatus({ ownerId }))
    expect(world.storage.alarmAt()).not.toBeNull()
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("that is delivered twice runs one pass and leaves nothing unarmed", async () => {
    const world = makeOwnerWorld()
    const turn = gate()
    world.setFailpoints({
      reach: (point) =>
        point === "select:before" ? Effect.promise(() => turn.opened) : Effect.void,
    })
    await run(world.submit("a"))
    world.storage.alarm.delete()
    const first = world.runtime().alarm()
    world.storage.alarm.delete()
    const second = world.runtime().alarm()
    await new Promise((resolve) => setImmediate(resolve))
    expect(world.storage.alarmAt()).not.toBeNull()
    turn.open()
    await Promise.all([first, second])
    await world.quiet()
    expect(world.thread("a").turns).toBe(1)
    expect(world.thread("a").settled).toEqual([1])
  })
})

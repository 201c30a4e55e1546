/** An owner with so much to do that its passes end at their budget of calls: what is slow has its time all the same. */
import { Effect } from "effect"
import { expect, describe, it } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import { type Fate, inMemoryTarget } from "../../../contracts/transport/InMemory.ts"
import type { HostLane } from "../../../owner-object/HostLane.ts"
import { messageTo } from "./FakeOutbox.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const run = Effect.runPromise
const lanes = 120

/** What is slow takes as long as a good part of the work that there is: many passes. */
const makeBusy = (options: WorldOptions = {}) => {
  const world = makeOwnerWorld({
    ...options,
    limits: {
      passCalls: 6,
      letGoMillis: 1,
      claimMillis: 60_000,
      deliverMillis: 60_000,
      publishMillis: 60_000,
      recoverMillis: 60_000,
      ...options.limits,
    },
  })
  const names = Array.from({ length: lanes }, (_, index) => `busy-${index}`)
  const done = () => names.filter((name) => world.thread(name).settled.length > 0).length
  return {
    ...world,
    /** Resolves when most of the work is done. */
    slow: async () => {
      while (done() < lanes - 20) await new Promise((resolve) => setImmediate(resolve))
    },
    /** Brings the work, and has the alarm delivered until all is done. */
    works: async () => {
      for (const name of names) await run(world.submit(name))
      await world.quiet()
      const { passes = [] } = await run(world.client.maintenanceStatus({ ownerId }))
      expect(passes.filter(({ endedBy }) => endedBy === "calls").length).toBeGreaterThan(5)
      expect(done()).toBe(lanes)
    },
  }
}

const tells = async (world: ReturnType<typeof makeOwnerWorld>, threadId: string) => {
  const id = ThreadId.make(threadId)
  const caller = { _tag: "Thread", ownerId, threadId: id } as const
  const report = world.thread(threadId).report()
  await run(world.connect(callerHeaders(caller)).report({ ownerId, threadId: id, report }))
}

describe("an owner whose passes end at their budget of calls", () => {
  it("gives a sink its time: it has the records once, and is told so", async () => {
    let begun = 0
    const world = makeBusy({
      sink: {
        publish: async () => {
          begun += 1
          await world.slow()
        },
      },
    })
    const thread = world.thread("a")
    thread.publication.isOn = true
    await run(world.submit("a"))
    await world.works()
    expect(begun).toBe(1)
    expect(thread.publication.published).toBeGreaterThan(0)
  })

  it("gives a wave its time: it is made once, and is no failure", async () => {
    let begun = 0
    let ended = 0
    const lane: HostLane = {
      name: "imports",
      allowanceMillis: 60_000,
      run: () =>
        Effect.promise(async () => {
          begun += 1
          await world.slow()
          ended += 1
        }),
      nextDeadline: () => Effect.sync(() => (ended === 0 ? 1 : undefined)),
    }
    const world = makeBusy({ hostLanes: [lane], limits: { hostPauseMillis: 1 } })
    await run(world.submit("a"))
    await world.works()
    expect({ begun, ended }).toEqual({ begun: 1, ended: 1 })
    const { hostLanes } = await run(world.client.maintenanceStatus({ ownerId }))
    expect(hostLanes).toMatchObject([{ state: "idle", failures: 0 }])
  })

  it("gives another owner its time: it has a message once", async () => {
    const other = makeOwnerWorld({ name: "other", acceptMessages: () => true })
    let deliveries = 0
    const world = makeBusy({
      peer: () => ({
        call: async (message, sink) => {
          deliveries += 1
          await world.slow()
          return inMemoryTarget(other.runtime()).call(message, sink)
        },
      }),
    })
    world.thread("a").sends(messageTo({ ownerId: OwnerId.make("other"), threadId: "t" }, "hello"))
    await tells(world, "a")
    await world.works()
    expect(deliveries).toBe(1)
    expect(other.thread("t").admitted.map(({ input }) => input)).toEqual(["hello"])
  })

  it("gives a recovery its time: it is made once, and nothing is visited for it", async () => {
    let recoveries = 0
    const world = makeBusy({
      hooks: {
        request: async (message): Promise<Fate> => {
          if (!("tag" in message) || message.tag !== "recover") return "deliver"
          recoveries += 1
          await world.slow()
          return "deliver"
        },
      },
    })
    world.thread("a").lost = true
    await run(world.submit("a"))
    await world.works()
    expect(recoveries).toBe(1)
    expect(world.thread("a").visits).toBe(0)
    expect(world.thread("a").settled).toEqual([1])
  })
})

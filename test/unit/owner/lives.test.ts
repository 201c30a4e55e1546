/** What goes over from one life of an owner to the next when its storage fails, and what does not. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { HostLane } from "../../../owner-object/HostLane.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const run = Effect.runPromise

/** A pass that waits for a call is woken by nothing else meanwhile. */
const nothingComes = { coverMillis: 60_000, projectionMillis: 60_000, projectionRideMillis: 60_000 }

/** Lets so many turns of the event loop pass: what an answer has set off is done by then. */
const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** An owner whose storage fails when it is told to, once each time. */
const makeFailing = (options: WorldOptions = {}) => {
  let failing = false
  const world = makeOwnerWorld({
    ...options,
    storageFault: (use) => {
      if (use !== "transaction" || !failing) return
      failing = false
      throw new Error("the storage failed")
    },
  })
  return {
    ...world,
    /** Ends the life that this owner lives: the block of a submit fails. */
    endLife: async () => {
      failing = true
      const exit = await run(Effect.exit(world.submit("any")))
      expect(exit._tag).toBe("Failure")
    },
    /** Delivers alarms as the platform does, one after the other, until the test is over. */
    deliverAlarms: () => void world.alarmsUntil("for ever", () => false).catch(() => undefined),
  }
}

describe("a pass whose life has ended", () => {
  it("waits for no wave: the next life has its alarm", async () => {
    let waves = 0
    const lane: HostLane = {
      name: "imports",
      allowanceMillis: 60_000,
      run: () => Effect.suspend(() => ((waves += 1), Effect.never)),
      nextDeadline: () => Effect.succeed(1),
    }
    const world = makeFailing({ hostLanes: [lane], limits: { ...nothingComes } })
    await run(world.submit("a"))
    world.deliverAlarms()
    await world.until("all else is done", () => {
      return waves === 1 && world.lane("a")?.["work"] === null
    })
    await turns(20)
    await world.endLife()
    await run(world.submit("b"))
    await world.until("the next has its turn", () => world.thread("b").settled.length === 1)
  })

  it("waits for no call: the next life has its alarm", async () => {
    const world = makeFailing({ limits: { ...nothingComes, claimMillis: 60_000 } })
    world.thread("a").outbox.way = "hang"
    world.thread("a").sends({ _tag: "ChildAsk" } as never)
    await run(world.submit("a"))
    world.deliverAlarms()
    await world.until("all else is done, and the pass waits", () => {
      const { outbox, settled } = world.thread("a")
      return outbox.claims === 1 && settled.length === 1 && world.lane("a")?.["work"] === null
    })
    await turns(20)
    await world.endLife()
    await run(world.submit("b"))
    await world.until("the next has its turn", () => world.thread("b").settled.length === 1)
  })
})

describe("a life that ends as it begins, as what a host lane wants cannot be stored", () => {
  it("answers who began it, and takes nothing with it", async () => {
    let isFull = false
    let nextAt: number | undefined
    const lane: HostLane = {
      name: "imports",
      allowanceMillis: 60_000,
      run: () => Effect.sync(() => (nextAt = undefined)),
      nextDeadline: () => Effect.sync(() => nextAt),
    }
    const world = makeOwnerWorld({
      hostLanes: [lane],
      storageFault: (use) => {
        if (use === "transaction" && isFull) throw new Error("no room")
      },
    })
    await run(world.submit("a"))
    await world.quiet()
    world.crash()
    isFull = true
    nextAt = 1
    expect(await run(world.client.maintenanceStatus({ ownerId }))).toMatchObject({ lanes: 1 })
    expect(await run(Effect.flip(world.submit("b")))).toMatchObject({ _tag: "Unavailable" })
    isFull = false
    await run(world.submit("b"))
    await world.alarmsUntil("it has its turn", () => world.thread("b").settled.length === 1)
    await world.alarmsUntil("the wave has come", () => nextAt === undefined)
  })
})

describe("who waits for an owner", () => {
  it("hears of a pass, also where its life ends before one begins", async () => {
    const world = makeFailing()
    await run(world.submit("a"))
    await world.quiet()
    const waiting = run(world.client.runMaintenance({ ownerId, timeoutMillis: 10_000 }))
    await world.until("an alarm is armed", () => world.storage.alarmAt() !== null)
    await world.endLife()
    world.deliverAlarms()
    expect(await waiting).toMatchObject({ _tag: "Finished" })
  })

  it("hears how a forgetting ended, also where its life ends before", async () => {
    const world = makeFailing({ limits: { forgetWaitMillis: 10_000 } })
    await run(world.submit("a"))
    await world.quiet()
    const words = { ownerId, threadId: ThreadId.make("a"), author: "ann", reason: "asked to" }
    const asking = run(world.client.forgetThread(words))
    await world.until("it is condemned", () =>
      String(world.lane("a")?.["marks"]).includes("condemned"),
    )
    await world.endLife()
    world.deliverAlarms()
    expect(await asking).toMatchObject({ _tag: "Forgotten" })
  })
})

/** Messages to other owners: in order, one at a time, and a peer that is away is nobody else's trouble. */
import { Effect } from "effect"
import { afterEach, describe, expect, it, vi } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { connectionLost, type Fate, inMemoryTarget } from "../../../contracts/transport/InMemory.ts"
import type { WireTarget } from "../../../contracts/transport/Wire.ts"
import { turnAt } from "../../../owner-object/Peer.ts"
import { messageTo } from "./FakeOutbox.ts"
import { makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const run = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const to = (peer: string, threadId = "t") => ({ ownerId: OwnerId.make(peer), threadId })

const sends = async (
  world: World,
  threadId: string,
  ...entries: Parameters<ReturnType<World["thread"]>["sends"]>
) => {
  world.thread(threadId).sends(...entries)
  const caller = { _tag: "Thread", ownerId, threadId: ThreadId.make(threadId) } as const
  const report = world.thread(threadId).report()
  await run(
    world
      .connect(callerHeaders(caller))
      .report({ ownerId, threadId: ThreadId.make(threadId), report }),
  )
}

const inputsOf = (world: World, threadId = "t") =>
  world.thread(threadId).admitted.map(({ input }) => input)

const names = (count: number, prefix = "m") =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

/** How a peer answers. */
type Manner = "answers" | "hangs" | "is gone"

/** An owner, and others that it can reach, each in the manner that the test says. */
const makeWorlds = (peers: ReadonlyArray<string>, options: WorldOptions = {}) => {
  const worlds = new Map<string, World>(
    peers.map((name) => [name, makeOwnerWorld({ name, acceptMessages: () => true })]),
  )
  const manners = new Map<string, Manner>()
  const deliveries = new Map<string, number>()
  let most = 0
  const underWay = new Map<string, number>()
  const count = (name: string, by: number): void => {
    const now = (underWay.get(name) ?? 0) + by
    underWay.set(name, now)
    most = Math.max(most, now)
  }
  const peer = (name: string): WireTarget => ({
    call: async (message, sink) => {
      deliveries.set(name, (deliveries.get(name) ?? 0) + 1)
      const manner = manners.get(name) ?? "answers"
      if (manner === "is gone") throw connectionLost()
      if (manner === "hangs") return new Promise<never>(() => undefined)
      count(name, 1)
      try {
        const target = inMemoryTarget(() => (worlds.get(name) as World).runtime(), options.hooks)
        return await target.call(message, sink)
      } finally {
        count(name, -1)
      }
    },
  })
  const world = makeOwnerWorld({ ...options, peer })
  return {
    world,
    of: (name: string) => worlds.get(name) as World,
    manner: (name: string, manner: Manner) => void manners.set(name, manner),
    deliveries: (name: string) => deliveries.get(name) ?? 0,
    most: () => most,
    quiet: async () => {
      await world.quiet()
      for (const one of worlds.values()) await one.quiet()
    },
  }
}

describe("a message to another owner", () => {
  it("is taken there, and tells truthfully who sent it", async () => {
    const worlds = makeWorlds(["p"])
    await sends(worlds.world, "a", messageTo(to("p"), "hello"))
    await worlds.quiet()
    expect(worlds.of("p").thread("t").admitted).toMatchObject([
      { input: "hello", principal: `owner:${ownerId}`, from: { ownerId, threadId: "a" } },
    ])
    expect(worlds.of("p").thread("t").settled).toEqual([1])
    expect(worlds.world.thread("a").outbox.entries).toEqual([])
  })

  it("that the rule of its target denies ends, and is told to its thread", async () => {
    const denies = makeOwnerWorld({ name: "p" })
    const world = makeOwnerWorld({ peer: () => inMemoryTarget(() => denies.runtime()) })
    await sends(world, "a", messageTo(to("p"), "hello"))
    await world.quiet()
    expect(world.thread("a").outbox.refused).toEqual(["OperationDenied"])
  })

  it("goes one at a time to each owner, whichever threads send", async () => {
    const worlds = makeWorlds(["p"])
    for (const name of names(8)) {
      await sends(worlds.world, name, ...names(4, name).map((one) => messageTo(to("p", name), one)))
    }
    await worlds.quiet()
    for (const name of names(8)) expect(inputsOf(worlds.of("p"), name)).toEqual(names(4, name))
    expect(worlds.most()).toBe(1)
  })

  it("keeps the order of its pair, and is taken once, over lost calls, lost replies and crashes", async () => {
    let lots = 11
    const lot = (): number => (lots = (lots * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31
    let lose = true
    const fate = (): Fate => (lose && lot() < 0.25 ? "drop" : lot() < 0.1 ? "duplicate" : "deliver")
    const worlds = makeWorlds(["p"], { hooks: { request: fate, reply: fate } })
    const { world } = worlds
    for (const name of names(3)) {
      world.thread(name).sends(...names(10, name).map((one) => messageTo(to("p"), one)))
      await run(world.client.reconcile({ ownerId, threadIds: [ThreadId.make(name)] }))
    }
    for (let crash = 0; crash < 5; crash++) {
      const taken = inputsOf(worlds.of("p")).length
      await world.alarmsUntil("one was taken", () => {
        const now = inputsOf(worlds.of("p")).length
        return now > taken || now === 30
      })
      if (crash % 2 === 0) world.crash()
      else worlds.of("p").crash()
    }
    lose = false
    await worlds.quiet()
    for (const name of names(3)) {
      const told = inputsOf(worlds.of("p")).filter((input) => String(input).startsWith(name))
      expect(told).toEqual(names(10, name))
    }
  })
})

describe("an owner that does not answer", () => {
  it("takes the slots of the others for a moment only", async () => {
    const worlds = makeWorlds(["p", ...names(3, "hung")], {
      limits: { deliverMillis: 60_000, outboxSlots: 2, outboxPatienceMillis: 5 },
    })
    for (const name of names(3, "hung")) worlds.manner(name, "hangs")
    for (const name of names(3, "hung")) {
      for (const sender of names(3, name))
        await sends(worlds.world, sender, messageTo(to(name), sender))
    }
    for (const name of names(6)) await sends(worlds.world, name, messageTo(to("p"), name))
    void worlds.world.deliver()
    await worlds.world.until("the others were taken", () => inputsOf(worlds.of("p")).length === 6)
  })

  it("is left alone in its backoff: what is for it waits without a call", async () => {
    const worlds = makeWorlds(["p"], {
      limits: { outboxRetryMillis: 60_000, outboxRetryMaxMillis: 60_000 },
    })
    worlds.manner("p", "is gone")
    await sends(worlds.world, "a", messageTo(to("p"), "first"))
    await worlds.world.alarmsUntil("it was delayed", () => {
      return worlds.world.thread("a").outbox.acknowledgements.length > 2
    })
    for (const name of names(5)) await sends(worlds.world, name, messageTo(to("p"), name))
    await worlds.world.alarmsUntil("all were delayed", () =>
      names(5).every((name) => worlds.world.thread(name).outbox.acknowledgements.length > 0),
    )
    expect(worlds.deliveries("p")).toBe(1)
  })

  it("does not stop what the same thread sends to others", async () => {
    const worlds = makeWorlds(["p", "q"])
    worlds.manner("p", "hangs")
    await sends(
      worlds.world,
      "a",
      messageTo(to("p"), "one"),
      messageTo(to("q"), "two"),
      messageTo({ ownerId, threadId: "b" }, "three"),
    )
    await worlds.world.alarmsUntil("the others were taken", () => {
      return inputsOf(worlds.of("q")).length === 1 && inputsOf(worlds.world, "b").length === 1
    })
    expect(worlds.world.thread("a").outbox.entries).toHaveLength(1)
    worlds.manner("p", "answers")
    await worlds.quiet()
    expect(inputsOf(worlds.of("p"))).toEqual(["one"])
  })
})

describe("an owner that is away for ten minutes", () => {
  afterEach(() => void vi.useRealTimers())

  it.each(["hangs", "is gone"] as const)(
    "and %s delays nobody else, is tried now and then, and takes everything in order once it is back",
    async (manner) => {
      vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] })
      const { outboxPatienceMillis, outboxRetryMaxMillis, outboxRetryMillis } = makeLimits()
      const worlds = makeWorlds(["p", "q"], {
        limits: {
          deliverMillis: 30_000,
          outboxPatienceMillis,
          outboxRetryMaxMillis,
          outboxRetryMillis,
        },
      })
      const { world } = worlds
      const turn = () => new Promise((resolve) => setImmediate(resolve))
      worlds.manner("p", manner)
      for (const name of names(10)) {
        world.thread(name).outbox.backoffMillis = 1_000
        world.thread(name).outbox.backoffMaxMillis = 60_000
        await sends(world, name, ...names(3, name).map((one) => messageTo(to("p", name), one)))
      }
      const waits: Array<number> = []
      const began = Date.now()
      const step = async () => {
        for (const one of [world, worlds.of("p"), worlds.of("q")]) void one.deliver()
        await vi.advanceTimersByTimeAsync(100)
        for (let index = 0; index < 12; index++) await turn()
      }
      for (let index = 0; Date.now() < began + 600_000; index++) {
        const sentAt = Date.now()
        const name = `other-${index}`
        await sends(world, name, messageTo(to("q"), name))
        while (!inputsOf(worlds.of("q")).includes(name)) await step()
        waits.push(Date.now() - sentAt)
        for (const until = Date.now() + 10_000; Date.now() < until;) await step()
      }
      expect(Math.max(...waits)).toBeLessThanOrEqual(3_000)
      expect(worlds.deliveries("p")).toBeGreaterThan(5)
      expect(worlds.deliveries("p")).toBeLessThan(120)
      worlds.manner("p", "answers")
      const healedAt = Date.now()
      const isBack = () => names(10).every((name) => inputsOf(worlds.of("p"), name).length === 3)
      while (!isBack() && Date.now() < healedAt + 300_000) await step()
      for (const name of names(10)) expect(inputsOf(worlds.of("p"), name)).toEqual(names(3, name))
    },
  )
})

describe("the turn of a delivery", () => {
  const limits = makeLimits({ outboxPatienceMillis: 1_000 })
  const peer = { busy: 0, busySinceAt: 0, failures: 0, notBefore: 0 }
  const at = (fields: Partial<typeof peer>, width = 1) =>
    turnAt({ ...peer, ...fields }, { limits, now: 10_000, width })

  it("comes at once where nobody is before it, and has to wait behind one that has just begun", () => {
    expect(at({})).toBe("free")
    expect(at({ busy: 1, busySinceAt: 9_500 })).toBe("taken")
    expect(at({ busy: 7, busySinceAt: 9_500 }, Infinity)).toBe("free")
  })

  it("does not come behind one that lasts, in a backoff, or beside the one that tries", () => {
    expect(at({ busy: 1, busySinceAt: 9_000 })).toBe("away")
    expect(at({ failures: 1, notBefore: 10_001 })).toBe("away")
    expect(at({ failures: 1, notBefore: 10_000 })).toBe("free")
    expect(at({ failures: 1, notBefore: 0, busy: 1, busySinceAt: 9_999 }, Infinity)).toBe("away")
  })
})

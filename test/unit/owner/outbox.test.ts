/** How an owner carries what its threads have recorded for others: when, in which order, and at what cost. */
import { Effect } from "effect"
import { describe, expect, it } from "vitest"
import { ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import { abortOf, childOf, messageTo, noticeTo } from "./FakeOutbox.ts"
import { makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const run = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const own = (threadId: string) => ({ ownerId, threadId })

/** The thread records something, and its owner hears of it. */
const sends = async (
  world: World,
  threadId: string,
  ...entries: Parameters<ReturnType<World["thread"]>["sends"]>
) => {
  world.thread(threadId).sends(...entries)
  await tells(world, threadId)
}

/** The thread's own push. */
const tells = (world: World, threadId: string) =>
  run(
    world
      .connect({ "heddle-role": "Thread", "heddle-owner": ownerId, "heddle-thread": threadId })
      .report({
        ownerId,
        threadId: ThreadId.make(threadId),
        report: world.thread(threadId).report(),
      }),
  )

const inputsOf = (world: World, threadId: string) =>
  world.thread(threadId).admitted.map(({ input }) => input)

const lane = (world: World, threadId: string) =>
  run(world.client.laneStatus({ ownerId, threadId: ThreadId.make(threadId) }))

const names = (count: number, prefix = "m") =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`)

describe("what a thread has recorded for others", () => {
  it("is taken by a thread of the same owner, with who sent it and for whom", async () => {
    const world = makeOwnerWorld()
    await sends(world, "a", messageTo(own("b"), "hello"))
    await world.quiet()
    expect(world.thread("a").outbox.entries).toEqual([])
    expect(world.thread("b").admitted).toMatchObject([
      { input: "hello", principal: "ann", from: { ownerId, threadId: "a" } },
    ])
    expect(world.thread("b").settled).toEqual([1])
  })

  it("makes a child with its parent, ends it, and brings its settlement", async () => {
    const world = makeOwnerWorld()
    await sends(world, "a", childOf("b", "one"), abortOf("b", "one"))
    await sends(world, "b", noticeTo("a", "one"))
    await world.quiet()
    expect(world.thread("b").admitted).toMatchObject([
      { input: "one", parent: { threadId: "a", name: "one", depth: 1 } },
    ])
    const aborted = world.thread("b").commands.filter(({ name }) => name === "abortChild")
    expect(aborted).toMatchObject([{ payload: { author: "ann", principal: "ann" } }])
    const settled = world.thread("a").commands.filter(({ name }) => name === "settleChild")
    expect(settled).toMatchObject([
      { payload: { name: "one", settlement: { outcome: "completed" } } },
    ])
  })

  it("is delivered while the sending run goes on", async () => {
    const world = makeOwnerWorld()
    world.thread("a").turn = "run"
    await run(world.submit("a"))
    await world.alarmsUntil("it runs", () => world.thread("a").turns > 0)
    await sends(world, "a", messageTo(own("b"), "hello"))
    await world.alarmsUntil("it was taken", () => world.thread("a").outbox.entries.length === 0)
    expect(world.thread("a").settled).toEqual([])
    expect(inputsOf(world, "b")).toEqual(["hello"])
  })

  it("is delivered in its order for each target, in one claim and one acknowledgement", async () => {
    const world = makeOwnerWorld()
    const both = names(5).flatMap((name) => [
      messageTo(own("b"), `b ${name}`),
      messageTo(own("c"), `c ${name}`),
    ])
    await sends(world, "a", ...both)
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(names(5, "b m"))
    expect(inputsOf(world, "c")).toEqual(names(5, "c m"))
    expect(world.thread("a").outbox.claims).toBe(1)
    expect(world.thread("a").outbox.acknowledgements).toHaveLength(1)
  })

  it("is claimed a page at a time", async () => {
    const world = makeOwnerWorld({ limits: { outboxEntries: 4 } })
    await sends(world, "a", ...names(10).map((name) => messageTo(own("b"), name)))
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(names(10))
    expect(world.thread("a").outbox.claims).toBe(3)
  })

  it("passes a paused thread, in both directions", async () => {
    const world = makeOwnerWorld()
    for (const threadId of ["a", "b"]) {
      const fields = { ownerId, threadId: ThreadId.make(threadId), author: "ann", reason: "audit" }
      await run(world.client.pauseThread(fields))
    }
    await sends(world, "a", messageTo(own("b"), "hello"))
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(["hello"])
    expect(world.thread("b").settled).toEqual([])
  })

  it("passes a lane with a fault", async () => {
    const world = makeOwnerWorld({ limits: { faultRetryMillis: 60_000 } })
    world.thread("a").lost = true
    world.thread("a").recovery = "fail"
    await run(world.submit("a"))
    await world.alarmsUntil("it has a fault", () => world.thread("a").recoveries > 0)
    await sends(world, "a", messageTo(own("b"), "hello"))
    await world.alarmsUntil("it was taken", () => world.thread("a").outbox.entries.length === 0)
    expect(world.thread("a").recoveries).toBe(1)
  })

  it("ends with its thread, which is forgotten once it owes nothing", async () => {
    const world = makeOwnerWorld({
      limits: {
        forgetRetryMillis: 60_000,
        forgetRetryMaxMillis: 60_000,
        forgetWaitMillis: 5_000,
      },
    })
    world.thread("b").receiving = "fail"
    await sends(world, "a", messageTo(own("b"), "hello"))
    await world.alarmsUntil("it was tried", () => world.thread("b").admissions > 0)
    const forgotten = run(
      world.client.forgetThread({
        ownerId,
        threadId: ThreadId.make("a"),
        author: "ann",
        reason: "asked to",
        abort: true,
      }),
    )
    await world.alarmsUntil("it owes", () =>
      world.thread("a").commands.some(({ name }) => name === "forget"),
    )
    await world.until("the refusal is stored", () => {
      return String(world.lane("a")?.["marks"]).includes('"refusals":1')
    })
    world.thread("b").receiving = "answer"
    await world.quiet()
    expect(await forgotten).toMatchObject({ _tag: "Forgotten" })
    expect(inputsOf(world, "b")).toEqual(["hello"])
    expect(world.lane("a")).toBeUndefined()
  })
})

describe("a target that does not take", () => {
  it("stops those behind it, and no other target", async () => {
    const world = makeOwnerWorld()
    world.thread("b").receiving = "fail"
    await sends(
      world,
      "a",
      ...names(3).map((name) => messageTo(own("b"), name)),
      messageTo(own("c"), "other"),
    )
    await world.alarmsUntil("it was tried again", () => world.thread("b").admissions > 2)
    expect(inputsOf(world, "c")).toEqual(["other"])
    world.thread("b").receiving = "answer"
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(names(3))
  })

  it("ends an entry that it refuses for good, and those behind it pass", async () => {
    const world = makeOwnerWorld()
    world.thread("b").refuses = true
    await sends(world, "a", messageTo(own("b"), "unknown agent"))
    await world.quiet()
    expect(world.thread("a").outbox.refused).toEqual(["AgentNotRegistered"])
    world.thread("gone").forgottenAt = 7
    await sends(world, "a", messageTo(own("gone"), "m"), noticeTo("gone", "n"))
    await world.quiet()
    expect(world.thread("a").outbox.refused.slice(1)).toEqual([
      "ThreadForgotten",
      "ThreadForgotten",
    ])
  })

  it("delays what is for an agent that only this deployment lacks", async () => {
    const world = makeOwnerWorld()
    const target = world.thread("b")
    target.refuses = true
    const report = target.report.bind(target)
    target.report = () => ({ ...report(), agentsDigest: "older agents" })
    await sends(world, "a", messageTo(own("b"), "hello"))
    await world.alarmsUntil("it was tried twice", () => target.admissions > 1)
    expect(world.thread("a").outbox.refused).toEqual([])
    target.refuses = false
    target.report = report
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(["hello"])
  })

  it("delays what a full owner has no room for", async () => {
    const world = makeOwnerWorld({ limits: { nonterminalPerOwner: 1 } })
    world.thread("busy").turn = "suspend"
    await run(world.submit("busy"))
    await sends(world, "a", messageTo(own("b"), "hello"))
    const delays = () =>
      world
        .thread("a")
        .outbox.acknowledgements.flat()
        .map(({ result }) => result)
    await world.alarmsUntil("it was delayed", () => delays().length > 1)
    expect(delays()[0]).toEqual({ _tag: "Delayed", tag: "AdmissionLimitExceeded" })
    expect(inputsOf(world, "b")).toEqual([])
  })

  it("that hangs takes the slots of the others for a moment only", async () => {
    const world = makeOwnerWorld({
      limits: { mutationMillis: 60_000, outboxSlots: 2, outboxPatienceMillis: 5 },
    })
    world.thread("hung").receiving = "hang"
    for (const name of names(6)) await sends(world, name, messageTo(own("hung"), name))
    for (const name of names(6, "other")) await sends(world, name, messageTo(own("b"), name))
    await world.until("the alarm is due", () => (world.storage.alarmAt() ?? Infinity) <= Date.now())
    void world.deliver()
    await world.until("the others were taken", () => inputsOf(world, "b").length === 6)
    expect(inputsOf(world, "hung")).toEqual([])
  })
})

describe("a claim", () => {
  it.each(["empty", "idle", "unknown", "fail"] as const)(
    "that comes to nothing (%s) backs its outbox off, and nothing else of its lane",
    async (way) => {
      const world = makeOwnerWorld({
        limits: { outboxRetryMillis: 60_000, outboxRetryMaxMillis: 60_000 },
      })
      world.thread("a").outbox.way = way
      await sends(world, "a", messageTo(own("b"), "hello"))
      await world.alarmsUntil("it was claimed", () => world.thread("a").outbox.claims > 0)
      await world.until("the pass has ended", () => !world.isDelivering())
      await run(world.submit("a"))
      await world.alarmsUntil("its turn came", () => world.thread("a").settled.length === 1)
      expect(world.thread("a").outbox.claims).toBe(1)
      const { outboxAt = 0 } = await lane(world, "a")
      expect(outboxAt).toBeGreaterThan(Date.now())
      expect(world.storage.alarmAt()).not.toBeNull()
      world.thread("a").outbox.way = "answer"
      await run(world.client.wake({ ownerId, threadId: ThreadId.make("a") }))
      await world.quiet()
      expect(inputsOf(world, "b")).toEqual(["hello"])
    },
  )

  it("that found nothing because there is nothing any more is not repeated", async () => {
    const world = makeOwnerWorld()
    await sends(world, "a", messageTo(own("b"), "hello"))
    world.thread("a").outbox.entries = []
    await world.quiet()
    expect(world.thread("a").outbox.claims).toBe(1)
  })

  it("of a thread that was forgotten leaves nothing of it", async () => {
    const world = makeOwnerWorld()
    await sends(world, "a", messageTo(own("b"), "hello"))
    world.thread("a").forgottenAt = 7
    await world.quiet()
    expect(world.lane("a")).toBeUndefined()
  })

  it("that hangs in half of the slots leaves the other half to outboxes that answer", async () => {
    const world = makeOwnerWorld({
      limits: { outboxSlots: 2, outboxPatienceMillis: 60_000, claimMillis: 60_000 },
    })
    const slow = names(4, "slow")
    for (const name of slow) {
      world.thread(name).outbox.way = "fail"
      await sends(world, name, messageTo(own("b"), name))
    }
    await world.alarmsUntil("each failed", () =>
      slow.every((name) => world.thread(name).outbox.claims > 0),
    )
    await world.until("the pass has ended", () => !world.isDelivering())
    const claims = new Map(slow.map((name) => [name, world.thread(name).outbox.claims]))
    for (const name of slow) world.thread(name).outbox.way = "hang"
    for (const name of names(4)) await sends(world, name, messageTo(own("b"), name))
    await world.until("the alarm is due", () => (world.storage.alarmAt() ?? Infinity) <= Date.now())
    void world.deliver()
    await world.until("the others were taken", () => inputsOf(world, "b").length >= 4)
    const again = slow.filter((name) => world.thread(name).outbox.claims !== claims.get(name))
    expect(again.length).toBeLessThan(2)
  })
})

describe("fairness among outboxes", () => {
  it("serves the one that has waited longest, and sends one that is still due to the back", async () => {
    const world = makeOwnerWorld({ limits: { outboxSlots: 1, outboxEntries: 1 } })
    for (const name of names(3)) {
      await sends(world, name, ...names(2, name).map((one) => messageTo(own("b"), one)))
    }
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(
      [0, 1].flatMap((turn) => names(3).map((name) => `${name}-${turn}`)),
    )
  })
})

describe("a pass", () => {
  it("carries no more than its budget of calls, and the next goes on", async () => {
    const world = makeOwnerWorld({ limits: { passCalls: 5 } })
    world.thread("b").turn = "suspend"
    await run(world.submit("b"))
    await world.quiet()
    await sends(world, "a", ...names(12).map((name) => messageTo(own("b"), name)))
    await world.alarmsUntil(
      "a pass ended",
      () => world.thread("a").outbox.acknowledgements.length > 0,
    )
    await world.until("it has ended", () => !world.isDelivering())
    const { lastPass } = await run(world.client.maintenanceStatus({ ownerId }))
    expect(lastPass).toMatchObject({ endedBy: "calls", actorCalls: 5 })
    // A visit of the thread that nobody knew, a claim, an acknowledgement, and these two.
    expect(inputsOf(world, "b").slice(1)).toEqual(names(2))
    await world.quiet()
    expect(inputsOf(world, "b").slice(1)).toEqual(names(12))
  })

  it("ends over a delivery that failed, and a later one repeats it", async () => {
    const world = makeOwnerWorld({ limits: { outboxRetryMillis: 500, outboxRetryMaxMillis: 500 } })
    world.thread("b").receiving = "fail"
    world.thread("a").outbox.backoffMillis = 500
    await sends(world, "a", messageTo(own("b"), "hello"))
    await world.alarmsUntil("it was tried", () => world.thread("b").admissions > 0)
    await world.until("the pass has ended", () => !world.isDelivering())
    expect(world.thread("b").admissions).toBe(1)
    expect(world.storage.alarmAt()).not.toBeNull()
    world.thread("b").receiving = "answer"
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(["hello"])
  })

  it("that yields lets a held delivery go; the sender settles meanwhile, and it is delivered later", async () => {
    const world = makeOwnerWorld({
      limits: { passYieldMillis: 60, letGoMillis: 5, mutationMillis: 100 },
    })
    world.thread("b").receiving = "hang"
    await sends(world, "a", messageTo(own("b"), "hello"))
    await run(world.submit("a"))
    await world.alarmsUntil("the sender settled", () => world.thread("a").settled.length === 1)
    world.thread("b").receiving = "answer"
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(["hello"])
  })

  it("that yields in the middle of a delivery leaves no lane enrolled for ever", async () => {
    const world = makeOwnerWorld({ limits: { passYieldMillis: 30, letGoMillis: 5 } })
    let open: () => void = () => undefined
    const opened = new Promise<void>((resolve) => (open = resolve))
    let held = false
    await sends(world, "a", messageTo(own("b"), "hello"))
    world.setFailpoints({
      reach: (point) =>
        Effect.suspend(() => {
          if (held || point !== "enroll:after") return Effect.void
          held = true
          return Effect.promise(() => opened)
        }),
    })
    await world.alarmsUntil("a pass yielded over it", () => held && !world.isDelivering())
    await world.until("the pass has ended", () => !world.isDelivering())
    open()
    await world.quiet()
    expect(inputsOf(world, "b")).toEqual(["hello"])
    expect(world.lane("b")).toMatchObject({ enrolled: null })
  })

  it("that finds nothing due reads and writes nothing for outboxes", async () => {
    const world = makeOwnerWorld()
    await run(world.submit("a"))
    await world.quiet()
    world.storage.alarm.set(Date.now() - 1)
    const before = world.storage.counts()
    await world.deliver()
    const after = world.storage.counts()
    expect(after.written - before.written).toBe(0)
  })
})

describe("order, whatever is lost", () => {
  it("is kept for each pair, and nothing is taken twice, when calls, replies and the owner are lost", async () => {
    let lots = 7
    const lot = (): number => (lots = (lots * 1_103_515_245 + 12_345) % 2 ** 31) / 2 ** 31
    let lose = true
    const fate = (): Fate => (lose && lot() < 0.2 ? "drop" : lot() < 0.1 ? "duplicate" : "deliver")
    const world = makeOwnerWorld({ hooks: { request: fate, reply: fate } })
    const senders = names(4, "s")
    for (const sender of senders) {
      world
        .thread(sender)
        .sends(
          ...names(12).flatMap((name) => [
            messageTo(own("x"), `${sender} ${name}`),
            messageTo(own("y"), `${sender} ${name}`),
          ]),
        )
      await tells(world, sender)
    }
    for (let crash = 0; crash < 6; crash++) {
      const taken = inputsOf(world, "x").length
      await world.alarmsUntil(
        "something was taken",
        () => inputsOf(world, "x").length > taken || inputsOf(world, "x").length === 48,
      )
      world.crash()
    }
    lose = false
    await world.quiet()
    for (const target of ["x", "y"])
      for (const sender of senders) {
        const told = inputsOf(world, target).filter((input) => String(input).startsWith(sender))
        expect(told).toEqual(names(12).map((name) => `${sender} ${name}`))
      }
  })
})

/** Commands for all that a filter means: what is meant, page by page, and each effect told for itself. */
import { Effect } from "effect"
import { describe, expect, it, vi } from "vitest"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import type { AbortManyReply, BulkCursor, RetryManyReply } from "../../../contracts/Bulk.ts"
import { AgentId, IdempotencyKey, ThreadId } from "../../../contracts/Identifiers.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import type { WireMessage } from "../../../contracts/transport/Wire.ts"
import { wouldAbort, wouldRetry } from "../../../owner-object/Bulk.ts"
import { agent, makeOwnerWorld, ownerId, type WorldOptions } from "./OwnerWorld.ts"

const go = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

const words = { author: "ann", reason: "looked at it" }
const all = { ownerId, filter: {}, ...words, dryRun: false }
const dry = { ...all, dryRun: true }

const idsOf = (...names: ReadonlyArray<string>) => names.map((name) => ThreadId.make(name))

/** Threads with so many submissions each, finished and not begun. */
const makeWorld = async (open: Readonly<Record<string, number>>, options: WorldOptions = {}) => {
  const world = makeOwnerWorld(options)
  for (const [thread, count] of Object.entries(open))
    for (let nth = 0; nth < count; nth++) await go(world.submit(thread))
  await world.until(
    "all are finished",
    () => world.storage.sql.all("SELECT 1 FROM lanes WHERE enrolled IS NOT NULL").length === 0,
  )
  return world
}

/** Thread, sequence and what became of it. */
const told = ({ results }: AbortManyReply | RetryManyReply) =>
  results.map(({ effect, sequence, threadId }) => {
    if (effect._tag === "Planned") return `${threadId}${sequence} ${effect.would}`
    return `${threadId}${sequence} ${effect._tag === "Done" ? "done" : effect.error._tag}`
  })

/** One page of either command. */
const pageOf = (
  { client }: World,
  name: "abortMany" | "retryMany",
  query: Parameters<World["client"]["abortMany"]>[0],
): Promise<AbortManyReply | RetryManyReply> =>
  name === "abortMany" ? go(client.abortMany(query)) : go(client.retryMany(query))

const silent = ({ unanswered }: AbortManyReply | RetryManyReply) =>
  unanswered.map(({ error, threadId }) => `${threadId} ${error._tag}`)

describe("an abort of many", () => {
  it("ends every open submission, each as one abort would", async () => {
    const world = await makeWorld({ b: 1, a: 2 })
    const reply = await go(world.client.abortMany(all))
    expect(told(reply)).toEqual(["a2 done", "a1 done", "b1 done"])
    expect(reply).not.toHaveProperty("next")
    expect(reply.results[0]).toMatchObject({
      agent,
      state: "ready",
      effect: {
        reply: { _tag: "Settled", settlement: { outcome: "aborted", abort: { ...words } } },
      },
    })
    expect(world.thread("a").aborts).toMatchObject([
      { principal: "tester" },
      { principal: "tester" },
    ])
    await world.quiet()
    expect(await go(world.client.maintenanceStatus({ ownerId }))).toMatchObject({ nonterminal: 0 })
    expect(world.thread("a").settled).toEqual([])
  })

  it("that is only tried writes nothing, and tells what it would do", async () => {
    const world = await makeWorld({ a: 2 })
    world.thread("a").turn = "run"
    await world.alarmsUntil("it runs", () => world.thread("a").turns > 0)
    await world.until("no pass goes on", () => !world.isDelivering())
    const before = { dump: world.storage.dump(), written: world.storage.counts().written }
    const transaction = vi.spyOn(world.storage, "transaction")
    expect(told(await go(world.client.abortMany(dry)))).toEqual(["a2 settle", "a1 interrupt"])
    expect(told(await go(world.client.retryMany(dry)))).toEqual(["a1 nothing", "a2 retry"])
    expect(transaction).not.toHaveBeenCalled()
    expect(world.storage.counts().written).toBe(before.written)
    expect(world.storage.dump()).toBe(before.dump)
    expect(world.thread("a").aborts).toEqual([])
    expect(world.thread("a").commands).toEqual([])
  })

  it("of an untouched owner means nothing, and leaves it untouched", async () => {
    const world = makeOwnerWorld()
    expect(await go(world.client.abortMany(all))).toEqual({ results: [], unanswered: [] })
    expect(world.storage.dump()).toBe("[]")
  })

  it.each([
    ["retryMany", "retry", ["a1", "a2", "a3", "b1", "c1", "c2", "d1"]],
    ["abortMany", "settle", ["a3", "a2", "a1", "b1", "c2", "c1", "d1"]],
  ] as const)("goes on behind a page, and means nothing twice (%s)", async (name, would, order) => {
    const open = { a: 3, b: 1, c: 2, d: 1 }
    for (const limits of [{}, { bulkThreads: 1 }, { bulkLanes: 1 }, { bulkSlots: 1 }]) {
      const world = await makeWorld(open, { limits })
      const pages: Array<ReadonlyArray<string>> = []
      let after: BulkCursor | undefined
      do {
        const page = await pageOf(world, name, {
          ...dry,
          limit: 2,
          ...(after === undefined ? {} : { after }),
        })
        pages.push(told(page))
        after = page.next
      } while (after !== undefined)
      expect(Math.max(...pages.map((page) => page.length))).toBe(2)
      expect(pages.flat()).toEqual(order.map((one) => `${one} ${would}`))
    }
  })

  it("takes no more of a page than the owner allows", async () => {
    const world = await makeWorld({ a: 3 }, { limits: { bulkSubmissions: 2 } })
    for (const limit of [99, 2, undefined]) {
      const page = await go(
        world.client.abortMany({ ...dry, ...(limit === undefined ? {} : { limit }) }),
      )
      expect(page.results).toHaveLength(2)
      expect(page.next).toEqual({ threadId: "a", sequence: 2 })
    }
    expect((await go(world.client.abortMany({ ...dry, limit: 0 }))).results).toHaveLength(1)
  })

  it("asks no thread that owes nothing", async () => {
    const world = await makeWorld({ a: 1, b: 1 })
    await world.quiet()
    await go(world.submit("b"))
    await world.until("it is finished", () => world.lane("b")?.["enrolled"] === null)
    expect(told(await go(world.client.abortMany(all)))).toEqual(["b2 done"])
    expect(world.thread("a").asked).toBe(0)
  })

  it.each([0, 1])("asks a thread of which nobody knows what it owes (%i known)", async (known) => {
    let armed = false
    const world = makeOwnerWorld({
      hooks: {
        reply: (message): Fate => {
          if (!armed || message._tag !== "Request" || message.tag !== "admit") return "deliver"
          armed = false
          return "drop"
        },
      },
    })
    for (let nth = 0; nth < known; nth++) await go(world.submit("a"))
    await world.quiet()
    armed = true
    await go(Effect.flip(world.submit("a")))
    expect(told(await go(world.client.abortMany(all)))).toEqual([`a${known + 1} done`])
  })

  it("tells which threads did not answer, and goes on with the others", async () => {
    const world = await makeWorld({ a: 1, b: 1, c: 1 })
    world.thread("a").visiting = "fail"
    world.thread("b").visiting = "hang"
    const reply = await go(world.client.abortMany(all))
    expect(told(reply)).toEqual(["c1 done"])
    expect(silent(reply)).toEqual(["a Unavailable", "b Unavailable"])
    expect(world.thread("a").aborts).toEqual([])
  })

  it("tells of a thread that did not answer behind the end of a page with the next one, once", async () => {
    const world = await makeWorld({ a: 1, b: 1, c: 1, d: 1 })
    world.thread("c").visiting = "fail"
    const first = await go(world.client.abortMany({ ...dry, limit: 2 }))
    expect([told(first), silent(first)]).toEqual([["a1 settle", "b1 settle"], []])
    const after = first.next ?? { threadId: ThreadId.make("none") }
    const second = await go(world.client.abortMany({ ...dry, limit: 2, after }))
    expect([told(second), silent(second)]).toEqual([["d1 settle"], ["c Unavailable"]])
  })

  it("leaves out what is being forgotten, also where a page goes on", async () => {
    const world = await makeWorld({ a: 2, b: 1 })
    world.thread("a").forgetting = "hang"
    await go(
      world.client.forgetThread({ ownerId, threadId: ThreadId.make("a"), ...words, abort: true }),
    )
    const after = { threadId: ThreadId.make("a"), sequence: 2 }
    for (const query of [dry, { ...dry, after }])
      expect(told(await go(world.client.abortMany(query)))).toEqual(["b1 settle"])
    expect(world.thread("a").asked).toBe(0)
  })

  it("asks a thread that owed nothing, but must be visited", async () => {
    const world = await makeWorld({ a: 1 })
    await world.quiet()
    await go(world.client.abortMany(dry))
    expect(world.thread("a").asked).toBe(0)
    await go(world.client.wake({ ownerId, threadId: ThreadId.make("a") }))
    await go(world.client.abortMany(dry))
    expect(world.thread("a").asked).toBe(1)
  })

  it("sends a thread nothing more once that did not answer", async () => {
    let dropped = 0
    const drops = (message: WireMessage): boolean =>
      message._tag === "Request" &&
      message.tag === "requestAbort" &&
      (message.payload as { readonly threadId: string }).threadId === "a"
    const request = (message: WireMessage): Fate => {
      if (!drops(message)) return "deliver"
      dropped += 1
      return "drop"
    }
    const world = await makeWorld({ a: 3, b: 1 }, { hooks: { request } })
    expect(told(await go(world.client.abortMany(all)))).toEqual([
      "a3 Unavailable",
      "a2 Unavailable",
      "a1 Unavailable",
      "b1 done",
    ])
    expect(dropped).toBe(1)
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1, 2, 3])
  })

  it.each(["abortMany", "retryMany"] as const)(
    "of what is held goes on in a thread that the page before has freed (%s)",
    async (operation) => {
      const world = await makeWorld(
        { a: 3, b: 1 },
        { limits: { laneBackoffMillis: 1, laneBackoffMaxMillis: 1, unchangedBeforeStall: 3 } },
      )
      world.thread("a").turn = "unchanged"
      await world.alarmsUntil("it stalled", () =>
        String(world.lane("a")?.["marks"]).includes("stall"),
      )
      const pages: Array<ReadonlyArray<string>> = []
      let after: BulkCursor | undefined
      do {
        const page = await pageOf(world, operation, {
          ...all,
          filter: { blocker: "stalled" },
          limit: 2,
          ...(after === undefined ? {} : { after }),
        })
        pages.push(told(page))
        after = page.next
        await world.until("it is finished", () => world.lane("a")?.["enrolled"] === null)
      } while (after !== undefined)
      expect(pages.flat().toSorted()).toEqual(["a1 done", "a2 done", "a3 done"])
    },
  )

  it("tells refusals one by one", async () => {
    const world = await makeWorld({ a: 1, b: 2 })
    world.thread("a").forgottenAt = 7
    const reply = await go(world.client.abortMany(all))
    expect(silent(reply)).toEqual(["a ThreadForgotten"])
    expect(told(reply)).toEqual(["b2 done", "b1 done"])
  })

  it("is safe to repeat", async () => {
    const world = await makeWorld({ a: 2 })
    world.thread("a").turn = "run"
    await world.alarmsUntil("it runs", () => world.thread("a").turns > 0)
    expect(told(await go(world.client.abortMany(all)))).toEqual(["a2 done", "a1 done"])
    const again = await go(world.client.abortMany(all))
    expect(told(again)).toEqual(["a1 done"])
    expect(again.results[0]).toMatchObject({
      state: "running",
      effect: { reply: { _tag: "Aborting" } },
    })
  })

  it("is a principal's alone", async () => {
    const world = makeOwnerWorld()
    const client = world.connect(callerHeaders({ _tag: "Owner", ownerId }))
    expect(await go(Effect.flip(client.abortMany(all)))).toMatchObject({ _tag: "OperationDenied" })
  })
})

describe("a filter", () => {
  const meant = async (world: World, filter: object, rest: object = {}) =>
    told(await go(world.client.retryMany({ ...dry, filter, ...rest })))

  it("means the threads that it names, each once, and no others", async () => {
    const world = await makeWorld({ a: 1, b: 1, c: 1 })
    expect(await meant(world, { threadIds: idsOf("c", "a", "c", "x") })).toEqual([
      "a1 retry",
      "c1 retry",
    ])
    expect(world.thread("b").asked).toBe(0)
    expect(world.thread("x").asked).toBe(0)
  })

  it("is not widened by a cursor", async () => {
    const world = await makeWorld({ a: 1, b: 2, c: 1 })
    const threadIds = idsOf("a", "c")
    for (const after of [
      { threadId: "b", sequence: 0 },
      { threadId: "b", sequence: 1 },
    ])
      expect(await meant(world, { threadIds }, { after })).toEqual(["c1 retry"])
    expect(await meant(world, { blocker: "paused" }, { after: { threadId: "a" } })).toEqual([])
    expect(world.thread("b").asked).toBe(0)
  })

  it("is asked of the thread as far as it is about submissions", async () => {
    const world = await makeWorld({ a: 1 })
    await go(
      world.client.submit({
        ownerId,
        threadId: ThreadId.make("a"),
        agent: AgentId.make("other"),
        input: null,
        idempotencyKey: IdempotencyKey.make("other"),
      }),
    )
    expect(await meant(world, { agent: "other" })).toEqual(["a2 retry"])
    expect(await meant(world, { agent: "nobody" })).toEqual([])
    expect(await meant(world, { state: "ready" })).toEqual(["a1 retry", "a2 retry"])
    expect(await meant(world, { state: "suspended" })).toEqual([])
    // These threads accept everything at the time 0.
    expect(await meant(world, { acceptedBefore: 1 })).toEqual(["a1 retry", "a2 retry"])
    expect(await meant(world, { acceptedBefore: 0 })).toEqual([])
  })

  it("means the threads that are held by what it says", async () => {
    const world = await makeWorld(
      { a: 1, b: 1, c: 1, d: 1 },
      { limits: { faultRetryMillis: 60_000 } },
    )
    const paused = { ownerId, threadId: ThreadId.make("b"), ...words }
    await go(world.client.pauseThread(paused))
    const faulted = world.thread("c")
    faulted.lost = true
    faulted.recovery = "fail"
    world.thread("d").turn = "binding"
    world.thread("a").turn = "run"
    await world.alarmsUntil(
      "one is faulted and one waits for its agent",
      () =>
        String(world.lane("c")?.["marks"]).includes("faultRetryAt") &&
        String(world.lane("d")?.["marks"]).includes("binding"),
    )
    expect(await meant(world, { blocker: "paused" })).toEqual(["b1 retry"])
    expect(await meant(world, { blocker: "fault" })).toEqual(["c1 retry"])
    expect(await meant(world, { blocker: "binding" })).toEqual(["d1 retry"])
    expect(await meant(world, { blocker: "stalled" })).toEqual([])
  })
})

describe("a retry of many", () => {
  it("ends the waits of its threads, and has each submission go on", async () => {
    const world = await makeWorld({ a: 1, b: 1 }, { limits: { faultRetryMillis: 60_000 } })
    for (const name of ["a", "b"]) {
      world.thread(name).lost = true
      world.thread(name).recovery = "fail"
    }
    await world.alarmsUntil("both are faulted", () =>
      ["a", "b"].every((name) => String(world.lane(name)?.["marks"]).includes("faultRetryAt")),
    )
    for (const name of ["a", "b"]) world.thread(name).recovery = "repair"
    const reply = await go(world.client.retryMany({ ...all, filter: { blocker: "fault" } }))
    expect(told(reply)).toEqual(["a1 done", "b1 done"])
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
    expect(world.thread("b").settled).toEqual([1])
  })
})

describe("what a command would do", () => {
  it("is told by the state of its submission", () => {
    const states = ["ready", "suspended", "running", "unknown", "joined", "settled"] as const
    expect(states.map(wouldAbort)).toEqual([
      "settle",
      "settle",
      "interrupt",
      "settle",
      "refuse",
      "refuse",
    ])
    expect(states.map(wouldRetry)).toEqual([
      "retry",
      "retry",
      "nothing",
      "refuse",
      "refuse",
      "refuse",
    ])
  })
})

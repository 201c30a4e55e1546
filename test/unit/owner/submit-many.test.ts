/** Many submissions in one call: one enrolment for all lanes, one call for each thread, one finish. */
import { Effect, Fiber } from "effect"
import { describe, expect, it, vi } from "vitest"
import { type Authorizer, callerHeaders } from "../../../contracts/Authorization.ts"
import { OperationDenied } from "../../../contracts/Errors.ts"
import {
  type Generation,
  IdempotencyKey,
  type SubmissionId,
  ThreadId,
} from "../../../contracts/Identifiers.ts"
import type { SubmitOutcome } from "../../../contracts/SubmitMany.ts"
import type { Fate } from "../../../contracts/transport/InMemory.ts"
import type { WireMessage } from "../../../contracts/transport/Wire.ts"
import { groupsOf } from "../../../owner-object/SubmitMany.ts"
import { agent, makeOwnerWorld, ownerId } from "./OwnerWorld.ts"

const go = Effect.runPromise
type World = ReturnType<typeof makeOwnerWorld>

/** `thread key`, with an input of its own unless one is given. */
const item = (text: string, input: unknown = { said: text }) => {
  const [thread = "", key = ""] = text.split(" ")
  return {
    threadId: ThreadId.make(thread),
    agent,
    input: input as never,
    idempotencyKey: IdempotencyKey.make(key),
  }
}

const submitMany = (
  { client }: Pick<World, "client">,
  items: ReadonlyArray<ReturnType<typeof item>>,
) => client.submitMany({ ownerId, submissions: items })

const sent = async (world: World, ...texts: ReadonlyArray<string>) =>
  (
    await go(
      submitMany(
        world,
        texts.map((text) => item(text)),
      ),
    )
  ).outcomes

/** Thread and sequence, or the tag of the refusal. */
const told = (outcomes: ReadonlyArray<SubmitOutcome>) =>
  outcomes.map((outcome) =>
    outcome._tag === "Accepted"
      ? `${outcome.receipt.threadId}${outcome.receipt.sequence}${outcome.receipt.duplicate ? " again" : ""}`
      : outcome.error._tag,
  )

const isTo = (message: WireMessage, thread: string, tag = "admitMany") =>
  message._tag === "Request" &&
  message.tag === tag &&
  (message.payload as { readonly threadId: string }).threadId === thread

const year2100 = 4_102_444_800_000
const farFence = `${String(year2100).padStart(15, "0")}-0000000007` as Generation

describe("many submissions of one call", () => {
  it("are answered each in its place, those of one thread in their order", async () => {
    const world = makeOwnerWorld()
    const outcomes = await sent(world, "b 1", "a 1", "b 2", "c 1", "a 2", "b 3")
    expect(told(outcomes)).toEqual(["b1", "a1", "b2", "c1", "a2", "b3"])
    expect(world.thread("b").commands).toMatchObject([
      {
        name: "admitMany",
        payload: {
          principal: "tester",
          submissions: ["1", "2", "3"].map((idempotencyKey) => ({ idempotencyKey })),
        },
      },
    ])
    await world.quiet()
    for (const [name, count] of [
      ["a", 2],
      ["b", 3],
      ["c", 1],
    ] as const)
      expect(world.thread(name).settled).toHaveLength(count)
    expect(await go(world.client.maintenanceStatus({ ownerId }))).toMatchObject({
      nonterminal: 0,
      lanes: 3,
      dueLanes: 0,
    })
  })

  it("cost an owner two blocks, however many threads they are for", async () => {
    const world = makeOwnerWorld()
    await sent(world, "a 0")
    await world.quiet()
    const transaction = vi.spyOn(world.storage, "transaction")
    const texts = Array.from({ length: 40 }, (_, index) => `t${index % 20} ${index}`)
    await sent(world, ...texts)
    await world.until(
      "all are finished",
      () => world.storage.sql.all("SELECT 1 FROM lanes WHERE enrolled IS NOT NULL").length === 0,
    )
    expect(transaction).toHaveBeenCalledTimes(2)
    expect(world.storage.sql.all("SELECT 1 FROM lanes WHERE work = 'dispatch'")).toHaveLength(20)
  })

  it("are finished in one block, also if their threads answer one after the other", async () => {
    const world = makeOwnerWorld({
      limits: { finishHoldMillis: 60_000 },
      hooks: {
        reply: (message) =>
          isTo(message, "a")
            ? "deliver"
            : new Promise<Fate>((resolve) => setTimeout(() => resolve("deliver"), 5)),
      },
    })
    await go(world.client.maintenanceStatus({ ownerId }))
    const transaction = vi.spyOn(world.storage, "transaction")
    await sent(world, "a 1", "b 1", "a 2")
    await world.until(
      "both are finished",
      () => world.storage.sql.all("SELECT 1 FROM lanes WHERE enrolled IS NOT NULL").length === 0,
    )
    expect(transaction).toHaveBeenCalledTimes(2)
  })

  it("are covered by a committed alarm before any thread is called", async () => {
    const covered: Array<unknown> = []
    const world: World = makeOwnerWorld({
      hooks: {
        request: () => {
          const enrolled = world.storage.sql.all(
            "SELECT thread_id FROM lanes WHERE enrolled IS NOT NULL",
          )
          covered.push([enrolled.length, world.storage.alarmAt() !== null])
          return "deliver"
        },
      },
    })
    await sent(world, "a 1", "b 1", "c 1")
    expect(covered).toEqual([1, 2, 3].map(() => [3, true]))
  })

  it("are refused one by one, and a thread that took nothing leaves no row", async () => {
    const world = makeOwnerWorld()
    world.thread("b").refuses = true
    const submissions = [
      item("a 1"),
      item("a 2", "x\0"),
      item("b 1"),
      item("c 1", "\ud800"),
      item("a 3"),
    ]
    const { outcomes } = await go(submitMany(world, submissions))
    expect(told(outcomes)).toEqual([
      "a1",
      "InvalidInput",
      "AgentNotRegistered",
      "InvalidInput",
      "a2",
    ])
    await world.quiet()
    expect(world.thread("c").commands).toEqual([])
    expect([world.lane("b"), world.lane("c")]).toEqual([undefined, undefined])
    expect(world.thread("a").settled).toEqual([1, 2])
  })

  it("write nothing when none of them can be stored", async () => {
    const world = makeOwnerWorld()
    const before = world.storage.dump()
    const { outcomes } = await go(submitMany(world, [item("a 1", "x\0"), item("b 1", "x\0")]))
    expect(told(outcomes)).toEqual(["InvalidInput", "InvalidInput"])
    expect(world.storage.dump()).toBe(before)
  })

  it("get the same receipts when the call is repeated", async () => {
    const world = makeOwnerWorld()
    await sent(world, "a 1", "b 1", "a 2")
    expect(told(await sent(world, "a 1", "b 1", "a 2", "a 3"))).toEqual([
      "a1 again",
      "b1 again",
      "a2 again",
      "a3",
    ])
  })

  it.each(["request", "reply"] as const)(
    "whose thread loses its %s are Unavailable, the others not, and are safe to repeat",
    async (lost) => {
      let armed = true
      const strike = (message: WireMessage): Fate => {
        if (!armed || !isTo(message, "b")) return "deliver"
        armed = false
        return "drop"
      }
      const world = makeOwnerWorld({ hooks: { [lost]: strike } })
      const outcomes = await sent(world, "a 1", "b 1", "b 2", "c 1")
      expect(told(outcomes)).toEqual(["a1", "Unavailable", "Unavailable", "c1"])
      expect(outcomes[1]).toMatchObject({ error: { retryable: true, overloaded: false } })
      await world.until("the others are finished", () => world.lane("c")?.["enrolled"] === null)
      expect(world.lane("b")).toMatchObject({ enrolled: expect.any(String) })
      const again = lost === "reply" ? " again" : ""
      expect(told(await sent(world, "b 1", "b 2"))).toEqual([`b1${again}`, `b2${again}`])
      await world.quiet()
      expect(world.thread("b").settled).toEqual([1, 2])
      expect(world.lane("b")).toMatchObject({ enrolled: null })
    },
  )

  it("are worked on while a slow thread still keeps its own waiting", async () => {
    let open: () => void = () => undefined
    const opened = new Promise<Fate>((resolve) => (open = () => resolve("deliver")))
    const world = makeOwnerWorld({
      limits: { finishHoldMillis: 5, mutationMillis: 60_000, coverMillis: 60_000 },
      hooks: { request: (message) => (isTo(message, "slow") ? opened : "deliver") },
    })
    const call = Effect.runFork(submitMany(world, [item("slow 1"), item("a 1"), item("a 2")]))
    await world.alarmsUntil("the others have settled", () => world.thread("a").settled.length === 2)
    expect(world.thread("slow").commands).toEqual([])
    open()
    expect(told((await go(Fiber.join(call))).outcomes)).toEqual(["slow1", "a1", "a2"])
    await world.quiet()
    expect(world.thread("slow").settled).toEqual([1])
  })

  it("that a newer fence refuses are sent once more, and no others", async () => {
    const world = makeOwnerWorld()
    world.thread("b").fence = farFence
    expect(told(await sent(world, "a 1", "b 1"))).toEqual(["a1", "b1"])
    expect(world.thread("a").commands).toHaveLength(1)
    const generations = world.thread("b").commands.map(({ payload }) => payload.generation)
    expect(generations.map((generation) => generation > farFence)).toEqual([false, true])
  })

  it("are a principal's alone", async () => {
    const world = makeOwnerWorld()
    const thread = { _tag: "Thread", ownerId, threadId: ThreadId.make("a") } as const
    const client = world.connect(callerHeaders(thread))
    const error = await go(Effect.flip(submitMany({ client }, [item("a 1")])))
    expect(error).toMatchObject({ _tag: "OperationDenied" })
    expect(world.storage.dump()).toBe("[]")
  })
})

describe("a call of many submissions", () => {
  it.each([
    ["more submissions than a call may have", { submissionsPerCall: 1 }, "submissionsPerCall", 2],
    [
      "more bytes than a call may have",
      { submissionBytesPerCall: 20 },
      "submissionBytesPerCall",
      28,
    ],
  ] as const)(
    "of %s is refused whole, and nothing is written",
    async (_, limits, limit, actual) => {
      const world = makeOwnerWorld({ limits })
      const call = submitMany(world, [item("a 1"), item("b 1")])
      expect(await go(Effect.flip(call))).toMatchObject({
        _tag: "AdmissionLimitExceeded",
        limit,
        actual,
      })
      expect(world.storage.dump()).toBe("[]")
    },
  )

  it.each([
    ["whose database is full", { databaseBytes: 0 }, { _tag: "StorageFull" }],
    ["that is busy", { mutationsPerOwner: 1 }, { _tag: "Unavailable", overloaded: true }],
    [
      "that holds enough bytes",
      { mutationBytesPerOwner: 20 },
      { _tag: "Unavailable", overloaded: true },
    ],
  ] as const)("of an owner %s is refused whole", async (_, limits, error) => {
    const world = makeOwnerWorld({ limits })
    const call = submitMany(world, [item("a 1"), item("b 1")])
    expect(await go(Effect.flip(call))).toMatchObject(error)
    expect(world.storage.dump()).toBe("[]")
    expect(world.thread("a").commands).toEqual([])
  })

  it("frees what it held, whatever became of it", async () => {
    const world = makeOwnerWorld({
      limits: { mutationsPerOwner: 2, mutationsPerLane: 1, mutationBytesPerOwner: 40 },
    })
    for (let index = 0; index < 4; index++)
      expect(told(await sent(world, `a ${index}`, `b ${index}`))).toEqual([
        `a${index + 1}`,
        `b${index + 1}`,
      ])
  })

  it("says overloaded of a lane that is full, and sends the others", async () => {
    let open: () => void = () => undefined
    const opened = new Promise<Fate>((resolve) => (open = () => resolve("deliver")))
    const world = makeOwnerWorld({
      limits: { mutationsPerLane: 1, mutationMillis: 60_000 },
      hooks: { request: (message) => (isTo(message, "a", "admit") ? opened : "deliver") },
    })
    const first = Effect.runFork(world.submit("a", "first"))
    await world.until("its lane is enrolled", () => world.lane("a") !== undefined)
    const outcomes = await sent(world, "a 1", "b 1")
    expect(told(outcomes)).toEqual(["Unavailable", "b1"])
    expect(outcomes[0]).toMatchObject({ error: { overloaded: true } })
    expect(told(await sent(world, "a 1"))).toEqual(["Unavailable"])
    open()
    await go(Fiber.join(first))
  })

  it("sends nothing to a thread that is being forgotten, and the others", async () => {
    const world = makeOwnerWorld()
    world.thread("a").forgetting = "hang"
    const words = { author: "ann", reason: "asked to", abort: true }
    await go(world.client.forgetThread({ ownerId, threadId: ThreadId.make("a"), ...words }))
    expect(told(await sent(world, "a 1", "b 1"))).toEqual(["Unavailable", "b1"])
    expect(world.thread("a").commands).toEqual([])
  })

  it("tells of a thread that was forgotten, and its lane goes", async () => {
    const world = makeOwnerWorld()
    world.thread("a").forgottenAt = 7
    expect(told(await sent(world, "a 1", "b 1"))).toEqual(["ThreadForgotten", "b1"])
    await world.until("its lane is gone", () => world.lane("a") === undefined)
  })

  it("fills an owner that is nearly full to its limit and no further", async () => {
    const world = makeOwnerWorld({ limits: { nonterminalPerOwner: 3 } })
    await sent(world, "a 1")
    await world.until("it is finished", () => world.lane("a")?.["enrolled"] === null)
    const outcomes = await sent(world, "b 1", "a 1", "b 2", "c 1")
    // The replay of a 1 is given a receipt, also where there is no room for another.
    expect(told(outcomes)).toEqual(["b1", "a1 again", "b2", "AdmissionLimitExceeded"])
    expect(outcomes[3]).toMatchObject({
      error: { limit: "nonterminalPerOwner", actual: 1, maximum: 3 },
    })
  })

  it("counts what other calls may still put into an owner that is nearly full", async () => {
    let open: () => void = () => undefined
    const opened = new Promise<Fate>((resolve) => (open = () => resolve("deliver")))
    const world = makeOwnerWorld({
      limits: { nonterminalPerOwner: 4, mutationMillis: 60_000 },
      hooks: { request: (message) => (isTo(message, "a") ? opened : "deliver") },
    })
    const first = Effect.runFork(submitMany(world, [item("a 1"), item("a 2"), item("a 3", "\0")]))
    await world.until("its lane is enrolled", () => world.lane("a") !== undefined)
    expect(told(await sent(world, "b 1"))).toEqual(["b1"])
    expect(told(await sent(world, "b 2", "b 3", "c 1"))).toEqual([
      "b2",
      "AdmissionLimitExceeded",
      "AdmissionLimitExceeded",
    ])
    const full = { _tag: "AdmissionLimitExceeded", limit: "nonterminalPerOwner", maximum: 4 }
    expect(await go(Effect.flip(world.submit("d")))).toMatchObject(full)
    open()
    expect(told((await go(Fiber.join(first))).outcomes)).toEqual(["a1", "a2", "InvalidInput"])
    await world.quiet()
    // Who was refused, or has settled, takes no room.
    expect(told(await sent(world, "e 1", "e 2", "e 3", "f 1"))).toEqual(["e1", "e2", "e3", "f1"])
  })

  it("gives out the room of an owner in the order of the threads, never twice", () => {
    const measured = ["b 1", "a 1", "b 2", "c 1"].map((text, index) => ({
      index,
      submission: item(text),
      bytes: 10,
    }))
    const rooms = (room: number) =>
      groupsOf(measured, room).map((group) => `${group.threadId} ${group.room} of ${group.bytes}`)
    expect(rooms(9)).toEqual(["b 2 of 20", "a 1 of 10", "c 1 of 10"])
    expect(rooms(3)).toEqual(["b 2 of 20", "a 1 of 10", "c 0 of 10"])
    expect(rooms(1)).toEqual(["b 1 of 20", "a 0 of 10", "c 0 of 10"])
    expect(rooms(0)).toEqual(["b 0 of 20", "a 0 of 10", "c 0 of 10"])
  })
})

describe("a policy", () => {
  const denying = (thread: string) => {
    const asked: Array<string> = []
    const authorizer: Authorizer = {
      authorize: ({ operation, threadId }) => {
        asked.push(`${operation} ${threadId ?? "all"}`)
        return threadId === thread || threadId === undefined
          ? Effect.fail(new OperationDenied({ operation }))
          : Effect.void
      },
    }
    return { asked, authorizer }
  }
  const words = { author: "ann", reason: "because", dryRun: false }

  it("is asked once about each thread of a call, and one denial denies it all", async () => {
    const { asked, authorizer } = denying("b")
    const world = makeOwnerWorld({ authorizer })
    const error = await go(Effect.flip(submitMany(world, [item("a 1"), item("b 1")])))
    expect(error).toMatchObject({ _tag: "OperationDenied", operation: "submitMany" })
    expect(world.storage.dump()).toBe("[]")
    asked.splice(0)
    expect(told(await sent(world, "a 1", "c 1", "a 2"))).toEqual(["a1", "c1", "a2"])
    expect(asked).toEqual(["submitMany a", "submitMany c"])
  })

  it("is asked about each thread that a filter names, and of one that names none about all", async () => {
    const { asked, authorizer } = denying("b")
    const world = makeOwnerWorld({ authorizer })
    await sent(world, "a 1")
    asked.splice(0)
    const named = (...names: ReadonlyArray<string>) => ({
      threadIds: names.map((name) => ThreadId.make(name)),
    })
    const abort = (filter: object) => world.client.abortMany({ ownerId, filter, ...words })
    for (const filter of [named("a", "b"), {}, { agent }])
      expect(await go(Effect.flip(abort(filter)))).toMatchObject({ _tag: "OperationDenied" })
    expect(world.thread("a").asked).toBe(0)
    expect((await go(abort(named("a")))).results).toHaveLength(1)
    expect(asked).toEqual([
      "abortMany a",
      "abortMany b",
      "abortMany all",
      "abortMany all",
      "abortMany a",
    ])
  })
})

describe("a resubmission at the owner", () => {
  const submissionId = "018f0000-0000-7000-8000-000000000009" as SubmissionId
  const payload = {
    ownerId,
    threadId: ThreadId.make("a"),
    submissionId,
    idempotencyKey: IdempotencyKey.make("again"),
    author: "ann",
    reason: "it works now",
  }

  it("reaches its thread as it was said, with who called, and is worked on", async () => {
    const world = makeOwnerWorld()
    const receipt = await go(world.client.resubmit(payload))
    expect(receipt).toMatchObject({ sequence: 1, resubmissionOf: submissionId })
    const { ownerId: _o, threadId: _t, ...said } = payload
    expect(world.thread("a").commands).toMatchObject([
      { name: "resubmit", payload: { ...said, principal: "tester" } },
    ])
    expect(world.thread("a").commands[0]?.payload).not.toHaveProperty("input")
    await world.quiet()
    expect(world.thread("a").settled).toEqual([1])
  })

  it("with an input that cannot be stored is refused, and nothing is written", async () => {
    const world = makeOwnerWorld()
    const error = await go(Effect.flip(world.client.resubmit({ ...payload, input: "a\0" })))
    expect(error).toMatchObject({ _tag: "InvalidInput" })
    expect(world.storage.dump()).toBe("[]")
  })

  it("of a full owner is for keys that are known", async () => {
    const world = makeOwnerWorld({ limits: { nonterminalPerOwner: 0 } })
    await go(world.client.resubmit({ ...payload, input: null }))
    expect(world.thread("a").commands[0]?.payload).toMatchObject({
      input: null,
      replayOnly: { limit: "nonterminalPerOwner", actual: 0, maximum: 0 },
    })
  })
})

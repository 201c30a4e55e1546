/**
 * A platform may carry out a call again, seconds after it was answered. Its owner believes the first answer: what the
 * second changed would stand in a thread that nobody comes for.
 */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { makeGeneration, ThreadId } from "../../../contracts/Identifiers.ts"
import type { OutboxEntry } from "../../../contracts/Outbox.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, refusal, tags, type World } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"
import { openWaits, outside } from "./waits.ts"

const io = { input: Schema.Json, output: Schema.Json }
const late = { _tag: "Unavailable", retryable: true }

/** What every call of an owner says. */
const about = (world: World) => ({
  ...world.address,
  generation: world.generation(),
  now: world.time.now,
})

/** What is to be carried. */
const claimed = (world: World) =>
  taken(go(world.asOwner.claimOutbox({ ...about(world), limit: 8 })))

/** Says what became of it. Gives the call. */
const acknowledged = async (
  world: World,
  entries: ReadonlyArray<OutboxEntry>,
  result: object,
): Promise<never> => {
  const results = entries.map((entry) => ({ ...entry, result }))
  const call = { ...about(world), results } as never
  await taken(go(world.asOwner.acknowledgeOutbox(call)))
  return call
}

/** A child, and the run of another thread that has asked for it. */
const childId = "c".repeat(32)
const parent = {
  threadId: "p",
  submissionId: "01900000-0000-7000-8000-000000000001",
  name: "kid",
  depth: 1,
}

describe("a call that is carried out again later", () => {
  it("decides nothing where its approval was not asked for yet when it was answered", async () => {
    const Refund = Agent.make("refund", io).handler((_, run) =>
      Effect.as(run.approval("ok", { summary: "Refund?" }), null),
    )
    const world = makeWorld({ agents: [Refund] })
    const { submissionId } = await accepted(world.admit("refund", null))
    const generation = world.generation()
    const decide = () => outside(world).decide(submissionId, "ok", true, { generation })
    expect(await refused(decide())).toMatchObject({ _tag: "NotAwaiting" })
    await tags(world.process())
    expect(openWaits(world)).toEqual(["ok"])
    expect(await refused(decide())).toMatchObject(late)
    expect(openWaits(world)).toEqual(["ok"])
    await taken(outside(world).decide(submissionId, "ok", true))
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it("signals nothing where the run had no room for it when it was answered", async () => {
    const Waits = Agent.make("waits", io).handler((_, run) => run.waitFor("paid", Schema.Json))
    const world = makeWorld({ agents: [Waits], limits: { earlySignals: 3 } })
    const { submissionId } = await accepted(world.admit("waits", null))
    for (const name of ["a", "b", "c"]) await taken(outside(world).signal(submissionId, name, 1))
    const generation = world.generation()
    const signal = () => outside(world).signal(submissionId, "paid", 1, { generation })
    expect(await refused(signal())).toMatchObject({ _tag: "AdmissionLimitExceeded" })
    expect(await refused(signal())).toMatchObject(late)
  })

  it("retries nothing a second time", async () => {
    const Echo = Agent.make("echo", io).handler(() => Effect.never)
    const world = makeWorld({ agents: [Echo] })
    const { submissionId } = await accepted(world.admit("echo", null))
    const generation = world.generation()
    await taken(operate(world).retry(submissionId, { generation }))
    expect(await refused(operate(world).retry(submissionId, { generation }))).toMatchObject(late)
  })

  it("brings no schedule back that was removed, and removes none that was set since", async () => {
    const Echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
    const world = makeWorld({ agents: [Echo] })
    const order = (said: object) =>
      ({
        ...world.address,
        principal: "alice",
        generation: world.generation(),
        now: world.time.now,
        name: "hourly",
        ...said,
      }) as never
    const content = { cron: "0 * * * *", agent: "echo", input: 1 }
    const listed = async () =>
      (await go(world.asReader.schedules({ ...world.address }))).schedules.length
    const set = order(content)
    await taken(go(world.asOwner.schedule(set)))
    const remove = order({})
    expect(await taken(go(world.asOwner.unschedule(remove)))).toEqual({ removed: true })
    expect(await refused(go(world.asOwner.schedule(set)))).toMatchObject(late)
    expect(await listed()).toBe(0)
    await taken(go(world.asOwner.schedule(order(content))))
    expect(await refused(go(world.asOwner.unschedule(remove)))).toMatchObject(late)
    expect(await listed()).toBe(1)
  })

  it("removes no schedule that was set where there was no thread yet when it was answered", async () => {
    const Echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
    const world = makeWorld({ agents: [Echo] })
    const named = (said: object) =>
      ({ ...about(world), principal: "alice", name: "hourly", ...said }) as never
    const listed = async () =>
      (await go(world.asReader.schedules({ ...world.address }))).schedules.length
    const remove = named({})
    expect(await taken(go(world.asOwner.unschedule(remove)))).toEqual({ removed: false })
    const content = { cron: "0 * * * *", agent: "echo", input: 1 }
    await taken(go(world.asOwner.schedule(named(content))))
    expect(await refused(go(world.asOwner.unschedule(remove)))).toMatchObject(late)
    expect(await listed()).toBe(1)
    expect(await taken(go(world.asOwner.unschedule(named({}))))).toEqual({ removed: true })
  })

  it("has no parent told a second time by a child that has settled meanwhile", async () => {
    const Kid = Agent.make("kid", io).handler(() => Effect.succeed(1))
    const world = makeWorld({ agents: [Kid] })
    await accepted(world.admit("kid", null, { idempotencyKey: childId, parent } as never))
    const words = { childId, author: "heddle", reason: "over", principal: "alice" }
    const word = { ...about(world), ...words } as never
    await taken(go(world.asOwner.abortChild(word)))
    await acknowledged(world, await claimed(world), { _tag: "Taken" })
    const { report } = await go(world.inspect())
    expect(report.outboxAt).toBeUndefined()
    expect(await refused(go(world.asOwner.abortChild(word)))).toMatchObject(late)
    expect((await go(world.inspect())).report.outboxAt).toBeUndefined()
  })

  it("has a thread ask after its children once for each visit", async () => {
    const Kid = Agent.make("kid", io)
    const Parent = Agent.make("parent", io).handler((_, run) =>
      Effect.as(Effect.orDie(run.child("kid", Kid, 1)), null),
    )
    const world = makeWorld({ agents: [Parent, Kid.handler(() => Effect.succeed(1))] })
    await accepted(world.admit("parent", null))
    await tags(world.process())
    await acknowledged(world, await claimed(world), { _tag: "Taken" })
    const earlier = { ...about(world), fence: world.generation(), anew: true }
    const visit = { ...about(world), fence: world.generation(), anew: true }
    expect((await go(world.asOwner.inspect(visit))).report.outboxAt).toBeDefined()
    const asked = await claimed(world)
    expect(asked).toMatchObject([{ _tag: "ChildAsk" }])
    await acknowledged(world, asked, { _tag: "Taken" })
    expect((await go(world.asOwner.inspect(visit))).report.outboxAt).toBeUndefined()
    // It comes behind one that was sent later.
    expect((await go(world.asOwner.inspect(earlier))).report.outboxAt).toBeUndefined()
    // An owner that was lost may come back below the fence.
    const below = makeGeneration({ incarnation: 0, counter: 1 })
    const another = { ...about(world), fence: below, anew: true }
    expect((await go(world.asOwner.inspect(another))).report.outboxAt).toBeDefined()
    await acknowledged(world, await claimed(world), { _tag: "Taken" })
    expect((await go(world.asOwner.inspect(another))).report.outboxAt).toBeUndefined()
  })

  it("parks no message that somebody has had carried again", async () => {
    const Kid = Agent.make("kid", io)
    const Sends = Agent.make("sends", io).handler((_, run) =>
      Effect.as(run.send("word", { threadId: ThreadId.make("b"), agent: Kid, input: 1 }), null),
    )
    const world = makeWorld({ agents: [Sends] })
    const { submissionId } = await accepted(world.admit("sends", null))
    await tags(world.process())
    const denied = { _tag: "Refused", tag: "OperationDenied", message: "" }
    const word = await acknowledged(world, await claimed(world), denied)
    expect(await claimed(world)).toEqual([])
    await operate(world).retry(submissionId)
    expect(await refused(go(world.asOwner.acknowledgeOutbox(word)))).toMatchObject(late)
    expect(await claimed(world)).toMatchObject([{ _tag: "Message" }])
  })

  it("takes back no word of a child to a parent that has asked again", async () => {
    const Kid = Agent.make("kid", io).handler(() => Effect.succeed(1))
    const world = makeWorld({ agents: [Kid] })
    await accepted(world.admit("kid", null, { idempotencyKey: childId, parent } as never))
    await tags(world.process())
    const word = await acknowledged(world, await claimed(world), { _tag: "Taken" })
    const ask = { ...about(world), childId, principal: "alice" } as never
    await taken(go(world.asOwner.askChild(ask)))
    expect(await refused(go(world.asOwner.acknowledgeOutbox(word)))).toMatchObject(late)
    expect(await claimed(world)).toMatchObject([{ _tag: "ChildNotice" }])
  })
})

describe("an admission that is carried out again after its key was pruned", () => {
  const Echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
  const Fails = Agent.make("fails", io).handler(() => Effect.die(new Error("no")))
  const settledAfterMillis = 16

  /** A thread in which something has settled under the key `k`. */
  const given = async (agent = "echo") => {
    const world = makeWorld({ agents: [Echo, Fails], settledAfterMillis })
    const first = { idempotencyKey: "k", generation: world.generation(), now: world.time.now }
    const { submissionId } = await accepted(world.admit(agent, 1, first))
    await tags(world.process())
    const prune = async () => {
      world.time.now += 2 * settledAfterMillis
      await tags(world.process())
      expect((await go(world.status(submissionId))).settlement?.pruned).toBe(true)
    }
    return { world, first, submissionId, prune }
  }

  it("is refused; the same key is a new submission for whoever comes after that", async () => {
    const { first, prune, world } = await given()
    world.time.now += 1
    await prune()
    for (const _ of [1, 2]) expect(await refusal(world.admit("echo", 1, first))).toMatchObject(late)
    world.crash()
    expect(await refusal(world.admit("echo", 1, first))).toMatchObject(late)
    expect((await go(world.inspect())).report.nonterminal).toBe(0)
    expect(await accepted(world.admit("echo", 1, { idempotencyKey: "k" }))).toMatchObject({
      duplicate: false,
    })
  })

  it("is refused among several", async () => {
    const { prune, world } = await given()
    const one = { ...world.address, agent: "echo", input: 1, idempotencyKey: "one" }
    const call = { ...about(world), principal: "alice", submissions: [one] } as never
    await taken(go(world.asOwner.admitMany(call)))
    await tags(world.process())
    await prune()
    expect(await refused(go(world.asOwner.admitMany(call)))).toMatchObject(late)
  })

  it("is refused where it does the work of another again", async () => {
    const { prune, submissionId, world } = await given("fails")
    const order = {
      ...about(world),
      submissionId,
      principal: "alice",
      author: "ann",
      reason: "again",
      input: 2,
      idempotencyKey: "again",
    } as never
    await taken(go(world.asOwner.resubmit(order)))
    await tags(world.process())
    await prune()
    expect(await refused(go(world.asOwner.resubmit(order)))).toMatchObject(late)
  })

  it("is refused where its key was known", async () => {
    const { prune, world } = await given()
    world.time.now += 1
    const again = { idempotencyKey: "k", generation: world.generation(), now: world.time.now }
    expect(await accepted(world.admit("echo", 1, again))).toMatchObject({ duplicate: true })
    await prune()
    expect(await refusal(world.admit("echo", 1, again))).toMatchObject(late)
  })

  it("is refused where its key had another input", async () => {
    const { prune, world } = await given()
    world.time.now += 1
    const other = { idempotencyKey: "k", generation: world.generation(), now: world.time.now }
    expect(await refusal(world.admit("echo", 2, other))).toMatchObject({
      _tag: "IdempotencyConflict",
    })
    await prune()
    expect(await refusal(world.admit("echo", 2, other))).toMatchObject(late)
  })
})

/** What a thread has for others: in order for each target, until it is taken, or somebody says otherwise. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { type MessageId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { OutboxResult } from "../../../contracts/Outbox.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"
import { operate, taken } from "./operators.ts"

const Kid = Agent.make("kid", { input: Schema.String, output: Schema.String })
const to = (thread: string, input: string) => ({
  threadId: ThreadId.make(thread),
  agent: Kid,
  input,
})

/** Sends two messages to one thread, and one to another. */
const Sends = Agent.make("sends", { input: Schema.String, output: Schema.String }).handler(
  Effect.fn(function* (_, run) {
    yield* run.send("first", to("b", "1"))
    yield* run.send("second", to("b", "2"))
    yield* run.send("other", to("c", "3"))
    return "sent"
  }),
)

const call = (world: World) => ({
  ...world.address,
  generation: world.generation(),
  now: world.time.now,
})

const claim = async (world: World) => {
  const { report, result } = await go(world.asOwner.claimOutbox({ ...call(world), limit: 8 }))
  if (result._tag === "Failure") throw result.error
  const entries = result.value.flatMap((entry) =>
    entry._tag === "Message"
      ? [{ id: entry.id, input: entry.input, threadId: entry.threadId }]
      : [],
  )
  return { report, entries }
}

const inputs = async (world: World) =>
  (await claim(world)).entries.map(({ input }) => input as string)

const acknowledge = (world: World, id: MessageId, result: OutboxResult["result"]) =>
  go(world.asOwner.acknowledgeOutbox({ ...call(world), results: [{ id, result }] }))

const delayed = { _tag: "Delayed", tag: "Unavailable" } as const

const given = async () => {
  const world = makeWorld({ agents: [Sends] })
  const { submissionId } = await accepted(world.admit("sends", "a"))
  await drain(world)
  return { world, submissionId }
}

const day = 24 * 60 * 60 * 1_000

describe("an outbox", () => {
  it("gives what is due in the order of each target, and gives it again until it is taken", async () => {
    const { world } = await given()
    expect((await inputs(world)).toSorted()).toEqual(["1", "2", "3"])
    const { entries, report } = await claim(world)
    expect(entries.filter(({ threadId }) => threadId === "b").map(({ input }) => input)).toEqual([
      "1",
      "2",
    ])
    expect(report.outboxAt).toBeLessThanOrEqual(world.time.now)
    for (const { id } of entries) await acknowledge(world, id, { _tag: "Taken" })
    expect(await inputs(world)).toEqual([])
    expect((await claim(world)).report).not.toHaveProperty("outboxAt")
  })

  it("has the followers of one that was not taken wait for it, and no other target", async () => {
    const { world } = await given()
    const { entries } = await claim(world)
    const first = entries.find(({ input }) => input === "1")
    await acknowledge(world, first?.id as MessageId, delayed)
    expect(await inputs(world)).toEqual(["3"])
    world.time.now += 1_000
    expect((await inputs(world)).toSorted()).toEqual(["1", "2", "3"])
  })

  it("tries what was not taken later each time, up to a minute", async () => {
    const { world } = await given()
    const { entries } = await claim(world)
    const other = entries.find(({ input }) => input === "3")?.id as MessageId
    for (const one of entries.filter(({ input }) => input !== "3"))
      await acknowledge(world, one.id, { _tag: "Taken" })
    const waits: Array<number> = []
    for (let tries = 0; tries < 8; tries++) {
      await acknowledge(world, other, delayed)
      const { report } = await go(world.inspect())
      waits.push((report.outboxAt ?? 0) - world.time.now)
      world.time.now = report.outboxAt ?? 0
    }
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  })

  it("parks what nobody took within a day, shows it, and lets those behind it pass", async () => {
    const { submissionId, world } = await given()
    const { entries } = await claim(world)
    world.time.now += day
    await acknowledge(world, entries.find(({ input }) => input === "1")?.id as MessageId, delayed)
    expect((await inputs(world)).toSorted()).toEqual(["2", "3"])
    const { report } = await go(world.inspect())
    expect(report.waits).toEqual([
      { submissionId, blocker: "outbox", name: "first", sinceAt: world.time.now },
    ])
  })

  it("parks what its target refuses for good", async () => {
    const { world } = await given()
    const { entries } = await claim(world)
    const id = entries.find(({ input }) => input === "3")?.id as MessageId
    await acknowledge(world, id, { _tag: "Refused", tag: "OperationDenied", message: "no" })
    expect(await inputs(world)).toEqual(["1", "2"])
    expect((await go(world.inspect())).report.waits).toMatchObject([{ name: "other" }])
  })

  it("is explained while it is parked, although its run has settled, and not once it was taken", async () => {
    const { submissionId, world } = await given()
    const { explain } = operate(world)
    expect(await explain()).toEqual([])
    const { entries } = await claim(world)
    const id = entries.find(({ input }) => input === "3")?.id as MessageId
    await acknowledge(world, id, { _tag: "Refused", tag: "OperationDenied", message: "no" })
    const told = await explain()
    expect(told).toMatchObject([
      {
        submissionId,
        state: "settled",
        decision: "NoAction",
        waits: [{ blocker: "outbox", name: "other", whoCanAct: "operator" }],
      },
    ])
    expect(told[0]?.waits[0]?.message).toContain("OperationDenied")
    expect(await explain(submissionId)).toEqual(told)
    await taken(operate(world).retry(submissionId))
    expect(await explain()).toEqual([])
    await acknowledge(world, id, { _tag: "Taken" })
    expect(await explain(submissionId)).toEqual([])
  })

  it("carries what is parked again when somebody says so, behind the others of its target", async () => {
    const { submissionId, world } = await given()
    const { entries } = await claim(world)
    world.time.now += day
    const first = entries.find(({ input }) => input === "1")?.id as MessageId
    await acknowledge(world, first, delayed)
    expect(await taken(operate(world).retry(submissionId))).toMatchObject({ state: "settled" })
    expect((await go(world.inspect())).report.waits).toEqual([])
    const again = (await claim(world)).entries.filter(({ threadId }) => threadId === "b")
    expect(again.map(({ input }) => input)).toEqual(["2", "1"])
    expect(again.at(-1)?.id).toBe(first)
    const { checks } = await operate(world).verify() // The word is recorded behind the settlement.
    expect(checks.filter(({ _tag }) => _tag !== "Passed")).toEqual([])
    world.time.now += day / 2
    await acknowledge(world, again[0]?.id as MessageId, { _tag: "Taken" })
    await acknowledge(world, first, delayed)
    expect((await go(world.inspect())).report.waits).toEqual([])
    const { result } = await operate(world).retry(submissionId)
    expect(result).toMatchObject({ _tag: "Failure", error: { _tag: "SettlementConflict" } })
  })

  it("changes nothing by a word about what is no longer there", async () => {
    const { world } = await given()
    const { entries } = await claim(world)
    const id = entries[0]?.id as MessageId
    await acknowledge(world, id, { _tag: "Taken" })
    const dump = world.storage.dump()
    await acknowledge(world, id, delayed)
    await acknowledge(world, id, { _tag: "Refused", tag: "InvalidInput", message: "" })
    expect(world.storage.dump()).toBe(dump)
  })

  it("is owed when its thread is to be forgotten; what is parked is not", async () => {
    const { world } = await given()
    const { entries } = await claim(world)
    const owed = await operate(world).forget()
    expect(owed.result).toMatchObject({ error: { _tag: "WorkOwed", nonterminal: 0, outbox: 3 } })
    for (const { id } of entries.slice(0, 2)) await acknowledge(world, id, { _tag: "Taken" })
    await acknowledge(world, entries[2]?.id as MessageId, {
      _tag: "Refused",
      tag: "OperationDenied",
      message: "no",
    })
    expect((await operate(world).forget()).result).toMatchObject({ _tag: "Success" })
  })
})

describe("a child's word to its parent", () => {
  const told = async () => {
    const kid = Agent.make("kid", { input: Schema.Json, output: Schema.Json }).handler(
      Effect.succeed,
    )
    const world = makeWorld({ agents: [kid] })
    const parent = {
      submissionId: "01890000-0000-7000-8000-000000000001",
      threadId: ThreadId.make("p"),
      name: "one",
      depth: 1,
    }
    const childId = "c".repeat(32)
    await accepted(world.admit("kid", "a", { idempotencyKey: childId, parent } as never))
    await drain(world)
    const { result } = await go(world.asOwner.claimOutbox({ ...call(world), limit: 8 }))
    if (result._tag === "Failure") throw result.error
    const [entry] = result.value
    if (entry?._tag !== "ChildNotice") throw new Error("no notice is queued")
    return { world, id: entry.id }
  }

  it("is tried for as long as it takes, after a day once an hour", async () => {
    const { id, world } = await told()
    world.time.now += 400 * day
    await acknowledge(world, id, delayed)
    const { report } = await go(world.inspect())
    expect(report.outboxAt).toBe(world.time.now + day / 24)
    expect(report.waits).toEqual([])
  })

  it("is done with when the parent can hear it no more", async () => {
    const { id, world } = await told()
    await acknowledge(world, id, { _tag: "Refused", tag: "ThreadForgotten", message: "" })
    expect(world.storage.sql.all("SELECT id FROM outbox")).toEqual([])
    expect((await go(world.inspect())).report).not.toHaveProperty("outboxAt")
    expect((await operate(world).forget()).result).toMatchObject({ _tag: "Success" })
  })
})

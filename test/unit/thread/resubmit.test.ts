import { Effect, Schema } from "effect"
import { describe, expect, it, vi } from "vitest"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type World } from "./harness.ts"
import { operate, refused, type Said, taken } from "./operators.ts"

const makeFlaky = (life: { works: boolean }) =>
  Agent.make("flaky", {
    input: Schema.Unknown,
    output: Schema.Unknown,
    error: Schema.String,
  }).handler((input) =>
    Effect.suspend(() => (life.works ? Effect.succeed(input) : Effect.fail("not yet"))),
  )

const failedOne = async (input: unknown = { order: 7 }) => {
  const life = { works: false }
  const world = makeWorld({ agents: [makeFlaky(life)] })
  const first = await accepted(world.admit("flaky", input as never, { idempotencyKey: "first" }))
  await drain(world)
  life.works = true
  return { life, world, first }
}

type Order = Said & { readonly idempotencyKey?: string; readonly input?: unknown }

const resubmit = (world: World, submissionId: SubmissionId, order: Order = {}) =>
  go(
    world.asOwner.resubmit({
      ...world.address,
      submissionId,
      idempotencyKey: "again",
      author: "ann",
      reason: "it works now",
      principal: "alice",
      generation: world.generation(),
      now: world.time.now,
      ...order,
    } as never),
  )

const kinds = async (world: World) => (await go(world.history())).records.map(({ kind }) => kind)

describe("a resubmission", () => {
  it("does the work of a failed submission again, as one that is linked to it", async () => {
    const { first, world } = await failedOne()
    const receipt = await taken(resubmit(world, first.submissionId))
    expect(receipt).toMatchObject({
      sequence: 2,
      duplicate: false,
      resubmissionOf: first.submissionId,
    })
    await drain(world)
    expect(await go(world.status(receipt.submissionId))).toMatchObject({
      state: "settled",
      resubmissionOf: first.submissionId,
      settlement: { outcome: "completed", output: { order: 7 } },
    })
    const old = await go(world.status(first.submissionId))
    expect(old).toMatchObject({ settlement: { outcome: "failed" } })
    expect(old).not.toHaveProperty("resubmissionOf")
    const { records } = await go(world.history({ after: 2 }))
    expect(records[0]).toMatchObject({
      kind: "Resubmitted",
      submissionId: receipt.submissionId,
      payload: {
        author: "ann",
        principal: "alice",
        reason: "it works now",
        resubmissionOf: first.submissionId,
      },
    })
    const { checks } = await operate(world).verify()
    expect(checks.filter(({ _tag }) => _tag !== "Passed")).toEqual([])
  })

  it("takes another input if one is given, null among them", async () => {
    const { first, world } = await failedOne()
    const other = await taken(resubmit(world, first.submissionId, { input: { order: 8 } }))
    const none = await taken(
      resubmit(world, first.submissionId, { input: null, idempotencyKey: "null" }),
    )
    await drain(world)
    for (const [{ submissionId }, output] of [
      [other, { order: 8 }],
      [none, null],
    ] as const)
      expect(await go(world.status(submissionId))).toMatchObject({ settlement: { output } })
    expect(
      await refused(resubmit(world, first.submissionId, { input: "\0", idempotencyKey: "b" })),
    ).toMatchObject({ _tag: "InvalidInput" })
  })

  it("is made once for a key, also after a crash and after it has settled", async () => {
    const { first, world } = await failedOne()
    const receipt = await taken(resubmit(world, first.submissionId))
    const again = { ...receipt, duplicate: true }
    expect(await taken(resubmit(world, first.submissionId))).toEqual(again)
    world.crash()
    await drain(world)
    expect(await taken(resubmit(world, first.submissionId))).toEqual(again)
    expect(await kinds(world)).toEqual([
      "InputApplied",
      "Settled",
      "Resubmitted",
      "InputApplied",
      "Settled",
    ])
  })

  it("conflicts with every other use of its key", async () => {
    const { first, life, world } = await failedOne()
    const key = { idempotencyKey: "first" }
    expect(await refused(resubmit(world, first.submissionId, key))).toMatchObject({
      _tag: "IdempotencyConflict",
      submissionId: first.submissionId,
    })
    const receipt = await taken(resubmit(world, first.submissionId))
    expect(await refused(resubmit(world, first.submissionId, { input: 1 }))).toMatchObject({
      _tag: "IdempotencyConflict",
    })
    const plain = world.admit("flaky", { order: 7 }, { idempotencyKey: "again" })
    expect((await go(plain)).result).toMatchObject({
      error: { _tag: "IdempotencyConflict", submissionId: receipt.submissionId },
    })
    life.works = false
    await drain(world)
    // The same key, agent and input, and another original.
    expect(await refused(resubmit(world, receipt.submissionId))).toMatchObject({
      _tag: "IdempotencyConflict",
    })
    const third = await taken(
      resubmit(world, receipt.submissionId, { idempotencyKey: "once more" }),
    )
    expect(third).toMatchObject({ sequence: 3, resubmissionOf: receipt.submissionId })
  })

  it("is taken of what was aborted, and refused of what completed", async () => {
    const { world } = await failedOne()
    const aborted = await accepted(world.admit("flaky", 1))
    await go(world.abort(aborted.submissionId))
    expect(await taken(resubmit(world, aborted.submissionId))).toMatchObject({
      resubmissionOf: aborted.submissionId,
    })
    const done = await accepted(world.admit("flaky", 2))
    await drain(world)
    expect(
      await refused(resubmit(world, done.submissionId, { idempotencyKey: "done" })),
    ).toMatchObject({ _tag: "SettlementConflict", outcome: "completed" })
  })

  it("is refused of what is still open, and of what is not here", async () => {
    const { world } = await failedOne()
    const open = await accepted(world.admit("flaky", 1))
    expect(await refused(resubmit(world, open.submissionId))).toMatchObject({
      _tag: "NotSettled",
      submissionId: open.submissionId,
      state: "ready",
    })
    const unknown = "018f0000-0000-7000-8000-000000000001" as SubmissionId
    expect(await refused(resubmit(world, unknown))).toMatchObject({ _tag: "SubmissionNotFound" })
    const untouched = makeWorld({ agents: [] })
    expect(await refused(resubmit(untouched, unknown))).toMatchObject({
      _tag: "SubmissionNotFound",
    })
    expect(untouched.storage.dump()).toBe("[]")
  })

  it("is held to the limits of an admission, which a retry of it is exempt from", async () => {
    const { first, world } = await failedOne()
    await taken(resubmit(world, first.submissionId))
    world.crash({ limits: { queuedPerThread: 1 } })
    expect(await taken(resubmit(world, first.submissionId))).toMatchObject({ duplicate: true })
    const other = { idempotencyKey: "other" }
    expect(await refused(resubmit(world, first.submissionId, other))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "queuedPerThread",
    })
    const replayOnly = { limit: "nonterminalPerOwner", actual: 10, maximum: 10 }
    world.crash({ limits: { queuedPerThread: 256 } })
    const full = { ...other, replayOnly }
    expect(await refused(resubmit(world, first.submissionId, full))).toMatchObject(replayOnly)
  })

  it("does not take an input that is another than was digested, and tells its first receipt all the same", async () => {
    const { first, world } = await failedOne()
    const receipt = await taken(resubmit(world, first.submissionId))
    world.storage.sql.run("UPDATE submissions SET input = '{}'")
    world.crash()
    const other = { idempotencyKey: "other" }
    expect(await refused(resubmit(world, first.submissionId, other))).toMatchObject({
      _tag: "ThreadUnreadable",
      what: "submissions",
    })
    expect(await taken(resubmit(world, first.submissionId))).toEqual({
      ...receipt,
      duplicate: true,
    })
  })

  it("is refused by a fence that is not older", async () => {
    const { first, world } = await failedOne()
    const generation = world.generation()
    await go(world.inspect(world.generation()))
    expect(await refused(resubmit(world, first.submissionId, { generation }))).toMatchObject({
      _tag: "Unavailable",
    })
    expect(await kinds(world)).toEqual(["InputApplied", "Settled"])
  })

  it("that was refused stays so when its call is replayed, whatever has become of the work", async () => {
    const { life, world } = await failedOne()
    life.works = false
    const open = await accepted(world.admit("flaky", 1))
    const order = { generation: world.generation() }
    expect(await refused(resubmit(world, open.submissionId, order))).toMatchObject({
      _tag: "NotSettled",
    })
    await drain(world)
    expect(await refused(resubmit(world, open.submissionId, order))).toMatchObject({
      _tag: "Unavailable",
    })
    expect(await taken(resubmit(world, open.submissionId))).toMatchObject({ sequence: 3 })
  })
})

describe("the open submissions of a thread", () => {
  const listOpen = (world: World, query: object = {}) =>
    go(world.asOwner.listOpen({ ...world.address, limit: 10, ...query }))

  it("are told by sequence, as far as they are meant, and nothing is written", async () => {
    const { first, world } = await failedOne()
    const Other = Agent.make("other", { input: Schema.Unknown, output: Schema.Unknown }).handler(
      Effect.succeed,
    )
    world.crash({ agents: [Other] })
    const second = await accepted(world.admit("other", 1))
    world.time.now += 10
    const third = await accepted(world.admit("other", 2, { notBefore: world.time.now + 10_000 }))
    const before = world.storage.counts()
    const transaction = vi.spyOn(world.storage, "transaction")
    const sequences = async (query: object) =>
      (await listOpen(world, query)).submissions.map(({ sequence }) => sequence)
    expect(await listOpen(world)).toMatchObject({
      submissions: [
        { submissionId: second.submissionId, sequence: 2, agent: "other", state: "ready" },
        { submissionId: third.submissionId, sequence: 3, acceptedAt: third.acceptedAt },
      ],
      more: false,
    })
    expect(await sequences({ agent: "flaky" })).toEqual([])
    expect(await sequences({ state: "unknown" })).toEqual([])
    expect(await sequences({ state: "ready", agent: "other" })).toEqual([2, 3])
    expect(await sequences({ acceptedBefore: third.acceptedAt })).toEqual([2])
    expect(await sequences({ after: 2 })).toEqual([3])
    expect(await listOpen(world, { limit: 1 })).toMatchObject({ more: true })
    expect(await sequences({ falling: true })).toEqual([3, 2])
    expect(await sequences({ falling: true, after: 3 })).toEqual([2])
    expect(await listOpen(world, { falling: true, limit: 1 })).toMatchObject({
      submissions: [{ sequence: 3 }],
      more: true,
    })
    expect(world.storage.counts().written).toBe(before.written)
    expect(transaction).not.toHaveBeenCalled()
    expect(first.sequence).toBe(1)
  })

  it("are none of an untouched thread, which stays untouched", async () => {
    const world = makeWorld({ agents: [] })
    expect(await listOpen(world)).toEqual({ submissions: [], more: false })
    expect(world.storage.dump()).toBe("[]")
  })

  it("are told to the owner alone", async () => {
    const world = makeWorld({ agents: [] })
    const asked = world.asReader.listOpen({ ...world.address, limit: 10 })
    expect(await go(Effect.flip(asked))).toMatchObject({ _tag: "OperationDenied" })
  })
})

/** Approvals: asked, decided, denied, expired; a run that waits for one holds nothing. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, until, type World } from "./harness.ts"
import { refused, taken } from "./operators.ts"
import {
  dispatched,
  hour,
  openWaits,
  outputOf,
  outside,
  recorded,
  rowOf,
  waiting,
} from "./waits.ts"

const Refund = Agent.make("refund", { input: Schema.Number, output: Schema.Json }).handler(
  Effect.fn(function* (total, run) {
    const answer = yield* run.approval("refund", {
      summary: `Refund ${total}?`,
      data: { total },
      expires: "1 hour",
    })
    return { ...answer }
  }),
)

const Two = Agent.make("two", { input: Schema.Number, output: Schema.Json }).handler(
  Effect.fn(function* (_, run) {
    const both = yield* Effect.all(
      [run.approval("a", { summary: "A?" }), run.approval("b", { summary: "B?" })],
      { concurrency: 2 },
    )
    return both.map(({ approved }) => approved)
  }),
)

const started = async (world: World, agent: string) => {
  const { submissionId } = await accepted(world.admit(agent, 10))
  expect(await dispatched(world)).toBe("Suspended")
  return { submissionId, ...outside(world) }
}

describe("an approval", () => {
  it("suspends its run, which holds no attempt and gives no time but that of its expiry", async () => {
    const world = makeWorld({ agents: [Refund] })
    await started(world, "refund")
    expect(rowOf(world)).toMatchObject({ state: "suspended", attempts: 1, ended: 0, vanished: 0 })
    const { report } = await go(world.inspect())
    expect(report.dueAt).toBe(world.time.now + hour)
    expect(report.recoverAt).toBeUndefined()
    expect(report.waits).toMatchObject([{ blocker: "approval", name: "refund" }])
  })

  it("gives who approved and why, and makes the run ready in the same block", async () => {
    const world = makeWorld({ agents: [Refund] })
    const { decide, submissionId } = await started(world, "refund")
    const reply = await taken(decide(submissionId, "refund", true))
    expect(reply).toMatchObject({ approved: true, state: "ready", decidedAt: world.time.now })
    expect(openWaits(world)).toEqual([])
    await drain(world)
    expect(await outputOf(world, submissionId)).toEqual({
      approved: true,
      expired: false,
      author: "ann",
      reason: "looks right",
    })
  })

  it("is denied as a value", async () => {
    const world = makeWorld({ agents: [Refund] })
    const { decide, submissionId } = await started(world, "refund")
    await taken(decide(submissionId, "refund", false))
    await drain(world)
    expect(await outputOf(world, submissionId)).toMatchObject({ approved: false, expired: false })
  })

  it("expires by itself, on record, and is decided no more", async () => {
    const world = makeWorld({ agents: [Refund] })
    const { decide, submissionId } = await started(world, "refund")
    world.time.now += hour
    expect(await dispatched(world)).toBe("Settled")
    expect(await outputOf(world, submissionId)).toEqual({ approved: false, expired: true })
    expect(await recorded(world)).toContain("TimerFired refund")
    expect(await refused(decide(submissionId, "refund", true))).toMatchObject({
      _tag: "SettlementConflict",
    })
  })

  it("is over at its time, also if a decision is the first to come after it", async () => {
    const world = makeWorld({ agents: [Refund] })
    const { decide, submissionId } = await started(world, "refund")
    world.time.now += hour
    expect(await refused(decide(submissionId, "refund", true))).toMatchObject({
      _tag: "NotAwaiting",
      name: "refund",
    })
    expect(rowOf(world)?.state).toBe("ready")
    await drain(world)
    expect(await outputOf(world, submissionId)).toEqual({ approved: false, expired: true })
  })

  it("is decided a millisecond before its time", async () => {
    const world = makeWorld({ agents: [Refund] })
    const { decide, submissionId } = await started(world, "refund")
    world.time.now += hour - 1
    await taken(decide(submissionId, "refund", true))
    world.time.now += hour
    await drain(world)
    expect(await outputOf(world, submissionId)).toMatchObject({ approved: true })
  })

  it("keeps the first decision: the same again gets it, another is told it, before and after settlement", async () => {
    const world = makeWorld({ agents: [Refund] })
    const { decide, submissionId } = await started(world, "refund")
    const first = await taken(decide(submissionId, "refund", true))
    expect(await taken(decide(submissionId, "refund", true))).toEqual(first)
    expect(await refused(decide(submissionId, "refund", false))).toMatchObject({
      _tag: "ResolutionConflict",
      first: "ann: looks right (approved)",
    })
    await drain(world)
    expect(await taken(decide(submissionId, "refund", true))).toEqual({
      ...first,
      state: "settled",
    })
    expect(await refused(decide(submissionId, "refund", true, { author: "bob" }))).toMatchObject({
      _tag: "ResolutionConflict",
    })
  })

  it("that nobody asked for is not waited for", async () => {
    const world = makeWorld({ agents: [Refund] })
    const { decide, submissionId } = await started(world, "refund")
    expect(await refused(decide(submissionId, "other", true))).toMatchObject({
      _tag: "NotAwaiting",
      name: "other",
    })
    expect(rowOf(world)?.state).toBe("suspended")
  })

  it("takes no decision for an input that a run has taken", async () => {
    const world = makeWorld({ agents: [Refund] })
    const host = await started(world, "refund")
    const { submissionId } = await accepted(world.admit("refund", 11))
    world.storage.sql.run("UPDATE submissions SET state = 'joined', host = 1 WHERE sequence = 2")
    expect(await refused(host.decide(submissionId, "refund", true))).toMatchObject({
      _tag: "JoinedToHost",
      hostSubmissionId: host.submissionId,
    })
  })

  it("that its run stopped waiting for by an abort is settled with it", async () => {
    const world = makeWorld({ agents: [Refund] })
    const { decide, submissionId } = await started(world, "refund")
    await go(world.abort(submissionId))
    expect(rowOf(world)?.state).toBe("settled")
    expect(openWaits(world)).toEqual([])
    expect(await refused(decide(submissionId, "refund", true))).toMatchObject({
      _tag: "SettlementConflict",
      outcome: "aborted",
    })
    expect((await go(world.inspect())).report).not.toHaveProperty("dueAt")
  })
})

describe("several approvals at once", () => {
  it("each resume the run, which waits again until all are decided; each is asked once", async () => {
    const world = makeWorld({ agents: [Two] })
    const { decide, submissionId } = await started(world, "two")
    await taken(decide(submissionId, "b", false))
    expect(await dispatched(world)).toBe("Suspended")
    expect(openWaits(world)).toEqual(["a"])
    expect(rowOf(world)).toMatchObject({ attempts: 2, ended: 0, vanished: 0 })
    await taken(decide(submissionId, "a", true))
    expect(await dispatched(world)).toBe("Settled")
    expect(await outputOf(world, submissionId)).toEqual([true, false])
    const records = await recorded(world)
    expect(records.filter((record) => record.startsWith("ApprovalRequested"))).toHaveLength(2)
    expect(rowOf(world)).toMatchObject({ attempts: 3, ended: 0 })
  })
})

/** One branch asks, the other works until it is let go. */
const gated = () => {
  const gate = Deferred.makeUnsafe<void>()
  let bodies = 0
  const live = Agent.make("gated", { input: Schema.Number, output: Schema.Json }).handler(
    Effect.fn(function* (_, run) {
      const asked = Effect.gen(function* () {
        const { approved } = yield* run.approval("go", { summary: "Go on?" })
        return yield* run.step("after", Schema.Json, Effect.succeed(approved))
      })
      const works = run.step(
        "work",
        Schema.Json,
        Effect.suspend(() => {
          bodies += 1
          return Effect.as(Deferred.await(gate), "done")
        }),
      )
      return yield* Effect.all([asked, works], { concurrency: 2 })
    }),
  )
  return { live, open: () => Deferred.doneUnsafe(gate, Effect.void), bodies: () => bodies }
}

describe("a decision while another branch works", () => {
  it("resumes its branch in memory: the attempt goes on, and the work is not begun again", async () => {
    const { bodies, live, open } = gated()
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("gated", 1))
    const turn = dispatched(world)
    await waiting(world, ["go"])
    expect(await taken(outside(world).decide(submissionId, "go", true))).toMatchObject({
      state: "running",
    })
    await until(
      "the branch has gone on",
      () => recorded(world),
      (seen) => seen.includes("StepCompleted after"),
    )
    open()
    expect(await turn).toBe("Settled")
    expect(await outputOf(world, submissionId)).toEqual([true, "done"])
    expect(bodies()).toBe(1)
    expect(rowOf(world)?.attempts).toBe(1)
  })

  it("that comes after the work has ended finds the run suspended", async () => {
    const { live, open } = gated()
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("gated", 1))
    const turn = dispatched(world)
    await waiting(world, ["go"])
    open()
    expect(await turn).toBe("Suspended")
    await taken(outside(world).decide(submissionId, "go", true))
    expect(await dispatched(world)).toBe("Settled")
    expect(rowOf(world)?.attempts).toBe(2)
  })
})

describe("a decision", () => {
  it.each([
    ["in memory", true],
    ["while its run is suspended", false],
  ])("that comes %s counts in what its run may record", async (_when, inMemory) => {
    const { live, open } = gated()
    const world = makeWorld({ agents: [live], limits: { runRecords: 3 } })
    const { submissionId } = await accepted(world.admit("gated", 1))
    const turn = dispatched(world)
    await waiting(world, ["go"])
    if (!inMemory) open()
    if (!inMemory) await turn
    await taken(outside(world).decide(submissionId, "go", true))
    await until(
      "the branch has gone on, or the run has settled",
      async () => [await recorded(world), inMemory ? "" : await dispatched(world)].flat(),
      (seen) => seen.includes("StepCompleted after") || seen.includes("Settled"),
    )
    open()
    await turn
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { failure: { tag: "RunTooLarge" } },
    })
  })
})

describe("a decision that races the suspension", () => {
  it("and comes first is found by the block that would suspend", async () => {
    const world = makeWorld({ agents: [Refund], holdAt: "suspend:before" })
    const { submissionId } = await accepted(world.admit("refund", 10))
    const turn = dispatched(world)
    await until(
      "it is about to be suspended",
      () => world.reached,
      (seen) => seen.includes("suspend:before"),
    )
    await taken(outside(world).decide(submissionId, "refund", true))
    world.release()
    expect(await turn).toMatch(/Yielded/)
    await drain(world)
    expect(await outputOf(world, submissionId)).toMatchObject({ approved: true })
    expect(rowOf(world)).toMatchObject({ attempts: 2, ended: 0 })
  })

  it("and comes second makes the suspended run ready", async () => {
    const world = makeWorld({ agents: [Refund], holdAt: "suspend:after" })
    const { submissionId } = await accepted(world.admit("refund", 10))
    const turn = dispatched(world)
    await until(
      "it is suspended",
      () => world.reached,
      (seen) => seen.includes("suspend:after"),
    )
    expect(await taken(outside(world).decide(submissionId, "refund", true))).toMatchObject({
      state: "ready",
    })
    world.release()
    await turn
    await drain(world)
    expect(await outputOf(world, submissionId)).toMatchObject({ approved: true })
  })
})

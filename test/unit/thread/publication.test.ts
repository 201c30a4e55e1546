/** A thread of a deployment that publishes: no run starts before the sink has every record. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, tags, type World } from "./harness.ts"
import { operate } from "./operators.ts"
import { acknowledge, claimed, claimOf, drainPublishing, publishAll } from "./publishing.ts"

const io = { input: Schema.Json, output: Schema.Json }

const Echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
const Steps = Agent.make("steps", io).handler((input, run) =>
  Effect.forEach(
    Array.from({ length: Number(input) }, (_, at) => at),
    (at) => run.step(`step-${at}`, Schema.Json, Effect.succeed("x".repeat(50))),
  ),
)
const Large = Agent.make("large", io).handler((input) => Effect.succeed("y".repeat(Number(input))))
const Waits = Agent.make("waits", io).handler((_, run) =>
  Effect.as(run.approval("ok", { summary: "may it" }), "done"),
)
const Sleeps = Agent.make("sleeps", io).handler((_, run) =>
  Effect.as(run.sleep("nap", "1 minute"), "up"),
)
const Hangs = Agent.make("hangs", io).handler(() => Effect.never)

const agents = [Echo, Steps, Large, Waits, Sleeps, Hangs]

const publishing = (options: Parameters<typeof makeWorld>[0] = {}) =>
  makeWorld({ agents, publishes: true, ...options })

const reportOf = async (world: World) => (await go(world.inspect())).report

const kinds = async (world: World) => (await go(world.history())).records.map(({ kind }) => kind)

describe("a deployment that publishes", () => {
  it("starts no run before the sink has the records of the one before", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    const second = await accepted(world.admit("echo", "b"))
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await kinds(world)).toEqual(["InputApplied", "Settled"])
    expect(await tags(world.process())).toEqual([])
    const report = await reportOf(world)
    expect(report).toMatchObject({
      publishAt: 0,
      waits: [{ submissionId: second.submissionId, blocker: "publication" }],
    })
    expect(report.dueAt).toBeUndefined()
    await go(acknowledge(world, 2))
    const after = await reportOf(world)
    expect(after).toMatchObject({ dueAt: 0, waits: [] })
    expect(after.publishAt).toBeUndefined()
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it.each([
    ["settle:after", "echo"],
    ["suspend:after", "waits"],
  ])("tells of records as soon as their attempt's end is written (%s)", async (stopAt, agent) => {
    const world = publishing({ stopAt })
    await accepted(world.admit(agent, "a"))
    void go(world.process())
    await world.stopped()
    expect(world.thread().isRunning()).toBe(true)
    expect(await reportOf(world)).toMatchObject({ publishAt: 0 })
    expect(await claimed(world)).not.toEqual([])
  })

  it("starts no run while the sink has all records but one", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    await accepted(world.admit("echo", "b"))
    await go(world.process())
    await go(acknowledge(world, 1))
    expect(await tags(world.process())).toEqual([])
    expect(await reportOf(world)).toMatchObject({ publishAt: 0 })
  })

  it("starts the first run of a thread at once", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    const report = await reportOf(world)
    expect(report.dueAt).toBe(0)
    expect(report.publishAt).toBeUndefined()
  })

  it("has a run that waits go on once its answer, too, is published", async () => {
    const world = publishing()
    const { submissionId } = await accepted(world.admit("waits", null))
    await go(world.process())
    await publishAll(world)
    await go(
      world.asOwner.resolveApproval({
        ...world.address,
        submissionId,
        name: "ok",
        approved: true,
        author: "ann",
        reason: "fine",
        principal: "ann",
        generation: world.generation(),
        now: world.time.now,
      } as never),
    )
    expect(await tags(world.process())).toEqual([])
    expect(await reportOf(world)).toMatchObject({ publishAt: 0 })
    expect((await publishAll(world)).map(({ kind }) => kind)).toEqual(["ApprovalDecided"])
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it("tells no time of a timer before its records are published, and then its own", async () => {
    const world = publishing()
    await accepted(world.admit("sleeps", null))
    await go(world.process())
    const owing = await reportOf(world)
    expect(owing).toMatchObject({ publishAt: 0 })
    expect(owing.dueAt).toBeUndefined()
    expect(owing.waits.map(({ blocker }) => blocker)).toEqual(["timer"])
    await publishAll(world)
    const { dueAt } = await reportOf(world)
    expect(dueAt).toBe(world.time.now + 60_000)
  })

  it("tells of no publication while an attempt makes records, and gives none", async () => {
    const world = publishing()
    const { submissionId } = await accepted(world.admit("hangs", null))
    await go(world.process({ attentionMillis: 5 }))
    const report = await reportOf(world)
    expect(report).toMatchObject({ dueAt: 0, head: { state: "running" } })
    expect(report.publishAt).toBeUndefined()
    expect(await claimed(world)).toEqual([])
    await go(world.abort(submissionId))
    const seen = await drainPublishing(world)
    expect(seen.map(({ kind }) => kind)).toEqual(await kinds(world))
  })

  it("publishes what an operator's word recorded of a thread that rests", async () => {
    const world = publishing()
    const { submissionId } = await accepted(world.admit("echo", "a"))
    await go(world.abort(submissionId))
    expect(await reportOf(world)).toMatchObject({ publishAt: 0, nonterminal: 0 })
  })

  it("publishes of a paused thread, too", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    await go(world.process())
    await operate(world).pause()
    expect(await reportOf(world)).toMatchObject({ paused: true, publishAt: 0 })
    expect(await publishAll(world)).toHaveLength(2)
  })

  it("keeps its cursor in the thread, over crashes", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    await go(world.process())
    await go(acknowledge(world, 1))
    world.crash()
    expect((await claimed(world)).map(({ sequence }) => sequence)).toEqual([2])
  })

  it("begins with all that the thread has when it is said of one that did not", async () => {
    const world = makeWorld({ agents })
    await accepted(world.admit("echo", "a"))
    await accepted(world.admit("echo", "b"))
    await go(world.process({ maxHeads: 1 }))
    const before = await reportOf(world)
    expect(before.dueAt).toBe(0)
    expect(before.publishAt).toBeUndefined()
    world.crash({ publishes: true })
    expect(await tags(world.process())).toEqual([])
    expect(await claimed(world)).toHaveLength(2)
    world.crash({ publishes: false })
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await claimed(world)).toEqual([])
  })

  it("says in words what holds a submission", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    const { submissionId } = await accepted(world.admit("echo", "b"))
    await go(world.process())
    const [told] = await go(world.asReader.explain({ ...world.address, submissionId }))
    expect(told?.heldBy).toMatchObject([
      {
        blocker: "publication",
        whoCanAct: "deployer",
        message: expect.stringContaining("2 records of the thread are on the way to the sink"),
      },
    ])
    await publishAll(world)
    const [after] = await go(world.asReader.explain({ ...world.address, submissionId }))
    expect(after?.heldBy).toEqual([])
  })
})

describe("a claim of records", () => {
  it("gives what history has, from the cursor on, and changes nothing", async () => {
    const world = publishing()
    await accepted(world.admit("steps", 3))
    await go(world.process())
    const before = await reportOf(world)
    const { records } = await go(world.history())
    expect(await claimed(world)).toEqual(records)
    expect(await claimed(world)).toEqual(records)
    await go(acknowledge(world, 2))
    expect(await claimed(world)).toEqual(records.slice(2))
    expect((await reportOf(world)).revision).toBe(before.revision + 1)
  })

  it("has at most so many records", async () => {
    const world = publishing()
    await accepted(world.admit("steps", 300))
    await go(world.process())
    expect(await claimed(world)).toHaveLength(256)
    expect(await claimed(world, { limit: 7 })).toHaveLength(7)
    expect(await publishAll(world)).toHaveLength(302)
  })

  it("has at most so many bytes of JSON, and one record that is larger by itself", async () => {
    const world = publishing()
    await accepted(world.admit("steps", 200))
    await go(world.process())
    const some = await claimed(world, { bytes: 4_000 })
    const bytes = some.reduce((sum, record) => sum + JSON.stringify(record).length + 1, 0)
    expect(bytes).toBeLessThanOrEqual(4_000)
    expect(bytes).toBeGreaterThan(3_500)
    await publishAll(world)
    await accepted(world.admit("large", 150_000))
    await go(world.process())
    expect((await claimed(world)).map(({ kind }) => kind)).toEqual(["InputApplied"])
    await go(acknowledge(world, 203))
    const [large, ...others] = await claimed(world)
    expect(large?.kind).toBe("Settled")
    expect(others).toEqual([])
  })

  it("older than the fence is refused, and so is such an acknowledgement", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    await go(world.process())
    const late = world.generation()
    await go(world.inspect(world.generation()))
    expect((await go(claimOf(world, { generation: late }))).result).toMatchObject({
      _tag: "Failure",
      error: { retryable: true },
    })
    expect((await go(acknowledge(world, 2, late))).result).toMatchObject({ _tag: "Failure" })
    expect(await claimed(world)).toHaveLength(2)
  })

  it("of records that do not decode is refused, and starts nothing", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    await accepted(world.admit("echo", "b"))
    await go(world.process())
    world.storage.sql.run("UPDATE journal SET payload = '{' WHERE sequence = 2")
    expect((await go(claimOf(world))).result).toMatchObject({
      _tag: "Failure",
      error: { retryable: false },
    })
    expect(await tags(world.process())).toEqual([])
  })
})

describe("an acknowledgement", () => {
  it("never goes back, and a repeated one changes nothing", async () => {
    const world = publishing()
    await accepted(world.admit("steps", 3))
    await go(world.process())
    await go(acknowledge(world, 4))
    const { revision } = await reportOf(world)
    await go(acknowledge(world, 4))
    await go(acknowledge(world, 2))
    expect((await reportOf(world)).revision).toBe(revision)
    expect((await claimed(world)).map(({ sequence }) => sequence)).toEqual([5])
  })

  it("of records that are not here moves nothing", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    await go(world.process())
    await go(acknowledge(world, 3))
    expect(await claimed(world)).toHaveLength(2)
  })
})

describe("a thread that is to be forgotten", () => {
  const forget = (world: World, abort: boolean) => operate(world).forget({ abort })

  it("owes the records that its sink lacks", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    await go(world.process())
    expect((await forget(world, false)).result).toMatchObject({
      _tag: "Failure",
      error: { _tag: "WorkOwed", nonterminal: 0, outbox: 0, records: 2 },
    })
    expect((await forget(world, true)).result).toMatchObject({ error: { records: 2 } })
    await publishAll(world)
    expect((await forget(world, false)).result._tag).toBe("Success")
  })

  it("publishes how its work was aborted first", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    const { result } = await forget(world, true)
    expect(result).toMatchObject({ error: { nonterminal: 0, records: expect.any(Number) } })
    const seen = await publishAll(world)
    expect(seen.map(({ kind }) => kind)).toContain("Settled")
    expect((await forget(world, true)).result._tag).toBe("Success")
  })

  it("is not held by records that can never be published, where all is given up", async () => {
    const world = publishing()
    await accepted(world.admit("echo", "a"))
    await go(world.process())
    world.storage.sql.run("UPDATE journal SET payload = '{' WHERE sequence = 2")
    expect((await forget(world, false)).result).toMatchObject({ error: { records: 2 } })
    expect((await forget(world, true)).result._tag).toBe("Success")
  })
})

import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld, tags } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"

const io = { input: Schema.String, output: Schema.String }
const echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))

const makeGated = () => {
  const gate = Deferred.makeUnsafe<void>()
  const agent = Agent.make("gated", io).handler((input, run) =>
    Effect.andThen(
      Deferred.await(gate),
      run.step("one", Schema.String, Effect.succeed(`${input}!`)),
    ),
  )
  return { agent, open: () => Deferred.doneUnsafe(gate, Effect.void) }
}

describe("a paused thread", () => {
  it("says who paused it, why and since when, in its answer and its report", async () => {
    const world = makeWorld({ agents: [echo] })
    const { pause } = operate(world)
    await accepted(world.admit("echo", "a"))
    const before = await go(world.inspect())
    const { report, result } = await pause()
    const words = { author: "ann", reason: "looking into it", sinceAt: world.time.now }
    expect(result).toEqual({ _tag: "Success", value: { paused: true, pause: words } })
    expect(report.paused).toBe(true)
    expect(report.revision).toBeGreaterThan(before.report.revision)
    const [row] = world.storage.sql.all<{ pause: string }>("SELECT pause FROM meta")
    expect(JSON.parse(row?.pause ?? "")).toEqual({ ...words, principal: "alice" })
  })

  it("gives receipts, the first one again for the same key, and takes aborts", async () => {
    const world = makeWorld({ agents: [echo] })
    await taken(operate(world).pause())
    const receipt = await accepted(world.admit("echo", "a", { idempotencyKey: "k" }))
    expect(await accepted(world.admit("echo", "a", { idempotencyKey: "k" }))).toEqual({
      ...receipt,
      duplicate: true,
    })
    expect((await go(world.abort(receipt.submissionId))).result).toMatchObject({
      value: { _tag: "Settled", settlement: { outcome: "aborted" } },
    })
  })

  it("starts nothing, whoever asks, and goes on in its order once it is resumed", async () => {
    const world = makeWorld({ agents: [echo] })
    const operator = operate(world)
    const receipts = [await accepted(world.admit("echo", "a"))]
    await taken(operator.pause())
    receipts.push(
      await accepted(world.admit("echo", "b")),
      await accepted(world.admit("echo", "c")),
    )
    expect(await answers(world.process())).toEqual([{ _tag: "Paused" }])
    await go(world.recover())
    world.crash()
    expect(await answers(world.process())).toEqual([{ _tag: "Paused" }])
    expect((await go(world.history())).records).toEqual([])
    const { report, result } = await operator.resume()
    expect(result).toEqual({ _tag: "Success", value: { paused: false } })
    expect(report).toMatchObject({ paused: false, dueAt: 0 })
    expect(await tags(world.process())).toEqual(["Settled", "Settled", "Settled"])
    const { records } = await go(world.history())
    expect(
      records.filter(({ kind }) => kind === "InputApplied").map(({ submissionId }) => submissionId),
    ).toEqual(receipts.map(({ submissionId }) => submissionId))
  })

  it("lets the attempt that runs go on to its end, and starts none behind it", async () => {
    const { agent, open } = makeGated()
    const world = makeWorld({ agents: [agent, echo] })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    const next = await accepted(world.admit("echo", "b"))
    expect(await tags(world.process({ attentionMillis: 5 }))).toEqual(["Running"])
    await taken(operate(world).pause())
    open()
    const reply = await go(
      world.asReader.awaitSettlement({ ...world.address, submissionId, timeoutMillis: 5_000 }),
    )
    expect(reply).toMatchObject({ settlement: { outcome: "completed", output: "a!" } })
    expect(await tags(world.process())).toEqual(["Paused"])
    expect(await go(world.status(next.submissionId))).toMatchObject({ state: "ready", attempts: 0 })
  })

  it("does not go on with a run that yielded, or that was lost, until it is resumed", async () => {
    const life = { lost: true }
    const agent = Agent.make("lost", io).handler((input) =>
      Effect.suspend(() => (life.lost ? Effect.never : Effect.succeed(input))),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("lost", "a"))
    await go(world.process({ attentionMillis: 2 }))
    await taken(operate(world).pause())
    life.lost = false
    world.crash()
    await go(world.recover())
    world.time.now += 1_000_000
    expect(await tags(world.process())).toEqual(["Paused"])
    await taken(operate(world).resume())
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "completed", attempts: 2 },
    })
  })

  it("is one that nothing was ever admitted to, too", async () => {
    const world = makeWorld({ agents: [echo] })
    const { report } = await operate(world).pause()
    expect(report).toMatchObject({ paused: true, nonterminal: 0 })
    expect(report.born).not.toBe("")
    expect(world.storage.sql.all("SELECT ownerId, threadId FROM meta")).toEqual([world.address])
    await accepted(world.admit("echo", "a"))
    expect(await tags(world.process())).toEqual(["Paused"])
  })
})

describe("a pause or resume", () => {
  it("keeps the first words when the thread is paused already", async () => {
    const world = makeWorld({ agents: [echo] })
    const { pause } = operate(world)
    const first = await taken(pause())
    world.time.now += 1_000
    const dump = await go(world.inspect())
    const second = await pause({ author: "bob", reason: "me too" })
    expect(await taken(Promise.resolve(second))).toEqual(first)
    expect(second.report.revision).toBe(dump.report.revision)
  })

  it("changes nothing that shows when the thread is not paused", async () => {
    const world = makeWorld({ agents: [echo] })
    await accepted(world.admit("echo", "a"))
    const before = await go(world.inspect())
    const { report, result } = await operate(world).resume()
    expect(result).toEqual({ _tag: "Success", value: { paused: false } })
    expect(report).toEqual(before.report)
  })

  it("of an older generation than the last one is refused, and the fence stands there", async () => {
    const world = makeWorld({ agents: [echo] })
    const { pause, resume } = operate(world)
    const old = world.generation()
    const older = world.generation()
    const newest = world.generation()
    await taken(pause({ generation: older }))
    await taken(resume({ generation: newest }))
    const dump = world.storage.dump()
    expect(await taken(pause({ generation: newest }))).toEqual({ paused: false })
    expect(world.storage.dump()).toBe(dump)
    for (const generation of [old, older]) {
      const { report, result } = await pause({ generation })
      expect(result).toMatchObject({ _tag: "Failure", error: { _tag: "Unavailable" } })
      expect(report).toMatchObject({ fence: newest, paused: false })
    }
    await taken(pause())
    expect(await refused(resume({ generation: newest }))).toMatchObject({ retryable: true })
    expect((await go(world.inspect())).report).toMatchObject({ paused: true })
  })

  it("counts with its generation also where it found the state as it wants it", async () => {
    const world = makeWorld({ agents: [echo] })
    const { pause, resume } = operate(world)
    await taken(pause())
    const between = world.generation()
    const later = world.generation()
    await taken(pause({ generation: later }))
    await refused(resume({ generation: between }))
    expect((await go(world.inspect())).report).toMatchObject({ paused: true })
  })

  it("behind the fence is refused and changes nothing", async () => {
    const world = makeWorld({ agents: [echo] })
    const late = world.generation()
    await go(world.inspect(world.generation()))
    const dump = world.storage.dump()
    const operator = operate(world)
    for (const command of [operator.pause, operator.resume])
      expect(await refused(command({ generation: late }))).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
      })
    expect(world.storage.dump()).toBe(dump)
  })

  it.each(["pause:before", "pause:after"])(
    "that is lost at %s has the same end when it is sent again",
    async (stopAt) => {
      const world = makeWorld({ agents: [echo], stopAt })
      await accepted(world.admit("echo", "a"))
      const sent = world.generation()
      void operate(world).pause({ generation: sent })
      await world.stopped()
      world.crash()
      const isPaused = (await go(world.inspect())).report.paused
      expect(isPaused).toBe(stopAt === "pause:after")
      await taken(operate(world).pause({ generation: sent }))
      expect(await tags(world.process())).toEqual(["Paused"])
      world.crash()
      await taken(operate(world).resume())
      world.crash()
      expect(await tags(world.process())).toEqual(["Settled"])
    },
  )

  it("counts for the mark alone where the stored words do not decode", async () => {
    const world = makeWorld({ agents: [echo] })
    const { pause, resume } = operate(world)
    await taken(pause())
    for (const text of ["?", "7", `{"author":1}`]) {
      world.storage.sql.run("UPDATE meta SET pause = ?", text)
      world.crash()
      expect((await go(world.inspect())).report.paused).toBe(true)
    }
    expect(await taken(pause({ author: "bob" }))).toMatchObject({ pause: { author: "bob" } })
    world.storage.sql.run("UPDATE meta SET pause = '?'")
    world.crash()
    expect(await taken(resume())).toEqual({ paused: false })
  })
})

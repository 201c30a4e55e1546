import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { withoutRest } from "../../../thread-actors/Retry.ts"
import { accepted, answers, drain, go, makeWorld, tags, type World } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"

const io = { input: Schema.String, output: Schema.String }
const echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
const nobody = "018f0000-0000-7000-8000-000000000009" as SubmissionId
const words = { author: "ann", reason: "looking into it", principal: "alice" }
const hour = 3_600_000

/** Fails until it is told to work; rests an hour between its attempts. */
const makeFlaky = () => {
  const life = { works: false, runs: 0 }
  const agent = Agent.make("flaky", {
    ...io,
    error: Schema.String,
    retry: { times: 5, delay: "1 hour", maxDelay: "1 hour" },
  }).handler((input) =>
    Effect.suspend(() => {
      life.runs += 1
      return life.works ? Effect.succeed(input) : Effect.fail("not yet")
    }),
  )
  return { life, agent }
}

/** The same in a step. */
const makeFlakyStep = () => {
  const life = { works: false, runs: 0 }
  const body = Effect.suspend(() => {
    life.runs += 1
    return life.works ? Effect.succeed("x") : Effect.fail("not yet")
  })
  const agent = Agent.make("steps", io).handler((_input, run) =>
    run.step("one", Schema.String, body, {
      retry: { times: 5, delay: "1 hour", maxDelay: "1 hour" },
    }),
  )
  return { life, agent }
}

/** Every row, but for the list of generations that the thread keeps. */
const rowsOf = (world: World): string =>
  world.storage.dump().replace(/\\"refused\\":\\"[^\\]*\\"/, "")

describe("a retry", () => {
  it("has a run that rests for a declared retry go on at once, and says so", async () => {
    const { agent, life } = makeFlaky()
    const world = makeWorld({ agents: [agent, echo] })
    const { submissionId } = await accepted(world.admit("flaky", "a"))
    await accepted(world.admit("echo", "b"))
    const dueAt = world.time.now + hour
    expect(await answers(world.process())).toEqual([{ _tag: "Retrying", submissionId, dueAt }])
    const before = await go(world.inspect())
    expect(before.report.dueAt).toBe(dueAt)
    const { report, result } = await operate(world).retry(submissionId)
    expect(result).toEqual({
      _tag: "Success",
      value: { state: "ready", dueAt: world.time.now },
    })
    expect(report.dueAt).toBe(0)
    expect(report.revision).toBeGreaterThan(before.report.revision)
    life.works = true
    expect(await tags(world.process())).toEqual(["Settled", "Settled"])
    const { records } = await go(world.history())
    expect(records.map(({ kind }) => kind).slice(0, 3)).toEqual([
      "InputApplied",
      "Recovered",
      "Settled",
    ])
    expect(records[1]?.payload).toEqual({ ...words, command: "retry" })
  })

  it("has the step that waited run at once, with its tries still counted", async () => {
    const { agent, life } = makeFlakyStep()
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("steps", "a"))
    expect(await tags(world.process())).toEqual(["Retrying"])
    for (let tries = 2; tries <= 5; tries++) {
      expect(await taken(operate(world).retry(submissionId))).toMatchObject({ state: "ready" })
      expect(await tags(world.process())).toEqual(["Retrying"])
      expect(life.runs).toBe(tries)
    }
    await taken(operate(world).retry(submissionId))
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "failed" },
    })
    expect(life.runs).toBe(6)
  })

  it("has a step go on at once that rests beside what its run waits for", async () => {
    const life = { runs: 0 }
    const agent = Agent.make("asks", io).handler((_input, run) =>
      Effect.as(
        Effect.all(
          [
            run.approval("go", { summary: "?" }),
            run.step(
              "one",
              Schema.String,
              Effect.suspend(() =>
                ++life.runs < 2 ? Effect.fail("not yet") : Effect.succeed("x"),
              ),
              { retry: { times: 5, delay: "1 hour", maxDelay: "1 hour" } },
            ),
          ],
          { concurrency: "unbounded" },
        ),
        "both",
      ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("asks", "a"))
    expect(await tags(world.process())).toEqual(["Suspended"])
    const { report } = await operate(world).retry(submissionId)
    expect(report.dueAt).toBeLessThanOrEqual(world.time.now)
    expect(await tags(world.process())).toEqual(["Suspended"])
    expect(life.runs).toBe(2)
    const dump = rowsOf(world)
    await taken(operate(world).retry(submissionId))
    expect(rowsOf(world)).toBe(dump)
  })

  it("ends the rest after a lost attempt", async () => {
    const life = { lost: true }
    const agent = Agent.make("lost", io).handler((input) =>
      Effect.suspend(() => (life.lost ? Effect.never : Effect.succeed(input))),
    )
    const world = makeWorld({ agents: [agent], limits: { lostBackoffMillis: hour } })
    const { submissionId } = await accepted(world.admit("lost", "a"))
    await go(world.process({ attentionMillis: 2 }))
    life.lost = false
    world.crash()
    expect((await go(world.recover())).report.dueAt).toBeGreaterThan(world.time.now)
    expect((await operate(world).retry(submissionId)).report.dueAt).toBe(0)
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it("survives a crash, and a second one changes nothing", async () => {
    const { agent, life } = makeFlakyStep()
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("steps", "a"))
    await go(world.process())
    await taken(operate(world).retry(submissionId))
    world.crash()
    const dump = rowsOf(world)
    const again = await taken(operate(world).retry(submissionId))
    expect(again).toEqual({ state: "ready", dueAt: world.time.now })
    expect(rowsOf(world)).toBe(dump)
    life.works = true
    expect(await tags(world.process())).toEqual(["Settled"])
  })

  it.each(["retry:before", "retry:after"])(
    "that is lost at %s has the same end when it is sent again",
    async (stopAt) => {
      const { agent, life } = makeFlaky()
      const world = makeWorld({ agents: [agent], stopAt })
      const { submissionId } = await accepted(world.admit("flaky", "a"))
      await go(world.process())
      life.works = true
      const sent = world.generation()
      void operate(world).retry(submissionId, { generation: sent })
      await world.stopped()
      world.crash()
      // What was carried out is refused, and sent anew by the owner.
      if (stopAt === "retry:after")
        expect(
          await refused(operate(world).retry(submissionId, { generation: sent })),
        ).toMatchObject({ _tag: "Unavailable", retryable: true })
      const generation = stopAt === "retry:after" ? world.generation() : sent
      await taken(operate(world).retry(submissionId, { generation }))
      expect(await tags(world.process())).toEqual(["Settled"])
      const { records } = await go(world.history())
      expect(records.filter(({ kind }) => kind === "Recovered")).toHaveLength(1)
    },
  )

  it("does not touch the time that its caller asked for", async () => {
    const world = makeWorld({ agents: [echo] })
    const notBefore = world.time.now + 1_000
    const { submissionId } = await accepted(world.admit("echo", "a", { notBefore }))
    const dump = rowsOf(world)
    expect(await taken(operate(world).retry(submissionId))).toEqual({
      state: "ready",
      dueAt: notBefore,
    })
    expect(rowsOf(world)).toBe(dump)
    expect(await tags(world.process())).toEqual([])
  })

  it("names no time where something else is in the way: others before it, or a pause", async () => {
    const { agent } = makeFlaky()
    const world = makeWorld({ agents: [agent, echo] })
    const first = await accepted(world.admit("flaky", "a"))
    const second = await accepted(world.admit("echo", "b"))
    await go(world.process())
    const { pause, retry } = operate(world)
    expect(await taken(retry(second.submissionId))).toEqual({ state: "ready" })
    await taken(pause())
    expect(await taken(retry(first.submissionId))).toEqual({ state: "ready" })
    expect((await go(world.inspect())).report.dueAt).toBe(0)
  })

  it("changes nothing about a run whose attempt is there, or was lost", async () => {
    const gate = Deferred.makeUnsafe<void>()
    const agent = Agent.make("gated", io).handler((input) => Effect.as(Deferred.await(gate), input))
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("gated", "a"))
    await go(world.process({ attentionMillis: 2 }))
    const dump = rowsOf(world)
    expect(await taken(operate(world).retry(submissionId))).toEqual({ state: "running" })
    expect(world.thread().isRunning()).toBe(true)
    world.crash()
    const { report, result } = await operate(world).retry(submissionId)
    expect(result).toEqual({ _tag: "Success", value: { state: "running" } })
    expect(report.recoverAt).toBe(0)
    expect(rowsOf(world)).toBe(dump)
    Deferred.doneUnsafe(gate, Effect.void)
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({ state: "settled" })
  })

  it("of one that has settled, or that this thread never had, is refused", async () => {
    const world = makeWorld({ agents: [echo] })
    const unknown = { _tag: "SubmissionNotFound", submissionId: nobody }
    expect(await refused(operate(world).retry(nobody))).toMatchObject(unknown)
    expect(world.storage.sql.all("SELECT name FROM sqlite_schema")).toEqual([])
    const { submissionId } = await accepted(world.admit("echo", "a"))
    await go(world.process())
    expect(await refused(operate(world).retry(submissionId))).toMatchObject({
      _tag: "SettlementConflict",
      submissionId,
      outcome: "completed",
    })
    const sent = world.generation()
    expect(await refused(operate(world).retry(nobody, { generation: sent }))).toMatchObject(unknown)
    expect(await refused(operate(world).retry(nobody, { generation: sent }))).toMatchObject({
      _tag: "Unavailable",
    })
  })

  it("of one that was taken by another run names that one", async () => {
    const world = makeWorld({ agents: [echo] })
    const host = await accepted(world.admit("echo", "a"))
    const { submissionId } = await accepted(world.admit("echo", "b"))
    world.storage.sql.run("UPDATE submissions SET state = 'joined', host = 1 WHERE sequence = 2")
    expect(await refused(operate(world).retry(submissionId))).toMatchObject({
      _tag: "JoinedToHost",
      hostSubmissionId: host.submissionId,
    })
  })

  it("from behind the fence is refused and changes nothing", async () => {
    const { agent } = makeFlaky()
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("flaky", "a"))
    await go(world.process())
    const late = world.generation()
    await go(world.inspect(world.generation()))
    const dump = rowsOf(world)
    expect(await refused(operate(world).retry(submissionId, { generation: late }))).toMatchObject({
      _tag: "Unavailable",
      retryable: true,
    })
    expect(rowsOf(world)).toBe(dump)
  })

  it("of a row that does not decode says so", async () => {
    const { agent } = makeFlaky()
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("flaky", "a"))
    await go(world.process())
    for (const broken of ["retries = '?'", "state = '?'"]) {
      world.storage.sql.run(`UPDATE submissions SET ${broken}`)
      expect(await refused(operate(world).retry(submissionId))).toMatchObject({
        _tag: "ThreadUnreadable",
        what: "submissions",
      })
    }
  })
})

describe("a retry of a run with an ordinary call open", () => {
  const Paid = Schema.Struct({ id: Schema.String })

  /** Pays in an ordinary call whose object dies under it. */
  const makePaying = (found: () => { readonly _tag: "Uncertain" | "NeverStarted" }) => {
    const pay = Agent.tool("pay", {
      result: Paid,
      execution: "ordinary",
      timeout: "1 minute",
      reconcile: () => Effect.sync(found),
    })
    const life = { lost: true }
    const agent = Agent.make("payer", io).handler(
      (_input, run) =>
        Effect.map(
          run.tool(
            "pay it",
            pay,
            Effect.suspend(() => (life.lost ? Effect.never : Effect.succeed({ id: "p1" }))),
          ),
          ({ id }) => id,
        ),
      { tools: [pay] },
    )
    return { agent, life }
  }

  it("never shortens the wait for the call's end", async () => {
    const { agent } = makePaying(() => ({ _tag: "NeverStarted" }))
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("payer", "a"))
    await go(world.process({ attentionMillis: 2 }))
    world.crash()
    const { recoverAt } = (await go(world.recover())).report
    expect(recoverAt).toBe(world.time.now + 95_000)
    const dump = rowsOf(world)
    const { report, result } = await operate(world).retry(submissionId)
    expect(result).toMatchObject({ _tag: "Success", value: { state: "running" } })
    expect(report.recoverAt).toBe(recoverAt)
    expect(rowsOf(world)).toBe(dump)
  })

  it("replaces no word: of an unknown one it names the call", async () => {
    const { agent } = makePaying(() => ({ _tag: "Uncertain" }))
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("payer", "a"))
    await go(world.process({ attentionMillis: 2 }))
    world.crash()
    world.time.now += 95_000
    expect((await go(world.recover())).report.parked).toBe(1)
    const dump = rowsOf(world)
    expect(await refused(operate(world).retry(submissionId))).toMatchObject({
      _tag: "NotAwaiting",
      submissionId,
      name: "pay it",
    })
    expect(rowsOf(world)).toBe(dump)
  })
})

describe("the rest of a submission", () => {
  const row = { dueAt: null, retries: null, suspension: null } as never as Parameters<
    typeof withoutRest
  >[0]
  const suspended = (dueAt: number | null) => JSON.stringify({ kind: "call", dueAt })

  it("is over where nothing lies ahead", () => {
    expect(withoutRest(row, 10)).toBeUndefined()
    const retries = JSON.stringify({ one: { tries: 1, dueAt: 10 } })
    expect(
      withoutRest({ ...row, dueAt: 10, retries, suspension: suspended(10) }, 10),
    ).toBeUndefined()
  })

  it("ends wherever it is kept, and all of it at once", () => {
    const retries = JSON.stringify({
      one: { tries: 1, dueAt: 11 },
      two: { tries: 2, dueAt: 9 },
    })
    expect(withoutRest({ ...row, dueAt: 11, retries, suspension: suspended(11) }, 10)).toEqual({
      dueAt: null,
      retries: JSON.stringify({ one: { tries: 1, dueAt: 10 }, two: { tries: 2, dueAt: 9 } }),
      suspension: suspended(null),
    })
    expect(withoutRest({ ...row, dueAt: 11 }, 10)).toEqual({ ...row })
    expect(withoutRest({ ...row, suspension: suspended(11) }, 10)).toMatchObject({
      suspension: suspended(null),
    })
  })

  it("beside waits is a step's, and no timer's", () => {
    const waits = (dueAt: number | null) => JSON.stringify({ kind: "wait", dueAt })
    const resting = (dueAt: number) => JSON.stringify({ one: { tries: 1, dueAt } })
    expect(withoutRest({ ...row, suspension: waits(11) }, 10)).toBeUndefined()
    expect(withoutRest({ ...row, retries: resting(9), suspension: waits(11) }, 10)).toBeUndefined()
    expect(withoutRest({ ...row, retries: resting(12), suspension: waits(11) }, 10)).toEqual({
      dueAt: null,
      retries: resting(10),
      suspension: waits(10),
    })
  })
})

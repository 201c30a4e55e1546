/** How attempts end beside open calls (retries, lost objects), and what bounds the tries. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  decisionsOf,
  Declined,
  io,
  lose,
  makeOutside,
  openRows,
  payment,
  settle,
  settlementOf,
  toRecovery,
  stateOf,
} from "./calls.ts"
import { accepted, answers, go, makeWorld, tags, type World } from "./harness.ts"

const neverStarted = () => Effect.succeed({ _tag: "NeverStarted" } as const)
const paidBefore = () => Effect.succeed({ _tag: "Completed", result: "found" } as const)

/** A run that makes its calls one after the other, each as told. */
const caller = (
  names: ReadonlyArray<string>,
  tool: ReturnType<typeof payment>,
  body: (call: Agent.ToolCall) => Effect.Effect<string>,
) =>
  Agent.make("agent", io).handler(
    (_input, run) => Effect.forEach(names, (name) => run.tool(name, tool, body)),
    { tools: [tool] },
  )

const rowOf = (world: World) =>
  world.storage.sql.all<Record<string, number | string>>(
    "SELECT state, ended, vanished, vanishedVersion, dueAt FROM submissions",
  )[0]

describe("the tries of a call", () => {
  it("that times out and never started, again and again, end as AttemptsExhausted", async () => {
    const outside = makeOutside()
    const tool = payment("ordinary", { timeout: 1, reconcile: neverStarted })
    const body = outside.body(() => Effect.never as Effect.Effect<string>)
    const world = makeWorld({ agents: [caller(["pay"], tool, body)] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    expect(outside.started).toHaveLength(8)
    expect(await settlementOf(world, submissionId)).toMatchObject({
      outcome: "failed",
      failure: { tag: "AttemptsExhausted" },
      attempts: 8,
    })
    expect(openRows(world)).toEqual([])
  })

  it("end so beside whatever else their run waits for", async () => {
    const outside = makeOutside()
    const tool = payment("ordinary", { timeout: 1, reconcile: neverStarted })
    const body = outside.body(() => Effect.never as Effect.Effect<string>)
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.as(
          Effect.all([run.approval("go", { summary: "?" }), run.tool("pay", tool, body)], {
            concurrency: "unbounded",
          }),
          "never",
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    expect(outside.started).toHaveLength(8)
    expect(await settlementOf(world, submissionId)).toMatchObject({
      failure: { tag: "AttemptsExhausted" },
    })
  })

  it("rest between, longer each time: no run is a hot loop", async () => {
    const tool = payment("ordinary", { timeout: 1, reconcile: neverStarted })
    const world = makeWorld({
      agents: [caller(["pay"], tool, () => Effect.never)],
      limits: { clockAllowanceMillis: 0 },
    })
    await accepted(world.admit("agent", ""))
    const rests: Array<number> = []
    for (let time = 0; time < 4; time++) {
      await go(world.process())
      const ended = world.time.now
      await toRecovery(world)
      await go(world.recover())
      world.time.now = (await go(world.inspect())).report.dueAt ?? 0
      rests.push(world.time.now - ended)
    }
    expect(rests).toEqual([100, 200, 400, 800])
  })

  it("whose outcomes are found are no loop: each is a result of the run", async () => {
    const names = Array.from({ length: 12 }, (_, index) => `pay ${index}`)
    const tool = payment("ordinary", { timeout: 1, reconcile: paidBefore })
    const world = makeWorld({ agents: [caller(names, tool, () => Effect.never)] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({
      output: names.map(() => "found"),
      attempts: 13,
    })
  })

  it("that are lost with their objects, and never started, end as AttemptsLost", async () => {
    const outside = makeOutside()
    const tool = payment("ordinary", { reconcile: neverStarted })
    const body = outside.body(() => Effect.never as Effect.Effect<string>)
    const world = makeWorld({
      agents: [caller(["pay"], tool, body)],
      cutsOff: true,
      limits: { attemptsLost: 3 },
    })
    const { submissionId } = await accepted(world.admit("agent", ""))
    for (let time = 1; time <= 3; time++) {
      await lose(world)
      world.time.now += 55_000
      await go(world.recover())
      world.time.now += 300_000
    }
    expect(await settlementOf(world, submissionId)).toMatchObject({
      failure: { tag: "AttemptsLost" },
      attempts: 3,
    })
    expect(outside.started).toHaveLength(3)
    await settle(world)
  })

  it("that are lost as often as may be under an old code version are none of the new one's", async () => {
    const hangs = Agent.make("agent", io).handler(() => Effect.never)
    const limits = { attemptsLost: 16 }
    const world = makeWorld({ agents: [hangs], codeVersion: "v1", cutsOff: true, limits })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const loseUnder = async (codeVersion: string) => {
      await lose(world, { codeVersion })
      await go(world.recover())
      world.time.now += 300_000
    }
    for (let time = 1; time < 16; time++) await loseUnder("v1")
    await loseUnder("v2")
    expect(rowOf(world)).toMatchObject({ state: "ready", vanished: 16, vanishedVersion: "v1" })
    for (let time = 1; time < 16; time++) await loseUnder("v2")
    expect(rowOf(world)).toMatchObject({ state: "ready", vanished: 15, vanishedVersion: "v2" })
    await loseUnder("v2")
    expect(await settlementOf(world, submissionId)).toMatchObject({
      failure: { tag: "AttemptsLost" },
      attempts: 32,
    })
  })

  it("that are lost now under one code version, now under another, rest longer each time", async () => {
    const hangs = Agent.make("agent", io).handler(() => Effect.never)
    const world = makeWorld({ agents: [hangs], codeVersion: "v1", cutsOff: true })
    await accepted(world.admit("agent", ""))
    const rests: Array<number> = []
    for (const codeVersion of ["v1", "v2", "v2", "v1", "v2", "v1"]) {
      await lose(world, { codeVersion })
      await go(world.recover())
      const { dueAt } = rowOf(world) as { readonly dueAt: number }
      rests.push(dueAt - world.time.now)
      world.time.now = dueAt
    }
    expect(rests).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000])
  })

  it("that are lost too often, with a call of which nobody knows, make it unknown", async () => {
    const tool = payment("ordinary")
    const world = makeWorld({
      agents: [caller(["pay"], tool, () => Effect.never)],
      cutsOff: true,
      limits: { attemptsLost: 1 },
    })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    await settle(world)
    expect(await stateOf(world, submissionId)).toBe("unknown")
    expect(rowOf(world)).toMatchObject({ vanished: 1 })
  })

  it("that are lost, their outcome found, start the count of the lost anew", async () => {
    const names = Array.from({ length: 5 }, (_, index) => `pay ${index}`)
    const tool = payment("ordinary", { reconcile: paidBefore })
    const hang = { now: true }
    const world = makeWorld({
      agents: [
        caller(names, tool, () =>
          Effect.suspend(() => (hang.now ? Effect.never : Effect.succeed("made"))),
        ),
      ],
      cutsOff: true,
      limits: { attemptsLost: 2 },
    })
    const { submissionId } = await accepted(world.admit("agent", ""))
    for (let time = 0; time < 4; time++) {
      await lose(world)
      world.time.now += 55_000
      await go(world.recover())
      world.time.now += 10_000
    }
    hang.now = false
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({
      output: ["found", "found", "found", "found", "made"],
    })
  })
})

describe("a retry beside an open call", () => {
  it("of a step waits for its time, and its count is kept over the call's end", async () => {
    const tried: Array<number> = []
    const tool = payment("ordinary", { timeout: 1, reconcile: paidBefore })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          [
            run.tool("pay", tool, Effect.never),
            run.step(
              "flaky",
              Schema.String,
              Effect.suspend(() => {
                tried.push(world.time.now)
                return tried.length < 3 ? Effect.fail("no") : Effect.succeed("at last")
              }),
              { retry: { times: 2, delay: "1 minute" } },
            ),
          ],
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const start = world.time.now
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Suspended"])
    await settle(world)
    expect(tried.map((at) => at - start)).toEqual([0, 60_000, 180_000])
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: ["found", "at last"] })
  })

  it("of the whole run waits for its time, and is used up like any other", async () => {
    const entered: Array<number> = []
    const tool = payment("ordinary", { timeout: 1_000, reconcile: paidBefore })
    const agent = Agent.make("agent", {
      ...io,
      retry: { times: 1, delay: "1 minute" },
    }).handler(
      (_input, run) =>
        Effect.suspend(() => {
          entered.push(world.time.now)
          const pay = run.tool("pay", tool, Effect.never)
          return Effect.raceFirst(pay, Effect.delay(Effect.fail(new Declined({ code: 1 })), 5))
        }),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Suspended"])
    const start = world.time.now
    await toRecovery(world)
    expect(await decisionsOf(world)).toEqual(["Reconcile: repaired"])
    expect((await go(world.inspect())).report.dueAt).toBe(start + 60_000)
    await settle(world)
    expect(entered).toEqual([start, start + 60_000])
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "found" })
  })
})

describe("a suspended run", () => {
  it("is claimed by nobody until recovery has decided, whatever asks", async () => {
    const tool = payment("ordinary", { timeout: 1 })
    const world = makeWorld({ agents: [caller(["pay"], tool, () => Effect.never)] })
    await accepted(world.admit("agent", ""))
    await accepted(world.admit("agent", ""))
    await go(world.process())
    const before = world.storage.dump()
    expect(await answers(world.process())).toEqual([])
    expect(await answers(world.process({ suspect: true }))).toEqual([])
    expect(world.storage.dump()).toBe(before)
  })

  it("whose text means nothing is told as unreadable", async () => {
    const tool = payment("ordinary", { timeout: 1, reconcile: paidBefore })
    const world = makeWorld({ agents: [caller(["pay"], tool, () => Effect.never)] })
    await accepted(world.admit("agent", ""))
    await go(world.process())
    world.storage.sql.run("UPDATE submissions SET suspension = '?'")
    expect((await go(world.recover())).result).toMatchObject({
      _tag: "Failure",
      error: { _tag: "ThreadUnreadable", what: "submissions" },
    })
  })

  it("with any record that cannot be read is told as unreadable, before anything is repaired", async () => {
    const tool = payment("ordinary", { timeout: 1, reconcile: paidBefore })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.andThen(
          run.step("one", Schema.String, Effect.succeed("x")),
          run.tool("pay", tool, Effect.never),
        ),
      { tools: [tool] },
    )
    for (const broken of ["payload = '{'", "kind = 'Nothing'"]) {
      const world = makeWorld({ agents: [agent] })
      await accepted(world.admit("agent", ""))
      await go(world.process())
      world.storage.sql.run(`UPDATE journal SET ${broken} WHERE name = 'one'`)
      const before = world.storage.dump()
      expect((await go(world.recover())).result).toMatchObject({
        error: { _tag: "ThreadUnreadable", what: "journal" },
      })
      expect(world.storage.dump()).toBe(before)
    }
  })

  it("whose call's record cannot be read is told as unreadable, and nobody is asked", async () => {
    const asked: Array<string> = []
    const tool = payment("ordinary", {
      timeout: 1,
      reconcile: ({ name }) =>
        Effect.andThen(
          Effect.sync(() => asked.push(name)),
          neverStarted(),
        ),
    })
    const world = makeWorld({ agents: [caller(["pay"], tool, () => Effect.never)] })
    await accepted(world.admit("agent", ""))
    await go(world.process())
    world.storage.sql.run("UPDATE journal SET payload = '{' WHERE kind = 'ToolPrepared'")
    expect((await go(world.recover())).result).toMatchObject({
      error: { _tag: "ThreadUnreadable", what: "journal" },
    })
    expect(asked).toEqual([])
  })
})

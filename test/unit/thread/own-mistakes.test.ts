/**
 * Mistakes of our own, which are no outage: an attempt that meets one is counted, stops being the live one
 * and tells whoever waits; so no lane is held without a bound.
 */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld, tags, type World } from "./harness.ts"

const io = { input: Schema.String, output: Schema.String, state: Schema.Number }

const Stepping = Agent.make("agent", io).handler((_input, run) =>
  run.step("one", Schema.String, Effect.succeed("x")),
)
const Counting = Agent.make("agent", io).handler((_input, run) =>
  Effect.map(
    run.state.update("count", () => 1),
    String,
  ),
)

/** From now on, statements that write these tables bind what no database would take. */
const mistake = (world: World, table: RegExp) => {
  const { sql } = world.storage as unknown as {
    sql: { run: (statement: string, ...bindings: Array<string | number | null>) => void }
  }
  const { run } = sql
  sql.run = (statement, ...bindings) =>
    table.test(statement) ? run(statement, Number.NaN) : run(statement, ...bindings)
  return () => {
    sql.run = run
  }
}

describe("a statement that we got wrong", () => {
  it("in a fact ends the attempt without a result, and at last the run", async () => {
    const world = makeWorld({ agents: [Counting], limits: { attemptsExhausted: 3 } })
    const { submissionId } = await accepted(world.admit("agent", ""))
    mistake(world, /threadState/)
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { failure: { tag: "AttemptsExhausted" }, attempts: 3 },
    })
    expect((await go(world.history())).records.map(({ kind }) => kind)).toEqual([
      "InputApplied",
      "Settled",
    ])
  })

  it("in the settlement makes the run ready again, counted", async () => {
    const world = makeWorld({ agents: [Stepping] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const right = mistake(world, /state = 'settled'/)
    expect(await answers(world.process())).toEqual([{ _tag: "Yielded", submissionId }])
    expect(world.thread().isRunning()).toBe(false)
    right()
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { outcome: "completed", attempts: 2 },
    })
  })

  it("in every end leaves the run to recovery, which bounds it", async () => {
    const world = makeWorld({ agents: [Stepping], limits: { attemptsLost: 2 } })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const right = mistake(world, /state = '(settled|ready)'/)
    expect(await answers(world.process())).toEqual([])
    expect(world.thread().isRunning()).toBe(false)
    right()
    expect((await go(world.inspect())).report).toMatchObject({ recoverAt: 0 })
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({ state: "settled", attempts: 2 })
  })
})

describe("a supervisor that breaks", () => {
  it.each(["settle:before", "settle:after"])("at %s lets go of the attempt", async (breakAt) => {
    const world = makeWorld({ agents: [Stepping], breakAt })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process())
    expect(world.thread().isRunning()).toBe(false)
    expect(await tags(world.process())).toEqual(
      breakAt === "settle:before" ? ["NeedsRecovery"] : [],
    )
    world.crash()
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({ settlement: { output: "x" } })
  })
})

describe("a state that no longer parses", () => {
  it("makes the thread unreadable, and settles and charges nothing", async () => {
    const world = makeWorld({ agents: [Counting] })
    await accepted(world.admit("agent", ""))
    await drain(world)
    const { submissionId } = await accepted(world.admit("agent", ""))
    world.storage.sql.run("UPDATE threadState SET value = '{'")
    for (let visit = 0; visit < 10; visit++)
      expect((await go(world.process())).result).toMatchObject({
        _tag: "Failure",
        error: { _tag: "ThreadUnreadable", what: "threadState" },
      })
    expect(await go(world.status(submissionId))).toMatchObject({ state: "ready" })
  })
})

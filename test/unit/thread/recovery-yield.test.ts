/** The yield time and the ceiling of an attempt beside ordinary calls. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { callRecords, io, makeOutside, payment, recordsOf, settle, settlementOf } from "./calls.ts"
import { accepted, go, makeWorld, tags, until, type World } from "./harness.ts"

const paidBefore = () => Effect.succeed({ _tag: "Completed", result: "found" } as const)

const rowOf = (world: World) =>
  world.storage.sql.all<Record<string, number>>("SELECT ended, vanished FROM submissions")[0]

describe("the yield time of an attempt", () => {
  const limits = { attemptYieldMillis: 1_000 }

  /** A call that goes on until its gate opens, beside steps; past the yield time once `late` is opened. */
  const makeCase = () => {
    const outside = makeOutside()
    const gates = { call: Deferred.makeUnsafe<void>(), late: Deferred.makeUnsafe<void>() }
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          [
            run.tool(
              "pay",
              tool,
              outside.body(() => Effect.as(Deferred.await(gates.call), "paid")),
            ),
            Effect.gen(function* () {
              yield* run.step("one", Schema.Void, Deferred.await(gates.late))
              yield* run.step("two", Schema.Void, Effect.void)
              return yield* run.tool(
                "refund",
                tool,
                outside.body(() => Effect.succeed("refunded")),
              )
            }),
          ],
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], limits })
    const pass = (gate: keyof typeof gates) => Deferred.doneUnsafe(gates[gate], Effect.void)
    return { outside, pass, world }
  }

  it("keeps the rest of a step before its next try, and the tries that it has used", async () => {
    const gate = Deferred.makeUnsafe<void>()
    let tries = 0
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.as(
        Effect.all(
          [
            Effect.ignore(
              run.step(
                "flaky",
                Schema.Void,
                Effect.suspend(() => (tries++, Effect.fail("no"))),
                { retry: { times: 1, delay: "30 minutes" } },
              ),
            ),
            run.step("one", Schema.Void, Deferred.await(gate)),
          ],
          { concurrency: "unbounded" },
        ),
        "done",
      ),
    )
    const world = makeWorld({ agents: [agent], limits })
    await accepted(world.admit("agent", ""))
    const turn = tags(world.process())
    await until(
      "the step was tried",
      () => tries,
      (seen) => seen === 1,
    )
    world.time.now += 1_000
    Deferred.doneUnsafe(gate, Effect.void)
    expect(await turn).toEqual(["Yielded"])
    expect(await tags(world.process())).toEqual(["Retrying"])
    expect(tries).toBe(1)
    await settle(world)
    expect(tries).toBe(2)
  })

  it("does not cut a call that is under way, begins none after it, and comes with its outcome", async () => {
    const { outside, pass, world } = makeCase()
    const { submissionId } = await accepted(world.admit("agent", ""))
    const turn = tags(world.process())
    await until(
      "the call is under way",
      () => outside.started,
      ({ length }) => length === 1,
    )
    world.time.now += 1_000
    pass("late")
    await until(
      "both steps are recorded",
      () => recordsOf(world),
      (records) => records.includes("StepCompleted two 0"),
    )
    expect(outside.started).toEqual(["pay"])
    pass("call")
    expect(await turn).toEqual(["Yielded"])
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolSettled pay 1"])
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(outside.started).toEqual(["pay", "refund"])
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: ["paid", "refunded"] })
  })

  it("does not begin a call after it, and hands the run back", async () => {
    const outside = makeOutside()
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.gen(function* () {
          yield* run.step("one", Schema.Void, Effect.void)
          if (run.info.attempt === 1) world.time.now += 1_000
          return yield* run.tool(
            "pay",
            tool,
            outside.body(() => Effect.succeed("paid")),
          )
        }),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], limits })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Yielded"])
    expect(outside.started).toEqual([])
    expect(await callRecords(world)).toEqual([])
    expect(rowOf(world)).toMatchObject({ ended: 0 })
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid", attempts: 2 })
  })

  it.each(["idempotent", "ordinary"] as const)(
    "that is over before the first %s call, each time, is counted until AttemptsExhausted",
    async (execution) => {
      const tool = payment(execution)
      const agent = Agent.make("agent", io).handler(
        (_input, run) =>
          Effect.suspend(() => {
            world.time.now += 1_000
            return run.tool("pay", tool, Effect.succeed("paid"))
          }),
        { tools: [tool] },
      )
      const world = makeWorld({ agents: [agent], limits: { ...limits, attemptsExhausted: 3 } })
      const { submissionId } = await accepted(world.admit("agent", ""))
      await settle(world)
      expect(await settlementOf(world, submissionId)).toMatchObject({
        failure: { tag: "AttemptsExhausted" },
        attempts: 3,
      })
    },
  )

  it("does not keep a readonly call from being made: its outcome is the last fact", async () => {
    const tool = payment("readonly")
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.suspend(() => {
          world.time.now += 1_000
          return run.tool("look", tool, Effect.succeed("seen"))
        }),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], limits })
    await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Yielded"])
    expect(await callRecords(world)).toEqual(["ToolSettled look 0"])
  })
})

describe("the ceiling of an attempt", () => {
  it("leaves a call that is under way to recovery, not before its end, and counts", async () => {
    const outside = makeOutside()
    const tool = payment("ordinary", { reconcile: paidBefore })
    const body = outside.body(() => Effect.uninterruptible(Effect.never as Effect.Effect<string>))
    const agent = Agent.make("agent", io).handler((_input, run) => run.tool("pay", tool, body), {
      tools: [tool],
    })
    const world = makeWorld({ agents: [agent], limits: { attemptCeilingMillis: 10 } })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Suspended"])
    // What a call may take is bounded by the ceiling, too.
    expect((await go(world.inspect())).report.recoverAt).toBe(world.time.now + 35_010)
    expect(rowOf(world)).toMatchObject({ ended: 1 })
    await settle(world)
    expect(outside.started).toHaveLength(1)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "found" })
  })
})

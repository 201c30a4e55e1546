/** What somebody's word does to a run that nobody can read, or that ended in vain before it. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { makeLimits } from "../../../contracts/Limits.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { io, lose, payment, questionsOf, settle, settlementOf } from "./calls.ts"
import { accepted, go, makeWorld } from "./harness.ts"
import { operate, taken } from "./operators.ts"

describe("an abort", () => {
  it.each([
    ["a call", "UPDATE calls SET deadlineAt = 'soon'"],
    ["a call's last record", "UPDATE calls SET part = -1"],
    ["its suspension", "UPDATE submissions SET suspension = '{'"],
  ])("settles a lost run of which %s cannot be read", async (_what, damage) => {
    const tool = payment("ordinary")
    const agent = Agent.make("agent", io).handler(
      (input, run) =>
        input === "next"
          ? Effect.succeed("served")
          : Effect.andThen(
              run.step("one", Schema.String, Effect.succeed("x")),
              run.tool("pay", tool, Effect.never),
            ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], cutsOff: true })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const next = await accepted(world.admit("agent", "next"))
    await lose(world)
    world.storage.sql.run(damage)
    await go(world.abort(submissionId))
    await go(world.recover())
    expect(await settlementOf(world, submissionId)).toMatchObject({ outcome: "aborted" })
    await go(world.process())
    expect(await settlementOf(world, next.submissionId)).toMatchObject({ output: "served" })
  })
})

describe("a word on one of two calls", () => {
  it("starts the counts of its run anew, though the other call still keeps it", async () => {
    const tool = payment("ordinary", {
      timeout: 1,
      reconcile: ({ name }): Effect.Effect<Agent.Reconciliation<string>, string> =>
        name === "a" ? Effect.succeed({ _tag: "Uncertain" }) : Effect.fail("not yet"),
    })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          ["a", "b"].map((name) => run.tool(name, tool, Effect.never)),
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process())
    world.time.now += 1 + makeLimits().clockAllowanceMillis
    await go(world.recover())
    const counts = () => world.storage.sql.all("SELECT ended, vanished FROM submissions")[0]
    world.storage.sql.run("UPDATE submissions SET ended = 7, vanished = 5")
    const [question] = await questionsOf(world, submissionId)
    if (question === undefined) throw new Error("nothing is asked")
    await taken(operate(world).resolve(question, { _tag: "NeverHappened" }))
    expect(counts()).toEqual({ ended: 0, vanished: 1 })
    await settle(world)
  })
})

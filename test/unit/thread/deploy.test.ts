/** Work in flight when other code is deployed: what docs/deploy.md says of each change. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, answers, drain, go, makeWorld } from "./harness.ts"
import { taken } from "./operators.ts"
import { outputOf, outside } from "./waits.ts"

describe("a deploy over work in flight", () => {
  it("runs a renamed step anew, and leaves the outcome under its old name where it is", async () => {
    const code = { name: "reserve", hang: true }
    const bodies: Array<string> = []
    const io = { input: Schema.String, output: Schema.String }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        const { name } = code
        const body = Effect.sync(() => {
          bodies.push(name)
          return `by ${name}`
        })
        const value = yield* run.step(name, Schema.String, body)
        if (code.hang) yield* Effect.never
        return value
      }),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    Object.assign(code, { name: "reserve-2", hang: false })
    world.crash()
    await go(world.recover())
    world.time.now += 10_000
    await drain(world)
    expect(bodies).toEqual(["reserve", "reserve-2"])
    const { records } = await go(world.history())
    const steps = records.filter(({ kind }) => kind === "StepCompleted")
    expect(steps.map(({ name }) => name)).toEqual(["reserve", "reserve-2"])
    expect((await go(world.status(submissionId))).settlement).toMatchObject({
      outcome: "completed",
      output: "by reserve-2",
    })
  })

  it("holds a run that has done something where its input is read no more, and fails what waits in the queue", async () => {
    const io = (input: unknown) => ({ input: input as typeof Schema.Json, output: Schema.Json })
    const agentOf = (input: unknown) =>
      Agent.make("agent", io(input)).handler((_, run) =>
        Effect.gen(function* () {
          yield* run.step("charge", Schema.Json, Effect.succeed(1))
          yield* run.approval("ok", { summary: "?" })
          return "done"
        }),
      )
    const world = makeWorld({ agents: [agentOf(Schema.String)] })
    const { submissionId } = await accepted(world.admit("agent", "text"))
    await drain(world)
    world.crash({ agents: [agentOf(Schema.Number)] })
    await taken(outside(world).decide(submissionId, "ok", true))
    expect(await answers(world.process())).toMatchObject([{ _tag: "BindingUnavailable" }])
    world.crash({ agents: [agentOf(Schema.String)] })
    world.time.now += 3_600_000
    expect(await answers(world.process())).toMatchObject([{ _tag: "Settled", submissionId }])
    expect(await outputOf(world, submissionId)).toBe("done")
    const queued = await accepted(world.admit("agent", "text"))
    world.crash({ agents: [agentOf(Schema.Number)] })
    await drain(world)
    expect((await go(world.status(queued.submissionId))).settlement).toMatchObject({
      failure: { tag: "InputInvalid" },
    })
  })
})

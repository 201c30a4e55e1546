/** Work in flight when other code is deployed: what docs/deploy.md says of each change. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld } from "./harness.ts"

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
})

import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, tags } from "./harness.ts"

class Declined extends Schema.TaggedError<Declined>()("Declined", { code: Schema.Number }) {}

const io = { input: Schema.String, output: Schema.String, error: Declined }

const Payment = Agent.tool("payment", {
  result: Schema.String,
  error: Declined,
  execution: "ordinary",
  timeout: "20 seconds",
})

describe("an ordinary tool call", () => {
  it("is prepared before its body, settled after it, and not made again after a crash", async () => {
    const ran: Array<string> = []
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.gen(function* () {
          const paid = yield* run.tool("pay", Payment, (call) =>
            Effect.sync(() => `paid ${ran.push(call.key)}`),
          )
          if (hang.now) yield* Effect.never
          return paid
        }),
      { tools: [Payment] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process({ attentionMillis: 20 }))).toEqual(["Running"])
    hang.now = false
    world.crash()
    await drain(world)
    expect((await go(world.status(submissionId))).settlement).toMatchObject({ output: "paid 1" })
    expect(ran.length).toBe(1)
    const { records } = await go(world.history())
    expect(records.map(({ kind }) => kind)).toEqual([
      "InputApplied",
      "ToolPrepared",
      "ToolSettled",
      "AttemptInterrupted",
      "Settled",
    ])
  })

  it("whose outcome was lost is unknown once it is over, and lets later input run", async () => {
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler(
      (input, run) =>
        input === "other"
          ? Effect.succeed("other")
          : run.tool(
              "pay",
              Payment,
              Effect.suspend(() => (hang.now ? Effect.never : Effect.succeed("paid"))),
            ),
      { tools: [Payment] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const other = await accepted(world.admit("agent", "other"))
    await tags(world.process({ attentionMillis: 20 }))
    world.crash()
    const { report } = await go(world.inspect())
    expect(report.recoverAt).toBe(world.time.now + 50_000)
    expect(await go(world.recover())).toMatchObject({
      result: { value: [{ decision: "AwaitCall" }, { decision: "ApplyInput" }] },
    })
    world.time.now += 50_000
    expect(await go(world.recover())).toMatchObject({
      result: {
        value: [{ decision: "MarkUnknown", disposition: "unknown" }, { decision: "ApplyInput" }],
      },
    })
    await drain(world)
    expect(await go(world.status(submissionId))).toMatchObject({ state: "unknown" })
    expect(await go(world.status(other.submissionId))).toMatchObject({ state: "settled" })
  })
})

import { Duration, Effect, Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import { makeLimits } from "../../../contracts/Limits.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { readRetry, retryDelayMillis } from "../../../thread-actors/RetryPolicy.ts"
import { accepted, answers, drain, go, makeWorld, tags } from "./harness.ts"

const io = { input: Schema.String, output: Schema.String }
const limits = makeLimits()

/** Policies that mean nothing, by the field that is told. */
const senseless: ReadonlyArray<readonly [string, unknown]> = [
  ["times", { times: Number.NaN }],
  ["times", { times: Infinity }],
  ["times", { times: -1 }],
  ["times", { times: 1.5 }],
  ["times", { times: "3" }],
  ["delay", { times: 3, delay: Infinity }],
  ["delay", { times: 3, delay: Number.NaN }],
  ["delay", { times: 3, delay: -1 }],
  ["delay", { times: 3, delay: "soon" }],
  ["delay", { times: 3, delay: "Infinity" }],
  ["delay", { times: 3, delay: { seconds: "x" } }],
  ["delay", { times: 3, delay: Duration.infinity }],
  ["maxDelay", { times: 3, maxDelay: Infinity }],
  ["maxDelay", { times: 3, maxDelay: "-1 second" }],
  ["factor", { times: 3, factor: Number.NaN }],
  ["factor", { times: 3, factor: Infinity }],
  ["factor", { times: 3, factor: -2 }],
  ["policy", null],
  [
    "policy",
    {
      get times(): never {
        throw new Error("no")
      },
    },
  ],
]

describe("a retry policy", () => {
  it.each(senseless)(
    "that means nothing (%s) is refused when its agent is made",
    (field, retry) => {
      expect(() => Agent.make("agent", { ...io, retry: retry as never })).toThrow(field)
    },
  )

  it.each(senseless)("that means nothing (%s) is a defect of its step", async (field, retry) => {
    let ran = 0
    const agent = Agent.make("agent", io).handler((_input, run) =>
      run.step(
        "s",
        Schema.String,
        Effect.suspend(() => Effect.fail(ran++)),
        { retry: retry as never },
      ),
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Settled"])
    const { settlement } = await go(world.status(submissionId))
    expect(settlement?.failure).toMatchObject({ tag: "Defect" })
    expect(settlement?.failure?.message).toContain(field)
    expect(ran).toBe(0)
  })

  it.each(["soon", Infinity, -1, Number.NaN])(
    "has its like in a timeout: %s is a defect of its step",
    async (timeout) => {
      const agent = Agent.make("agent", io).handler((_input, run) =>
        run.step("s", Schema.String, Effect.succeed("x"), { timeout: timeout as never }),
      )
      const world = makeWorld({ agents: [agent] })
      const { submissionId } = await accepted(world.admit("agent", ""))
      expect(await tags(world.process())).toEqual(["Settled"])
      const { settlement } = await go(world.status(submissionId))
      expect(settlement?.failure?.message).toMatch(/step s: timeout must be a duration/)
    },
  )

  it.each([
    { times: 9, delay: 1e300, maxDelay: 1e300 },
    { times: 9, delay: "1 day", factor: 1e200, maxDelay: "10000 weeks" },
  ] as const)("never waits longer than 30 days: %j", async (retry) => {
    for (const ofRun of [true, false]) {
      const agent = Agent.make("agent", ofRun ? { ...io, retry } : io).handler((_input, run) =>
        ofRun ? Effect.die("no") : run.step("s", Schema.String, Effect.fail("no"), { retry }),
      )
      const world = makeWorld({ agents: [agent] })
      await accepted(world.admit("agent", ""))
      for (let retries = 0; retries < 3; retries++) {
        const [answer] = await answers(world.process())
        if (answer?._tag !== "Retrying") throw new Error(`answered ${answer?._tag}`)
        expect(answer.dueAt - world.time.now).toBeLessThanOrEqual(limits.retryDelayMaxMillis)
        world.time.now = answer.dueAt
      }
      await drain(world)
    }
  })

  it("gives delays that grow by its factor up to its maximum", () => {
    const delays = (policy: Agent.RetryPolicy) => {
      const retries = Result.getOrThrow(readRetry(policy))
      return [1, 2, 3, 1_000].map((retry) => retryDelayMillis(retries, retry, limits))
    }
    expect(delays({ times: 9 })).toEqual([100, 200, 400, 300_000])
    expect(delays({ times: 9, delay: 0, factor: 1e200 })).toEqual([0, 0, 0, 0])
    expect(delays({ times: 9, delay: 8, factor: 0.5 })).toEqual([8, 4, 2, 1])
    expect(delays({ times: 9, delay: 8, factor: 0 })).toEqual([8, 0, 0, 0])
    expect(delays({ times: 9, delay: "1 second", maxDelay: "3 seconds" })).toEqual([
      1_000, 2_000, 3_000, 3_000,
    ])
  })
})

/** What becomes of code in the branches that a race has lost. */
import { Deferred, Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, until, type World } from "./harness.ts"
import { taken } from "./operators.ts"
import { outputOf, outside, rowOf, waiting } from "./waits.ts"

const json = { input: Schema.Json, output: Schema.Json }

const ask = (run: Pick<Agent.Run<never>, "approval">, name: string) =>
  run.approval(name, { summary: "?" })

const hangs = (run: Pick<Agent.Run<never>, "step">) => run.step("works", Schema.Json, Effect.never)

const untilSettled = (world: World) =>
  until(
    "the run settles",
    () => rowOf(world)?.state,
    (state) => state === "settled",
  )

describe("the record of a race", () => {
  it("fits into a row, however many names its branches have taken: before it would not, the run is given up", async () => {
    const names = Array.from({ length: 3_000 }, (_, index) => `${index}`.padStart(128, "語"))
    let begun = 0
    const live = Agent.make("agent", json).handler(
      Effect.fn(function* (_, run) {
        const many = Effect.forEach(
          names,
          (name) =>
            run.step(
              name,
              Schema.Json,
              Effect.suspend(() => (begun++, Effect.never as Effect.Effect<string>)),
            ),
          { concurrency: "unbounded" },
        )
        const { branch } = yield* run.race("r", { many, asked: ask(run, "ask") })
        return branch
      }, Effect.orDie),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("agent", 1))
    await go(world.process({ attentionMillis: 2 }))
    await untilSettled(world)
    expect(await go(world.status(submissionId))).toMatchObject({
      settlement: { failure: { tag: "RunTooLarge" } },
    })
    expect(begun).toBeLessThan(names.length)
    expect(new TextEncoder().encode(JSON.stringify(names.slice(0, begun))).length).toBeLessThan(
      2_000_000,
    )
  })
})

describe("a branch that has lost its race while it waits, and cannot be interrupted", () => {
  it("gives way, whether an answer has decided the race or another branch's end", async () => {
    const gate = Deferred.makeUnsafe<void>()
    const live = Agent.make("agent", json).handler(
      Effect.fn(function* (_, run) {
        const first = yield* run.race("first", {
          lost: Effect.uninterruptible(ask(run, "lost")),
          won: ask(run, "won"),
          works: hangs(run),
        })
        const second = yield* run.race("second", {
          lost: Effect.uninterruptible(ask(run, "lost too")),
          won: run.step("ends", Schema.Json, Effect.as(Deferred.await(gate), 1)),
        })
        return [first.branch, second.branch]
      }, Effect.orDie),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("agent", 1))
    await go(world.process({ attentionMillis: 2 }))
    await waiting(world, ["lost", "won"])
    await taken(outside(world).decide(submissionId, "won", true))
    await waiting(world, ["lost too"])
    Deferred.doneUnsafe(gate, Effect.void)
    await untilSettled(world)
    expect(await outputOf(world, submissionId)).toEqual(["won", "won"])
    expect(rowOf(world)?.attempts).toBe(1)
  })

  it("gives way with a race inside it, too", async () => {
    const live = Agent.make("agent", json).handler(
      Effect.fn(function* (_, run) {
        const inner = run.race("inner", { one: ask(run, "one"), two: ask(run, "two") })
        const { branch } = yield* run.race("outer", {
          lost: Effect.uninterruptible(inner),
          won: ask(run, "won"),
          works: hangs(run),
        })
        return branch
      }, Effect.orDie),
    )
    const world = makeWorld({ agents: [live] })
    const { submissionId } = await accepted(world.admit("agent", 1))
    await go(world.process({ attentionMillis: 2 }))
    await waiting(world, ["one", "two", "won"])
    await taken(outside(world).decide(submissionId, "won", true))
    await untilSettled(world)
    expect(await outputOf(world, submissionId)).toBe("won")
  })
})

/** What is claimed behind a run that had been begun before is flushed first, whoever claims it. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, go, makeWorld, tags, until } from "./harness.ts"

describe("a run that was begun before, and that ends while no turn waits for it", () => {
  it("has its end on disk before what the next turn claims behind it runs", async () => {
    const life = { lost: true, gate: false }
    const agent = Agent.make("slow", { input: Schema.String, output: Schema.Number }).handler(
      (input, run) =>
        Effect.gen(function* () {
          if (life.lost) return yield* Effect.never
          if (input === "slow")
            yield* Effect.promise(() => until("the gate", () => life.gate, Boolean))
          return run.info.attempt
        }),
    )
    const world = makeWorld({ agents: [agent] })
    const order: Array<string> = []
    const storage = world.storage as { sync: () => Promise<void> }
    const states = () =>
      world.storage.sql
        .all("SELECT state FROM submissions ORDER BY sequence")
        .map(({ state }) => String(state))
        .join()
    storage.sync = () => {
      order.push(states())
      return Promise.resolve()
    }
    await accepted(world.admit("slow", "slow"))
    await accepted(world.admit("slow", "killer"))
    expect(await tags(world.process({ attentionMillis: 2 }))).toEqual(["Running"])
    world.crash()
    world.time.now = (await go(world.recover())).report.dueAt ?? 0
    life.lost = false
    expect(await tags(world.process({ attentionMillis: 2 }))).toEqual(["Running"])
    life.gate = true
    await until("it has settled", states, (seen) => seen === "settled,ready")
    expect(await tags(world.process())).toEqual(["Settled"])
    expect(order).toEqual(["running,ready", "settled,running"])
  })
})

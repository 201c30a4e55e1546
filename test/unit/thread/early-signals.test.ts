/** Signals that nobody waits for yet: they have a bound of their own, and no run suffers from them. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { accepted, drain, go, makeWorld, type WorldOptions } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"
import { dispatched, openWaits, outputOf, outside, rowOf } from "./waits.ts"

const json = { input: Schema.Json, output: Schema.Json }
const Pays = Agent.tool("pays", { execution: "ordinary", result: Schema.Json })

const begun = async (agent: Agent.AgentLive<never>, options: WorldOptions = {}) => {
  const world = makeWorld({ agents: [agent], ...options })
  const { submissionId } = await accepted(world.admit(agent.agent.name, 1))
  return { world, submissionId, ...outside(world) }
}

const Waits = Agent.make("waits", json).handler(
  Effect.fn(function* (_, run) {
    yield* run.approval("first", { summary: "?" })
    return yield* run.waitFor("a", Schema.Json)
  }, Effect.orDie),
)

describe("signals that come early", () => {
  it("are kept up to a bound of their own; those that were read make room", async () => {
    const { decide, signal, submissionId, world } = await begun(Waits, {
      limits: { earlySignals: 2 },
    })
    await taken(signal(submissionId, "a", 1))
    await taken(signal(submissionId, "b", 1))
    const full = { _tag: "AdmissionLimitExceeded", limit: "earlySignals", actual: 3, maximum: 2 }
    expect(await refused(signal(submissionId, "c", 1))).toEqual(expect.objectContaining(full))
    expect(await taken(signal(submissionId, "b", 1))).toMatchObject({ duplicate: true })
    await dispatched(world)
    await taken(decide(submissionId, "first", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(1)
  })

  it("are no progress of attempts that are lost, however many come", async () => {
    const hangs = Agent.make("hangs", json).handler(() => Effect.never)
    const { signal, submissionId, world } = await begun(hangs, {
      cutsOff: true,
      limits: { attemptsLost: 3 },
    })
    for (const name of ["a", "b", "c"]) {
      await go(world.process({ attentionMillis: 2 }))
      await taken(signal(submissionId, name, 1))
      world.crash()
      const { report } = await go(world.recover())
      world.time.now = report.dueAt ?? world.time.now
    }
    const { settlement } = await go(world.status(submissionId))
    expect(settlement).toMatchObject({ outcome: "failed", failure: { tag: "AttemptsLost" } })
  })

  it("make room when they are read", async () => {
    const live = Agent.make("two", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.waitFor("a", Schema.Json)
        return yield* run.waitFor("last", Schema.Json)
      }, Effect.orDie),
    )
    const { signal, submissionId, world } = await begun(live, { limits: { earlySignals: 1 } })
    await taken(signal(submissionId, "a", 1))
    await dispatched(world)
    await taken(signal(submissionId, "b", 1))
    expect(await refused(signal(submissionId, "c", 1))).toMatchObject({ limit: "earlySignals" })
    await taken(signal(submissionId, "last", 2))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(2)
  })

  it("have a bound of bytes, too", async () => {
    const { signal, submissionId } = await begun(Waits, { limits: { earlySignalBytes: 100 } })
    expect(await refused(signal(submissionId, "a", "x".repeat(100)))).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "earlySignalBytes",
      maximum: 100,
    })
  })

  it("take nothing of what a run may record, in any of its attempts", async () => {
    const live = Agent.make("steps", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.approval("first", { summary: "?" })
        yield* run.step("one", Schema.Json, Effect.succeed(1))
        return yield* run.step("two", Schema.Json, Effect.succeed(2))
      }, Effect.orDie),
    )
    const { decide, signal, submissionId, world } = await begun(live, { limits: { runRecords: 4 } })
    await dispatched(world)
    for (let index = 0; index < 20; index++)
      await taken(signal(submissionId, `stray-${index}`, index))
    await taken(decide(submissionId, "first", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(2)
  })

  it("wake nobody who waits for something else", async () => {
    const { signal, submissionId, world } = await begun(Waits)
    await dispatched(world)
    expect(await taken(signal(submissionId, "stray", 1))).toMatchObject({ state: "suspended" })
    expect(await dispatched(world)).toBe("")
    expect(rowOf(world)?.attempts).toBe(1)
  })

  it("are nothing to operations of other kinds that have their names", async () => {
    const live = Agent.make("names", json).handler(
      Effect.fn(function* (_, run) {
        yield* run.step("step", Schema.Json, Effect.succeed(1))
        yield* run.tool("tool", Pays, Effect.succeed(1))
        yield* run.callback("callback")
        yield* run.sleep("sleep", "1 hour")
        const { approved } = yield* run.approval("approval", { summary: "?" })
        yield* run.step("step-2", Schema.Json, Effect.succeed(1))
        yield* run.tool("tool-2", Pays, Effect.succeed(1))
        return approved
      }, Effect.orDie),
      { tools: [Pays] },
    )
    const { decide, signal, submissionId, world } = await begun(live)
    const names = ["step", "tool", "callback", "sleep", "approval", "step-2", "tool-2"]
    for (const name of names) await taken(signal(submissionId, name, "early"))
    await drain(world)
    expect(openWaits(world)).toEqual(["approval"])
    world.crash()
    await taken(decide(submissionId, "approval", true))
    await drain(world)
    expect(await outputOf(world, submissionId)).toBe(true)
    const { checks } = await operate(world).verify()
    expect(checks.filter(({ _tag }) => _tag === "Failed")).toEqual([])
    expect((await go(world.inspect())).report).toMatchObject({ nonterminal: 0 })
  })
})

/** Tool calls that are their author's mistake, or that other code has recorded. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { callRecords, executions, io, payment, settle, settlementOf } from "./calls.ts"
import { accepted, go, makeWorld, tags, type World } from "./harness.ts"

const limits = { stepResultBytes: 1_000, recordBytes: 2_000 }

const other = payment("ordinary")
const stranger = payment("ordinary", { name: "stranger" })

type Use = (tool: typeof other, run: Agent.Run) => Effect.Effect<unknown, unknown>

const notAmong = "its tool is not among those of the handler"
const noBody = "the body must be an Effect, or a function that gives one"
const paid = Effect.succeed("paid")

const mistakes: Record<string, readonly [Use, string]> = {
  "uses a tool that is not among its handler's": [
    (_tool, run) => run.tool("pay", stranger, paid),
    notAmong,
  ],
  "uses another tool of the same name": [(_tool, run) => run.tool("pay", other, paid), notAmong],
  "uses no tool": [(_tool, run) => run.tool("pay", undefined as never, paid), notAmong],
  "has a promise for a body": [
    (tool, run) => run.tool("pay", tool, Promise.resolve("paid") as never),
    noBody,
  ],
  "has no body": [(tool, run) => run.tool("pay", tool, undefined as never), noBody],
  "has a request that is too large": [
    (tool, run) => run.tool("pay", tool, paid, { request: "x".repeat(2_001) }),
    "its request exceeds 2000 bytes",
  ],
  "has a request that is no JSON": [
    (tool, run) => run.tool("pay", tool, paid, { request: { at: Number.NaN } }),
    "its request cannot be stored",
  ],
  "has a name that is none": [
    (tool, run) => run.tool("", tool, paid),
    "a name has 1 to 128 printable characters",
  ],
}

describe.each(executions)("a %s tool call that is its author's mistake", (execution) => {
  it.each(Object.entries(mistakes))(
    "settles Defect before anything of it is recorded: it %s",
    async (_what, [use, words]) => {
      const tool = payment(execution)
      const agent = Agent.make("agent", io).handler(
        (_input, run) => use(tool, run) as Effect.Effect<string>,
        { tools: [tool] },
      )
      const world = makeWorld({ agents: [agent], limits })
      const { submissionId } = await accepted(world.admit("agent", ""))
      expect(await tags(world.process())).toEqual(["Settled"])
      const settlement = await settlementOf(world, submissionId)
      expect(settlement).toMatchObject({ failure: { tag: "Defect" }, attempts: 1 })
      expect(settlement?.failure?.message).toContain(words)
      expect(await callRecords(world)).toEqual([])
    },
  )
})

/** The object dies under the first attempt, and the next one is claimed. */
const reenter = async (world: World, next: Parameters<World["crash"]>[0] = {}) => {
  world.crash(next)
  world.time.now += 100_000
  await go(world.recover())
  world.time.now += 10_000
  return tags(world.process())
}

describe("a tool call", () => {
  it("that repeats a name settles DuplicateName, once an open call has been asked about", async () => {
    const tool = payment("ordinary", {
      reconcile: () => Effect.succeed({ _tag: "Completed", result: "paid" }),
      timeout: "1 millis",
    })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          [run.tool("pay", tool, Effect.never), Effect.delay(run.tool("pay", tool, paid), 10)],
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({
      failure: { tag: "DuplicateName" },
    })
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolSettled pay 1"])
  })

  it.each(executions)(
    "under a name that a step recorded holds the run for a deploy (%s)",
    async (execution) => {
      const code = { next: false }
      const tool = payment(execution)
      const agent = Agent.make("agent", io).handler(
        (_input, run) =>
          Effect.gen(function* () {
            if (code.next) yield* run.tool("x", tool, paid)
            else yield* run.step("x", Schema.String, Effect.succeed("step"))
            return code.next ? "done" : yield* Effect.never
          }),
        { tools: [tool] },
      )
      const world = makeWorld({ agents: [agent], cutsOff: true })
      await accepted(world.admit("agent", ""))
      await go(world.process({ attentionMillis: 20 }))
      code.next = true
      expect(await reenter(world)).toEqual(["BindingUnavailable"])
      expect(await callRecords(world)).toEqual([])
    },
  )

  it.each(executions)(
    "whose name a step takes later holds the run, too (%s)",
    async (execution) => {
      const code = { next: false }
      const tool = payment(execution)
      const agent = Agent.make("agent", io).handler(
        (_input, run) =>
          Effect.gen(function* () {
            if (code.next) yield* run.step("x", Schema.String, Effect.succeed("step"))
            else yield* run.tool("x", tool, paid)
            return code.next ? "done" : yield* Effect.never
          }),
        { tools: [tool] },
      )
      const world = makeWorld({ agents: [agent], cutsOff: true })
      await accepted(world.admit("agent", ""))
      await go(world.process({ attentionMillis: 20 }))
      code.next = true
      expect(await reenter(world)).toEqual(["BindingUnavailable"])
    },
  )

  it.each(["settled", "resolved", "prepared"])(
    "under a name of another tool holds the run for a deploy (last record: %s)",
    async (last) => {
      const code = { hang: true, next: false }
      const execution = last === "prepared" ? "idempotent" : "ordinary"
      const reconcile = { reconcile: () => Effect.succeed({ _tag: "NeverStarted" } as const) }
      const first = payment(execution, last === "resolved" ? reconcile : {})
      const second = payment(execution, { name: "second" })
      const agent = Agent.make("agent", io).handler(
        (_input, run) =>
          Effect.gen(function* () {
            const hangs = code.hang && last !== "settled"
            yield* run.tool("x", code.next ? second : first, hangs ? Effect.never : paid)
            return code.hang ? yield* Effect.never : "done"
          }),
        { tools: [first, second] },
      )
      const world = makeWorld({ agents: [agent], cutsOff: true })
      await accepted(world.admit("agent", ""))
      await go(world.process({ attentionMillis: 20 }))
      Object.assign(code, { hang: false, next: true })
      expect(await reenter(world)).toEqual(["BindingUnavailable"])
      code.next = false
      await settle(world)
      expect((await go(world.inspect())).report.nonterminal).toBe(0)
    },
  )

  it("whose recorded outcome this code reads otherwise holds the run for a deploy", async () => {
    const code = { hang: true }
    const agentOf = (result: Agent.JsonCodec<unknown>) => {
      const tool = Agent.tool("payment", { result, execution: "ordinary" })
      return Agent.make("agent", io).handler(
        (_input, run) =>
          Effect.gen(function* () {
            yield* run.tool("pay", tool, paid)
            return code.hang ? yield* Effect.never : "done"
          }),
        { tools: [tool] },
      )
    }
    const world = makeWorld({ agents: [agentOf(Schema.String)], cutsOff: true })
    await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    code.hang = false
    expect(await reenter(world, { agents: [agentOf(Schema.Number)] })).toEqual([
      "BindingUnavailable",
    ])
    world.crash({ agents: [agentOf(Schema.String)] })
    await settle(world)
    expect((await go(world.inspect())).report.nonterminal).toBe(0)
  })
})

/** `resolveUnknown`: somebody's word on a call of which nobody knows whether it happened. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import { callRecords, io, openRows, questionsOf, settle, settlementOf, stateOf } from "./calls.ts"
import { accepted, go, makeWorld, tags, type World } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"
import { abort, completed, doubted, never, safe } from "./unknowns.ts"

describe("a word on an unknown call", () => {
  it.each([
    ["a result", completed(), { output: ["told"] }, ["told: ToolSettled"], 1],
    [
      "a declared failure",
      completed({ _tag: "Declined", code: 402 }, true),
      { outcome: "failed", failure: { tag: "Declined" } },
      ["Declined 402: ToolSettled"],
      1,
    ],
    ["that it never happened", never, { output: ["paid"] }, ["paid: ToolSettled"], 2],
    ["that it may be made again", safe, { output: ["paid"] }, ["paid: ToolSettled"], 2],
  ] as const)("gives %s, and the run goes on with it", async (_what, word, end, saw, started) => {
    const { operator, outside, question, submissionId, witness, world } = await doubted()
    expect(await taken(operator.resolve(question, word))).toEqual({ state: "ready", undecided: 0 })
    await settle(world)
    expect(witness.saw).toEqual(saw)
    expect(outside.started).toHaveLength(started)
    expect(await settlementOf(world, submissionId)).toMatchObject(end)
    expect(openRows(world)).toEqual([])
  })

  it("ends the submission when it says so, and the record of the doubt stays", async () => {
    const { operator, question, submissionId, witness, world } = await doubted()
    const reply = await taken(operator.resolve(question, abort, { author: "bob" }))
    expect(reply).toMatchObject({
      state: "settled",
      undecided: 0,
      settlement: { outcome: "aborted", abort: { author: "bob", forced: false } },
    })
    expect(await callRecords(world)).toEqual([
      "ToolPrepared pay 0",
      "ToolUnknown pay 1",
      "ToolResolved pay 2",
    ])
    expect(await settle(world)).toMatchObject({ nonterminal: 0, parked: 0 })
    expect(witness.saw).toEqual([])
    expect(await stateOf(world, submissionId)).toBe("settled")
  })

  it("is recorded with who gave it, why, and for whom they act", async () => {
    const { operator, question, world } = await doubted()
    await taken(operator.resolve(question, completed(), { author: "bob", reason: "saw the bill" }))
    const { records } = await go(world.history())
    expect(records.at(-1)).toMatchObject({
      kind: "ToolSettled",
      name: "pay",
      payload: {
        by: { author: "bob", reason: "saw the bill", principal: "alice" },
        result: "told",
        tool: "payment",
      },
    })
  })

  it("starts the counts of the run anew", async () => {
    const { operator, question, world } = await doubted()
    world.storage.sql.run("UPDATE submissions SET ended = 7, vanished = 15")
    await taken(operator.resolve(question, never))
    expect(world.storage.sql.all("SELECT ended, vanished FROM submissions")).toEqual([
      { ended: 0, vanished: 0 },
    ])
  })
})

describe("the same word again", () => {
  it.each([completed(), never, safe, abort])(
    "changes nothing, and is told where it stands: %o",
    async (word) => {
      const { operator, question, world } = await doubted()
      const first = await taken(operator.resolve(question, word))
      const before = world.storage.dump()
      expect(await taken(operator.resolve(question, word))).toEqual(first)
      world.crash()
      expect(await taken(operator.resolve(question, word))).toEqual(first)
      expect(world.storage.dump()).toBe(before)
      await settle(world)
      expect(await taken(operator.resolve(question, word))).toMatchObject({ state: "settled" })
    },
  )

  it.each([
    ["another result", completed("else"), {}],
    ["another kind", never, {}],
    ["another author", completed(), { author: "bob" }],
    ["another reason", completed(), { reason: "second thoughts" }],
  ])("with %s is refused, and told the first", async (_what, word, said) => {
    const { operator, question, world } = await doubted()
    await taken(operator.resolve(question, completed(), { author: "ann", reason: "saw it" }))
    const before = world.storage.dump()
    const words = { author: "ann", reason: "saw it", ...said }
    expect(await refused(operator.resolve(question, word, words))).toMatchObject({
      _tag: "ResolutionConflict",
      first: "ann: saw it (CompletedWithResult)",
    })
    expect(world.storage.dump()).toBe(before)
  })

  it("about the first doubt decides nothing about the second", async () => {
    const { operator, outside, question, submissionId, world } = await doubted()
    await taken(operator.resolve(question, never))
    outside.started.length = 0
    await settle(world)
    expect(await stateOf(world, submissionId)).toBe("unknown")
    const before = world.storage.dump()
    expect(await taken(operator.resolve(question, never))).toEqual({
      state: "unknown",
      undecided: 1,
    })
    expect(await refused(operator.resolve(question, completed()))).toMatchObject({
      _tag: "ResolutionConflict",
    })
    expect(world.storage.dump()).toBe(before)
    const [, second] = await questionsOf(world, submissionId)
    if (second === undefined) throw new Error("nothing is asked")
    await taken(operator.resolve(second, completed()))
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: ["told"] })
  })
})

/** All but which generations were refused. */
const decidedIn = ({ storage: { sql } }: World): ReadonlyArray<unknown> =>
  ["submissions", "journal", "calls", "parked"].map((table) => sql.all(`SELECT * FROM ${table}`))

describe("a word that is refused", () => {
  const wrong: ReadonlyArray<readonly [string, object]> = [
    ["a result that does not fit", completed(5)],
    ["a result that is missing something", completed(null)],
    ["a result that is too large", completed("x".repeat(1_001))],
    ["a failure that does not fit", completed({ _tag: "Declined", code: "no" }, true)],
    ["a failure in the place of a result", completed({ _tag: "Declined", code: 1 })],
  ]

  it.each(wrong)("because it gives %s decides nothing", async (_what, word) => {
    const made = await doubted()
    made.world.crash({ limits: { stepResultBytes: 1_000 } })
    const before = decidedIn(made.world)
    const error = await refused(made.operator.resolve(made.question, word as never))
    expect(error).toMatchObject({ _tag: "InvalidInput", path: "resolution.result" })
    expect(decidedIn(made.world)).toEqual(before)
    await taken(made.operator.resolve(made.question, completed()))
  })

  it("because its tool declares no failure decides nothing", async () => {
    const tool = Agent.tool("payment", {
      result: Schema.String,
      execution: "ordinary",
      timeout: 1,
    })
    const agent = Agent.make("agent", io).handler(
      (_input, run) => run.tool("pay", tool, Effect.never),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    const [question] = await questionsOf(world, submissionId)
    if (question === undefined) throw new Error("nothing is asked")
    const before = decidedIn(world)
    expect(await refused(operate(world).resolve(question, completed("x", true)))).toMatchObject({
      _tag: "InvalidInput",
      reason: "the tool declares no failure",
    })
    expect(decidedIn(world)).toEqual(before)
  })

  it("because nothing like it is asked is NotAwaiting", async () => {
    const { operator, question, world } = await doubted()
    const recordId = "0".repeat(32) as never
    const before = world.storage.dump()
    const error = await refused(operator.resolve({ ...question, recordId }, completed()))
    expect(error).toMatchObject({ _tag: "NotAwaiting", submissionId: question.submissionId })
    expect(world.storage.dump()).toBe(before)
  })

  it("because there is no such submission, or thread, is SubmissionNotFound", async () => {
    const { operator, question } = await doubted()
    const submissionId = question.submissionId.replace(/.$/, "9") as never
    expect(await refused(operator.resolve({ ...question, submissionId }, never))).toMatchObject({
      _tag: "SubmissionNotFound",
    })
    const untouched = makeWorld()
    expect(await refused(operate(untouched).resolve(question, never))).toMatchObject({
      _tag: "SubmissionNotFound",
    })
    expect(untouched.storage.dump()).toBe("[]")
  })

  it("because its submission was aborted first is SettlementConflict", async () => {
    const { operator, question, submissionId, world } = await doubted()
    await go(world.abort(submissionId))
    expect(await refused(operator.resolve(question, completed()))).toMatchObject({
      _tag: "SettlementConflict",
      outcome: "aborted",
    })
  })

  it("because it comes from before a fence is Unavailable, and stays so", async () => {
    const { operator, question, world } = await doubted()
    const generation = world.generation()
    await go(world.inspect(world.generation()))
    for (let time = 0; time < 2; time++)
      expect(await refused(operator.resolve(question, completed(), { generation }))).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
      })
    await taken(operator.resolve(question, completed()))
  })

  it("because the agent is missing that would read its result is AgentNotRegistered", async () => {
    const { agent, operator, question, submissionId, world } = await doubted()
    const other = Agent.make("other", io).handler(() => Effect.succeed("other"))
    const withoutTool = Agent.make("agent", io).handler(() => Effect.succeed("agent"))
    for (const deployed of [other, withoutTool]) {
      world.crash({ agents: [deployed] })
      const before = decidedIn(world)
      expect(await refused(operator.resolve(question, completed()))).toMatchObject({
        _tag: "AgentNotRegistered",
        agent: "agent",
      })
      expect(decidedIn(world)).toEqual(before)
    }
    world.crash({ agents: [agent] })
    await taken(operator.resolve(question, completed()))
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: ["told"] })
  })

  it("for what its deployment knows stays refused when another one is sent the same call again", async () => {
    const { agent, operator, question, world } = await doubted()
    const strict = Agent.tool("payment", {
      result: Schema.Number,
      execution: "ordinary",
      timeout: 1,
    })
    const stricter = Agent.make("agent", io).handler(() => Effect.succeed(null), {
      tools: [strict],
    })
    const sent = [[], [stricter]].map((agents) => ({ agents, generation: world.generation() }))
    for (const { agents, generation } of sent) {
      world.crash({ agents })
      await refused(operator.resolve(question, completed(), { generation }))
    }
    world.crash({ agents: [agent] })
    for (const { generation } of sent)
      expect(await refused(operator.resolve(question, completed(), { generation }))).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
      })
    await taken(operator.resolve(question, completed()))
  })
})

describe("a word without a result", () => {
  it("is taken though the agent is missing, which the run then waits for", async () => {
    const { agent, operator, question, submissionId, world } = await doubted()
    world.crash({ agents: [Agent.make("other", io).handler(() => Effect.succeed("other"))] })
    expect(await taken(operator.resolve(question, never))).toMatchObject({ state: "ready" })
    expect(await tags(world.process())).toEqual(["BindingUnavailable"])
    world.crash({ agents: [agent] })
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: ["paid"] })
  })
})

/** Several calls of one run of which nobody knows whether they happened. */
import { Deferred, Effect } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  decisionsOf,
  io,
  openRows,
  payment,
  questionsOf,
  settle,
  settlementOf,
  toRecovery,
} from "./calls.ts"
import { accepted, answers, go, makeWorld, until } from "./harness.ts"
import { operate, refused, taken } from "./operators.ts"
import { abort, completed, doubted, never } from "./unknowns.ts"

describe("several unknown calls of one run", () => {
  it("are decided one by one; the run goes on with the last, and sees each outcome", async () => {
    const { operator, outside, questions, submissionId, witness, world } = await doubted([
      "a",
      "b",
      "c",
    ])
    const [a, b, c] = questions
    if (a === undefined || b === undefined || c === undefined) throw new Error("too few questions")
    expect(await taken(operator.resolve(b, completed("b told")))).toEqual({
      state: "unknown",
      undecided: 2,
    })
    const rest = await settle(world)
    expect(rest).toMatchObject({ parked: 1, waits: [{ name: "a" }, { name: "c" }] })
    world.crash()
    expect(await taken(operator.resolve(c, never))).toEqual({ state: "unknown", undecided: 1 })
    expect(await taken(operator.resolve(a, completed("a told")))).toEqual({
      state: "ready",
      undecided: 0,
    })
    await settle(world)
    expect(witness.saw.toSorted()).toEqual([
      "a told: ToolSettled",
      "b told: ToolSettled",
      "paid: ToolSettled",
    ])
    expect(outside.started.toSorted()).toEqual(["a", "b", "c", "c"])
    expect(await settlementOf(world, submissionId)).toMatchObject({
      output: ["a told", "b told", "paid"],
    })
  })

  it("all end with the submission when a word about one says so", async () => {
    const { operator, questions, submissionId, world } = await doubted(["a", "b"])
    const [a, b] = questions
    if (a === undefined || b === undefined) throw new Error("too few questions")
    expect(await taken(operator.resolve(a, abort))).toMatchObject({
      state: "settled",
      undecided: 0,
    })
    expect(openRows(world)).toEqual([])
    expect(await questionsOf(world, submissionId)).toHaveLength(2)
    expect(await refused(operator.resolve(b, completed()))).toMatchObject({
      _tag: "SettlementConflict",
    })
    expect(await settle(world)).toMatchObject({ nonterminal: 0, parked: 0 })
  })
})

describe("a word about a run that is not parked yet", () => {
  /** One call is unknown while the reconciler of another cannot tell yet. */
  const half = async (lost: boolean) => {
    const found = { later: false }
    const tool = payment("ordinary", {
      timeout: 1,
      reconcile: ({ name }) =>
        Effect.suspend((): Effect.Effect<Agent.Reconciliation<string>, string> => {
          if (name === "a") return Effect.succeed({ _tag: "Uncertain" })
          return found.later
            ? Effect.succeed({ _tag: "Completed", result: "b found" })
            : Effect.fail("not yet")
        }),
    })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          ["a", "b"].map((name) =>
            run.tool(name, tool, lost ? Effect.uninterruptible(Effect.never) : Effect.never),
          ),
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], cutsOff: true })
    const { submissionId } = await accepted(world.admit("agent", ""))
    // What can be interrupted ends by itself, on a slow machine later.
    await answers(world.process({ attentionMillis: lost ? 20 : 10_000 }))
    if (lost) world.crash()
    world.time.now += 40_000
    await go(world.recover())
    const [question] = await questionsOf(world, submissionId)
    if (question === undefined) throw new Error("nothing is asked")
    return { found, operator: operate(world), question, submissionId, world }
  }

  it.each([true, false])(
    "is told of, taken, and the other call is still asked about (lost: %s)",
    async (lost) => {
      const { found, operator, question, submissionId, world } = await half(lost)
      const { report } = await go(world.inspect())
      expect(report).toMatchObject({
        parked: 0,
        recoverAt: world.time.now + 5_000,
        waits: [{ name: "a", recordId: question.recordId }],
      })
      expect(await taken(operator.resolve(question, completed("a told")))).toMatchObject({
        state: lost ? "running" : "suspended",
        undecided: 0,
      })
      found.later = true
      await settle(world)
      expect(await settlementOf(world, submissionId)).toMatchObject({
        output: ["a told", "b found"],
      })
    },
  )

  it.each([true, false])(
    "may end it, and leaves the other doubt on record (lost: %s)",
    async (lost) => {
      const { operator, question, submissionId, world } = await half(lost)
      expect(await taken(operator.resolve(question, abort))).toMatchObject({ state: "settled" })
      expect(await questionsOf(world, submissionId)).toMatchObject([
        { name: "a", why: "uncertain" },
        { name: "b", why: "aborted" },
      ])
      await settle(world)
    },
  )

  it("ends it on the word of whoever had asked for that first", async () => {
    const { operator, question, submissionId, world } = await half(true)
    await go(world.abort(submissionId, { author: "ann", reason: "first" }))
    expect(
      await taken(operator.resolve(question, abort, { author: "bob", reason: "second" })),
    ).toMatchObject({ settlement: { abort: { author: "ann", reason: "first" } } })
    const { records } = await go(world.history())
    expect(records.filter(({ kind }) => kind === "AbortRequested")).toHaveLength(1)
    await settle(world)
  })

  /** The reconciler of one call looks, while the other is unknown. */
  const looking = async () => {
    const answer = Deferred.makeUnsafe<Agent.Reconciliation<string>>()
    const asked: Array<string> = []
    const tool = payment("ordinary", {
      timeout: 1,
      reconcile: ({ name }): Effect.Effect<Agent.Reconciliation<string>, string> => {
        if (name === "a") return Effect.succeed({ _tag: "Uncertain" })
        return asked.push(name) === 1 ? Effect.fail("not yet") : Deferred.await(answer)
      },
    })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          ["a", "b"].map((name) => run.tool(name, tool, Effect.never)),
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent], cutsOff: true })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await answers(world.process())
    await toRecovery(world)
    await go(world.recover())
    const [question] = await questionsOf(world, submissionId)
    if (question === undefined) throw new Error("nothing is asked")
    world.time.now += 5_000
    const recovered = decisionsOf(world)
    await until(
      "the reconciler looks",
      () => asked.length,
      (count) => count === 2,
    )
    const find = () =>
      Deferred.doneUnsafe(answer, Effect.succeed({ _tag: "Completed", result: "b found" }))
    return { find, operator: operate(world), question, recovered, submissionId, world }
  }

  it("lands while a reconciler looks at the other call: both count", async () => {
    const { find, operator, question, recovered, submissionId, world } = await looking()
    await taken(operator.resolve(question, completed("a told")))
    find()
    expect(await recovered).toEqual(["Reconcile: repaired"])
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: ["a told", "b found"] })
  })

  it("ends it while a reconciler looks at the other call: what that finds counts for nothing", async () => {
    const { find, operator, question, recovered, submissionId, world } = await looking()
    await taken(operator.resolve(question, abort))
    const before = world.storage.dump()
    find()
    expect(await recovered).toEqual(["NoAction: none"])
    expect(world.storage.dump()).toBe(before)
    expect(await settlementOf(world, submissionId)).toMatchObject({ outcome: "aborted" })
  })
})

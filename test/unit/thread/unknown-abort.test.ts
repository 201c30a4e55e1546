/** Aborts of runs with calls of which nobody knows whether they happened: the doubt stays on record. */
import { Deferred, Effect } from "effect"
import { describe, expect, it } from "vitest"
import type { SubmissionId } from "../../../contracts/Identifiers.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  callRecords,
  expectRest,
  expectVerified,
  io,
  openRows,
  payment,
  questionsOf,
  settle,
  settlementOf,
  stateOf,
} from "./calls.ts"
import { accepted, go, makeWorld, until, type World, type WorldOptions } from "./harness.ts"
import { operate, taken } from "./operators.ts"

/** Runs of one ordinary call that goes as told. */
const makeCase = (
  body: Effect.Effect<string>,
  options: WorldOptions & { readonly timeout?: number; readonly wraps?: boolean } = {},
) => {
  const entered: Array<number> = []
  const tool = payment("ordinary", { timeout: options.timeout ?? 20_000 })
  const agent = Agent.make("agent", io).handler(
    (_input, run) =>
      Effect.suspend(() => {
        entered.push(run.info.sequence)
        const pay = run.tool("pay", tool, body)
        return options.wraps === true ? Effect.uninterruptible(pay) : pay
      }),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], cutsOff: true, ...options })
  const admit = async () => (await accepted(world.admit("agent", ""))).submissionId
  return { admit, entered, world }
}

const untilSettled = (world: World, submissionId: SubmissionId) =>
  until(
    "it has settled",
    () => stateOf(world, submissionId),
    (state) => state === "settled",
  )

const doubt = [{ name: "pay", why: "aborted" }]

describe("an abort", () => {
  it("of an unknown submission settles it at once, and its question stays on record", async () => {
    const { admit, world } = makeCase(Effect.never, { timeout: 1 })
    const first = await admit()
    const second = await admit()
    await settle(world)
    const { report, result } = await go(world.abort(first))
    expect(result).toMatchObject({ value: { _tag: "Settled", settlement: { outcome: "aborted" } } })
    expect(report).toMatchObject({ parked: 1, nonterminal: 1, waits: [{ submissionId: second }] })
    expect(openRows(world)).toMatchObject([{ submission: 2 }])
    await expectRest(world)
    expect(await questionsOf(world, first)).toMatchObject([{ why: "no reconciler" }])
    await go(world.abort(second))
    expect((await settle(world)).nonterminal).toBe(0)
  })

  it("of one that is resolved and waits for its turn settles it, and it never runs", async () => {
    const { admit, entered, world } = makeCase(Effect.never, { timeout: 1 })
    const first = await admit()
    await settle(world)
    const [question] = await questionsOf(world, first)
    if (question === undefined) throw new Error("nothing is asked")
    await taken(operate(world).resolve(question, { _tag: "SafeToRetry" }))
    await go(world.abort(first))
    expect(await settle(world)).toMatchObject({ parked: 0, nonterminal: 0 })
    expect(entered).toEqual([1])
    expect(await settlementOf(world, first)).toMatchObject({ outcome: "aborted" })
  })

  it("of one whose child must end first keeps it parked, whatever is said of its call, and holds nobody", async () => {
    const tool = payment("ordinary", { timeout: 1 })
    const Kid = Agent.make("kid", io)
    const parent = Agent.make("parent", io).handler(
      (_input, run) =>
        Effect.as(
          Effect.all(
            [
              Effect.ignore(run.child("kid", Kid, "")),
              run.tool("pay", tool, Effect.never as Effect.Effect<string>),
            ],
            { concurrency: "unbounded" },
          ),
          "",
        ),
      { tools: [tool] },
    )
    const echo = Agent.make("echo", io).handler((input) => Effect.succeed(input))
    const world = makeWorld({ agents: [parent, echo], cutsOff: true })
    const { submissionId } = await accepted(world.admit("parent", ""))
    await settle(world)
    const [question] = await questionsOf(world, submissionId)
    if (question === undefined) throw new Error("nothing is asked")
    await go(world.abort(submissionId))
    expect(await taken(operate(world).resolve(question, { _tag: "SafeToRetry" }))).toMatchObject({
      state: "unknown",
      undecided: 0,
    })
    await expectVerified(world)
    const next = await accepted(world.admit("echo", "next"))
    await go(world.process())
    expect(await stateOf(world, next.submissionId)).toBe("settled")
    expect(await stateOf(world, submissionId)).toBe("unknown")
  })

  it("with a call under way leaves the doubt on record, says why, and settles", async () => {
    const { admit, world } = makeCase(Effect.never)
    const submissionId = await admit()
    await go(world.process({ attentionMillis: 20 }))
    await go(world.abort(submissionId))
    await untilSettled(world, submissionId)
    expect(await settlementOf(world, submissionId)).toMatchObject({
      outcome: "aborted",
      abort: { forced: false },
    })
    expect(await questionsOf(world, submissionId)).toMatchObject(doubt)
    expect(openRows(world)).toEqual([])
    await settle(world)
  })

  it("of a suspended run with an open call leaves the doubt on record, too", async () => {
    const { admit, world } = makeCase(Effect.never, { timeout: 1 })
    const submissionId = await admit()
    await go(world.process())
    expect(await stateOf(world, submissionId)).toBe("suspended")
    await go(world.abort(submissionId))
    expect(await stateOf(world, submissionId)).toBe("settled")
    expect(await questionsOf(world, submissionId)).toMatchObject(doubt)
    expect(openRows(world)).toEqual([])
    await settle(world)
  })

  it("of a run that was lost in its call is carried out by recovery, before the call's end", async () => {
    const { admit, world } = makeCase(Effect.never)
    const submissionId = await admit()
    await go(world.process({ attentionMillis: 20 }))
    world.crash()
    const { report } = await go(world.abort(submissionId))
    expect(report.recoverAt).toBe(0)
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ outcome: "aborted" })
    expect(await questionsOf(world, submissionId)).toMatchObject(doubt)
  })

  it("records the result of a call that comes within its grace, and no doubt", async () => {
    const gate = Deferred.makeUnsafe<void>()
    const { admit, world } = makeCase(Effect.as(Deferred.await(gate), "paid"), { wraps: true })
    const submissionId = await admit()
    await go(world.process({ attentionMillis: 20 }))
    await go(world.abort(submissionId))
    Deferred.doneUnsafe(gate, Effect.void)
    await untilSettled(world, submissionId)
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolSettled pay 1"])
    expect(await settlementOf(world, submissionId)).toMatchObject({
      outcome: "aborted",
      abort: { forced: false },
    })
    await settle(world)
  })

  it("of a run whose handler must be fenced off tells the doubt about its call", async () => {
    const { admit, world } = makeCase(Effect.uninterruptible(Effect.never), {
      limits: { abortGraceMillis: 20 },
    })
    const submissionId = await admit()
    await go(world.process({ attentionMillis: 20 }))
    await go(world.abort(submissionId))
    await untilSettled(world, submissionId)
    expect(await settlementOf(world, submissionId)).toMatchObject({ abort: { forced: true } })
    expect(await questionsOf(world, submissionId)).toMatchObject(doubt)
    await settle(world)
  })
})

/** Asking: reconcilers look beside the recovery that found their calls, and each of their tries is charged first. */
import { Deferred, Effect } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  callRecords,
  decisionsOf,
  io,
  makeOutside,
  openRows,
  payment,
  settle,
  settlementOf,
  stateOf,
  toRecovery,
} from "./calls.ts"
import { accepted, answers, go, makeWorld, until, type WorldOptions } from "./harness.ts"

const found: Agent.Reconciliation<string> = { _tag: "Completed", result: "found" }

/** A run whose call failed undeclared, and a reconciler that looks until it is told. */
const makeCase = async (limits: WorldOptions["limits"] = {}) => {
  const answer = Deferred.makeUnsafe<Agent.Reconciliation<string>>()
  const asked: Array<string> = []
  const tool = payment("ordinary", {
    timeout: 1_000,
    reconcile: ({ name }) =>
      Effect.suspend(() => {
        asked.push(name)
        return Deferred.await(answer)
      }),
  })
  const agent = Agent.make("agent", io).handler(
    (_input, run) => run.tool("pay", tool, Effect.fail("connection reset")),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], limits: { attentionMillis: 20, ...limits } })
  const { submissionId } = await accepted(world.admit("agent", ""))
  await answers(world.process())
  return {
    asked,
    submissionId,
    world,
    find: () => Deferred.doneUnsafe(answer, Effect.succeed(found)),
  }
}

describe("a reconciler that looks for long", () => {
  it("holds nobody: the recovery answers, and what is found is reported by itself", async () => {
    const { asked, find, submissionId, world } = await makeCase()
    await toRecovery(world)
    expect(await decisionsOf(world)).toEqual(["Reconcile: deferred"])
    expect(await decisionsOf(world)).toEqual(["Reconcile: deferred"])
    expect(asked).toEqual(["pay"])
    const { report } = await go(world.inspect())
    expect(report.recoverAt).toBeGreaterThan(world.time.now)
    const pushed = world.reports.length
    find()
    await until(
      "the thread reports",
      () => world.reports.length,
      (count) => count > pushed,
    )
    expect(world.reports.at(-1)).toMatchObject({ head: { state: "ready" } })
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "found" })
  })

  it("is asked again by the next incarnation, which knows of none", async () => {
    const { asked, world } = await makeCase()
    await toRecovery(world)
    await decisionsOf(world)
    world.crash()
    expect((await go(world.inspect())).report.recoverAt).toBeLessThanOrEqual(world.time.now)
    await decisionsOf(world)
    expect(asked).toEqual(["pay", "pay"])
  })

  it("whose object dies each time has used up its tries at last", async () => {
    const { asked, submissionId, world } = await makeCase({ reconcileTries: 3 })
    await toRecovery(world)
    for (let time = 1; time <= 3; time++) {
      await decisionsOf(world)
      expect(openRows(world)[0]?.["tries"]).toBe(time)
      world.crash()
    }
    expect(await decisionsOf(world)).toEqual(["MarkUnknown: unknown"])
    expect(asked).toHaveLength(3)
    expect(await stateOf(world, submissionId)).toBe("unknown")
  })
})

describe("a call whose answer was lost", () => {
  it("is asked about no earlier than its timeout: what it sent may be carried out until then", async () => {
    const outside = makeOutside()
    const begun: Array<number> = []
    // The provider carries it out 20 s after the request, whoever hears the answer.
    const isPaid = () => begun.some((at) => world.time.now - at >= 20_000)
    const tool = payment("ordinary", {
      timeout: "60 seconds",
      reconcile: () =>
        Effect.sync((): Agent.Reconciliation<string> =>
          isPaid() ? found : { _tag: "NeverStarted" },
        ),
    })
    const body = outside.body(() => {
      begun.push(world.time.now)
      return Effect.fail("connection reset")
    })
    const agent = Agent.make("agent", io).handler((_input, run) => run.tool("pay", tool, body), {
      tools: [tool],
    })
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await settle(world)
    expect(outside.started).toEqual(["pay"])
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolSettled pay 1"])
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "found" })
  })
})

describe("an abort of a run that cannot be read", () => {
  it("settles it all the same, and the thread goes on", async () => {
    const hang = { now: true }
    const agent = Agent.make("agent", io).handler((_input, run) =>
      Effect.gen(function* () {
        yield* run.step("one", payment().result, Effect.succeed("x"))
        if (hang.now) yield* Effect.never
        return "done"
      }).pipe(Effect.orDie),
    )
    const world = makeWorld({ agents: [agent] })
    const first = await accepted(world.admit("agent", ""))
    const second = await accepted(world.admit("agent", ""))
    await go(world.process({ attentionMillis: 20 }))
    hang.now = false
    world.crash()
    world.storage.sql.run(`UPDATE journal SET payload = '{"result":' WHERE name = 'one'`)
    expect(await go(world.recover())).toMatchObject({
      result: { _tag: "Failure", error: { _tag: "ThreadUnreadable" } },
    })
    await go(world.abort(first.submissionId))
    await go(world.recover())
    expect(await settlementOf(world, first.submissionId)).toMatchObject({ outcome: "aborted" })
    await go(world.process())
    expect(await settlementOf(world, second.submissionId)).toMatchObject({ output: "done" })
  })
})

/** Answers of reconcilers that come too late, and calls about which nobody can be asked. */
import { Context, Deferred, Effect, Layer } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import type { OpenCall } from "../../../thread-actors/OpenCalls.ts"
import { isStill } from "../../../thread-actors/Reconcile.ts"
import {
  callRecords,
  type Declined,
  decisionsOf,
  io,
  lose,
  openRows,
  payment,
  settle,
  settlementOf,
  stateOf,
} from "./calls.ts"
import { accepted, go, makeWorld, until, type WorldOptions } from "./harness.ts"
import { operate, taken } from "./operators.ts"
import { type Answer, answers, makeCase, overMillis } from "./reconcilers.ts"

const outcome = ["ToolPrepared pay 0", "ToolSettled pay 1"]

describe("an answer that comes too late", () => {
  /** The reconciler looks until it is told what to find. */
  const looking = async (ended = false) => {
    const answer = Deferred.makeUnsafe<Answer>()
    const made = makeCase(() => Deferred.await(answer), ended ? { timeout: 5 } : {})
    const { submissionId } = await accepted(made.world.admit("agent", ""))
    if (ended) await go(made.world.process())
    else await lose(made.world)
    made.world.time.now += overMillis
    const recovered = decisionsOf(made.world)
    await until(
      "it is asked",
      () => made.asked.length,
      (count) => count > 0,
    )
    const find = (found: Answer) => Deferred.doneUnsafe(answer, Effect.succeed(found))
    return { ...made, submissionId, recovered, find }
  }

  it.each(Object.keys(answers) as Array<keyof typeof answers>)(
    "(%s) applies nothing to a lost run that was aborted meanwhile",
    async (name) => {
      const { find, recovered, submissionId, world } = await looking()
      expect((await go(world.abort(submissionId))).result).toMatchObject({
        value: { _tag: "Aborting" },
      })
      find(answers[name])
      expect(await recovered).toEqual(["SettleAborted: repaired"])
      expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolUnknown pay 1"])
      expect(await settlementOf(world, submissionId)).toMatchObject({ outcome: "aborted" })
      await settle(world)
    },
  )

  it.each(Object.keys(answers) as Array<keyof typeof answers>)(
    "(%s) applies nothing to a suspended run that was aborted meanwhile",
    async (name) => {
      const { find, recovered, submissionId, world } = await looking(true)
      await go(world.abort(submissionId))
      const before = world.storage.dump()
      find(answers[name])
      expect(await recovered).toEqual(["NoAction: none"])
      expect(world.storage.dump()).toBe(before)
      await settle(world)
    },
  )

  it("applies nothing to a thread that was forgotten meanwhile", async () => {
    const { find, submissionId, recovered, world } = await looking(true)
    const told = recovered.catch((error: unknown) => error)
    await taken(operate(world).forget({ abort: true }))
    const before = world.storage.dump()
    find(answers.completed)
    expect(await told).toMatchObject({ _tag: "ThreadForgotten" })
    expect(world.storage.dump()).toBe(before)
    expect(before).not.toContain(submissionId)
  })

  it("is lost with its incarnation: the next one asks for itself, and records it once", async () => {
    const { asked, find, recovered, submissionId, world } = await looking()
    world.crash()
    const found = decisionsOf(world)
    await until(
      "it is asked again",
      () => asked.length,
      (count) => count === 2,
    )
    find(answers.completed)
    await Promise.allSettled([found, recovered])
    await settle(world)
    expect(await callRecords(world)).toEqual(outcome)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid before" })
  })
})

describe("the call that was asked about", () => {
  const row = { sequence: 1, epoch: 3, state: "running", abort: null } as never
  const call: OpenCall = {
    submission: 1,
    name: "pay",
    tool: "payment",
    part: 0,
    preparedAt: 1,
    deadlineAt: 9,
    tries: 2,
    unknownAt: null,
    declared: true,
  }
  const changed = (change: object) => ({ ...(row as object), ...change }) as never

  it.each([
    ["itself", row, [call], true],
    ["itself beside another", row, [{ ...call, name: "other" }, call], true],
    ["in another attempt", changed({ epoch: 4 }), [call], false],
    ["of a run that goes on", changed({ state: "ready" }), [call], false],
    ["of a run to be aborted", changed({ abort: "{}" }), [call], false],
    ["in a later try", row, [{ ...call, part: 2 }], false],
    ["asked about by another", row, [{ ...call, tries: 3 }], false],
    ["unknown by now", row, [{ ...call, unknownAt: 7 }], false],
    ["over by now", row, [], false],
    ["another", row, [{ ...call, name: "other" }], false],
  ] as const)("is known for the same or not: %s", (_what, now, calls, same) => {
    expect(isStill({ row, call }, now, calls)).toBe(same)
  })
})

describe("a call about which nobody can be asked", () => {
  const without = { agents: [Agent.make("other", io).handler(() => Effect.succeed("other"))] }
  const withoutTool = {
    agents: [Agent.make("agent", io).handler(() => Effect.succeed("other code"))],
  }

  it.each([
    ["agent", without],
    ["tool", withoutTool],
  ])(
    "because the deployment lacks its %s waits, and goes on after a deploy",
    async (_what, next) => {
      const { agent, asked, outside, world } = makeCase(() => Effect.succeed(answers.completed))
      const { submissionId } = await accepted(world.admit("agent", ""))
      await lose(world, next)
      world.time.now += overMillis
      for (let time = 0; time < 20; time++) {
        expect(await decisionsOf(world)).toEqual(["AwaitCall: deferred"])
        const { recoverAt, waits } = (await go(world.inspect())).report
        expect(recoverAt).toBe(world.time.now + 60_000)
        expect(waits).toMatchObject([{ submissionId, blocker: "binding", name: "payment" }])
        world.time.now = recoverAt ?? 0
      }
      expect(openRows(world)).toMatchObject([{ tries: 0, unknownAt: null }])
      world.crash({ agents: [agent] })
      await settle(world)
      expect(asked).toHaveLength(1)
      expect(outside.started).toHaveLength(1)
      expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid before" })
    },
  )

  it("because the tool has no reconciler any more is unknown", async () => {
    const { world } = makeCase(() => Effect.succeed(answers.completed))
    const { submissionId } = await accepted(world.admit("agent", ""))
    const tool = payment("ordinary")
    const next = Agent.make("agent", io).handler(() => Effect.succeed(""), { tools: [tool] })
    await lose(world, { agents: [next] })
    await settle(world)
    expect(await stateOf(world, submissionId)).toBe("unknown")
  })

  it("because its tool has become idempotent is unknown: it was made as an ordinary one", async () => {
    const { outside, world } = makeCase(() => Effect.succeed(answers.completed))
    const { submissionId } = await accepted(world.admit("agent", ""))
    const tool = payment("idempotent")
    const next = Agent.make("agent", io).handler(
      (_input, run) =>
        run.tool(
          "pay",
          tool,
          outside.body(() => Effect.succeed("paid")),
        ),
      { tools: [tool] },
    )
    await lose(world, { agents: [next] })
    await settle(world)
    expect(await stateOf(world, submissionId)).toBe("unknown")
    expect(outside.started).toHaveLength(1)
  })

  class Ledger extends Context.Service<Ledger, { readonly find: Effect.Effect<Answer> }>()(
    "test/Ledger",
  ) {}

  const withServices = (services: Layer.Layer<Ledger>, limits: WorldOptions["limits"] = {}) => {
    const tool = Agent.tool("payment", {
      ...payment(),
      execution: "ordinary",
      timeout: "20 seconds",
      reconcile: () => Effect.flatMap(Ledger, ({ find }) => find),
    } as Agent.ToolOptions<string, Declined, Ledger, "ordinary">)
    const agent = Agent.make("agent", io).handler(
      (_input, run) => run.tool("pay", tool, Effect.never),
      { tools: [tool] },
    )
    return makeWorld({
      agents: [agent as unknown as Agent.AgentLive<never>],
      services: services as unknown as Layer.Layer<never>,
      cutsOff: true,
      limits,
    })
  }
  const ledger = Layer.succeed(Ledger, { find: Effect.succeed(answers.completed) })

  it("because the services do not start waits, uses up no try, and goes on when they do", async () => {
    const broken = { now: false }
    const services = Layer.unwrap(
      Effect.suspend(() => (broken.now ? Effect.die("no key") : Effect.succeed(ledger))),
    )
    const world = withServices(services)
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    broken.now = true
    world.time.now += overMillis
    for (let time = 0; time < 10; time++) {
      expect(await decisionsOf(world)).toEqual(["AwaitCall: deferred"])
      expect(openRows(world)).toMatchObject([{ tries: 0, deadlineAt: world.time.now + 60_000 }])
      world.time.now += 60_000
    }
    broken.now = false
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid before" })
  })

  it("because the services hang waits no longer than a call may take", async () => {
    const builds: Array<boolean> = []
    const hang = { now: false }
    const services = Layer.unwrap(
      Effect.suspend(() => {
        builds.push(hang.now)
        return hang.now ? Effect.uninterruptible(Effect.never) : Effect.succeed(ledger)
      }),
    )
    const world = withServices(services, { mutationMillis: 20 })
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    hang.now = true
    world.time.now += overMillis
    const turn = Effect.runPromise(Effect.flip(world.process()))
    expect(await decisionsOf(world)).toEqual(["AwaitCall: deferred"])
    expect(await turn).toMatchObject({ _tag: "Unavailable", retryable: true })
    expect(builds).toEqual([false, true])
    hang.now = false
    await settle(world)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid before" })
  })
})

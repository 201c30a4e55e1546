/** Reconcilers: when they are asked, what their answers come to, and what happens when they give none. */
import { Context, Deferred, Effect, Layer } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  callRecords,
  Declined,
  decisionsOf,
  io,
  lose,
  makeOutside,
  openRows,
  payment,
  settle,
  settlementOf,
  stateOf,
} from "./calls.ts"
import { accepted, go, makeWorld, tags, until, type WorldOptions } from "./harness.ts"

type Answer = Agent.Reconciliation<string, Declined>

const answers = {
  neverStarted: { _tag: "NeverStarted" },
  safeToRetry: { _tag: "SafeToRetry" },
  completed: { _tag: "Completed", result: "paid before" },
  failed: { _tag: "Failed", error: new Declined({ code: 402 }) },
  uncertain: { _tag: "Uncertain" },
} as const satisfies Record<string, Answer>

/** A run whose call hangs in its first try, and a reconciler that answers as told. */
const makeCase = (
  look: (asked: number) => Effect.Effect<Answer, unknown>,
  options: WorldOptions & { readonly timeout?: number } = {},
) => {
  const outside = makeOutside()
  const asked: Array<Agent.ToolCall> = []
  const entered: Array<number> = []
  const tool = payment("ordinary", {
    timeout: options.timeout ?? "20 seconds",
    reconcile: (call) => Effect.suspend(() => look(asked.push(call))),
  })
  const agent = Agent.make("agent", io).handler(
    (_input, run) =>
      Effect.suspend(() => {
        entered.push(run.info.attempt)
        return run.tool(
          "pay",
          tool,
          outside.body((_call, start) =>
            start === 1 ? (Effect.never as Effect.Effect<string>) : Effect.succeed("paid now"),
          ),
          { request: { order: 7 } },
        )
      }),
    { tools: [tool] },
  )
  const world = makeWorld({ agents: [agent], cutsOff: true, ...options })
  return { agent, asked, entered, outside, world }
}

/** A call is over: 20 s that it may take, and 30 s of an object that was replaced. */
const overMillis = 50_000

const again = [
  "ToolPrepared pay 0",
  "ToolResolved pay 1",
  "ToolPrepared pay 2",
  "ToolSettled pay 3",
]
const outcome = ["ToolPrepared pay 0", "ToolSettled pay 1"]

describe("a reconciler's answer", () => {
  const table = [
    ["neverStarted", again, 2, { output: "paid now" }],
    ["safeToRetry", again, 2, { output: "paid now" }],
    ["completed", outcome, 1, { output: "paid before" }],
    ["failed", outcome, 1, { outcome: "failed", failure: { tag: "Declined" } }],
  ] as const

  for (const ended of [true, false]) {
    const how = ended ? "ended without an outcome" : "was lost with its object"
    it.each(table)(
      `%s is carried out when the call ${how}`,
      async (name, records, started, end) => {
        const { asked, outside, world } = makeCase(
          () => Effect.succeed(answers[name]),
          ended ? { timeout: 5 } : {},
        )
        const { submissionId } = await accepted(world.admit("agent", ""))
        if (ended) expect(await tags(world.process())).toEqual(["Suspended"])
        else await lose(world)
        await settle(world)
        expect(asked).toHaveLength(1)
        expect(outside.started).toHaveLength(started)
        expect(await callRecords(world)).toEqual(records)
        expect(openRows(world)).toEqual([])
        expect(await settlementOf(world, submissionId)).toMatchObject(end)
      },
    )

    it(`uncertain makes the call unknown when it ${how}`, async () => {
      const { outside, world } = makeCase(
        () => Effect.succeed(answers.uncertain),
        ended ? { timeout: 5 } : {},
      )
      const { submissionId } = await accepted(world.admit("agent", ""))
      if (ended) expect(await tags(world.process())).toEqual(["Suspended"])
      else await lose(world)
      await settle(world)
      expect(outside.started).toHaveLength(1)
      expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolUnknown pay 1"])
      expect(await stateOf(world, submissionId)).toBe("unknown")
    })
  }

  it("is recorded with who gave it", async () => {
    const { world } = makeCase(() => Effect.succeed(answers.completed))
    await accepted(world.admit("agent", ""))
    await lose(world)
    await settle(world)
    const { records } = await go(world.history())
    expect(records.find(({ kind }) => kind === "ToolSettled")?.payload).toEqual({
      by: { author: "reconciler", reason: "asked by recovery" },
      result: "paid before",
      tool: "payment",
    })
  })

  it("is asked for about the call as its body was told of it", async () => {
    const { asked, world } = makeCase(() => Effect.succeed(answers.neverStarted))
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    await settle(world)
    expect(asked).toEqual([
      {
        ...world.address,
        submissionId,
        name: "pay",
        key: expect.stringMatching(/^[0-9a-f]{32}$/),
        request: { order: 7 },
      },
    ])
  })

  it("comes without a handler being run", async () => {
    const { entered, world } = makeCase(() => Effect.succeed(answers.completed))
    await accepted(world.admit("agent", ""))
    await lose(world)
    world.time.now += overMillis
    expect(entered).toEqual([1])
    expect(await decisionsOf(world)).toEqual(["Reconcile: repaired"])
    expect(entered).toEqual([1])
    await settle(world)
    expect(entered).toEqual([1, 2])
  })
})

describe("a reconciler is asked", () => {
  it("not before the end of the call, and at its end", async () => {
    const { asked, world } = makeCase(() => Effect.succeed(answers.completed))
    await accepted(world.admit("agent", ""))
    await lose(world)
    for (const before of [0, overMillis - 1]) {
      world.time.now += before
      expect(await decisionsOf(world)).toEqual(["AwaitCall: deferred"])
      expect(asked).toEqual([])
    }
    expect((await go(world.inspect())).report.recoverAt).toBe(world.time.now + 1)
    world.time.now += 1
    expect(await decisionsOf(world)).toEqual(["Reconcile: repaired"])
    expect(asked).toHaveLength(1)
  })

  it("once at a time: a second recovery joins the first", async () => {
    const answer = Deferred.makeUnsafe<Answer>()
    const { asked, world } = makeCase(() => Deferred.await(answer))
    await accepted(world.admit("agent", ""))
    await lose(world)
    world.time.now += overMillis
    const both = [decisionsOf(world), decisionsOf(world)]
    await until(
      "it is asked",
      () => asked.length,
      (count) => count > 0,
    )
    expect(await tags(world.process())).toEqual(["NeedsRecovery"])
    Deferred.doneUnsafe(answer, Effect.succeed(answers.completed))
    expect(await Promise.all(both)).toEqual([["Reconcile: repaired"], ["Reconcile: repaired"]])
    expect(asked).toHaveLength(1)
    await settle(world)
  })

  it("eight times when it fails, later each time, before the call becomes unknown", async () => {
    const { asked, world } = makeCase(() => Effect.fail("no connection"))
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    world.time.now += overMillis
    const waits: Array<number> = []
    for (let time = 1; time < 8; time++) {
      expect(await decisionsOf(world)).toEqual(["AwaitCall: deferred"])
      expect(asked).toHaveLength(time)
      const { recoverAt } = (await go(world.inspect())).report
      waits.push((recoverAt ?? 0) - world.time.now)
      world.time.now = recoverAt ?? 0
    }
    expect(waits).toEqual([5, 10, 20, 40, 60, 60, 60].map((seconds) => seconds * 1_000))
    expect(await decisionsOf(world)).toEqual(["MarkUnknown: unknown"])
    expect(asked).toHaveLength(8)
    expect(await stateOf(world, submissionId)).toBe("unknown")
  })

  it("again after failures, and its answer counts", async () => {
    const { asked, world } = makeCase((time) =>
      time < 8 ? Effect.die("not yet") : Effect.succeed(answers.completed),
    )
    const { submissionId } = await accepted(world.admit("agent", ""))
    await lose(world)
    await settle(world)
    expect(asked).toHaveLength(8)
    expect(await settlementOf(world, submissionId)).toMatchObject({ output: "paid before" })
  })

  it("of all calls of a run that are over, at once, each answer for its own", async () => {
    const asked: Array<string> = []
    const all = Deferred.makeUnsafe<void>()
    const found: Record<string, Answer> = {
      a: answers.completed,
      b: answers.neverStarted,
      c: answers.uncertain,
    }
    const tool = payment("ordinary", {
      timeout: 5,
      reconcile: ({ name }) =>
        Effect.suspend(() => {
          if (asked.push(name) === 3) Deferred.doneUnsafe(all, Effect.void)
          return Effect.as(Deferred.await(all), found[name] ?? answers.uncertain)
        }),
    })
    const agent = Agent.make("agent", io).handler(
      (_input, run) =>
        Effect.all(
          ["a", "b", "c"].map((name) => run.tool(name, tool, Effect.never)),
          { concurrency: "unbounded" },
        ),
      { tools: [tool] },
    )
    const world = makeWorld({ agents: [agent] })
    const { submissionId } = await accepted(world.admit("agent", ""))
    expect(await tags(world.process())).toEqual(["Suspended"])
    await settle(world)
    expect(asked).toHaveLength(3)
    expect(await callRecords(world)).toEqual([
      "ToolPrepared a 0",
      "ToolPrepared b 0",
      "ToolPrepared c 0",
      "ToolSettled a 1",
      "ToolResolved b 1",
      "ToolUnknown c 1",
    ])
    expect(openRows(world)).toMatchObject([{ name: "c" }])
    expect(await stateOf(world, submissionId)).toBe("unknown")
  })
})

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
        const { recoverAt } = (await go(world.inspect())).report
        expect(recoverAt).toBe(world.time.now + 60_000)
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

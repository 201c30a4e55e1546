/** Tools and reconcilers whose own code throws, hangs or gives what is none: bounded, and nothing lost. */
import { Effect, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Agent from "../../../thread-actors/Agent.ts"
import {
  callRecords,
  executions,
  io,
  openRows,
  settle,
  settlementOf,
  stateOf,
  toRecovery,
} from "./calls.ts"
import { accepted, go, makeWorld, tags } from "./harness.ts"

const refuse = () => {
  throw new Error("4111-secret")
}

const angry = (): object =>
  new Proxy(
    {},
    {
      get: refuse,
      has: refuse,
      getPrototypeOf: refuse,
      ownKeys: refuse,
      getOwnPropertyDescriptor: refuse,
    },
  )

const thrower = (): object => ({
  get _tag(): never {
    return refuse()
  },
  get message(): never {
    return refuse()
  },
})

/** An object that is no effect, and that cannot even be named. */
const nameless = (): object => Object.assign(Object.create(null), { toString: refuse })

const values: Record<string, () => unknown> = {
  "a proxy that throws": angry,
  "an object whose getters throw": thrower,
  "an object that cannot be named": nameless,
  "a promise": () => Promise.resolve("paid"),
  "a function": () => () => 1,
  nothing: () => undefined,
  "three megabytes": () => "x".repeat(3_000_000),
}

const limits = {
  attemptCeilingMillis: 60,
  reconcileMillis: 10,
  reconcileTries: 2,
  attemptsExhausted: 3,
}

/** How a body can be wrong, by what a hostile value is used for. */
const bodies: Record<string, (value: () => unknown) => unknown> = {
  "whose function gives": (value) => value,
  "whose effect gives": (value) => Effect.sync(value),
  "that fails with": (value) => Effect.suspend(() => Effect.fail(value())),
  "that dies of": (value) => Effect.suspend(() => Effect.die(value())),
  "that goes on as": (value) => Effect.flatMap(Effect.yieldNow, value as never),
  "that throws": (value) =>
    Effect.sync(() => {
      throw value()
    }),
}

const cases = Object.keys(bodies).flatMap((body) =>
  Object.keys(values).map((value) => [body, value]),
)

const agentOf = (tool: Agent.Tool<string, unknown, never, Agent.Execution>, body: unknown) =>
  Agent.make("agent", io).handler(
    (input, run) =>
      input === "next"
        ? Effect.succeed("served")
        : (run.tool("pay", tool, body as Effect.Effect<string>) as Effect.Effect<string>),
    { tools: [tool] },
  )

const hostile = (execution: Agent.Execution) =>
  Agent.tool("payment", { result: Schema.String, error: Schema.Any, execution, timeout: 20 })

describe.each(executions)("a hostile %s tool call", (execution) => {
  it.each(cases)("%s %s ends, and holds up nobody", async (body, value) => {
    const given = bodies[body]?.(values[value] ?? refuse)
    const world = makeWorld({ agents: [agentOf(hostile(execution), given)], limits })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const next = await accepted(world.admit("agent", "next"))
    await settle(world)
    expect(world.thread().isRunning()).toBe(false)
    expect(await settlementOf(world, next.submissionId)).toMatchObject({ output: "served" })
    const state = await stateOf(world, submissionId)
    const records = await callRecords(world)
    const isRecorded = records.some((record) => record.startsWith("ToolSettled"))
    expect(state).toBe(execution === "ordinary" && !isRecorded ? "unknown" : "settled")
    const told = JSON.stringify(await settlementOf(world, submissionId))
    expect(told ?? "").not.toContain("4111-secret")
  })

  it("that never ends and cannot be interrupted is left at the attempt's ceiling", async () => {
    const body = Effect.uninterruptible(Effect.never)
    const world = makeWorld({ agents: [agentOf(hostile(execution), body)], limits })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const next = await accepted(world.admit("agent", "next"))
    await settle(world)
    expect(await settlementOf(world, next.submissionId)).toMatchObject({ output: "served" })
    expect(await stateOf(world, submissionId)).toBe(
      execution === "ordinary" ? "unknown" : "settled",
    )
  })
})

/** How a reconciler can be wrong. */
const reconcilers: Record<string, (value: () => unknown) => unknown> = {
  "is no function": (value) => value(),
  "gives no effect but": (value) => value,
  finds: (value) => () => Effect.sync(value),
  "fails with": (value) => () => Effect.suspend(() => Effect.fail(value())),
  "dies of": (value) => () => Effect.suspend(() => Effect.die(value())),
  "goes on as": (value) => () => Effect.flatMap(Effect.yieldNow, value as never),
  "finds it completed with": (value) => () =>
    Effect.sync(() => ({ _tag: "Completed", result: value() })),
  "finds it failed with": (value) => () => Effect.sync(() => ({ _tag: "Failed", error: value() })),
}

const lookCases = Object.keys(reconcilers).flatMap((way) =>
  Object.keys(values).map((value) => [way, value]),
)

describe("a hostile reconciler", () => {
  const agentWith = (reconcile: unknown) =>
    agentOf(
      Agent.tool("payment", {
        result: Schema.String,
        error: Schema.Any,
        execution: "ordinary",
        timeout: 1,
        reconcile: reconcile as never,
      }),
      Effect.never,
    )

  it.each(lookCases)("that %s %s is asked a bounded number of times", async (way, value) => {
    const reconcile = reconcilers[way]?.(values[value] ?? refuse)
    if (reconcile === undefined) return
    const world = makeWorld({ agents: [agentWith(reconcile)], limits })
    const { submissionId } = await accepted(world.admit("agent", ""))
    const next = await accepted(world.admit("agent", "next"))
    await settle(world)
    expect(await settlementOf(world, next.submissionId)).toMatchObject({ output: "served" })
    expect(await stateOf(world, submissionId)).toBe("unknown")
    expect(await callRecords(world)).toEqual(["ToolPrepared pay 0", "ToolUnknown pay 1"])
    expect(world.storage.dump()).not.toContain("4111-secret")
  })

  it.each([true, false])(
    "that never ends (interruptible: %s) is waited for no longer than its time",
    async (interruptible) => {
      const look = interruptible ? Effect.never : Effect.uninterruptible(Effect.never)
      const world = makeWorld({ agents: [agentWith(() => look)], limits })
      const { submissionId } = await accepted(world.admit("agent", ""))
      expect(await tags(world.process())).toEqual(["Suspended"])
      await toRecovery(world)
      expect(await go(world.recover())).toMatchObject({
        result: { value: [{ decision: "AwaitCall" }] },
        report: { recoverAt: world.time.now + 5_000 },
      })
      expect(openRows(world)).toMatchObject([{ tries: 1 }])
      await settle(world)
      expect(await stateOf(world, submissionId)).toBe("unknown")
    },
  )
})

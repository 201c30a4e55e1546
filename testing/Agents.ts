/**
 * The agents of the simulation: they follow the script in their input, and tell the outside world what they
 * start and what they are given.
 *
 * - G1 Every body says who it is before it does anything.
 * - G2 What a handler sees of an operation is told as it sees it, in every attempt.
 * - G3 So is how it ends.
 */
import { Cause, Context, Duration, Effect, Exit, Option, Schema } from "effect"
import * as Agent from "../thread-actors/Agent.ts"
import type { Run } from "../thread-actors/Agent.ts"
import type { AtWork } from "./AtWork.ts"
import type { Ends } from "./Ends.ts"
import { followTalk, type Talking } from "./FollowTalk.ts"
import { type Incarnation, leaveObject } from "./Incarnation.ts"
import { type BodyIdentity, Broken, type Outside, Refused } from "./Outside.ts"
import {
  type CallOp,
  isTalk,
  type OneOp,
  type Op,
  promiseMillis,
  type Reconciling,
  Script,
  type StepOp,
} from "./Script.ts"
import { outputOf, type Talk } from "./Talk.ts"
import type { Times } from "./Times.ts"

/** The outside world as code in one incarnation reaches it. */
export class Reach extends Context.Service<
  Reach,
  {
    readonly outside: Outside
    readonly incarnation: Incarnation
    readonly talk: Talk
    readonly ends: Ends
    readonly times: Times
    readonly atWork: AtWork
    /** The threads of the plan. */
    readonly threads: Talking["threads"]
    readonly reconciles: () => Reconciling
    /** The object dies, here and now; not any more once the world has healed. */
    readonly kill: (submissionId: string) => boolean
  }
>()("heddle/testing/Reach") {}

const refusal = Schema.Struct({ _tag: Schema.Literal("Refused"), n: Schema.Number })

const look = Agent.tool("look", {
  execution: "readonly",
  result: Schema.Number,
  error: refusal,
  timeout: promiseMillis.look,
})
const mark = Agent.tool("mark", {
  execution: "idempotent",
  result: Schema.Number,
  error: refusal,
  timeout: promiseMillis.mark,
})
const wire = Agent.tool("wire", {
  execution: "ordinary",
  result: Schema.Number,
  error: refusal,
  timeout: promiseMillis.wire,
})
const pay = Agent.tool("pay", {
  execution: "ordinary",
  result: Schema.Number,
  error: refusal,
  timeout: promiseMillis.pay,
  reconcile: ({ name, submissionId }) =>
    Effect.gen(function* () {
      const { outside, reconciles } = yield* Reach
      yield* Effect.sleep(1)
      const how = reconciles()
      if (how === "hangs") return yield* Effect.never
      if (how === "fails") return yield* Effect.fail(new Broken({ n: 0 }))
      if (how === "is uncertain") return { _tag: "Uncertain" } as const
      const result = outside.lookUp(submissionId, name)
      if (result !== undefined) return { _tag: "Completed", result } as const
      outside.giveLeave(submissionId, name)
      return { _tag: "NeverStarted" } as const
    }),
})

const tools = { look, mark, pay, wire }

/** A body's own failures as the tool declares them; a broken one is not declared. */
const asDeclared = (effect: Effect.Effect<number, Refused | Broken>) =>
  Effect.mapError(effect, (error) =>
    error instanceof Refused ? ({ _tag: "Refused", n: error.n } as const) : error,
  )

type Running = Run<number, Script>

const identity = (run: Running, name: string, kind: BodyIdentity["kind"]): BodyIdentity => ({
  submissionId: run.info.submissionId,
  name,
  attempt: run.info.attempt,
  kind,
})

const started = (run: Running, name: string, kind: BodyIdentity["kind"]) =>
  Effect.map(Reach, (reach) => {
    const body = identity(run, name, kind)
    reach.outside.start(reach.incarnation, body) // G1
    return { ...reach, body }
  })

const step = (run: Running, op: StepOp) => {
  const body = Effect.flatMap(started(run, op.name, "step"), (reach) =>
    op.behaviour.ends === "kills" && reach.kill(run.info.submissionId)
      ? Effect.never
      : reach.outside.work(reach.body, op.behaviour),
  )
  const retry = op.retries === 0 ? {} : { retry: { times: op.retries, delay: op.retryMillis } }
  return run.step(op.name, Schema.Number, body, { timeout: op.timeoutMillis, ...retry })
}

const callTool = (run: Running, op: CallOp): Effect.Effect<number, unknown, Reach> => {
  const body = ({ key }: Agent.ToolCall) =>
    Effect.flatMap(started(run, op.name, op.tool), (reach) => {
      reach.outside.hasKey(reach.body, key)
      return asDeclared(reach.outside.call(reach.incarnation, reach.body, op))
    })
  return run.tool(op.name, tools[op.tool] as typeof look, body)
}

const small = (run: Running, op: Extract<OneOp, { readonly _tag: "Small" }>) => {
  switch (op.what) {
    case "update":
      return Effect.flatMap(Reach, ({ outside }) =>
        run.state.update(op.name, (count) => {
          outside.changes(run.info.submissionId, op.name)
          return Option.getOrElse(count, () => 0) + 1
        }),
      )
    case "read":
      return Effect.map(run.state.read(op.name), (count) => Option.getOrElse(count, () => 0))
    case "progress":
      return Effect.as(run.progress(op.name, { at: op.name }), 0)
    case "draw":
      return run.random(op.name)
    case "now":
      return run.now(op.name)
    case "emit":
      return Effect.as(run.emit({ at: op.name }), 0)
  }
}

/** What was given for an operation, in words; a failure is one, too. */
const told = (exit: Exit.Exit<unknown, unknown>): string => {
  if (Exit.isSuccess(exit)) return JSON.stringify(exit.value)
  const failed = exit.cause.reasons.find(Cause.isFailReason)
  return `failed ${JSON.stringify(failed?.error)}`
}

const work = (op: Extract<OneOp, { readonly _tag: "Work" }>): Effect.Effect<void, never, Reach> =>
  Effect.flatMap(Reach, ({ outside }) => {
    outside.works(op.millis)
    const sleep = Effect.sleep(op.millis)
    return op.uninterruptible ? Effect.uninterruptible(sleep) : sleep
  })

/** What an operation gives its handler. */
const given = (run: Running, op: OneOp): Effect.Effect<unknown, unknown, Reach> => {
  if (isTalk(op))
    return Effect.flatMap(Reach, (reach) =>
      followTalk({ ...reach, agents: definitions }, run, op, (one) => given(run, one)),
    )
  switch (op._tag) {
    case "Work":
      return Effect.as(work(op), 0)
    case "Step":
      return step(run, op)
    case "Call":
      return callTool(run, op)
    case "Small":
      return small(run, op)
  }
}

const follow = (run: Running, op: OneOp): Effect.Effect<void, never, Reach> => {
  if (op._tag === "Work") return work(op)
  return Effect.flatMap(Effect.exit(given(run, op)), (exit) => {
    const { cause } = exit as { readonly cause?: Cause.Cause<unknown> }
    if (cause !== undefined && !cause.reasons.every(Cause.isFailReason))
      return Effect.failCause(cause as Cause.Cause<never>)
    return Effect.map(Reach, ({ incarnation, outside }) => {
      const value = told(exit)
      // What was seen before its record was durable, and was lost with it, nobody ever hears of.
      leaveObject(incarnation, () => outside.sees(run.info.submissionId, op.name, value)) // G2
    })
  })
}

const followAll = (run: Running, ops: ReadonlyArray<Op>): Effect.Effect<void, never, Reach> =>
  Effect.forEach(
    ops,
    (op) =>
      op._tag === "Parallel"
        ? Effect.forEach(op.branches, (branch) => follow(run, branch), {
            concurrency: "unbounded",
            discard: true,
          })
        : follow(run, op),
    { discard: true },
  )

const Failed = Schema.Struct({ _tag: Schema.Literal("ScriptFailed") })

/** A run that somebody has sent says whose work it does. // G1 */
const begins = ({ info }: Running, its: string) =>
  Effect.map(Reach, ({ incarnation, talk }) => {
    const thread = `${info.ownerId}/${info.threadId}`
    talk.begins(its, info.submissionId, thread)
    leaveObject(incarnation, () => talk.enters(its, info.submissionId, thread))
  })

const defined = (name: string, keepsAll = false) =>
  Agent.make(name, {
    ...(keepsAll ? { retention: Duration.infinity } : {}),
    input: Script,
    output: Schema.Number,
    error: Failed,
    state: Schema.Number,
    retry: { times: 1, delay: 200 },
  })

/** Only the newer deployment has the last. */
const definitions = new Map(["first", "second", "newer"].map((name) => [name, defined(name)]))

/** How a handler ends is told as it ends. // G3 */
const tellingItsEnd =
  ({ info }: Running) =>
  <A, E>(handler: Effect.Effect<A, E, Reach>): Effect.Effect<A, E, Reach> =>
    Effect.onExit(handler, (exit) =>
      Effect.map(Reach, ({ ends, incarnation }) => ends.ends(incarnation, info.submissionId, exit)),
    )

/** So is how long it is at work. */
const atWorkAs =
  (agent: string, { info }: Running) =>
  <A, E>(handler: Effect.Effect<A, E, Reach>): Effect.Effect<A, E, Reach> =>
    Effect.flatMap(Reach, ({ atWork, incarnation }) =>
      Effect.ensuring(
        handler,
        Effect.sync(atWork.enters({ incarnation, submissionId: info.submissionId, agent })),
      ),
    )

const agentNamed = (name: string, keepsAll = false) =>
  defined(name, keepsAll).handler(
    (script, run) =>
      Effect.gen(function* () {
        const { ends, times } = yield* Reach
        ends.enters(run.info.submissionId)
        times.enters(run.info.submissionId)
        if (script.mark !== undefined) yield* begins(run, script.mark)
        yield* followAll(run, script.ops)
        if (script.ends === "fails") return yield* Effect.fail({ _tag: "ScriptFailed" } as const)
        if (script.ends === "dies") return yield* Effect.die(new Error("the script dies"))
        return script.mark === undefined ? script.ops.length : outputOf(script.mark)
      }).pipe(tellingItsEnd(run), atWorkAs(name, run)),
    { tools: [look, mark, pay, wire] },
  )

const first = agentNamed("first")
const second = agentNamed("second")
const keeping = agentNamed("second", true)
const newer = agentNamed("newer")

const byName = (agents: ReadonlyArray<Agent.AgentLive<Reach>>): Agent.Agents =>
  new Map(agents.map((live) => [live.agent.name, live as unknown as Agent.AgentLive<never>]))

type Deployments = Readonly<Record<string, Agent.Agents>>

/** The deployments of a run: the older lacks an agent that the newer has. */
export const deployments: Deployments = {
  v1: byName([first, second]),
  v2: byName([first, second, newer]),
}

/** Those in which the second agent keeps for ever what it has done. */
export const keepingDeployments: Deployments = {
  v1: byName([first, keeping]),
  v2: byName([first, keeping, newer]),
}

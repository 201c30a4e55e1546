/**
 * Agents: what users write. A definition (name and schemas) is data that callers may import; its
 * handler is code that runs in a thread.
 *
 * Every operation of a run that has an effect, or reads something that can change, has a name that is
 * unique in the run. Its outcome is a record, and is given again, without running, on re-entry.
 */
import { type Duration, type Effect, type Option, Result, type Scope } from "effect"
import type { CallbackToken } from "../contracts/Callback.ts"
import type { ChildLimitExceeded } from "../contracts/Errors.ts"
import type { Sender } from "../contracts/Outbox.ts"
import { AgentId } from "../contracts/Identifiers.ts"
import type {
  MessageId,
  OwnerId,
  Principal,
  SubmissionId,
  AttemptId,
  ThreadId,
} from "../contracts/Identifiers.ts"
import type { Json, JsonCodec } from "./JsonCodec.ts"
import { readPeriod } from "./RetentionPeriod.ts"
import { readRetry, type RetryPolicy } from "./RetryPolicy.ts"
import type {
  ChildFailed,
  RunFailure,
  StepFailed,
  StepTimedOut,
  ToolFailed,
  ToolTimedOut,
  WaitTimedOut,
  SignalInvalid,
} from "./RunFailures.ts"
import { type Execution, type Tool, type ToolCall, type Tools, toolsByName } from "./Tool.ts"

export type { Json, JsonCodec } from "./JsonCodec.ts"
export type { RetryPolicy } from "./RetryPolicy.ts"
export {
  type Execution,
  type Reconciliation,
  tool,
  type Tool,
  type ToolCall,
  type ToolOptions,
} from "./Tool.ts"

export {
  ChildFailed,
  type RunFailure,
  SignalInvalid,
  StepFailed,
  StepTimedOut,
  ToolFailed,
  ToolTimedOut,
  WaitTimedOut,
} from "./RunFailures.ts"

export interface StepOptions {
  readonly retry?: RetryPolicy
  /** Default 5 min; finite. A timeout is an outcome: recorded and raised again. */
  readonly timeout?: Duration.Input
}

export interface ToolCallOptions {
  /**
   * What the call is about: recorded before it starts, and told to its reconciler and to whoever must decide
   * about it. Nothing secret.
   */
  readonly request?: Json
}

export interface ApprovalOptions {
  /** What is to be decided, in a sentence for people: 1 to 1,024 characters. */
  readonly summary: string
  /** What a decision needs to know. Recorded with the request; nothing secret. */
  readonly data?: Json
  /** How long a decision is waited for. Without it as long as it takes. */
  readonly expires?: Duration.Input
}

export interface WaitOptions {
  /** How long the value is waited for, counted from when the run first came here. Without it as long as it takes. */
  readonly timeout?: Duration.Input
}

export interface VersionOptions {
  /** The oldest version that this code still has; a run of an older one is held until a deploy has it. Default 0. */
  readonly minimum?: number
}

type Branches = Readonly<Record<string, Effect.Effect<any, any, any>>>

/** Says by its name what is missing where there is no branch. */
type SomeBranch<B> = [keyof B] extends [never]
  ? { readonly "a race needs a branch": never }
  : unknown

/** How a race ended: the branch that won, and what it came to. */
export type RaceEnd<B extends Branches> = {
  readonly [K in keyof B & string]: {
    readonly branch: K
    readonly value: Effect.Success<B[K]>
  }
}[keyof B & string]

export interface TakeOptions {
  /** How many at most; default and bound 32. */
  readonly max?: number
}

/** An input that has joined a run. It settles with it. */
export interface TakenInput<In> {
  readonly submissionId: SubmissionId
  readonly principal: Principal
  readonly acceptedAt: number
  readonly input: In
}

export interface ChildOptions {
  /** Whether the run goes on at once, and settles whatever becomes of it. */
  readonly detached?: boolean
  /** Of its thread, for people and search: at most 256 characters. */
  readonly title?: string
}

/** A child that nobody waits for. */
export interface DetachedChild {
  readonly threadId: ThreadId
}

/** What is sent to another thread. */
export interface Letter<In = any> {
  /** The owner of the thread: this one's without it. Another one must let this one in. */
  readonly ownerId?: OwnerId
  readonly threadId: ThreadId
  /** The agent that takes it, or its name alone; then the input is JSON as it is. */
  readonly agent: Agent<In, any, any, any> | { readonly name: AgentId }
  readonly input: In
  readonly title?: string
  readonly delivery?: "queue" | "join"
  /** Epoch milliseconds: it keeps out of the queue of its thread until then. */
  readonly notBefore?: number
}

/** How an approval ended: nobody decided in time where it has expired. */
export interface ApprovalDecision {
  readonly approved: boolean
  readonly expired: boolean
  /** Who decided, and why; absent where it has expired. */
  readonly author?: string
  readonly reason?: string
}

/** Facts of this run. Constant within an attempt. */
export interface RunInfo {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
  readonly sequence: number
  readonly attemptId: AttemptId
  /** Counts the attempts of this submission, from 1. */
  readonly attempt: number
  readonly principal: Principal
  /** The run that sent the message which this submission is. */
  readonly from?: Sender
  /** The run whose child this is. */
  readonly parent?: { readonly threadId: ThreadId; readonly submissionId: SubmissionId }
  readonly acceptedAt: number
  /**
   * After it, the attempt ends at its next fact and goes on in another; not while an ordinary tool call is under
   * way. Epoch milliseconds.
   */
  readonly yieldAt: number
}

/** What a handler does durably. `State` is the agent's thread state. */
export interface Run<State = never, In = any> {
  readonly info: RunInfo
  /**
   * Runs `body` at least once and records its outcome exactly once. With `error`, a typed failure
   * after its retries is recorded and raised as such; without, or if it cannot be stored and read
   * back, as `StepFailed`. Defects and interruptions record nothing; a result that cannot be stored
   * and read back is a defect.
   */
  readonly step: {
    <A, E, EB extends E, R>(
      name: string,
      schema: JsonCodec<A>,
      body: Effect.Effect<A, EB, R>,
      options: StepOptions & { readonly error: JsonCodec<E> },
    ): Effect.Effect<A, E | StepTimedOut, R>
    <A, EB, R>(
      name: string,
      schema: JsonCodec<A>,
      body: Effect.Effect<A, EB, R>,
      options?: StepOptions,
    ): Effect.Effect<A, [EB] extends [never] ? StepTimedOut : StepFailed | StepTimedOut, R>
  }
  /**
   * Calls the outside, as its tool declares. Only a recorded outcome is ever seen here: when the outcome of an
   * ordinary call is lost (a timeout, a defect, an undeclared failure, a crash) nothing is raised; the run
   * waits until the reconciler or somebody has told it.
   */
  readonly tool: <A, E, RT, X extends Execution, EB, R>(
    name: string,
    tool: Tool<A, E, RT, X>,
    body: Effect.Effect<A, EB, R> | ((call: ToolCall) => Effect.Effect<A, EB, R>),
    options?: ToolCallOptions,
  ) => Effect.Effect<A, E | (X extends "ordinary" ? never : ToolFailed | ToolTimedOut), R>
  /**
   * Asks people, and waits for their decision; the run holds nothing meanwhile. Denial and expiry are values. Several
   * may be asked at once.
   */
  readonly approval: (name: string, options: ApprovalOptions) => Effect.Effect<ApprovalDecision>
  /**
   * Waits for a value that somebody sends to this run under this name (`signal`, or a callback); the run holds nothing
   * meanwhile. One that came before is kept. The first value stands.
   */
  readonly waitFor: {
    <A>(
      name: string,
      schema: JsonCodec<A>,
      options: WaitOptions & { readonly timeout: Duration.Input },
    ): Effect.Effect<A, SignalInvalid | WaitTimedOut>
    <A>(
      name: string,
      schema: JsonCodec<A>,
      options?: WaitOptions & { readonly timeout?: undefined },
    ): Effect.Effect<A, SignalInvalid>
  }
  /**
   * A token for the wait of this name (`waitFor`), for somebody outside: whoever has it may give that wait its value,
   * once, and nothing else. The same in every attempt. A secret.
   */
  readonly callback: (name: string) => Effect.Effect<CallbackToken>
  /**
   * Runs several branches; the one whose outcome comes first, value or typed failure, is the outcome of all. It is
   * recorded, and the others are withdrawn: nothing they waited for is taken any more, their children are told to end,
   * and their steps are interrupted. There is at least one: a run whose race has none at runtime fails with `EmptyRace`.
   */
  readonly race: <const B extends Branches>(
    name: string,
    branches: B & SomeBranch<B>,
  ) => Effect.Effect<
    RaceEnd<B>,
    Effect.Error<B[keyof B & string]>,
    Effect.Services<B[keyof B & string]>
  >
  /**
   * Which version of changed code this run takes: `current` for one that comes here first, 0 for one that had gone on
   * before there was a version to choose.
   */
  readonly version: (
    name: string,
    current: number,
    options?: VersionOptions,
  ) => Effect.Effect<number>
  /** Goes on after so long, counted from when the run first came here; the run holds nothing meanwhile. */
  readonly sleep: (name: string, duration: Duration.Input) => Effect.Effect<void>
  /** Goes on at this time (epoch milliseconds), at once if it has passed. */
  readonly until: (name: string, at: number) => Effect.Effect<void>
  /**
   * Takes the inputs that wait behind this run and were submitted to join it (`delivery: "join"`), in their order up to
   * the first that was not; none if none waits, which is recorded, too. They settle with this run, as it does.
   */
  readonly takeInputs: (
    name: string,
    options?: TakeOptions,
  ) => Effect.Effect<ReadonlyArray<TakenInput<In>>>
  /**
   * Has another agent work in a thread of its own, and gives what that came to; the run holds nothing meanwhile. It is
   * ended with this run unless it is `detached`. At most 256 a run, nested 8 deep.
   */
  readonly child: {
    <In, Out, Err, S>(
      name: string,
      agent: Agent<In, Out, Err, S>,
      input: In,
      options: ChildOptions & { readonly detached: true },
    ): Effect.Effect<DetachedChild, ChildLimitExceeded>
    <In, Out, Err, S>(
      name: string,
      agent: Agent<In, Out, Err, S>,
      input: In,
      options?: ChildOptions & { readonly detached?: false },
    ): Effect.Effect<Out, ChildFailed | ChildLimitExceeded>
  }
  /**
   * Sends a message to a thread: recorded, carried while the run goes on, taken once, and in order for each pair of
   * threads. Gives its id. One that nobody takes within 24 hours is parked, and shown.
   */
  readonly send: <In>(name: string, letter: Letter<In>) => Effect.Effect<MessageId>
  /** The thread's typed value, shared by all its runs in their order. */
  readonly state: {
    /** None until it was first written. What was read is recorded. */
    readonly read: (name: string) => Effect.Effect<Option.Option<State>>
    /**
     * Records what a pure function makes of the value; gives the new value. The function must not use
     * its run, and may be called again if a parallel branch was faster.
     */
    readonly update: (
      name: string,
      change: (state: Option.Option<State>) => State,
    ) => Effect.Effect<State>
  }
  /** A durable record for observers; no outcome depends on it. */
  readonly progress: (name: string, data: Json) => Effect.Effect<void>
  /** To present observers only; writes nothing and may be lost. */
  readonly emit: (chunk: Json) => Effect.Effect<void>
  /** The time, drawn once: epoch milliseconds. */
  readonly now: (name: string) => Effect.Effect<number>
  /** A number in [0, 1), drawn once. */
  readonly random: (name: string) => Effect.Effect<number>
}

export interface AgentOptions<In, Out, Err, State> {
  readonly input: JsonCodec<In>
  readonly output: JsonCodec<Out>
  /** Typed failures of the handler; they settle the submission `failed` with their `_tag`. */
  readonly error?: JsonCodec<Err>
  /** The thread's typed value. Agents of one deployment that share threads share its schema. */
  readonly state?: JsonCodec<State>
  /** Tries the whole run again after a typed failure or a defect; its recorded steps stay. */
  readonly retry?: RetryPolicy
  /**
   * How many attempts of this agent may run at once in one owner; without it, as many as may run there at all. A
   * submission beyond it waits, in its turn.
   */
  readonly maxRunning?: number
  /**
   * How long the content of what has settled is kept: inputs, outputs, records and idempotency keys. `Duration.infinity`
   * keeps it for ever. Without it as the deployment says.
   */
  readonly retention?: Duration.Input
}

/** A handler with its agent: what a deployment registers. `R` are the services it needs. */
export interface AgentLive<out R> {
  readonly agent: Agent<any, any, any, any>
  /** The tools that its runs may call. */
  readonly tools: Tools
  readonly handle: (input: any, run: Run<any>) => Effect.Effect<any, any, R | Scope.Scope>
}

/** An agent of whatever types. */
export type AnyAgent = Agent<any, any, any, any>

export interface Agent<In, Out, Err, State> extends AgentOptions<In, Out, Err, State> {
  readonly name: AgentId
  /**
   * Gives the agent its code, and names the tools that it calls: recovery must find them without it. The
   * per-attempt `Scope` closes when the attempt ends. Throws at once if two tools have the same name.
   */
  readonly handler: <R, RT = never>(
    handle: (input: In, run: Run<State, In>) => Effect.Effect<Out, Err | RunFailure, R>,
    options?: { readonly tools?: ReadonlyArray<Tool<any, any, RT, Execution>> },
  ) => AgentLive<Exclude<R, Scope.Scope> | RT>
}

/** Defines an agent. Throws at once on a name that is no `AgentId`, on a retry that means nothing, and on a limit that is none. */
export const make = <In, Out, Err = never, State = never>(
  name: string,
  options: AgentOptions<In, Out, Err, State>,
): Agent<In, Out, Err, State> => {
  const retry = options.retry === undefined ? undefined : readRetry(options.retry)
  if (retry !== undefined && Result.isFailure(retry))
    throw new TypeError(`agent ${name}: ${retry.failure}`)
  const { maxRunning = 1 } = options
  if (!Number.isSafeInteger(maxRunning) || maxRunning < 1)
    throw new TypeError(`agent ${name}: maxRunning is not a positive integer`)
  if (options.retention !== undefined && readPeriod(options.retention) === undefined)
    throw new TypeError(`agent ${name}: retention is no duration of a millisecond or more`)
  const agent: Agent<In, Out, Err, State> = {
    ...options,
    name: AgentId.make(name),
    handler: (handle, { tools = [] } = {}) =>
      ({ agent, handle, tools: toolsByName(tools) }) as AgentLive<never>,
  }
  return agent
}

/** The agents of one deployment by name. */
export type Agents = ReadonlyMap<AgentId, AgentLive<never>>

/** How many attempts of each agent may run at once, where it says so. */
export const maxRunningOf = (agents: Agents): ReadonlyMap<AgentId, number> => {
  const limits = new Map<AgentId, number>()
  for (const [name, { agent }] of agents) {
    if (agent.maxRunning !== undefined) limits.set(name, agent.maxRunning)
  }
  return limits
}

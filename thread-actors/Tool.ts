/**
 * Tools: what an author declares about a call to the outside, so that recovery knows what to do when its
 * outcome was lost, without running the handler that made it.
 */
import type { Duration } from "effect"
import { type Effect, Result, Schema } from "effect"
import { StepName } from "../contracts/Identifiers.ts"
import type { OwnerId, SubmissionId, ThreadId } from "../contracts/Identifiers.ts"
import type { JsonCodec } from "./JsonCodec.ts"
import { readDuration } from "./RetryPolicy.ts"

/**
 * `readonly` changes nothing · `idempotent` may be made again under its key without being done twice · both
 * are made again when their outcome was lost. `ordinary` must not: its reconciler is asked, else somebody.
 */
export type Execution = "readonly" | "idempotent" | "ordinary"

/** One call, as its body and its reconciler are told of it. The same on every try. */
export interface ToolCall {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
  /** The name of the call in its run. */
  readonly name: string
  /** 32 hexadecimal digits: for the provider, to know the call by. */
  readonly key: string
  /** What the call was given as `request`. */
  readonly request: Schema.Json | undefined
}

/**
 * What a reconciler found. `NeverStarted` and `SafeToRetry`: the call may be made again. `Completed` and
 * `Failed`: it happened, with this outcome. `Uncertain`: somebody must say.
 */
export type Reconciliation<A, E = never> =
  | { readonly _tag: "NeverStarted" }
  | { readonly _tag: "SafeToRetry" }
  | { readonly _tag: "Completed"; readonly result: A }
  | { readonly _tag: "Failed"; readonly error: E }
  | { readonly _tag: "Uncertain" }

/** What an author says about a tool. */
export interface ToolOptions<A, E, R, X extends Execution> {
  readonly execution: X
  readonly result: JsonCodec<A>
  /**
   * What the call can fail with. Of an ordinary call only such a failure is an outcome: it says for certain
   * that the call was refused. Any other leaves open whether it happened.
   */
  readonly error?: JsonCodec<E>
  /**
   * Default 60 s, at most the ceiling of an attempt. Of an ordinary call it is a promise about the world: nothing
   * of the call is under way after it. So a lost answer is asked about then, however early its body failed: 5 s later,
   * as clocks may be that far apart, and 30 s after that if its object was lost, which may have gone on that long.
   */
  readonly timeout?: Duration.Input
  /**
   * For ordinary calls alone: asked once a call is over whose outcome was lost; it looks, and changes nothing. At
   * most 20 s. One that fails is asked again, up to eight times, before the call becomes unknown. Without one it
   * becomes unknown at once.
   */
  readonly reconcile?: (call: ToolCall) => Effect.Effect<Reconciliation<A, E>, unknown, R>
}

export interface Tool<A, E, out R, out X extends Execution> {
  readonly name: string
  readonly result: JsonCodec<A>
  readonly error: JsonCodec<E> | undefined
  readonly execution: X
  /** None: the default. */
  readonly timeoutMillis: number | undefined
  readonly reconcile:
    | ((call: ToolCall) => Effect.Effect<Reconciliation<A, E>, unknown, R>)
    | undefined
}

/** Any tool, as the system holds it. */
export type AnyTool = Tool<unknown, unknown, never, Execution>

/** The tools of one handler by name. */
export type Tools = ReadonlyMap<string, AnyTool>

const isName = Schema.is(StepName)

const executions: ReadonlyArray<Execution> = ["readonly", "idempotent", "ordinary"]

const timeoutOf = (name: string, timeout: Duration.Input | undefined): number | undefined => {
  if (timeout === undefined) return undefined
  const millis = readDuration("timeout", timeout)
  if (Result.isFailure(millis)) throw new TypeError(`tool ${name}: ${millis.failure}`)
  return millis.success
}

/**
 * Declares a tool. Its name is kept in records, like that of a step: 1 to 128 printable characters. Throws at
 * once on a name or timeout that means nothing, and on a reconciler that would never be asked.
 */
export const tool = <A, const X extends Execution, E = never, R = never>(
  name: string,
  options: ToolOptions<A, E, R, X>,
): Tool<A, E, R, X> => {
  if (!isName(name)) throw new TypeError("a tool's name has 1 to 128 printable characters")
  const { error, execution, reconcile, result, timeout } = options
  if (!executions.includes(execution))
    throw new TypeError(`tool ${name}: execution is readonly, idempotent or ordinary`)
  if (reconcile !== undefined && execution !== "ordinary")
    throw new TypeError(`tool ${name}: only an ordinary tool is reconciled`)
  return { name, result, error, execution, timeoutMillis: timeoutOf(name, timeout), reconcile }
}

/** The tools by name. Throws when two have the same. */
export const toolsByName = (tools: ReadonlyArray<{ readonly name: string }>): Tools => {
  const byName = new Map<string, AnyTool>()
  for (const one of tools) {
    if (byName.has(one.name)) throw new TypeError(`two tools are named ${one.name}`)
    byName.set(one.name, one as unknown as AnyTool)
  }
  return byName
}

/**
 * Reconciling: asks a tool's reconciler what became of a call whose outcome was lost, and records the answer.
 * When it may be asked is decided before: not before the end of the call.
 *
 * - N1 The answer counts only for the call it was asked about: the block looks whether row and call are still
 *   those that were asked for.
 * - N2 A reconciler is agent code: it runs in a fiber of its own, never in a block, and nobody waits for it
 *   longer than its time. One that fails says nothing, and is asked again, a bounded number of times.
 */
import { Deferred, Effect, Exit, Option, Result } from "effect"
import { delayMillis } from "../contracts/Backoff.ts"
import { type Block, touch } from "./Block.ts"
import { describeError, logCause } from "./Failures.ts"
import { append, findPart } from "./Journal.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { effectOf } from "./Misuse.ts"
import { callKeyOf, closeCall, type OpenCall, recordIdOf, writeCall } from "./OpenCalls.ts"
import { ensureServices } from "./Services.ts"
import { storable } from "./StoredValue.ts"
import type { Thread } from "./Thread.ts"
import type { AnyTool, Reconciliation, ToolCall } from "./Tool.ts"
import {
  failurePayload,
  reconciler,
  resolvedPayload,
  resultPayload,
  unknownPayload,
} from "./ToolRecord.ts"
import { within } from "./Within.ts"

/** What asking came to. */
export type Found =
  /** Its outcome, as the payload of its record. */
  | { readonly _tag: "Outcome"; readonly payload: string }
  | { readonly _tag: "Again"; readonly resolution: "NeverStarted" | "SafeToRetry" }
  | { readonly _tag: "Uncertain"; readonly why: "no reconciler" | "uncertain" }
  /** The reconciler failed, or took too long. */
  | { readonly _tag: "NoAnswer" }

/** One call that is asked about, and the row as it was then. */
export interface Asked {
  readonly row: SubmissionRow
  readonly call: OpenCall
}

const noAnswer: Found = { _tag: "NoAnswer" }

/** An answer as it is recorded. Total: what the reconciler gave may be anything. */
const foundOf = (thread: Thread, tool: AnyTool, answer: unknown): Found => {
  const { limits } = thread
  const said = answer as Partial<Reconciliation<unknown, unknown>> | null | undefined
  switch (said?._tag) {
    case "NeverStarted":
    case "SafeToRetry":
      return { _tag: "Again", resolution: said._tag }
    case "Uncertain":
      return { _tag: "Uncertain", why: "uncertain" }
    case "Completed": {
      const { result } = said as { readonly result?: unknown }
      const kept = storable(tool.result, result, { limits, size: "stepResultBytes" })
      return Result.isSuccess(kept)
        ? { _tag: "Outcome", payload: resultPayload(tool.name, kept.success.text, reconciler) }
        : noAnswer
    }
    case "Failed": {
      const { error } = said as { readonly error?: unknown }
      if (tool.error === undefined) return noAnswer
      const kept = storable(tool.error, error, { limits, size: "recordBytes" })
      if (Result.isFailure(kept)) return noAnswer
      const told = describeError(error, limits)
      const payload = failurePayload(tool.name, told, kept.success.text, reconciler)
      return { _tag: "Outcome", payload }
    }
    default:
      return noAnswer
  }
}

const requestOf = (thread: Thread, { call }: Asked): ToolCall["request"] => {
  const prepared = findPart(thread.host.storage.sql, call.submission, call)
  if (prepared === undefined) return undefined
  return (JSON.parse(prepared.payload) as { readonly request?: ToolCall["request"] }).request
}

/** The call as it was told to its body. Storage may fail here like anywhere. */
const toldOf = (thread: Thread, asked: Asked): ToolCall | undefined => {
  const { identity } = thread
  if (identity === undefined) return undefined
  const { call, row } = asked
  return {
    ...identity,
    submissionId: row.id,
    name: call.name,
    key: callKeyOf(row.id, call.name),
    request: requestOf(thread, asked),
  }
}

/** Runs the reconciler. Never fails, and ends in time. // N2 */
const run = (
  thread: Thread,
  tool: AnyTool,
  reconcile: NonNullable<AnyTool["reconcile"]>,
  call: ToolCall,
): Effect.Effect<Found> =>
  Effect.gen(function* () {
    const looked = Effect.suspend(() => effectOf(reconcile(call), "a reconciler must be an Effect"))
    const { services } = thread
    const program = services === undefined ? looked : Effect.provideContext(looked, services)
    const end = Deferred.makeUnsafe<Exit.Exit<unknown, unknown>>()
    const fiber = yield* Effect.forkDetach(Effect.andThen(Effect.yieldNow, program))
    fiber.addObserver((exit) => Deferred.doneUnsafe(end, Effect.succeed(exit)))
    const exit = yield* within(end, thread.limits.reconcileMillis)
    if (Option.isNone(exit)) {
      fiber.interruptUnsafe()
      return noAnswer
    }
    if (Exit.isSuccess(exit.value)) return foundOf(thread, tool, exit.value.value)
    yield* logCause(`The reconciler of tool ${tool.name} failed`, exit.value.cause)
    return noAnswer
  })

/** Asks about one call. A failure of our own, or of the services, is no answer. */
export const ask = (thread: Thread, asked: Asked): Effect.Effect<Found> =>
  Effect.gen(function* () {
    const tool = thread.options.agents.get(asked.row.agent)?.tools.get(asked.call.tool)
    if (tool === undefined) return noAnswer
    if (tool.reconcile === undefined) return { _tag: "Uncertain", why: "no reconciler" } as const
    yield* ensureServices(thread)
    const call = toldOf(thread, asked)
    return call === undefined ? noAnswer : yield* run(thread, tool, tool.reconcile, call)
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.as(logCause("A reconciler could not be asked", cause), noAnswer),
    ),
  )

/** Whether the call is still the one that was asked about. // N1 */
const isStill = (asked: Asked, row: SubmissionRow, calls: ReadonlyArray<OpenCall>): boolean =>
  row.epoch === asked.row.epoch &&
  row.state === asked.row.state &&
  row.abort === asked.row.abort &&
  calls.some(
    (call) =>
      call.name === asked.call.name &&
      call.part === asked.call.part &&
      call.tries === asked.call.tries &&
      call.unknownAt === null,
  )

/** Marks a call as one that needs somebody's word. */
const markUnknown = (
  block: Block,
  { call, row }: Asked,
  why: "no reconciler" | "uncertain",
): void => {
  const { name, tool } = call
  const part = call.part + 1
  append(block, {
    submission: row.sequence,
    kind: "ToolUnknown",
    name,
    part,
    epoch: row.epoch,
    payload: unknownPayload({ tool, recordId: recordIdOf(row.id, { name, part }), why }),
  })
  writeCall(block.sql, { ...call, part, unknownAt: block.now })
}

/** Asks again later, unless it was asked often enough. // N2 */
const askLater = (block: Block, asked: Asked): void => {
  const { limits } = block.thread
  const tries = asked.call.tries + 1
  if (tries >= limits.reconcileTries) return markUnknown(block, asked, "uncertain")
  const curve = {
    baseMillis: limits.reconcileRetryMillis,
    maxMillis: limits.reconcileRetryMaxMillis,
  }
  writeCall(block.sql, {
    ...asked.call,
    tries,
    deadlineAt: block.now + delayMillis(curve, tries),
  })
  touch(block)
}

/** Records an outcome or the leave to call again, and closes the call. */
const close = (
  block: Block,
  { call, row }: Asked,
  record: { readonly kind: "ToolSettled" | "ToolResolved"; readonly payload: string },
): void => {
  append(block, {
    submission: row.sequence,
    name: call.name,
    part: call.part + 1,
    epoch: row.epoch,
    ...record,
  })
  closeCall(block.sql, row.sequence, call.name)
}

/** Takes an answer in, in this block, if it is still about this call. Gives whether it was. */
export const apply = (
  block: Block,
  asked: Asked,
  found: Found,
  now: { readonly row: SubmissionRow; readonly calls: ReadonlyArray<OpenCall> },
): boolean => {
  if (!isStill(asked, now.row, now.calls)) return false // N1
  switch (found._tag) {
    case "Outcome":
      close(block, asked, { kind: "ToolSettled", payload: found.payload })
      return true
    case "Again": {
      const payload = resolvedPayload(asked.call.tool, found.resolution, reconciler)
      close(block, asked, { kind: "ToolResolved", payload })
      return true
    }
    case "Uncertain":
      markUnknown(block, asked, found.why)
      return true
    case "NoAnswer":
      askLater(block, asked)
      return true
  }
}

/**
 * Reconciling: asks a tool's reconciler what became of a call whose outcome was lost, and records the answer.
 * When it may be asked is decided before: not before the end of the call.
 *
 * - N1 The answer counts only for the call it was asked about: the block looks whether row and call are still
 *   those that were asked for.
 * - N2 A reconciler is agent code: it runs in a fiber of its own, never in a block, and nobody waits for it
 *   longer than its time. One that fails says nothing, and is asked again, a bounded number of times.
 * - N3 A try is used up, durably, before the reconciler runs: one that kills its object is not asked for ever.
 * - N4 Where nobody can be asked (this deployment lacks the tool, or its services do not start) the try is given
 *   back: the call is looked at again later.
 */
import { Deferred, Effect, Exit, Option, Result } from "effect"
import { spanned, spans } from "../contracts/observability/Spans.ts"
import { delayMillis } from "../contracts/Backoff.ts"
import { forkAgentCode } from "./AgentFiber.ts"
import { type Block, touch } from "./Block.ts"
import { reading, type ReadFailure } from "./Durable.ts"
import { describeError, logCause } from "./Failures.ts"
import { append, findPart } from "./Journal.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { effectOf, misuse } from "./Misuse.ts"
import { callKeyOf, closeCall, type OpenCall, recordIdOf, writeCall } from "./OpenCalls.ts"
import { ensureServices } from "./Services.ts"
import { storable, whyUnstorable } from "./StoredValue.ts"
import type { Thread } from "./Thread.ts"
import type { AnyTool, Reconciliation, ToolCall } from "./Tool.ts"
import {
  failurePayload,
  reconciler,
  resolvedPayload,
  resultPayload,
  unknownPayload,
} from "./ToolRecord.ts"
import { parsed, Unreadable } from "./Unreadable.ts"
import { within } from "./Within.ts"

/** What asking came to. */
export type Found =
  /** Its outcome, as the payload of its record. */
  | { readonly _tag: "Outcome"; readonly payload: string }
  | { readonly _tag: "Again"; readonly resolution: "NeverStarted" | "SafeToRetry" }
  | { readonly _tag: "Uncertain"; readonly why: "no reconciler" | "uncertain" }
  /** The reconciler failed, took too long, or said what means nothing. */
  | { readonly _tag: "NoAnswer" }
  /** There was nobody to ask. */
  | { readonly _tag: "NotAsked" }

const noAnswer: Found = { _tag: "NoAnswer" }
const notAsked: Found = { _tag: "NotAsked" }

/** One call that is asked about, and the row as it was then. */
export interface Asked {
  readonly row: SubmissionRow
  readonly call: OpenCall
}

const outcome = (payload: string): Found => ({ _tag: "Outcome", payload })

/** An answer as it is recorded, or in words why it means nothing. Touching it may throw: it is agent code's. */
const foundOf = (thread: Thread, tool: AnyTool, answer: unknown): Result.Result<Found, string> => {
  const { limits } = thread
  const said = answer as Partial<Reconciliation<unknown, unknown>> | null | undefined
  switch (said?._tag) {
    case "NeverStarted":
    case "SafeToRetry":
      return Result.succeed({ _tag: "Again", resolution: said._tag })
    case "Uncertain":
      return Result.succeed({ _tag: "Uncertain", why: "uncertain" })
    case "Completed": {
      const { result } = said as { readonly result?: unknown }
      return Result.mapBoth(storable(tool.result, result, { limits, size: "stepResultBytes" }), {
        onFailure: (why) => `its result ${whyUnstorable(why)}`,
        onSuccess: ({ text }) => outcome(resultPayload(tool.name, text, reconciler)),
      })
    }
    case "Failed": {
      const { error } = said as { readonly error?: unknown }
      if (tool.error === undefined) return Result.fail("its tool declares no failure")
      const told = describeError(error, limits)
      return Result.mapBoth(storable(tool.error, error, { limits, size: "recordBytes" }), {
        onFailure: (why) => `its failure ${whyUnstorable(why)}`,
        onSuccess: ({ text }) => outcome(failurePayload(tool.name, told, text, reconciler)),
      })
    }
    default:
      return Result.fail("it is none of the answers there are")
  }
}

/** The call as it was told to its body. */
const toldOf = (thread: Thread, { call, row }: Asked): ToolCall => {
  const { host, identity } = thread
  const prepared = findPart(host.storage.sql, call.submission, call)
  if (identity === undefined || prepared === undefined) throw new Unreadable("journal")
  const { request } = parsed(prepared.payload, "journal") as Pick<ToolCall, "request">
  const key = callKeyOf(row.id, call.name)
  return { ...identity, submissionId: row.id, name: call.name, key, request }
}

/** What the reconciler says, as it says it, within its time. // N2 */
const answerOf = (
  thread: Thread,
  reconcile: NonNullable<AnyTool["reconcile"]>,
  call: ToolCall,
): Effect.Effect<unknown, unknown> =>
  Effect.gen(function* () {
    const looked = Effect.suspend(() => effectOf(reconcile(call), "a reconciler must be an Effect"))
    const { services } = thread
    const program = services === undefined ? looked : Effect.provideContext(looked, services)
    const end = Deferred.makeUnsafe<Exit.Exit<unknown, unknown>>()
    const fiber = yield* forkAgentCode(program, (exit) => {
      Deferred.doneUnsafe(end, Effect.succeed(exit))
    })
    const { reconcileMillis } = thread.limits
    const exit = yield* within(end, reconcileMillis)
    if (Option.isSome(exit)) return yield* exit.value
    fiber.interruptUnsafe()
    return yield* misuse(`it took longer than ${reconcileMillis} ms`)
  })

/** Runs the reconciler and reads its answer. Never fails, whatever it does. */
const run = (
  thread: Thread,
  tool: AnyTool,
  reconcile: NonNullable<AnyTool["reconcile"]>,
  call: ToolCall,
): Effect.Effect<Found> =>
  Effect.flatMap(
    spanned(
      () => ({ name: spans.reconcile, attributes: { "heddle.tool": tool.name } }),
      answerOf(thread, reconcile, call),
    ),
    (answer) => {
      const found = foundOf(thread, tool, answer)
      return Result.isSuccess(found) ? Effect.succeed(found.success) : misuse(found.failure)
    },
  ).pipe(
    Effect.catchCause((cause) =>
      Effect.as(logCause(`The reconciler of tool ${tool.name} gave no answer`, cause), noAnswer),
    ),
  )

/** Asks about one call. Only what keeps us from reading what it was is a failure. */
export const ask = (thread: Thread, asked: Asked): Effect.Effect<Found, ReadFailure> =>
  Effect.gen(function* () {
    const tool = thread.options.agents.get(asked.row.agent)?.tools.get(asked.call.tool)
    if (tool === undefined) return notAsked // N4
    const { reconcile } = tool
    if (reconcile === undefined) return { _tag: "Uncertain", why: "no reconciler" } as const
    const call = yield* reading(thread, "recover", () => toldOf(thread, asked))
    const ready = yield* Effect.exit(ensureServices(thread))
    return Exit.isSuccess(ready) ? yield* run(thread, tool, reconcile, call) : notAsked // N4
  })

/** Whether the call is still the one that was asked about. // N1 */
export const isStill = (
  asked: Asked,
  row: SubmissionRow,
  calls: ReadonlyArray<OpenCall>,
): boolean =>
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

/**
 * Uses up a try of each call, in this block, and gives those that are to be asked about now. One whose tries are
 * used up is marked. // N3
 */
export const charge = (
  block: Block,
  asked: ReadonlyArray<Asked>,
  now: { readonly row: SubmissionRow; readonly calls: ReadonlyArray<OpenCall> },
): ReadonlyArray<Asked> =>
  asked.flatMap((one) => {
    if (!isStill(one, now.row, now.calls)) return []
    if (one.call.tries >= block.thread.limits.reconcileTries) {
      markUnknown(block, one, "uncertain")
      return []
    }
    const call = { ...one.call, tries: one.call.tries + 1 }
    writeCall(block.sql, call)
    return [{ ...one, call }]
  })

/** Asks again later, unless it was asked often enough. // N2 */
const askLater = (block: Block, asked: Asked): void => {
  const { limits } = block.thread
  const { tries } = asked.call
  if (tries >= limits.reconcileTries) return markUnknown(block, asked, "uncertain")
  const curve = {
    baseMillis: limits.reconcileRetryMillis,
    maxMillis: limits.reconcileRetryMaxMillis,
  }
  writeCall(block.sql, { ...asked.call, deadlineAt: block.now + delayMillis(curve, tries) })
  touch(block)
}

/** Looks again later at a call about which nobody can be asked. // N4 */
export const lookLater = (block: Block, call: OpenCall): void => {
  const deadlineAt = block.now + block.thread.limits.bindingWaitMaxMillis
  writeCall(block.sql, { ...call, deadlineAt })
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
    case "NotAsked":
      lookLater(block, { ...asked.call, tries: Math.max(0, asked.call.tries - 1) }) // N4
      return true
  }
}

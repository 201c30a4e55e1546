/**
 * One try of a tool call: its start recorded before its body, its outcome after it.
 *
 * - T1 `ToolPrepared` of an idempotent or ordinary call is written before its body starts: nothing that the
 *   body sends leaves the object before that write is durable (the platform's output gate).
 * - T2 Of an ordinary call only a result and a declared failure are outcomes. Whatever else ends its body leaves
 *   the call open and raises nothing: its branch waits, and when nothing else runs the attempt ends.
 * - T3 What a body has come to is recorded even if its branch is interrupted meanwhile, and an ordinary call's
 *   outcome however much its run has recorded.
 * - T4 The attempt's own end comes late rather than in the middle of an ordinary call: past its yield time none
 *   is begun, and those under way are waited for.
 * - T5 No call is begun once its attempt has a verdict: a sibling may have ended it in between.
 */
import { Cause, Effect, Exit, Option, Result } from "effect"
import { spanned, spans } from "../contracts/observability/Spans.ts"
import { ToolFailed, ToolTimedOut } from "./Agent.ts"
import {
  appendAnyway,
  appendFact,
  giveUp,
  isOver,
  leave,
  type NewFact,
  type Running,
  writeFact,
} from "./Fact.ts"
import { describeError, logCause } from "./Failures.ts"
import { endBody, hasVerdict, type Verdict } from "./LiveAttempt.ts"
import { misuse } from "./Misuse.ts"
import { callEnd, closeCall, writeCall } from "./OpenCalls.ts"
import { waitForCalls, waitForQuiet } from "./Quiet.ts"
import { storable, whyUnstorable } from "./StoredValue.ts"
import type { AnyTool } from "./Tool.ts"
import { failurePayload, resultPayload } from "./ToolRecord.ts"

/** A call whose parts have been read. */
export interface Plan {
  readonly name: string
  readonly tool: AnyTool
  readonly timeoutMillis: number
  readonly body: Effect.Effect<unknown, unknown>
  /** Canonical JSON. */
  readonly request: string | undefined
}

export type Outcome = Effect.Effect<unknown, unknown>

/** How a body ended. */
type BodyEnd =
  | { readonly _tag: "Ended"; readonly exit: Exit.Exit<unknown, unknown> }
  | { readonly _tag: "TimedOut" }

type Restore = <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>

const isOrdinary = ({ tool }: Plan): boolean => tool.execution === "ordinary"

const preparedPayload = ({ request, timeoutMillis, tool }: Plan): string => {
  const given = request === undefined ? "" : `,"request":${request}`
  return `{"execution":"${tool.execution}"${given},"timeoutMillis":${timeoutMillis},"tool":${JSON.stringify(tool.name)}}`
}

/** Records that the call starts. Gives the part under which its outcome is to stand. // T1 */
const prepare = (running: Running, plan: Plan, part: number): Effect.Effect<number> =>
  writeFact(running, "prepare", (block): { readonly value: number } | Verdict => {
    const { live } = running
    const { name, timeoutMillis, tool } = plan
    const payload = preparedPayload(plan)
    const full = appendFact(block, live, { kind: "ToolPrepared", name, part, payload })
    if (full !== undefined) return full
    if (isOrdinary(plan))
      writeCall(block.sql, {
        submission: live.sequence,
        name,
        tool: tool.name,
        part,
        preparedAt: block.now,
        deadlineAt: callEnd(block.now, timeoutMillis, block.thread.limits),
        tries: 0,
        unknownAt: null,
      })
    return { value: part + 1 }
  })

/** Writes an outcome, and gives it as the record holds it. */
const record = (
  running: Running,
  plan: Plan,
  kept: { readonly part: number; readonly payload: string },
  outcome: Outcome,
): Outcome =>
  Effect.flatMap(
    writeFact(running, "settleTool", (block) => {
      const { live } = running
      const fact: NewFact = { kind: "ToolSettled", name: plan.name, ...kept }
      if (!isOrdinary(plan)) return appendFact(block, live, fact) ?? { value: undefined }
      appendAnyway(block, live, fact) // T3
      closeCall(block.sql, live.sequence, plan.name)
      return { value: undefined }
    }),
    () => outcome,
  )

/** Waits like for an approval: for the end of this attempt, once no other body runs. // T2 */
export const waitOpen = (running: Running): Effect.Effect<never> =>
  Effect.interruptible(Effect.andThen(waitForQuiet(running), leave(running, { _tag: "CallOpen" })))

/** Leaves the call open, and tells the log why: nobody else hears of it. // T2 */
const open = (running: Running, { name }: Plan, why: string | Cause.Cause<unknown>) => {
  const words = `What became of tool call ${name} is not known`
  const log = typeof why === "string" ? Effect.logWarning(`${words}: ${why}`) : logCause(words, why)
  // A logger may be the agent's own.
  return Effect.andThen(Effect.ignoreCause(log), waitOpen(running))
}

const completed = (running: Running, plan: Plan, part: number, value: unknown): Outcome => {
  const { limits } = running.thread
  const { name, tool } = plan
  const result = storable(tool.result, value, { limits, size: "stepResultBytes" })
  if (Result.isSuccess(result)) {
    const payload = resultPayload(tool.name, result.success.text)
    return record(running, plan, { part, payload }, Effect.succeed(result.success.value))
  }
  const why = whyUnstorable(result.failure)
  if (isOrdinary(plan)) return open(running, plan, `its result ${why}`) // T2
  const told = `the result of tool call ${name} ${why}`
  return result.failure._tag === "TooLarge" ? giveUp(running, "ResultTooLarge", told) : misuse(told)
}

/** A failure that the tool declares, as its record holds it. */
const declaredError = (running: Running, { tool }: Plan, error: unknown) =>
  tool.error === undefined
    ? undefined
    : Result.getOrUndefined(
        storable(tool.error, error, { limits: running.thread.limits, size: "recordBytes" }),
      )

const failed = (running: Running, plan: Plan, part: number, error: unknown): Outcome => {
  const { name, tool } = plan
  const told = describeError(error, running.thread.limits)
  const declared = declaredError(running, plan, error)
  if (declared === undefined && isOrdinary(plan))
    return open(running, plan, `it failed undeclared: ${told.tag}`) // T2
  const payload = failurePayload(tool.name, told, declared?.text)
  const raised = declared === undefined ? new ToolFailed({ call: name, ...told }) : declared.value
  return record(running, plan, { part, payload }, Effect.fail(raised))
}

const timedOut = (running: Running, plan: Plan, part: number): Outcome => {
  const { name, timeoutMillis, tool } = plan
  if (isOrdinary(plan)) return open(running, plan, `it took longer than ${timeoutMillis} ms`) // T2
  const payload = JSON.stringify({ timeoutMillis, tool: tool.name })
  const raised = new ToolTimedOut({ call: name, timeoutMillis })
  return record(running, plan, { part, payload }, Effect.fail(raised))
}

const begun = ({ live }: Running, plan: Plan): void => {
  live.bodies += 1
  if (isOrdinary(plan)) live.calls += 1
}

const over = ({ live }: Running, plan: Plan): void => {
  if (isOrdinary(plan)) {
    live.calls -= 1
    live.endedCalls.add(plan.name)
  }
  endBody(live)
}

/** Runs the body within its time, counted while it runs. */
const once = (running: Running, plan: Plan, restore: Restore): Effect.Effect<BodyEnd> =>
  Effect.suspend(() => {
    begun(running, plan)
    const { name, tool } = plan
    const body = spanned(
      () => ({
        name: spans.tool,
        attributes: {
          "heddle.name": name,
          "heddle.tool": tool.name,
          "heddle.execution": tool.execution,
        },
      }),
      Effect.timeoutOption(plan.body, plan.timeoutMillis),
    )
    return Effect.exit(restore(body)).pipe(
      Effect.map((exit): BodyEnd =>
        Exit.isSuccess(exit) && Option.isNone(exit.value)
          ? { _tag: "TimedOut" }
          : { _tag: "Ended", exit: Exit.map(exit, Option.getOrUndefined) },
      ),
      Effect.ensuring(Effect.sync(() => over(running, plan))),
    )
  })

const run = (running: Running, plan: Plan, part: number, restore: Restore): Outcome =>
  Effect.flatMap(once(running, plan, restore), (end): Outcome => {
    if (end._tag === "TimedOut") return timedOut(running, plan, part)
    const { exit } = end
    if (Exit.isSuccess(exit)) return completed(running, plan, part, exit.value)
    const { cause } = exit
    const typed = cause.reasons.find(Cause.isFailReason)
    if (typed !== undefined && !Cause.hasDies(cause) && !Cause.hasInterrupts(cause))
      return failed(running, plan, part, typed.error)
    if (!isOrdinary(plan)) return Effect.failCause(cause)
    return open(running, plan, Cause.hasDies(cause) ? cause : "it was interrupted") // T2
  })

/** Hands the run back without beginning the call. An attempt that came to nothing is counted. // T4 */
const handBack = (running: Running): Effect.Effect<never> =>
  Effect.andThen(
    waitForCalls(running),
    Effect.suspend(() =>
      leave(running, { _tag: running.live.progressed ? "Yielded" : "WithoutResult" }),
    ),
  )

/** Makes the call, its start recorded where that matters. // T1 */
export const start = (running: Running, plan: Plan, part: number): Outcome =>
  Effect.suspend(() => {
    const isRecorded = plan.tool.execution !== "readonly"
    if (isRecorded && isOver(running)) return handBack(running) // T4
    if (hasVerdict(running.live)) return leave(running, { _tag: "Superseded" }) // T5
    return Effect.uninterruptibleMask((restore) =>
      isRecorded
        ? Effect.flatMap(prepare(running, plan, part), (next) => run(running, plan, next, restore))
        : run(running, plan, part, restore),
    )
  })

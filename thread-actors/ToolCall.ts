/**
 * `run.tool`: a call to the outside, whose start is recorded before it and whose outcome after it.
 *
 * - T1 `ToolPrepared` of an idempotent or ordinary call is written before its body starts: nothing that the
 *   body sends leaves the object before that write is durable (the platform's output gate).
 * - T2 A recorded outcome is given again without running anything, as the record holds it.
 * - T3 Of an ordinary call only a result and a declared failure are outcomes. Whatever else ends its body leaves
 *   the call open and raises nothing: its branch waits, and when nothing else runs the attempt ends.
 * - T4 An ordinary body starts only if no earlier try of the call is open.
 * - T5 A call that is not declared with its handler is its author's mistake: recovery could not find it.
 */
import { Cause, Effect, Exit, Option, Result } from "effect"
import type { ToolCallOptions } from "./Agent.ts"
import { ToolFailed, ToolTimedOut } from "./Agent.ts"
import type { Block } from "./Block.ts"
import {
  appendFact,
  giveUp,
  type LastRecorded,
  leave,
  recallLast,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { describeError } from "./Failures.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { endBody, type Verdict } from "./LiveAttempt.ts"
import { effectOf, misuse } from "./Misuse.ts"
import { callKeyOf, closeCall, writeCall } from "./OpenCalls.ts"
import { waitForQuiet } from "./Quiet.ts"
import { storable, textOf } from "./StoredValue.ts"
import type { AnyTool, ToolCall } from "./Tool.ts"
import { failurePayload, resultPayload } from "./ToolRecord.ts"

type Outcome = Effect.Effect<unknown, unknown>

export interface ToolUse {
  readonly name: string
  readonly tool: AnyTool
  readonly body: unknown
  readonly options: ToolCallOptions
}

/** A use whose parts have been read. */
interface Plan {
  readonly name: string
  readonly tool: AnyTool
  readonly timeoutMillis: number
  readonly call: ToolCall
  readonly body: Effect.Effect<unknown, unknown>
  /** Canonical JSON. */
  readonly request: string | undefined
}

const isOrdinary = ({ tool }: Plan): boolean => tool.execution === "ordinary"

const callOf = ({ live }: Running, { name, options }: ToolUse): ToolCall => ({
  ...live.identity,
  submissionId: live.row.id,
  name,
  key: callKeyOf(live.row.id, name),
  request: options.request,
})

/** The body, made when it is to run: a function of the call is agent code. */
const bodyOf = ({ body, name }: ToolUse, call: ToolCall): Effect.Effect<unknown, unknown> =>
  Effect.suspend(() =>
    effectOf(
      typeof body === "function" ? (body as (call: ToolCall) => unknown)(call) : body,
      `tool call ${name}: the body must be an Effect, or a function that gives one`,
    ),
  )

const planOf = (running: Running, use: ToolUse): Result.Result<Plan, string> => {
  const { limits } = running.thread
  const { name, tool } = use
  const request =
    use.options.request === undefined
      ? Result.succeed(undefined)
      : textOf(use.options.request, { limits, size: "recordBytes" })
  if (Result.isFailure(request)) {
    const why = request.failure
    return Result.fail(
      why._tag === "TooLarge" ? `its request exceeds ${why.maxBytes} bytes` : why.reason,
    )
  }
  const timeoutMillis = Math.min(
    tool.timeoutMillis ?? limits.toolTimeoutMillis,
    limits.attemptCeilingMillis,
  )
  const call = callOf(running, use)
  const body = bodyOf(use, call)
  return Result.succeed({ name, tool, timeoutMillis, call, body, request: request.success })
}

const mismatch = (running: Running, name: string): Effect.Effect<never> =>
  leave(running, { _tag: "Mismatch", name })

/** The outcome that a record holds, or the end of the attempt if this code reads it differently. // T2 */
const replay = (running: Running, { name, tool }: Plan, record: LastRecorded): Outcome => {
  const { payload } = record
  if (payload["tool"] !== tool.name) return mismatch(running, name)
  if (typeof payload["timeoutMillis"] === "number")
    return Effect.fail(new ToolTimedOut({ call: name, timeoutMillis: payload["timeoutMillis"] }))
  if ("result" in payload) {
    const value = jsonCoder(tool.result).decode(payload["result"])
    return Result.isSuccess(value) ? Effect.succeed(value.success) : mismatch(running, name)
  }
  if ("error" in payload) {
    const error =
      tool.error === undefined ? undefined : jsonCoder(tool.error).decode(payload["error"])
    return error !== undefined && Result.isSuccess(error)
      ? Effect.fail(error.success)
      : mismatch(running, name)
  }
  return Effect.fail(
    new ToolFailed({
      call: name,
      tag: String(payload["tag"]),
      message: String(payload["message"]),
    }),
  )
}

/** Records that the call starts. Gives the part under which its outcome is to stand. */
const prepare = (running: Running, plan: Plan, part: number): Effect.Effect<number> =>
  writeFact(running, "prepare", (block): { readonly value: number } | Verdict => {
    const { live } = running
    const { execution, name } = plan.tool
    const request = plan.request === undefined ? "" : `,"request":${plan.request}`
    const payload = `{"execution":"${execution}"${request},"timeoutMillis":${plan.timeoutMillis},"tool":${JSON.stringify(name)}}`
    const full = appendFact(block, live, { kind: "ToolPrepared", name: plan.name, part, payload })
    if (full !== undefined) return full
    if (isOrdinary(plan))
      writeCall(block.sql, {
        submission: live.sequence,
        name: plan.name,
        tool: name,
        part,
        preparedAt: block.now,
        deadlineAt: block.now + plan.timeoutMillis + block.thread.limits.oldInstanceMillis,
        tries: 0,
        unknownAt: null,
      })
    return { value: part + 1 }
  })

/** Writes an outcome, and gives it as the record holds it. // T2 */
const record = (
  running: Running,
  plan: Plan,
  kept: { readonly part: number; readonly payload: string },
  outcome: Outcome,
): Outcome =>
  Effect.flatMap(
    writeFact(running, "settleTool", (block: Block) => {
      const { live } = running
      const full = appendFact(block, live, { kind: "ToolSettled", name: plan.name, ...kept })
      if (full !== undefined) return full
      if (isOrdinary(plan)) closeCall(block.sql, live.sequence, plan.name)
      return { value: undefined }
    }),
    () => outcome,
  )

const completed = (running: Running, plan: Plan, part: number, value: unknown): Outcome => {
  const { limits } = running.thread
  const { name, tool } = plan
  const result = storable(tool.result, value, { limits, size: "stepResultBytes" })
  if (Result.isSuccess(result)) {
    const payload = resultPayload(tool.name, result.success.text)
    return record(running, plan, { part, payload }, Effect.succeed(result.success.value))
  }
  const why = result.failure
  return why._tag === "TooLarge"
    ? giveUp(
        running,
        "ResultTooLarge",
        `the result of tool call ${name} exceeds ${why.maxBytes} bytes`,
      )
    : misuse(`the result of tool call ${name} cannot be stored: ${why.reason}`)
}

/** A failure that the tool declares, as its record holds it. */
const declaredError = (running: Running, { tool }: Plan, error: unknown) =>
  tool.error === undefined
    ? undefined
    : Result.getOrUndefined(
        storable(tool.error, error, { limits: running.thread.limits, size: "recordBytes" }),
      )

/** Waits like for an approval: for the end of this attempt, once no other body runs. // T3 */
const waitOpen = (running: Running): Effect.Effect<never> =>
  Effect.andThen(waitForQuiet(running), leave(running, { _tag: "CallOpen" }))

const open = (running: Running, { name }: Plan): Effect.Effect<never> =>
  Effect.suspend(() => {
    running.live.endedCalls.add(name)
    return waitOpen(running)
  })

const failed = (running: Running, plan: Plan, part: number, error: unknown): Outcome => {
  const { name, tool } = plan
  const told = describeError(error, running.thread.limits)
  const declared = declaredError(running, plan, error)
  if (declared === undefined && isOrdinary(plan)) return open(running, plan) // T3
  const payload = failurePayload(tool.name, told, declared?.text)
  const raised = declared === undefined ? new ToolFailed({ call: name, ...told }) : declared.value
  return record(running, plan, { part, payload }, Effect.fail(raised))
}

const timedOut = (running: Running, plan: Plan, part: number): Outcome => {
  if (isOrdinary(plan)) return open(running, plan) // T3
  const { name, timeoutMillis, tool } = plan
  const payload = JSON.stringify({ timeoutMillis, tool: tool.name })
  const raised = new ToolTimedOut({ call: name, timeoutMillis })
  return record(running, plan, { part, payload }, Effect.fail(raised))
}

/** One try, counted while it runs. An ordinary one that was interrupted has ended, too. */
const once = (running: Running, plan: Plan) =>
  Effect.suspend(() => {
    const { live } = running
    live.bodies += 1
    return Effect.exit(Effect.timeoutOption(plan.body, plan.timeoutMillis)).pipe(
      Effect.onInterrupt(() => Effect.sync(() => live.endedCalls.add(plan.name))),
      Effect.ensuring(Effect.sync(() => endBody(live))),
    )
  })

const run = (running: Running, plan: Plan, part: number): Outcome =>
  Effect.flatMap(once(running, plan), (exit) => {
    if (Exit.isSuccess(exit))
      return Option.isSome(exit.value)
        ? completed(running, plan, part, exit.value.value)
        : timedOut(running, plan, part)
    const { cause } = exit
    const typed = cause.reasons.find(Cause.isFailReason)
    if (typed !== undefined && !Cause.hasDies(cause) && !Cause.hasInterrupts(cause))
      return failed(running, plan, part, typed.error)
    return isOrdinary(plan) ? open(running, plan) : Effect.failCause(cause) // T3
  })

/** Starts the call, its start recorded where that matters. // T1 */
const start = (running: Running, plan: Plan, part: number): Outcome =>
  plan.tool.execution === "readonly"
    ? run(running, plan, part)
    : Effect.flatMap(prepare(running, plan, part), (next) => run(running, plan, next))

/** Goes on from the last record of the call. */
const goOn = (running: Running, plan: Plan, last: LastRecorded | undefined): Outcome => {
  if (last === undefined) return start(running, plan, 0)
  switch (last.kind) {
    case "ToolSettled":
      return replay(running, plan, last)
    case "ToolPrepared":
      if (last.payload["tool"] !== plan.tool.name) return mismatch(running, plan.name)
      return last.payload["execution"] === "ordinary"
        ? waitOpen(running) // T4
        : start(running, plan, last.part + 1)
    case "ToolUnknown":
      return waitOpen(running) // T4
    case "ToolResolved":
      return start(running, plan, last.part + 1)
    default:
      return mismatch(running, plan.name)
  }
}

/** The call, as `Run` offers it. */
export const toolCall = (running: Running, use: ToolUse): Outcome =>
  Effect.andThen(
    takeName(running, use.name),
    Effect.suspend(() => {
      const { live, thread } = running
      const declared = thread.options.agents.get(live.row.agent)?.tools
      if (declared?.get(use.tool?.name) !== use.tool)
        return misuse(`tool call ${use.name}: its tool is not among those of the handler`) // T5
      const plan = planOf(running, use)
      if (Result.isFailure(plan)) return misuse(`tool call ${use.name}: ${plan.failure}`)
      return Effect.flatMap(recallLast(running, use.name), (last) =>
        goOn(running, plan.success, last),
      )
    }),
  )

/**
 * `run.tool`: a call to the outside, from its use in a handler to the outcome that the handler gets.
 *
 * - T1 A recorded outcome is given again without running anything, as the record holds it.
 * - T2 A try starts only if no earlier one of the call is open.
 * - T3 A call that is not declared with its handler is its author's mistake: recovery could not find it. So is a
 *   body or a request that cannot be used; it is told before anything of the call is recorded.
 */
import { Effect, Result } from "effect"
import { ToolFailed, type ToolCallOptions, ToolTimedOut } from "./Agent.ts"
import { type LastRecorded, leave, recallLast, type Running, takeName } from "./Fact.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { asEffect, effectOf, misuse } from "./Misuse.ts"
import { callKeyOf } from "./OpenCalls.ts"
import { textOf, whyUnstorable } from "./StoredValue.ts"
import type { AnyTool, ToolCall } from "./Tool.ts"
import { type Outcome, type Plan, start, waitOpen } from "./ToolTry.ts"

export interface ToolUse {
  readonly name: string
  readonly tool: AnyTool
  readonly body: unknown
  readonly options: ToolCallOptions
}

type Read<A> = Result.Result<A, string>

/** What the call was given, as canonical JSON. // T3 */
const requestOf = ({ thread }: Running, { options }: ToolUse): Read<string | undefined> => {
  const { request } = options
  if (request === undefined) return Result.succeed(undefined)
  const text = textOf(request, { limits: thread.limits, size: "recordBytes" })
  return Result.mapError(text, (why) => `its request ${whyUnstorable(why)}`)
}

const callOf = ({ live }: Running, name: string, request: string | undefined): ToolCall => ({
  ...live.identity,
  submissionId: live.row.id,
  name,
  key: callKeyOf(live.row.id, name),
  request: request === undefined ? undefined : (JSON.parse(request) as ToolCall["request"]),
})

const bodyWanted = "the body must be an Effect, or a function that gives one"

/** The body. A function of the call is agent code: it is called when the call is made, never before. // T3 */
const bodyOf = ({ body, name }: ToolUse, call: ToolCall): Read<Plan["body"]> => {
  const effect = asEffect(body)
  if (effect !== undefined) return Result.succeed(effect)
  if (typeof body !== "function") return Result.fail(bodyWanted)
  const make = body as (call: ToolCall) => unknown
  return Result.succeed(
    Effect.suspend(() => effectOf(make(call), `tool call ${name}: ${bodyWanted}`)),
  )
}

const planOf = (running: Running, use: ToolUse): Read<Plan> => {
  const { live, thread } = running
  const { name, tool } = use
  const declared = thread.options.agents.get(live.row.agent)?.tools.get(tool?.name)
  if (declared === undefined || declared !== tool)
    return Result.fail("its tool is not among those of the handler") // T3
  const { attemptCeilingMillis, toolTimeoutMillis } = thread.limits
  const timeoutMillis = Math.min(tool.timeoutMillis ?? toolTimeoutMillis, attemptCeilingMillis)
  return Result.flatMap(requestOf(running, use), (request) =>
    Result.map(bodyOf(use, callOf(running, name, request)), (body) => ({
      name,
      tool,
      timeoutMillis,
      body,
      request,
    })),
  )
}

const mismatch = (running: Running, name: string): Effect.Effect<never> =>
  leave(running, { _tag: "Mismatch", name })

/** The outcome that a record holds, or the end of the attempt if this code reads it differently. // T1 */
const replay = (running: Running, { name, tool }: Plan, { payload }: LastRecorded): Outcome => {
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

/** Goes on from the last record of the call. */
const goOn = (running: Running, plan: Plan, last: LastRecorded | undefined): Outcome => {
  if (last === undefined) return start(running, plan, 0)
  if (last.payload["tool"] !== plan.tool.name) return mismatch(running, plan.name)
  switch (last.kind) {
    case "ToolSettled":
      return replay(running, plan, last)
    case "ToolPrepared":
      return last.payload["execution"] === "ordinary"
        ? waitOpen(running) // T2
        : start(running, plan, last.part + 1)
    case "ToolUnknown":
      return waitOpen(running) // T2
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
      const plan = planOf(running, use)
      if (Result.isFailure(plan)) return misuse(`tool call ${use.name}: ${plan.failure}`) // T3
      return Effect.flatMap(recallLast(running, use.name), (last) =>
        goOn(running, plan.success, last),
      )
    }),
  )

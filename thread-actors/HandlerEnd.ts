/**
 * What the end of a handler means: its exit, read as a verdict.
 *
 * - H1 Total: whatever agent code has returned, failed with or thrown, there is a verdict, and looking
 *   at it throws nothing.
 * - H2 A typed failure or a defect is first tried again as the agent declares; then it settles.
 * - H3 What an interruption of its own leaves, and nothing else, is an attempt without a result.
 */
import { Cause, type Exit, Result } from "effect"
import type { Failure } from "../contracts/Settlement.ts"
import type { AgentLive } from "./Agent.ts"
import type { Running } from "./Fact.ts"
import { agentTag, describeError, systemFailure } from "./Failures.ts"
import type { Verdict } from "./LiveAttempt.ts"
import { misuseMessage } from "./Misuse.ts"
import { readRetry, retryDelayMillis } from "./RetryPolicy.ts"
import { encoded, storable } from "./StoredValue.ts"
import { clockOf } from "./Thread.ts"

type Agent = AgentLive<never>["agent"]

export interface HandlerEnd {
  readonly verdict: Verdict
  /** What the log is to say beside the cause. */
  readonly log: string | undefined
}

const failed = (failure: Failure): Verdict => ({ _tag: "Failed", failure })

const completed = (running: Running, agent: Agent, output: unknown): Verdict => {
  const { limits } = running.thread
  const text = encoded(agent.output, output, { limits, size: "outputBytes" })
  if (Result.isSuccess(text)) return { _tag: "Completed", output: text.success }
  const why = text.failure
  return failed(
    why._tag === "TooLarge"
      ? systemFailure("ResultTooLarge", `the output exceeds ${why.maxBytes} bytes`)
      : systemFailure("OutputInvalid", why.reason),
  )
}

const typedFailure = (running: Running, agent: Agent, error: unknown): Failure => {
  const { limits } = running.thread
  const { message, tag } = describeError(error, limits)
  const told = { tag: agentTag(tag), message }
  if (agent.error === undefined) return told
  const text = storable(agent.error, error, { limits, size: "recordBytes" })
  return Result.isSuccess(text) ? { ...told, error: JSON.parse(text.success.text) as null } : told
}

/** Tries the whole run again if the agent says so and the tries are not used up. */
const retried = ({ live, thread }: Running, agent: Agent): Verdict | undefined => {
  if (agent.retry === undefined) return undefined
  const retries = readRetry(agent.retry)
  const tries = live.retries.get("")?.tries ?? 0
  if (Result.isFailure(retries) || tries >= retries.success.times) return undefined
  const dueAt = clockOf(thread) + retryDelayMillis(retries.success, tries + 1, thread.limits)
  return { _tag: "Retrying", pending: new Map([["", { tries: tries + 1, dueAt }]]) }
}

const defect = (running: Running, agent: Agent, thrown: unknown): HandlerEnd => {
  const reference = running.thread.host.uuid()
  const what = misuseMessage(thrown) ?? "the agent failed unexpectedly"
  return {
    verdict:
      retried(running, agent) ?? // H2
      failed(systemFailure("Defect", `${what} (reference ${reference})`)),
    log: `Defect ${reference} in agent ${agent.name}`,
  }
}

const read = (running: Running, agent: Agent, exit: Exit.Exit<unknown, unknown>): HandlerEnd => {
  if (exit._tag === "Success")
    return { verdict: completed(running, agent, exit.value), log: undefined }
  const { reasons } = exit.cause
  const died = reasons.find(Cause.isDieReason)
  if (died !== undefined) return defect(running, agent, died.defect)
  const typed = reasons.find(Cause.isFailReason)
  if (typed === undefined || Cause.hasInterrupts(exit.cause))
    return { verdict: { _tag: "WithoutResult" }, log: undefined } // H3
  return {
    verdict: retried(running, agent) ?? failed(typedFailure(running, agent, typed.error)), // H2
    log: undefined,
  }
}

/** Reads the exit of a handler. */
export const handlerEnd = (
  running: Running,
  agent: Agent,
  exit: Exit.Exit<unknown, unknown>,
): HandlerEnd => {
  try {
    return read(running, agent, exit)
  } catch (error) {
    return defect(running, agent, error) // H1
  }
}

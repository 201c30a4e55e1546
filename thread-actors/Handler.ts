/**
 * The handler of an attempt: decodes the input, runs the agent's code, and reads its end as a verdict.
 *
 * - G1 The input is decoded after the claim, so that one which kills the object has left its strike.
 * - G2 A typed failure or a defect is first tried again as the agent declares; then it settles.
 * - G3 What an interruption of its own leaves is no result.
 */
import { Cause, Deferred, Effect, type Exit, Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import type { Failure } from "../contracts/Settlement.ts"
import type { AgentLive } from "./Agent.ts"
import { DuplicateName, type Running, Superseded } from "./Fact.ts"
import { describeError, storableError, systemFailure } from "./Failures.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { readInput } from "./Ledger.ts"
import type { Verdict } from "./LiveAttempt.ts"
import { retryDelayMillis } from "./Retry.ts"
import { makeRun } from "./Run.ts"
import { sizeLimit } from "./SizeLimit.ts"
import { clockOf } from "./Thread.ts"

const failed = (failure: Failure): Verdict => ({ _tag: "Failed", failure })

type Input =
  | { readonly _tag: "Input"; readonly value: unknown }
  | { readonly _tag: "Verdict"; readonly verdict: Verdict }

const readVerdict = (verdict: Verdict): Input => ({ _tag: "Verdict", verdict })

const inputOf = ({ thread, live }: Running, agent: AgentLive<never>["agent"]): Input => {
  let text: string
  try {
    text = readInput(thread.host.storage.sql, live.sequence)
  } catch {
    return readVerdict({ _tag: "StorageLost" })
  }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return readVerdict({ _tag: "Unreadable", what: "submissions" })
  }
  const input = jsonCoder(agent.input).decode(json)
  return Result.isSuccess(input)
    ? { _tag: "Input", value: input.success }
    : readVerdict(failed(systemFailure("InputInvalid", input.failure)))
}

const completed = (running: Running, live: AgentLive<never>, output: unknown): Verdict => {
  const { limits } = running.thread
  const encoded = jsonCoder(live.agent.output).encode(output)
  if (Result.isFailure(encoded)) return failed(systemFailure("OutputInvalid", encoded.failure))
  const text = canonicalJson(encoded.success, {
    maxBytes: sizeLimit(limits, "outputBytes"),
    maxNesting: limits.jsonNesting,
  })
  if (Result.isSuccess(text)) return { _tag: "Completed", output: text.success.text }
  return failed(
    text.failure._tag === "InvalidInput"
      ? systemFailure("OutputInvalid", text.failure.reason)
      : systemFailure(
          "ResultTooLarge",
          `the output exceeds ${sizeLimit(limits, "outputBytes")} bytes`,
        ),
  )
}

const typedFailure = (running: Running, live: AgentLive<never>, error: unknown): Failure => {
  const { limits } = running.thread
  const told = describeError(error, limits)
  if (live.agent.error === undefined) return told
  const encoded = jsonCoder(live.agent.error).encode(error)
  const stored = Result.isSuccess(encoded) ? storableError(encoded.success, limits) : undefined
  return stored === undefined ? told : { ...told, error: JSON.parse(stored) as null }
}

/** Tries the whole run again if the agent says so and the tries are not used up. */
const retried = (running: Running, live: AgentLive<never>): Verdict | undefined => {
  const { retry } = live.agent
  const tries = running.live.retries.get("")?.tries ?? 0
  if (retry === undefined || tries >= retry.times) return undefined
  const dueAt = clockOf(running.thread) + retryDelayMillis(retry, tries + 1)
  return { _tag: "Retrying", pending: new Map([["", { tries: tries + 1, dueAt }]]) }
}

const defect = (
  running: Running,
  live: AgentLive<never>,
  cause: Cause.Cause<unknown>,
): Effect.Effect<Verdict> => {
  const thrown = cause.reasons.find(Cause.isDieReason)?.defect
  if (thrown instanceof DuplicateName)
    return Effect.succeed(failed(systemFailure("DuplicateName", thrown.message)))
  if (thrown instanceof Superseded) return Effect.succeed({ _tag: "Superseded" })
  const retry = retried(running, live) // G2
  const reference = running.thread.host.uuid()
  const message = `the agent failed unexpectedly (reference ${reference})`
  return Effect.as(
    Effect.logError(`Defect ${reference} in agent ${live.agent.name}`, cause),
    retry ?? failed(systemFailure("Defect", message)),
  )
}

/** What the end of the handler means. */
const verdictOf = (
  running: Running,
  live: AgentLive<never>,
  exit: Exit.Exit<unknown, unknown>,
): Effect.Effect<Verdict> => {
  if (exit._tag === "Success") return Effect.sync(() => completed(running, live, exit.value))
  const { cause } = exit
  if (Cause.hasDies(cause)) return defect(running, live, cause)
  const typed = cause.reasons.find(Cause.isFailReason)
  if (typed === undefined || Cause.hasInterrupts(cause))
    return Effect.succeed({ _tag: "WithoutResult" }) // G3
  return Effect.sync(
    () => retried(running, live) ?? failed(typedFailure(running, live, typed.error)), // G2
  )
}

/**
 * Runs the agent's code in a fiber of its own and passes the verdict. The fiber is kept in the live
 * attempt, whose end interrupts it; nobody waits for what it does after that.
 */
export const runHandler = (running: Running, live: AgentLive<never>): Effect.Effect<void> =>
  Effect.gen(function* () {
    const input = inputOf(running, live.agent) // G1
    if (input._tag === "Verdict") {
      yield* Deferred.succeed(running.live.verdict, input.verdict)
      return
    }
    const run = makeRun(running, live.agent)
    const code = Effect.scoped(Effect.suspend(() => live.handle(input.value, run)))
    const services = running.thread.services
    const program = services === undefined ? code : Effect.provideContext(code, services)
    const told = Effect.flatMap(Effect.exit(program), (exit) =>
      Effect.flatMap(verdictOf(running, live, exit), (verdict) =>
        Deferred.succeed(running.live.verdict, verdict),
      ),
    )
    // An exit that the interruption of this very fiber cut short is told by its observer.
    const fiber = yield* Effect.forkDetach(told, { startImmediately: true })
    running.live.handler = fiber
    fiber.addObserver(() => {
      Deferred.doneUnsafe(running.live.verdict, Effect.succeed({ _tag: "WithoutResult" }))
    })
  })

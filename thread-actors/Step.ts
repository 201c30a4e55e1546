/**
 * `run.step`: a body that runs at least once, and an outcome that is recorded exactly once.
 *
 * - P1 A recorded outcome is given again without running anything.
 * - P2 A typed failure after its retries, and a timeout, are outcomes. Defects and interruptions
 *   record nothing.
 * - P3 The handler sees the value as the record holds it, in the first attempt and in every later one.
 * - P4 A retry delay beyond what is waited in memory ends the attempt as ready, once no other body runs.
 * - P5 What cannot be read again is not recorded: a result is the author's defect, an error is told by its
 *   tag and message alone. What is declared is read before the body runs.
 * - P6 A try after a wait in memory looks at the row first: the run may have another attempt by now, or the
 *   object another instance.
 * - P7 No try starts once its attempt has a verdict: a sibling may have ended it in between.
 */
import { Cause, Effect, Exit, Option, Result } from "effect"
import type { Limits } from "../contracts/Limits.ts"
import { spanned, spans } from "../contracts/observability/Spans.ts"
import { type JsonCodec, StepFailed, type StepOptions, StepTimedOut } from "./Agent.ts"
import {
  appendFact,
  giveUp,
  leave,
  type NewFact,
  recall,
  type Recorded,
  type Running,
  stillHeld,
  takeName,
  writeFact,
} from "./Fact.ts"
import { describeError } from "./Failures.ts"
import { jsonCoder } from "./JsonCoder.ts"
import type { StoredRetry } from "./Ledger.ts"
import { endBody, hasVerdict, type LiveAttempt } from "./LiveAttempt.ts"
import { effectOf, misuse } from "./Misuse.ts"
import { waitForQuiet } from "./Quiet.ts"
import { CurrentRaceBranch } from "./RaceBranch.ts"
import { readDuration, readRetry, type Retries, retryDelayMillis } from "./RetryPolicy.ts"
import { storable } from "./StoredValue.ts"
import { clockOf } from "./Thread.ts"

export interface StepCall {
  readonly name: string
  readonly schema: JsonCodec<unknown>
  readonly body: Effect.Effect<unknown, unknown, unknown>
  readonly options: StepOptions & { readonly error?: JsonCodec<unknown> }
}

/** A call whose declarations have been read. */
interface Plan extends StepCall {
  readonly retries: Retries | undefined
  readonly timeoutMillis: number
}

const planOf = (call: StepCall, limits: Limits): Result.Result<Plan, string> => {
  const { retry, timeout } = call.options
  const retries = retry === undefined ? Result.succeed(undefined) : readRetry(retry)
  if (Result.isFailure(retries)) return Result.fail(retries.failure)
  const millis =
    timeout === undefined
      ? Result.succeed(limits.stepTimeoutMillis)
      : readDuration("timeout", timeout)
  if (Result.isFailure(millis)) return Result.fail(millis.failure)
  const timeoutMillis = Math.min(millis.success, limits.retryDelayMaxMillis)
  const body = effectOf(call.body, `step ${call.name}: the body must be an Effect`)
  return Result.succeed({ ...call, body, retries: retries.success, timeoutMillis })
}

type Outcome = Effect.Effect<unknown, unknown>

const mismatch = (running: Running, call: StepCall): Effect.Effect<never> =>
  leave(running, { _tag: "Mismatch", name: call.name })

/** The outcome that a record holds, or the end of the attempt if this code reads it differently. */
const replay = (running: Running, call: StepCall, recorded: Recorded): Outcome => {
  const { kind, payload } = recorded
  if (kind === "StepCompleted") {
    const value = jsonCoder(call.schema).decode(payload["result"])
    return Result.isSuccess(value) ? Effect.succeed(value.success) : mismatch(running, call)
  }
  if (kind !== "StepFailed") return mismatch(running, call)
  if (typeof payload["timeoutMillis"] === "number")
    return Effect.fail(
      new StepTimedOut({ step: call.name, timeoutMillis: payload["timeoutMillis"] }),
    )
  if (call.options.error !== undefined && "error" in payload) {
    const error = jsonCoder(call.options.error).decode(payload["error"])
    return Result.isSuccess(error) ? Effect.fail(error.success) : mismatch(running, call)
  }
  return Effect.fail(
    new StepFailed({
      step: call.name,
      tag: String(payload["tag"]),
      message: String(payload["message"]),
    }),
  )
}

/** Writes an outcome, and gives it as the record holds it. */
const record = (running: Running, fact: NewFact, outcome: Outcome): Outcome =>
  Effect.flatMap(
    writeFact(
      running,
      "step",
      (block) => appendFact(block, running.live, fact) ?? { value: undefined },
    ),
    () => outcome, // P3
  )

const completed = (running: Running, call: StepCall, value: unknown): Outcome => {
  const { limits } = running.thread
  const result = storable(call.schema, value, { limits, size: "stepResultBytes" })
  if (Result.isSuccess(result))
    return record(
      running,
      { kind: "StepCompleted", name: call.name, payload: `{"result":${result.success.text}}` },
      Effect.succeed(result.success.value),
    )
  const why = result.failure
  return why._tag === "TooLarge"
    ? giveUp(
        running,
        "ResultTooLarge",
        `the result of step ${call.name} exceeds ${why.maxBytes} bytes`,
      )
    : misuse(`the result of step ${call.name} cannot be stored: ${why.reason}`) // P5
}

const failed = (running: Running, call: StepCall, error: unknown): Outcome => {
  const { limits } = running.thread
  const { name, options } = call
  const told = describeError(error, limits)
  const kept =
    options.error === undefined
      ? undefined
      : Result.getOrUndefined(storable(options.error, error, { limits, size: "recordBytes" })) // P5
  const body = `"message":${JSON.stringify(told.message)},"tag":${JSON.stringify(told.tag)}}`
  const payload = kept === undefined ? `{${body}` : `{"error":${kept.text},${body}`
  return record(
    running,
    { kind: "StepFailed", name, payload },
    Effect.fail(kept === undefined ? new StepFailed({ step: name, ...told }) : kept.value),
  )
}

const timedOut = (running: Running, { name, timeoutMillis }: Plan): Outcome =>
  record(
    running,
    { kind: "StepFailed", name, payload: JSON.stringify({ timeoutMillis }) },
    Effect.fail(new StepTimedOut({ step: name, timeoutMillis })),
  )

/** One try, counted while it runs. */
const once = (
  running: Running,
  plan: Plan,
  tries: number,
): Effect.Effect<Exit.Exit<Option.Option<unknown>, unknown>, never, unknown> =>
  Effect.suspend(() => {
    if (hasVerdict(running.live)) return leave(running, { _tag: "Superseded" }) // P7
    running.live.bodies += 1
    const body = spanned(
      () => ({
        name: spans.step,
        attributes: { "heddle.name": plan.name, "heddle.try": tries + 1 },
      }),
      Effect.timeoutOption(plan.body, plan.timeoutMillis),
    )
    return Effect.ensuring(
      Effect.exit(body),
      Effect.sync(() => endBody(running.live)),
    )
  })

const tryBody = (
  running: Running,
  plan: Plan,
  tries: number,
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.flatMap(once(running, plan, tries), (exit) => {
    if (Exit.isSuccess(exit))
      return Option.isSome(exit.value)
        ? completed(running, plan, exit.value.value)
        : timedOut(running, plan) // P2
    const { cause } = exit
    const typed = cause.reasons.find(Cause.isFailReason)
    if (typed === undefined || Cause.hasDies(cause) || Cause.hasInterrupts(cause))
      return Effect.failCause(cause) // P2
    const { retries } = plan
    if (retries === undefined || tries >= retries.times) return failed(running, plan, typed.error)
    const { limits } = running.thread
    const delayMillis = retryDelayMillis(retries, tries + 1, limits)
    const dueAt = clockOf(running.thread) + delayMillis
    return delayMillis <= limits.retryInMemoryMillis
      ? Effect.andThen(
          restInMemory(running, delayMillis),
          Effect.suspend(() => tryAgain(running, plan, tries + 1)),
        )
      : retryLater(running, plan, { tries: tries + 1, dueAt })
  })

/** A short wait before the next try: no more at rest than the tries themselves, whatever else of the run waits. */
const restInMemory = ({ live }: Running, millis: number): Effect.Effect<void> =>
  Effect.suspend(() => {
    live.bodies += 1
    return Effect.ensuring(
      Effect.sleep(millis),
      Effect.sync(() => endBody(live)),
    )
  })

/** The next try, after a wait in memory. // P6 */
const tryAgain = (running: Running, plan: Plan, tries: number) =>
  Effect.andThen(stillHeld(running), tryBody(running, plan, tries))

/** A retry in a branch that has lost its race brings nobody back. */
const forgetLost = (live: LiveAttempt, { name }: Plan): Effect.Effect<void> =>
  Effect.map(Effect.service(CurrentRaceBranch), (scope) => {
    if (scope !== undefined) live.pending.delete(name)
  })

/**
 * Waits for a retry. While another body runs, its work is not thrown away: the retry waits beside it,
 * and goes on in memory if its time comes first. Else the attempt is handed back.
 */
const retryLater = (
  running: Running,
  plan: Plan,
  retry: StoredRetry,
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => {
    const { live, thread } = running
    live.pending.set(plan.name, retry)
    const time = Effect.as(Effect.sleep(Math.max(0, retry.dueAt - clockOf(thread))), "due" as const)
    const quiet = Effect.as(waitForQuiet(running), "quiet" as const)
    const first = Effect.onInterrupt(Effect.raceFirst(time, quiet), () => forgetLost(live, plan))
    return Effect.flatMap(first, (why) => {
      if (why === "quiet")
        return leave(running, { _tag: "Retrying", pending: new Map(live.pending) }) // P4
      live.pending.delete(plan.name)
      return tryAgain(running, plan, retry.tries)
    })
  })

/** The first try of this attempt, or the wait for it. */
const begin = (running: Running, plan: Plan): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => {
    const retry = running.live.retries.get(plan.name)
    if (retry === undefined) return tryBody(running, plan, 0)
    return retry.dueAt <= clockOf(running.thread)
      ? tryBody(running, plan, retry.tries)
      : retryLater(running, plan, retry)
  })

/** The step, as `Run` offers it. */
export const step = (running: Running, call: StepCall): Effect.Effect<unknown, unknown, unknown> =>
  Effect.andThen(
    takeName(running, call.name),
    Effect.suspend(() => {
      const plan = planOf(call, running.thread.limits)
      if (Result.isFailure(plan)) return misuse(`step ${call.name}: ${plan.failure}`) // P5
      return Effect.flatMap(
        recall(running, call.name),
        (recorded) =>
          recorded === undefined ? begin(running, plan.success) : replay(running, call, recorded), // P1
      )
    }),
  )

/**
 * `run.step`: a body that runs at least once, and an outcome that is recorded exactly once.
 *
 * - P1 A recorded outcome is given again without running anything.
 * - P2 A typed failure after its retries, and a timeout, are outcomes. Defects and interruptions
 *   record nothing.
 * - P3 The handler sees the value as the record holds it, in the first attempt and in every later one.
 * - P4 A retry delay beyond what is waited in memory ends the attempt as ready, once no other body runs.
 */
import { Cause, Duration, Effect, Exit, Option, Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import { type JsonCodec, StepFailed, type StepOptions, StepTimedOut } from "./Agent.ts"
import {
  appendFact,
  giveUp,
  leave,
  type NewFact,
  recall,
  type Recorded,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { describeError, storableError } from "./Failures.ts"
import { jsonCoder } from "./JsonCoder.ts"
import type { StoredRetry } from "./Ledger.ts"
import { endBody } from "./LiveAttempt.ts"
import { retryDelayMillis, waitForQuiet } from "./Retry.ts"
import { sizeLimit } from "./SizeLimit.ts"
import { clockOf } from "./Thread.ts"

export interface StepCall {
  readonly name: string
  readonly schema: JsonCodec<unknown>
  readonly body: Effect.Effect<unknown, unknown, unknown>
  readonly options: StepOptions & { readonly error?: JsonCodec<unknown> }
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
const record = (running: Running, call: StepCall, fact: NewFact): Outcome =>
  Effect.flatMap(
    writeFact(running, "step", (block) => {
      const verdict = appendFact(block, running.live, fact)
      return verdict ?? { value: undefined }
    }),
    () =>
      replay(running, call, {
        kind: fact.kind,
        payload: JSON.parse(fact.payload) as Record<string, unknown>, // P3
      }),
  )

const completed = (running: Running, call: StepCall, value: unknown): Outcome => {
  const encoded = jsonCoder(call.schema).encode(value)
  if (Result.isFailure(encoded))
    return Effect.die(
      new TypeError(`the result of step ${call.name} breaks its schema: ${encoded.failure}`),
    )
  const { limits } = running.thread
  const text = canonicalJson(encoded.success, {
    maxBytes: sizeLimit(limits, "stepResultBytes"),
    maxNesting: limits.jsonNesting,
    limitName: "stepResultBytes",
  })
  if (Result.isSuccess(text))
    return record(running, call, {
      kind: "StepCompleted",
      name: call.name,
      payload: `{"result":${text.success.text}}`,
    })
  if (text.failure._tag === "AdmissionLimitExceeded")
    return giveUp(
      running,
      "ResultTooLarge",
      `the result of step ${call.name} exceeds ${sizeLimit(limits, "stepResultBytes")} bytes`,
    )
  return Effect.die(
    new TypeError(`the result of step ${call.name} cannot be stored: ${text.failure.reason}`),
  )
}

const failed = (running: Running, call: StepCall, error: unknown): Outcome => {
  const { limits } = running.thread
  const told = describeError(error, limits)
  const schema = call.options.error
  const encoded = schema === undefined ? undefined : jsonCoder(schema).encode(error)
  const stored =
    encoded !== undefined && Result.isSuccess(encoded)
      ? storableError(encoded.success, limits)
      : undefined
  const kept = stored === undefined ? "" : `"error":${stored},`
  return record(running, call, {
    kind: "StepFailed",
    name: call.name,
    payload: `{${kept}"message":${JSON.stringify(told.message)},"tag":${JSON.stringify(told.tag)}}`,
  })
}

const timedOut = (running: Running, call: StepCall, timeoutMillis: number): Outcome =>
  record(running, call, {
    kind: "StepFailed",
    name: call.name,
    payload: JSON.stringify({ timeoutMillis }),
  })

/** One try, counted while it runs. */
const once = (
  running: Running,
  call: StepCall,
  timeoutMillis: number,
): Effect.Effect<Exit.Exit<Option.Option<unknown>, unknown>, never, unknown> =>
  Effect.suspend(() => {
    running.live.bodies += 1
    return Effect.ensuring(
      Effect.exit(Effect.timeoutOption(call.body, timeoutMillis)),
      Effect.sync(() => endBody(running.live)),
    )
  })

const tryBody = (
  running: Running,
  call: StepCall,
  tries: number,
): Effect.Effect<unknown, unknown, unknown> => {
  const { limits } = running.thread
  const timeoutMillis =
    call.options.timeout === undefined
      ? limits.stepTimeoutMillis
      : Duration.toMillis(call.options.timeout)
  return Effect.flatMap(once(running, call, timeoutMillis), (exit) => {
    if (Exit.isSuccess(exit))
      return Option.isSome(exit.value)
        ? completed(running, call, exit.value.value)
        : timedOut(running, call, timeoutMillis) // P2
    const { cause } = exit
    const typed = cause.reasons.find(Cause.isFailReason)
    if (typed === undefined || Cause.hasDies(cause) || Cause.hasInterrupts(cause))
      return Effect.failCause(cause) // P2
    const { retry } = call.options
    if (retry === undefined || tries >= retry.times) return failed(running, call, typed.error)
    const delayMillis = retryDelayMillis(retry, tries + 1)
    const dueAt = clockOf(running.thread) + delayMillis
    return delayMillis <= limits.retryInMemoryMillis
      ? Effect.delay(
          Effect.suspend(() => tryBody(running, call, tries + 1)),
          delayMillis,
        )
      : retryLater(running, call, { tries: tries + 1, dueAt })
  })
}

/**
 * Waits for a retry. While another body runs, its work is not thrown away: the retry waits beside it,
 * and goes on in memory if its time comes first. Else the attempt is handed back.
 */
const retryLater = (
  running: Running,
  call: StepCall,
  retry: StoredRetry,
): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => {
    const { live, thread } = running
    live.pending.set(call.name, retry)
    const time = Effect.as(Effect.sleep(Math.max(0, retry.dueAt - clockOf(thread))), "due" as const)
    const quiet = Effect.as(waitForQuiet(running), "quiet" as const)
    return Effect.flatMap(Effect.raceFirst(time, quiet), (first) => {
      if (first === "quiet")
        return leave(running, { _tag: "Retrying", pending: new Map(live.pending) }) // P4
      live.pending.delete(call.name)
      return tryBody(running, call, retry.tries)
    })
  })

/** The first try of this attempt, or the wait for it. */
const begin = (running: Running, call: StepCall): Effect.Effect<unknown, unknown, unknown> =>
  Effect.suspend(() => {
    const retry = running.live.retries.get(call.name)
    if (retry === undefined) return tryBody(running, call, 0)
    return retry.dueAt <= clockOf(running.thread)
      ? tryBody(running, call, retry.tries)
      : retryLater(running, call, retry)
  })

/** The step, as `Run` offers it. */
export const step = (running: Running, call: StepCall): Effect.Effect<unknown, unknown, unknown> =>
  Effect.andThen(
    takeName(running, call.name),
    Effect.flatMap(
      recall(running, call.name),
      (recorded) =>
        recorded === undefined ? begin(running, call) : replay(running, call, recorded), // P1
    ),
  )

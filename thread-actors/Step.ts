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
import { endBody } from "./LiveAttempt.ts"
import { retryDelayMillis, waitForQuiet } from "./Retry.ts"

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
    maxBytes: limits.stepResultBytes,
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
      `the result of step ${call.name} exceeds ${limits.stepResultBytes} bytes`,
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
    const again = Effect.suspend(() => tryBody(running, call, tries + 1))
    if (delayMillis <= limits.retryInMemoryMillis) return Effect.delay(again, delayMillis)
    const handBack = leave(running, {
      _tag: "Retrying",
      delayMillis,
      name: call.name,
      tries: tries + 1,
    })
    // While another body runs, its work is not thrown away: the retry waits beside it.
    return Effect.raceFirst(
      Effect.delay(again, delayMillis),
      Effect.andThen(waitForQuiet(running), handBack), // P4
    )
  })
}

/** The step, as `Run` offers it. */
export const step = (running: Running, call: StepCall): Effect.Effect<unknown, unknown, unknown> =>
  Effect.andThen(
    takeName(running, call.name),
    Effect.flatMap(
      recall(running, call.name),
      (recorded) =>
        recorded === undefined
          ? tryBody(running, call, running.live.retries.get(call.name) ?? 0)
          : replay(running, call, recorded), // P1
    ),
  )

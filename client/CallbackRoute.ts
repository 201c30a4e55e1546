/**
 * `POST /callback/TOKEN`: a webhook gives a run the value that it waits for, with no other credentials than the token.
 *
 * 200 `{ received, duplicate }`; 404 nobody knows the token; 405 it is no POST; 409 another value came first; 410
 * nothing waits for it any more; 400, 408, 413, 415, 429, 431, 500 and 503 as for `/rpc`. Repeating it is safe.
 *
 * - R1 A token that is malformed, made up, forgotten or refused by the policy has one and the same answer, and
 *   nothing is written.
 * - R2 Of a caller whose token is not known no body is read; who is counted out has not even the thread asked.
 * - R3 No answer tells anything of the run: neither its values, nor its names.
 */
import { Effect, Option, Schema } from "effect"
import { callbackAddress, CallbackToken } from "../contracts/Callback.ts"
import { CurrentLimits, type Limits } from "../contracts/Limits.ts"
import { idsIn, spanned, spans } from "../contracts/observability/Spans.ts"
import type { SignalErrors } from "../contracts/Signal.ts"
import { makeCallbackSteps } from "./Callback.ts"
import { readCallback } from "./CallbackBody.ts"
import {
  answer,
  lateBody,
  later,
  limited,
  longHeaders,
  nothingHere,
  refusal,
  unavailable,
  usePost,
} from "./HttpAnswer.ts"
import type { ObjectTargets } from "./ObjectTargets.ts"
import { shapeFault } from "./PayloadShape.ts"
import { admitted, type RateLimiter } from "./RateLimit.ts"

export interface CallbackOptions {
  readonly targets: (env: unknown) => ObjectTargets
  readonly limits: Limits
  readonly rateLimiter?: ((env: unknown) => RateLimiter | undefined) | undefined
}

const prefix = "/callback/"

export const isCallback = (pathname: string): boolean => pathname.startsWith(prefix)

const decodeToken = Schema.decodeUnknownOption(CallbackToken)

/** The token of a path; none where there is none in it. Pure. */
export const tokenOfPath = (pathname: string): Option.Option<CallbackToken> => {
  try {
    return decodeToken(decodeURIComponent(pathname.slice(prefix.length)))
  } catch {
    return Option.none()
  }
}

/** A provider that is told nothing else comes again in minutes: the run may wait that long. */
const comeBackSeconds = 5

/** What it may be in a while. */
const busy = (reason: string, overloaded = false): Response =>
  later(503, { retryable: true, overloaded, reason }, comeBackSeconds)

type CallbackError = typeof SignalErrors.Type

/** What a refusal means to whoever only has a token. // R3 */
const answerOf = (error: CallbackError): Response => {
  switch (error._tag) {
    case "OperationDenied":
    case "ThreadForgotten":
    case "IdentityMismatch":
      return nothingHere() // R1
    case "NotAwaiting":
    case "SubmissionNotFound":
    case "SettlementConflict":
    case "JoinedToHost":
      return refusal(410, "Nothing waits for this any more")
    case "ResolutionConflict":
      return refusal(409, "Another value came first, and it stands")
    case "InvalidInput":
      return refusal(400, error.path === "" ? error.reason : `${error.path}: ${error.reason}`)
    case "AdmissionLimitExceeded":
      return error.limit === "recordBytes"
        ? refusal(413, `A value may have ${error.maximum} bytes`)
        : busy("There is no room for another value now", true)
    case "StorageFull":
    case "StorageUnavailable":
    case "ThreadUnreadable":
      return busy("It cannot be stored now")
    case "Unavailable":
      return error.retryable
        ? busy(error.reason, error.overloaded)
        : answer(503, unavailable(error))
    case "InternalDefect":
      return answer(500, { _tag: error._tag, reference: error.reference })
  }
}

/** Asks the thread, then reads the body, then signals. */
const received = (request: Request, token: CallbackToken, targets: ObjectTargets) =>
  Effect.gen(function* () {
    const limits = yield* CurrentLimits
    const { give, targetOf } = yield* makeCallbackSteps(targets)
    const target = yield* targetOf(token)
    // R2
    const body = yield* Effect.promise((signal) => readCallback(request, signal)).pipe(
      Effect.timeoutOrElse({
        duration: limits.bodyMillis,
        orElse: () => Effect.succeed("Late" as const),
      }),
    )
    if (body === "Late") return lateBody()
    if (body._tag === "Refused") return refusal(body.status, body.reason)
    const fault = shapeFault(body, limits)
    if (fault !== undefined) return refusal(400, fault.reason)
    const { duplicate } = yield* give(token, target, body.payload)
    return answer(200, { received: true, duplicate })
  }).pipe(
    Effect.catch((error) => Effect.succeed(answerOf(error))),
    Effect.scoped,
  )

/** Whether one more call with a token of this thread may be made. */
const isAdmitted = (token: CallbackToken, env: unknown, options: CallbackOptions) => {
  const limiter = options.rateLimiter?.(env)
  const { ownerId, threadId } = callbackAddress(token)
  return limiter === undefined
    ? Effect.succeed(true)
    : admitted(limiter, `callback:${ownerId}/${threadId}`, options.limits)
}

/** Answers a request under `/callback/`. */
export const callbackRoute = (
  request: Request,
  env: unknown,
  options: CallbackOptions,
): Effect.Effect<Response> =>
  Effect.gen(function* () {
    if (request.method !== "POST") return usePost()
    const long = longHeaders(request)
    if (long !== undefined) return long
    const token = tokenOfPath(new URL(request.url).pathname)
    if (Option.isNone(token)) return nothingHere() // R1
    if (!(yield* isAdmitted(token.value, env, options))) return limited() // R2
    const targets = options.targets(env)
    return yield* spanned(
      () => ({ name: spans.callback, attributes: idsIn(callbackAddress(token.value)) }),
      received(request, token.value, targets),
    ).pipe(
      Effect.ensuring(Effect.sync(targets.close)),
      Effect.provideService(CurrentLimits, options.limits),
    )
  })

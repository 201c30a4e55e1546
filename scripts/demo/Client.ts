/**
 * What the demonstration asks of a client, and which of its failures are worth another try.
 */
import { Effect, Schedule, type Stream } from "effect"
import type {
  AwaitSettlementReply,
  HistoryPage,
  ObserveFrame,
  OwnerId,
  Receipt,
  SubmissionId,
  SubmissionStatus,
  ThreadId,
} from "../../contracts/index.ts"
import type { PlannedSubmission } from "./Plan.ts"

/** Whatever a call can fail with: all errors of the contracts and of the transport are tagged. */
export interface CallFailure {
  readonly _tag: string
  readonly message?: unknown
}

/** A failure as one line for people. */
export const describeFailure = (failure: CallFailure): string => {
  const { message } = failure
  return typeof message === "string" && message !== ""
    ? `${failure._tag}: ${message}`
    : failure._tag
}

interface Lane {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}

export interface DemoClient {
  readonly submit: (
    lane: Lane,
    submission: PlannedSubmission,
  ) => Effect.Effect<Receipt, CallFailure>
  /** Waits at most `timeoutMillis`. */
  readonly awaitSettlement: (
    lane: Lane,
    submissionId: SubmissionId,
    timeoutMillis: number,
  ) => Effect.Effect<AwaitSettlementReply, CallFailure>
  readonly status: (
    lane: Lane,
    submissionId: SubmissionId,
  ) => Effect.Effect<SubmissionStatus, CallFailure>
  readonly history: (lane: Lane, after: number) => Effect.Effect<HistoryPage, CallFailure>
  /** The records of a thread as they are written. */
  readonly observe: (lane: Lane) => Stream.Stream<ObserveFrame, CallFailure>
}

/** The server went away or could not answer: what a restart looks like to a client. */
export const isTransient = (failure: CallFailure): boolean =>
  failure._tag === "RpcClientError" ||
  failure._tag === "Unavailable" ||
  failure._tag === "StorageUnavailable"

/** The thread judged the input: this file is left out, the others go on. */
export const isRefusalOfInput = (failure: CallFailure): boolean =>
  failure._tag === "InvalidInput" || failure._tag === "AdmissionLimitExceeded"

const patience = Schedule.min([
  Schedule.exponential("50 millis"),
  Schedule.spaced("1 second"),
]).pipe(Schedule.jittered)

/**
 * Repeats a call through an outage, for as long as the caller waits. Safe for every operation: reads
 * change nothing, and a submission keeps its idempotency key.
 */
export const throughOutage = <A, R>(
  call: Effect.Effect<A, CallFailure, R>,
  onRetry: Effect.Effect<void> = Effect.void,
): Effect.Effect<A, CallFailure, R> =>
  call.pipe(
    Effect.tapError((failure) => (isTransient(failure) ? onRetry : Effect.void)),
    Effect.retry({ while: isTransient, schedule: patience }),
  )

/**
 * `signal`: a value from outside for a run that waits for it, or will.
 *
 * It is addressed to a wait of one run by its name, and kept until the run asks. The first value stands: the same
 * again is safe, another one is told that there is one.
 */
import { Schema } from "effect"
import {
  AdmissionLimitExceeded,
  CommonErrors,
  InvalidInput,
  JoinedToHost,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
  StorageFull,
  SubmissionNotFound,
  ThreadUnreadable,
  Unavailable,
} from "./Errors.ts"
import { Millis, OwnerId, StepName, SubmissionId, ThreadId } from "./Identifiers.ts"
import { SubmissionState } from "./Submission.ts"

export const SignalFields = {
  ownerId: OwnerId,
  threadId: ThreadId,
  submissionId: SubmissionId,
  name: StepName.annotateKey({ description: "Of the wait in its run, which may yet be to come." }),
  payload: Schema.Json.annotateKey({
    description: "JSON as the wait's schema encodes it; at most `recordBytes`.",
  }),
}

export const SignalReply = Schema.Struct({
  receivedAt: Millis,
  duplicate: Schema.Boolean.annotateKey({
    description: "Whether the same value was received before.",
  }),
  state: SubmissionState.annotateKey({ description: "Where the submission stands now." }),
}).annotate({ identifier: "SignalReply", description: "The signal as it is recorded." })
export type SignalReply = typeof SignalReply.Type

/**
 * What refuses a signal. `AdmissionLimitExceeded`: it is larger than `recordBytes`, or nothing waits for it yet and the run
 * keeps as many of these as it may (`earlySignals`, `earlySignalBytes`): send it once it does. `NotAwaiting`: the name is not that of a wait for a signal, or the wait has expired or was
 * withdrawn. `ResolutionConflict`: another value came first. `InvalidInput`: the value is nested too deep. `Unavailable` is the fence: send once more.
 */
export const SignalRefusal = Schema.Union([
  SubmissionNotFound,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
  JoinedToHost,
  AdmissionLimitExceeded,
  InvalidInput,
  ThreadUnreadable,
  Unavailable,
])
export type SignalRefusal = typeof SignalRefusal.Type

/** All that a signal can answer besides its reply. */
export const SignalErrors = Schema.Union([...CommonErrors, ...SignalRefusal.members, StorageFull])

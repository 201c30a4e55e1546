/**
 * A settlement: the one durable end of a submission.
 */
import { Schema } from "effect"
import { Count, Millis, SubmissionId } from "./Identifiers.ts"
import { Outcome, SubmissionState } from "./Submission.ts"

/**
 * Tags of `failure` that the system itself uses; an agent's own come from its error schema. An agent
 * cannot use these: its failure tagged `Defect` is told as `Agent.Defect`.
 */
export const SystemFailureTags = [
  "AttemptsExhausted",
  "AttemptsLost",
  "RunTooLarge",
  "ResultTooLarge",
  "InputInvalid",
  "OutputInvalid",
  "DuplicateName",
  "Superseded",
  "Defect",
] as const
export type SystemFailureTag = (typeof SystemFailureTags)[number]

/** Why it failed: never a stack, a Cause or a raw provider payload. */
export const Failure = Schema.Struct({
  /** At most 256 characters. One of `SystemFailureTags` is the system's word, never an agent's. */
  tag: Schema.String.check(Schema.isMaxLength(256)),
  /** At most 16 KiB. */
  message: Schema.String.check(Schema.isMaxLength(16_384)),
  /** The encoded error of the agent's error schema, when it declared one. */
  error: Schema.optionalKey(Schema.Json),
})
export type Failure = typeof Failure.Type

/** Who ended it and why. `forced` tells that the handler did not stop within its grace. */
export const Abort = Schema.Struct({
  author: Schema.String.check(Schema.isMaxLength(256)),
  reason: Schema.String.check(Schema.isMaxLength(1024)),
  forced: Schema.Boolean,
})
export type Abort = typeof Abort.Type

export const Settlement = Schema.Struct({
  submissionId: SubmissionId,
  sequence: Count,
  outcome: Outcome,
  /** JSON as the agent's output schema encoded it; only on `completed`. */
  output: Schema.optionalKey(Schema.Json),
  /** Exactly on `failed`. */
  failure: Schema.optionalKey(Failure),
  /** Exactly on `aborted`. */
  abort: Schema.optionalKey(Abort),
  settledAt: Millis,
  /** How many attempts were made, whatever their end. */
  attempts: Count,
})
export type Settlement = typeof Settlement.Type

/** Where one submission stands. `settlement` exactly when `state` is `settled`. */
export const SubmissionStatus = Schema.Struct({
  submissionId: SubmissionId,
  state: SubmissionState,
  sequence: Count,
  attempts: Count,
  settlement: Schema.optionalKey(Settlement),
})
export type SubmissionStatus = typeof SubmissionStatus.Type

/** `Pending` is not a failure: the wait ended, call again. */
export const AwaitSettlementReply = Schema.Union([
  Schema.TaggedStruct("Settled", { settlement: Settlement }),
  Schema.TaggedStruct("Pending", {}),
])
export type AwaitSettlementReply = typeof AwaitSettlementReply.Type

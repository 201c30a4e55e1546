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
  "EmptyRace",
  "Superseded",
  "Defect",
] as const
export type SystemFailureTag = (typeof SystemFailureTags)[number]

export const Failure = Schema.Struct({
  tag: Schema.String.check(Schema.isMaxLength(256)).annotateKey({
    description:
      "At most 256 characters. One of `SystemFailureTags` is the system's word, never an " +
      "agent's.",
  }),
  message: Schema.String.check(Schema.isMaxLength(16_384)).annotateKey({
    description: "At most 16 KiB.",
  }),
  error: Schema.optionalKey(Schema.Json).annotateKey({
    description: "The encoded error of the agent's error schema, when it declared one.",
  }),
}).annotate({
  identifier: "Failure",
  description: "Why it failed: never a stack, a Cause or a raw provider payload.",
})
export type Failure = typeof Failure.Type

export const Abort = Schema.Struct({
  author: Schema.String.check(Schema.isMaxLength(256)),
  reason: Schema.String.check(Schema.isMaxLength(1024)),
  forced: Schema.Boolean,
}).annotate({
  identifier: "Abort",
  description:
    "Who ended it and why. `forced` tells that the handler did not stop within its grace.",
})
export type Abort = typeof Abort.Type

export const Settlement = Schema.Struct({
  submissionId: SubmissionId,
  sequence: Count,
  outcome: Outcome,
  output: Schema.optionalKey(Schema.Json).annotateKey({
    description: "JSON as the agent's output schema encoded it; only on `completed`.",
  }),
  failure: Schema.optionalKey(Failure).annotateKey({ description: "Exactly on `failed`." }),
  abort: Schema.optionalKey(Abort).annotateKey({ description: "Exactly on `aborted`." }),
  hostSubmissionId: Schema.optionalKey(SubmissionId).annotateKey({
    description:
      "The submission whose run has taken it: it settled with that one, as that one did. Only where it joined one.",
  }),
  pruned: Schema.optionalKey(Schema.Boolean).annotateKey({
    description:
      "Its output, failure or words were pruned, as the deployment keeps them for a time only. Then they are absent.",
  }),
  settledAt: Millis,
  attempts: Count.annotateKey({ description: "How many attempts were made, whatever their end." }),
}).annotate({ identifier: "Settlement" })
export type Settlement = typeof Settlement.Type

export const SubmissionStatus = Schema.Struct({
  submissionId: SubmissionId,
  state: SubmissionState,
  sequence: Count,
  attempts: Count,
  resubmissionOf: Schema.optionalKey(SubmissionId).annotateKey({
    description: "The submission whose work this one does again; only where `resubmit` made it.",
  }),
  settlement: Schema.optionalKey(Settlement),
}).annotate({
  identifier: "SubmissionStatus",
  description: "Where one submission stands. `settlement` exactly when `state` is `settled`.",
})
export type SubmissionStatus = typeof SubmissionStatus.Type

export const AwaitSettlementReply = Schema.Union([
  Schema.TaggedStruct("Settled", { settlement: Settlement }),
  Schema.TaggedStruct("Pending", {}),
]).annotate({
  identifier: "AwaitSettlementReply",
  description: "`Pending` is not a failure: the wait ended, call again.",
})
export type AwaitSettlementReply = typeof AwaitSettlementReply.Type

/**
 * Recovery as others see it: decisions, dispositions, faults.
 */
import { Schema } from "effect"
import { Count, Millis, SubmissionId, ThreadId } from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"

export const RecoveryDecision = openLiterals([
  "NoAction",
  "AwaitAttempt",
  "SettleWithHost",
  "AwaitHost",
  "AwaitChild",
  "SettleAborted",
  "AwaitCall",
  "Reconcile",
  "MarkUnknown",
  "AwaitResolution",
  "Resume",
  "AwaitApproval",
  "AwaitSignal",
  "AwaitTimer",
  "ResumeRun",
  "AwaitDue",
  "ApplyInput",
]).annotate({
  identifier: "RecoveryDecision",
  description: "What the classifier decided for one submission.",
})
export type RecoveryDecision = typeof RecoveryDecision.Type

export const Disposition = openLiterals(["none", "repaired", "deferred", "unknown"]).annotate({
  identifier: "Disposition",
  description:
    "`repaired` it changed something · `deferred` somebody else must act · `unknown` an " +
    "operator must.",
})
export type Disposition = typeof Disposition.Type

export const RecoveryReport = Schema.Struct({
  submissionId: SubmissionId,
  decision: RecoveryDecision,
  disposition: Disposition,
})
export type RecoveryReport = typeof RecoveryReport.Type

export const RecoveryFailure = Schema.Struct({
  phase: openLiterals(["call", "history", "recovery"]),
  operation: Schema.String.check(Schema.isMaxLength(256)),
  reason: openLiterals(["failure", "defect", "timeout"]),
  tag: Schema.String.check(Schema.isMaxLength(128)),
  message: Schema.String.check(Schema.isMaxLength(1024)),
}).annotate({
  identifier: "RecoveryFailure",
  description: "Tag and message come from fixed lists: nothing of the application is in them.",
})
export type RecoveryFailure = typeof RecoveryFailure.Type

export const RecoveryFault = Schema.Struct({
  schemaVersion: Schema.Literal(1),
  threadId: ThreadId,
  firstFailedAt: Millis,
  lastFailedAt: Millis,
  retryAt: Millis,
  attempts: Count.annotateKey({ description: "Saturates at 2³¹ − 1." }),
  failure: RecoveryFailure,
}).annotate({
  identifier: "RecoveryFault",
  description: "A durable note of the owner that a thread's recovery is blocked.",
})
export type RecoveryFault = typeof RecoveryFault.Type

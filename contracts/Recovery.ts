/**
 * Recovery as others see it: decisions, dispositions, faults.
 */
import { Schema } from "effect"
import { Count, Millis, SubmissionId, ThreadId } from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"

/** What the classifier decided for one submission. */
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
])
export type RecoveryDecision = typeof RecoveryDecision.Type

/** `repaired` it changed something · `deferred` somebody else must act · `unknown` an operator must. */
export const Disposition = openLiterals(["none", "repaired", "deferred", "unknown"])
export type Disposition = typeof Disposition.Type

export const RecoveryReport = Schema.Struct({
  submissionId: SubmissionId,
  decision: RecoveryDecision,
  disposition: Disposition,
})
export type RecoveryReport = typeof RecoveryReport.Type

/** Tag and message come from fixed lists: nothing of the application is in them. */
export const RecoveryFailure = Schema.Struct({
  phase: openLiterals(["call", "history", "recovery"]),
  operation: Schema.String.check(Schema.isMaxLength(256)),
  reason: openLiterals(["failure", "defect", "timeout"]),
  tag: Schema.String.check(Schema.isMaxLength(128)),
  message: Schema.String.check(Schema.isMaxLength(1024)),
})
export type RecoveryFailure = typeof RecoveryFailure.Type

/** A durable note of the owner that a thread's recovery is blocked. */
export const RecoveryFault = Schema.Struct({
  schemaVersion: Schema.Literal(1),
  threadId: ThreadId,
  firstFailedAt: Millis,
  lastFailedAt: Millis,
  retryAt: Millis,
  /** Saturates at 2³¹ − 1. */
  attempts: Count,
  failure: RecoveryFailure,
})
export type RecoveryFault = typeof RecoveryFault.Type

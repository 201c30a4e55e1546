/**
 * `resolveApproval`: somebody's decision on what a run has asked for.
 *
 * The name is that of the approval in its run, where it is asked once: a late duplicate can decide no later
 * question. The first decision stands: repeating it is safe, another one is told the first.
 */
import { Schema } from "effect"
import { SubmissionCommandFields } from "./Command.ts"
import {
  CommonErrors,
  JoinedToHost,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
  StorageFull,
  SubmissionNotFound,
  ThreadUnreadable,
  Unavailable,
} from "./Errors.ts"
import { Millis, RecordId, StepName } from "./Identifiers.ts"
import { SubmissionState } from "./Submission.ts"

export const ResolveApprovalFields = {
  ...SubmissionCommandFields,
  name: StepName.annotateKey({
    description: "Of the approval in its run: told by `explain`, `obligations` and its record.",
  }),
  approved: Schema.Boolean.annotateKey({
    description: "Denial is a value of the run, not its failure.",
  }),
}

export const ResolveApprovalReply = Schema.Struct({
  recordId: RecordId.annotateKey({ description: "Of the `ApprovalRequested` that it answers." }),
  approved: Schema.Boolean,
  decidedAt: Millis,
  state: SubmissionState.annotateKey({ description: "Where the submission stands now." }),
}).annotate({
  identifier: "ResolveApprovalReply",
  description: "The decision as it is recorded.",
})
export type ResolveApprovalReply = typeof ResolveApprovalReply.Type

/**
 * What refuses a decision. `NotAwaiting`: no such approval waits (never did, withdrawn, or expired).
 * `ResolutionConflict`: another decision came first. `Unavailable` is the fence: send once more.
 */
export const ResolveApprovalRefusal = Schema.Union([
  SubmissionNotFound,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
  JoinedToHost,
  ThreadUnreadable,
  Unavailable,
])
export type ResolveApprovalRefusal = typeof ResolveApprovalRefusal.Type

/** All that a decision can answer besides its reply. */
export const ResolveApprovalErrors = Schema.Union([
  ...CommonErrors,
  ...ResolveApprovalRefusal.members,
  StorageFull,
])

/**
 * `submitMany`: many inputs of one owner in one call, each answered for itself and in its place.
 *
 * The call is authorized as a whole: whoever may not submit to one of the threads is denied all of it, and nothing
 * is written. A denial tells of the names in the call alone, never of what exists.
 */
import { Schema } from "effect"
import { AdmissionLimitExceeded, CommonErrors, StorageFull } from "./Errors.ts"
import { OwnerId } from "./Identifiers.ts"
import { AdmissionRefusal, Receipt, ThreadSubmission } from "./Submission.ts"

/** All that a submit can answer besides a receipt. */
export const SubmitErrors = Schema.Union([...CommonErrors, ...AdmissionRefusal.members])
export type SubmitErrors = typeof SubmitErrors.Type

export const SubmitManyFields = {
  ownerId: OwnerId,
  submissions: Schema.Array(ThreadSubmission)
    .check(Schema.isMinLength(1), Schema.isMaxLength(1_000))
    .annotateKey({
      description:
        "At most `submissionsPerCall` (256), with inputs of `submissionBytesPerCall` (4 MiB) together; those " +
        "of one thread are accepted in this order. One key per intent: the same call again is safe.",
    }),
}

export const SubmitOutcome = Schema.Union([
  Schema.TaggedStruct("Accepted", { receipt: Receipt }),
  Schema.TaggedStruct("Refused", { error: SubmitErrors }),
]).annotate({
  identifier: "SubmitOutcome",
  description:
    "What `submit` would have answered. A refusal that is `Unavailable` and `retryable` may have been accepted all " +
    "the same: submit it again with the same key.",
})
export type SubmitOutcome = typeof SubmitOutcome.Type

export const SubmitManyReply = Schema.Struct({
  outcomes: Schema.Array(SubmitOutcome).annotateKey({
    description: "One for each submission, in their order.",
  }),
}).annotate({ identifier: "SubmitManyReply" })
export type SubmitManyReply = typeof SubmitManyReply.Type

/** What refuses the call as a whole; nothing is written then. A call without an answer may have been done. */
export const SubmitManyErrors = Schema.Union([...CommonErrors, AdmissionLimitExceeded, StorageFull])

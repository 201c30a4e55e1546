/**
 * The outcomes of a thread as its owner's search index reads them.
 */
import { Schema } from "effect"
import { Count, Millis, SubmissionId } from "./Identifiers.ts"
import { Outcome } from "./Submission.ts"

/** How a submission ended, as text to be searched: bounded, and no more than what its settlement tells. */
const OutcomeText = Schema.Struct({
  submissionId: SubmissionId,
  /** Of the submission. */
  sequence: Count,
  outcome: Outcome,
  settledAt: Millis,
  text: Schema.String,
})
export type OutcomeText = typeof OutcomeText.Type

export const OutcomesFields = {
  /** A sequence of the journal: what stands behind it is read. */
  after: Count,
  limit: Count,
  /** Characters of each text. */
  characters: Count,
}

/** The settlements in their order, and up to which record the thread was read. */
export const OutcomesReply = Schema.Struct({
  outcomes: Schema.Array(OutcomeText),
  readTo: Count,
  more: Schema.Boolean,
})

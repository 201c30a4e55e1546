/**
 * `resubmit`: does the work of a submission that failed, or was aborted, once more: a new submission at the end of
 * its thread's queue, with the same agent and input unless another is given, and linked to the old one.
 *
 * Exactly once per key, like a submit; a key that was used for anything else is a conflict.
 */
import { Schema } from "effect"
import { SubmissionCommandFields } from "./Command.ts"
import {
  CommonErrors,
  InputPruned,
  JoinedToHost,
  NotSettled,
  SettlementConflict,
  SubmissionNotFound,
  ThreadUnreadable,
} from "./Errors.ts"
import { IdempotencyKey } from "./Identifiers.ts"
import { AdmissionRefusal } from "./Submission.ts"

export const ResubmitFields = {
  ...SubmissionCommandFields,
  idempotencyKey: IdempotencyKey.annotateKey({
    description:
      "One per intent, as for a submit: a retry with the same key gets the same receipt.",
  }),
  input: Schema.optionalKey(Schema.Json).annotateKey({
    description:
      "Instead of the old one's, and needed where that was pruned. JSON as the agent's input schema encodes it.",
  }),
}

/**
 * `SettlementConflict`: it completed. `NotSettled`: it is still open; abort or retry that one. `InputPruned`: none was
 * given, and its own is gone.
 */
export const ResubmitRefusal = Schema.Union([
  ...AdmissionRefusal.members,
  SubmissionNotFound,
  SettlementConflict,
  NotSettled,
  InputPruned,
  JoinedToHost,
  ThreadUnreadable,
])
export type ResubmitRefusal = typeof ResubmitRefusal.Type

/** All that a resubmission can answer besides a receipt. */
export const ResubmitErrors = Schema.Union([...CommonErrors, ...ResubmitRefusal.members])

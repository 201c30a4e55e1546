/**
 * `retry`: has a submission that waits for its own next try go on at once.
 *
 * It clears the lane's fault, backoff and stall, and the rest between two attempts of this submission, and has its
 * parked messages carried again, also when it has settled. It
 * never bypasses evidence: an ordinary call that may have happened still waits for its end or a word.
 */
import { Schema } from "effect"
import { SubmissionCommandFields } from "./Command.ts"
import {
  CommonErrors,
  JoinedToHost,
  NotAwaiting,
  SettlementConflict,
  StorageFull,
  SubmissionNotFound,
  ThreadUnreadable,
  Unavailable,
} from "./Errors.ts"
import { Millis } from "./Identifiers.ts"
import { SubmissionState } from "./Submission.ts"

export const RetryFields = SubmissionCommandFields

export const RetryReply = Schema.Struct({
  state: SubmissionState,
  dueAt: Schema.optionalKey(Millis).annotateKey({
    description:
      "When it will be tried; absent when something else than time is in its way (`explain` " +
      "tells).",
  }),
}).annotate({
  identifier: "RetryReply",
  description: "Where the submission stands now, and what its next try still waits for.",
})
export type RetryReply = typeof RetryReply.Type

/** `NotAwaiting`: it waits for a decision or a word, which no retry replaces. */
export const RetryRefusal = Schema.Union([
  SubmissionNotFound,
  SettlementConflict,
  JoinedToHost,
  NotAwaiting,
  ThreadUnreadable,
  Unavailable,
])
export type RetryRefusal = typeof RetryRefusal.Type

/** All that a retry can answer besides its reply. */
export const RetryErrors = Schema.Union([...CommonErrors, ...RetryRefusal.members, StorageFull])

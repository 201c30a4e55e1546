/**
 * `retry`: has a submission that waits for its own next try go on at once.
 *
 * It clears the lane's fault, backoff and stall, and the rest between two attempts of this submission. It
 * never bypasses evidence: an ordinary call that may have happened still waits for its end or a word.
 */
import { Schema } from "effect"
import { SubmissionCommandFields } from "./Command.ts"
import {
  JoinedToHost,
  NotAwaiting,
  SettlementConflict,
  SubmissionNotFound,
  ThreadUnreadable,
  Unavailable,
} from "./Errors.ts"
import { Millis } from "./Identifiers.ts"
import { SubmissionState } from "./Submission.ts"

export const RetryFields = SubmissionCommandFields

/** Where the submission stands now, and what its next try still waits for. */
export const RetryReply = Schema.Struct({
  state: SubmissionState,
  /** When it will be tried; absent when something else than time is in its way (`explain` tells). */
  dueAt: Schema.optionalKey(Millis),
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

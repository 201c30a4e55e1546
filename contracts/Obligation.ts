/**
 * `obligations`: everything an owner still owes, with what is in its way and how old it is.
 */
import { Schema } from "effect"
import { AgentId, Count, Millis, OwnerId, RecordId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { Blocker } from "./LaneReport.ts"
import { openLiterals } from "./Open.ts"
import { SubmissionState } from "./Submission.ts"

export const ObligationsFields = {
  ownerId: OwnerId,
  /** From this age on, work that is merely ready or running is told, too. Default 15 min. */
  agedAfterMillis: Schema.optionalKey(Count),
  after: Schema.optionalKey(ThreadId),
  /** Obligations after which a page ends, at most `pageThreads`; those of one thread stay together. */
  limit: Schema.optionalKey(Count),
}

/**
 * One thing in the way of one thread. `aging` from `agedAfterMillis` on, `overdue` from four times that.
 */
export const Obligation = Schema.Struct({
  threadId: ThreadId,
  /** Absent where the whole thread is held and nothing tells which submission is next. */
  submissionId: Schema.optionalKey(SubmissionId),
  agent: Schema.optionalKey(AgentId),
  state: Schema.optionalKey(SubmissionState),
  blocker: Blocker,
  /** The agent's name of the call or wait, or of the missing agent. */
  name: Schema.optionalKey(Schema.String),
  /** What a decision about it names. */
  recordId: Schema.optionalKey(RecordId),
  sinceAt: Millis,
  ageMillis: Count,
  severity: openLiterals(["ok", "aging", "overdue"]),
  /** Open submissions of this thread, this one included. */
  nonterminal: Count,
})
export type Obligation = typeof Obligation.Type

/** By thread id. A page may be empty and have a `next`: the threads it passed owe nothing. */
export const ObligationPage = Schema.Struct({
  obligations: Schema.Array(Obligation),
  next: Schema.optionalKey(ThreadId),
})
export type ObligationPage = typeof ObligationPage.Type

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
  agedAfterMillis: Schema.optionalKey(Count).annotateKey({
    description:
      "From this age on, work that is merely ready or running is told, too. Default 15 min.",
  }),
  after: Schema.optionalKey(ThreadId),
  limit: Schema.optionalKey(Count).annotateKey({
    description:
      "Obligations after which a page ends, at most `pageThreads`; those of one thread stay " +
      "together.",
  }),
}

export const Obligation = Schema.Struct({
  threadId: ThreadId,
  submissionId: Schema.optionalKey(SubmissionId).annotateKey({
    description:
      "Absent where the whole thread is held and nothing tells which submission is next.",
  }),
  agent: Schema.optionalKey(AgentId),
  state: Schema.optionalKey(SubmissionState),
  blocker: Blocker,
  name: Schema.optionalKey(Schema.String).annotateKey({
    description: "The agent's name of the call or wait, or of the missing agent.",
  }),
  recordId: Schema.optionalKey(RecordId).annotateKey({
    description: "What a decision about it names.",
  }),
  sinceAt: Millis,
  ageMillis: Count,
  severity: openLiterals(["ok", "aging", "overdue"]),
  nonterminal: Count.annotateKey({
    description: "Open submissions of this thread, this one included.",
  }),
}).annotate({
  identifier: "Obligation",
  description:
    "One thing in the way of one thread. `aging` from `agedAfterMillis` on, `overdue` " +
    "from four times that.",
})
export type Obligation = typeof Obligation.Type

export const ObligationPage = Schema.Struct({
  obligations: Schema.Array(Obligation),
  next: Schema.optionalKey(ThreadId),
}).annotate({
  identifier: "ObligationPage",
  description:
    "By thread id. A page may be empty and have a `next`: the threads it passed owe nothing.",
})
export type ObligationPage = typeof ObligationPage.Type

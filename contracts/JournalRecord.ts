/**
 * The canonical records of a thread, as history and observers see them.
 */
import { Schema } from "effect"
import { AttemptId, Count, Millis, SubmissionId } from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"
import { LaneStatus } from "./Maintenance.ts"

export const recordKinds = [
  "InputApplied",
  "StepCompleted",
  "StepFailed",
  "ToolPrepared",
  "ToolSettled",
  "ToolUnknown",
  "ToolResolved",
  "ApprovalRequested",
  "ApprovalDecided",
  "SignalAwaited",
  "SignalReceived",
  "TimerSet",
  "TimerFired",
  "WaitWithdrawn",
  "ChildRequested",
  "ChildSettled",
  "MessageQueued",
  "InputsTaken",
  "StateRead",
  "StateChanged",
  "VersionChosen",
  "ValueDrawn",
  "Progress",
  "AttemptInterrupted",
  "AbortRequested",
  "Recovered",
  "Resubmitted",
  "ResultReached",
  "Settled",
] as const

/** The kinds a thread writes. */
export type RecordKind = (typeof recordKinds)[number]
export const RecordKind = openLiterals(recordKinds).annotate({ identifier: "RecordKind" })

export const JournalRecord = Schema.Struct({
  sequence: Count.annotateKey({ description: "Thread-wide, from 1, without gaps." }),
  submissionId: SubmissionId,
  kind: RecordKind,
  name: Schema.optionalKey(Schema.String).annotateKey({
    description: "The agent's name of the step, wait or value, where the kind has one.",
  }),
  epoch: Count.annotateKey({ description: "The epoch of the attempt that wrote it." }),
  recordedAt: Millis,
  payload: Schema.Json,
  pruned: Schema.optionalKey(Schema.Boolean).annotateKey({
    description:
      "What it said was pruned, as the deployment keeps it for a time only: the payload is an empty object, or, of an " +
      "applied input, has no `input`.",
  }),
}).annotate({
  identifier: "JournalRecord",
  description:
    "One fact. Its identity is (submission, kind's name space, name); `sequence` pages " +
    "the thread.",
})
export type JournalRecord = typeof JournalRecord.Type

export const HistoryPage = Schema.Struct({
  records: Schema.Array(JournalRecord),
  next: Schema.optionalKey(Count),
}).annotate({
  identifier: "HistoryPage",
  description: "A page, and the cursor to go on with in the same direction; absent at the end.",
})
export type HistoryPage = typeof HistoryPage.Type

export const ObserveFrame = Schema.Union([
  Schema.TaggedStruct("Opened", {
    tailSequence: Count,
    lane: Schema.optionalKey(LaneStatus).annotateKey({
      description: "The owner's view of the lane, added by the edge.",
    }),
  }),
  Schema.TaggedStruct("Record", { record: JournalRecord }),
  Schema.TaggedStruct("Emitted", {
    submissionId: SubmissionId,
    attemptId: AttemptId,
    index: Count.annotateKey({
      description: "Counts the chunks of this attempt from 0; a hole is a gap.",
    }),
    chunk: Schema.Json,
  }),
  Schema.TaggedStruct("Gap", { dropped: Count }).annotate({
    description:
      "This observer was too slow; so many chunks were dropped. Records are never dropped.",
  }),
  Schema.TaggedStruct("Cursor", { after: Count }),
]).annotate({
  identifier: "ObserveFrame",
  description:
    "What `observe` streams. `Opened` comes first; `Cursor` last, when the wait ended " +
    "without a failure: go on with `observe({ after })`. `Emitted` has no row: it reaches " +
    "present observers only.",
})
export type ObserveFrame = typeof ObserveFrame.Type

export const ThreadState = Schema.Struct({
  version: Count,
  value: Schema.optionalKey(Schema.Json),
}).annotate({
  identifier: "ThreadState",
  description:
    "The application's typed value of a thread. Version 0 and no value until first written.",
})
export type ThreadState = typeof ThreadState.Type

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
  "ResultReached",
  "Settled",
] as const

/** The kinds a thread writes. */
export type RecordKind = (typeof recordKinds)[number]
export const RecordKind = openLiterals(recordKinds)

/** One fact. Its identity is (submission, kind's name space, name); `sequence` pages the thread. */
export const JournalRecord = Schema.Struct({
  /** Thread-wide, from 1, without gaps. */
  sequence: Count,
  submissionId: SubmissionId,
  kind: RecordKind,
  /** The agent's name of the step, wait or value, where the kind has one. */
  name: Schema.optionalKey(Schema.String),
  /** The epoch of the attempt that wrote it. */
  epoch: Count,
  recordedAt: Millis,
  payload: Schema.Json,
})
export type JournalRecord = typeof JournalRecord.Type

/** A page, and the cursor to go on with in the same direction; absent at the end. */
export const HistoryPage = Schema.Struct({
  records: Schema.Array(JournalRecord),
  next: Schema.optionalKey(Count),
})
export type HistoryPage = typeof HistoryPage.Type

/**
 * What `observe` streams. `Opened` comes first; `Cursor` last, when the wait ended without a
 * failure: go on with `observe({ after })`. `Emitted` has no row: it reaches present observers only.
 */
export const ObserveFrame = Schema.Union([
  Schema.TaggedStruct("Opened", {
    tailSequence: Count,
    /** The owner's view of the lane, added by the edge. */
    lane: Schema.optionalKey(LaneStatus),
  }),
  Schema.TaggedStruct("Record", { record: JournalRecord }),
  Schema.TaggedStruct("Emitted", {
    submissionId: SubmissionId,
    attemptId: AttemptId,
    /** Counts the chunks of this attempt from 0; a hole is a gap. */
    index: Count,
    chunk: Schema.Json,
  }),
  /** This observer was too slow; so many chunks were dropped. Records are never dropped. */
  Schema.TaggedStruct("Gap", { dropped: Count }),
  Schema.TaggedStruct("Cursor", { after: Count }),
])
export type ObserveFrame = typeof ObserveFrame.Type

/** The application's typed value of a thread. Version 0 and no value until first written. */
export const ThreadState = Schema.Struct({
  version: Count,
  value: Schema.optionalKey(Schema.Json),
})
export type ThreadState = typeof ThreadState.Type

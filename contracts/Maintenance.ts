/**
 * What an owner tells about its own work: passes, lanes, the alarm.
 */
import { Schema } from "effect"
import { Count, Generation, Millis, OwnerId, ThreadId } from "./Identifiers.ts"
import { LaneHead } from "./LaneReport.ts"
import { openLiterals, openUnion } from "./Open.ts"
import { RecoveryFault } from "./Recovery.ts"
import { Title } from "./Submission.ts"

/** The kinds of work a lane can need from its owner. */
export const WorkKind = openLiterals([
  "visit",
  "recover",
  "dispatch",
  "binding",
  "held",
  "forget",
  "outbox",
])
export type WorkKind = typeof WorkKind.Type

/** One maintenance event, as it ended. */
export const MaintenancePassReport = Schema.Struct({
  /** `caught-up`: nothing was due. */
  phase: openLiterals(["caught-up", "actionable"]),
  /** Threads whose recovery repaired something. */
  recovered: Count,
  settled: Count,
  /** Nonterminal submissions of the owner at its end. */
  nonterminal: Count,
  alarm: openLiterals(["rearmed", "cleared"]),
  startedAt: Millis,
  endedAt: Millis,
  /** Calls of thread actors, and of the owner registry. */
  actorCalls: Count,
  endedBy: openLiterals(["quiescent", "yield", "ceiling", "calls", "failure"]),
})
export type MaintenancePassReport = typeof MaintenancePassReport.Type

export const MaintenanceStatus = Schema.Struct({
  ownerId: OwnerId,
  /** The newest generation; absent for an untouched owner. */
  dirty: Schema.optionalKey(Generation),
  /** The newest generation below which nothing is enrolled; absent when too many lanes have work to tell. */
  processed: Schema.optionalKey(Generation),
  nonterminal: Count,
  lanes: Count,
  /** Exact to 1,000, then "at least". */
  dueLanes: Count,
  runningLanes: Count,
  faultedLanes: Count,
  /** Passes that began and did not finish, in a row. */
  unfinishedPasses: Count,
  alarmAt: Schema.optionalKey(Millis),
  lastServedThreadId: Schema.optionalKey(ThreadId),
  lastRecoveredThreadId: Schema.optionalKey(ThreadId),
  lastPass: Schema.optionalKey(MaintenancePassReport),
})
export type MaintenanceStatus = typeof MaintenanceStatus.Type

/** Who had a thread condemned, why, and since when; `abort` tells whether what it owes is aborted first. */
export const Condemned = Schema.Struct({
  author: Schema.String,
  reason: Schema.String,
  abort: Schema.Boolean,
  sinceAt: Millis,
})
export type Condemned = typeof Condemned.Type

/** How the owner sees one thread: why it runs, or does not. */
export const LaneStatus = Schema.Struct({
  threadId: ThreadId,
  /** Whether the owner has a row for it; all else is empty without one. */
  known: Schema.Boolean,
  /** What the lane needs next from the owner, and when. */
  work: Schema.optionalKey(WorkKind),
  workAt: Schema.optionalKey(Millis),
  /** Set while a mutation of unknown fate may have reached the thread. */
  enrolled: Schema.optionalKey(Generation),
  mustVisit: Schema.Boolean,
  /** Its last call ended without an answer. */
  suspect: Schema.Boolean,
  paused: Schema.Boolean,
  running: Schema.Boolean,
  nonterminal: Count,
  head: Schema.optionalKey(LaneHead),
  backoffUntilAt: Schema.optionalKey(Millis),
  /** Answers in a row that changed nothing. */
  unchangedTurns: Count,
  stalledUntilAt: Schema.optionalKey(Millis),
  /** The agent of the head is not in this deployment. */
  binding: Schema.optionalKey(
    Schema.Struct({ attempts: Count, notBefore: Millis, name: Schema.optionalKey(Schema.String) }),
  ),
  /** Its recovery is blocked. */
  fault: Schema.optionalKey(RecoveryFault),
  /** It is to be forgotten: nothing else happens for it, and it takes no input or command. */
  condemned: Schema.optionalKey(Condemned),
})
export type LaneStatus = typeof LaneStatus.Type

/**
 * What `watch` streams. `Opened` comes first, then every lane with a fault; from then on each lane as
 * it changes, the newest state only. `Ended` comes last, when nothing changed for a while: watch again.
 */
export const WatchFrame = openUnion([
  Schema.TaggedStruct("Opened", { faultedLanes: Count }),
  Schema.TaggedStruct("Lane", { lane: LaneStatus }),
  /** This watcher was too slow; so many changed lanes were not told. */
  Schema.TaggedStruct("Gap", { dropped: Count }),
  Schema.TaggedStruct("Ended", {}),
])
export type WatchFrame = typeof WatchFrame.Type

/** A row of the list of threads. */
export const ThreadSummary = Schema.Struct({
  threadId: ThreadId,
  title: Schema.optionalKey(Title),
  nonterminal: Count,
  parked: Count,
  paused: Schema.Boolean,
  tailSequence: Count,
  head: Schema.optionalKey(LaneHead),
})
export type ThreadSummary = typeof ThreadSummary.Type

/** A page of threads by id; `next` is the `after` of the next page, absent at the end. */
export const ThreadPage = Schema.Struct({
  threads: Schema.Array(ThreadSummary),
  next: Schema.optionalKey(ThreadId),
})
export type ThreadPage = typeof ThreadPage.Type

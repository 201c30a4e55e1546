/**
 * What an owner tells about its own work: passes, lanes, the alarm.
 */
import { Schema } from "effect"
import { Count, Generation, Millis, OwnerId, ThreadId } from "./Identifiers.ts"
import { LaneHead } from "./LaneReport.ts"
import { openLiterals, openUnion } from "./Open.ts"
import { RecoveryFault } from "./Recovery.ts"

export const WorkKind = openLiterals([
  "visit",
  "recover",
  "dispatch",
  "binding",
  "held",
  "forget",
  "outbox",
]).annotate({
  identifier: "WorkKind",
  description: "The kinds of work a lane can need from its owner.",
})
export type WorkKind = typeof WorkKind.Type

export const MaintenancePassReport = Schema.Struct({
  phase: openLiterals(["caught-up", "actionable"]).annotateKey({
    description: "`caught-up`: nothing was due.",
  }),
  recovered: Count.annotateKey({ description: "Threads whose recovery repaired something." }),
  settled: Count,
  nonterminal: Count.annotateKey({
    description: "Nonterminal submissions of the owner at its end.",
  }),
  alarm: openLiterals(["rearmed", "cleared"]),
  startedAt: Millis,
  endedAt: Millis,
  actorCalls: Count.annotateKey({
    description: "Calls of thread actors, and of the owner registry.",
  }),
  endedBy: openLiterals(["quiescent", "yield", "ceiling", "calls", "failure"]),
}).annotate({
  identifier: "MaintenancePassReport",
  description: "One maintenance event, as it ended.",
})
export type MaintenancePassReport = typeof MaintenancePassReport.Type

export const HostLaneStatus = Schema.Struct({
  name: Schema.String,
  state: openLiterals(["idle", "waiting", "running", "stopped"]).annotateKey({
    description:
      "`idle`: it wants no wave. `stopped`: its turns held the owner for too long; another version of the " +
      "deployment starts it again.",
  }),
  nextAt: Schema.optionalKey(Millis).annotateKey({ description: "When its next wave is due." }),
  failures: Count.annotateKey({ description: "Waves in a row that failed." }),
  stopped: Schema.optionalKey(Schema.String).annotateKey({
    description: "The version of the deployment that stopped it.",
  }),
}).annotate({
  identifier: "HostLaneStatus",
  description: "A host lane: work of the application's own in its owner.",
})
export type HostLaneStatus = typeof HostLaneStatus.Type

export const OwnerTotals = Schema.Struct({
  accepted: Count.annotateKey({ description: "Submissions that were admitted." }),
  completed: Count,
  failed: Count,
  aborted: Count,
  attempts: Count.annotateKey({ description: "Attempts that turns have started." }),
  faults: Count.annotateKey({ description: "Threads that could not be recovered." }),
  passes: Count,
  passMillis: Count.annotateKey({ description: "How long all passes took together." }),
  passCalls: Count.annotateKey({ description: "Calls that all passes made." }),
  rowsRead: Count.annotateKey({ description: "By the owner itself; threads not counted." }),
  rowsWritten: Count,
  alarmWrites: Count,
}).annotate({
  identifier: "OwnerTotals",
  description:
    "What an owner has counted since its tables were made. After a crash a few of what was counted last may be missing.",
})
export type OwnerTotals = typeof OwnerTotals.Type

export const MaintenanceStatus = Schema.Struct({
  ownerId: OwnerId,
  dirty: Schema.optionalKey(Generation).annotateKey({
    description: "The newest generation; absent for an untouched owner.",
  }),
  processed: Schema.optionalKey(Generation).annotateKey({
    description:
      "The newest generation below which nothing is enrolled; absent when too many lanes " +
      "have work to tell.",
  }),
  nonterminal: Count,
  lanes: Count,
  dueLanes: Count.annotateKey({ description: 'Exact to 1,000, then "at least".' }),
  runningLanes: Count.annotateKey({
    description: "Of which an attempt may run; a faulted lane counts as faulted alone.",
  }),
  faultedLanes: Count,
  unfinishedPasses: Count.annotateKey({
    description: "Passes that began and did not finish, in a row.",
  }),
  alarmAt: Schema.optionalKey(Millis),
  lastServedThreadId: Schema.optionalKey(ThreadId),
  lastRecoveredThreadId: Schema.optionalKey(ThreadId),
  lastPass: Schema.optionalKey(MaintenancePassReport),
  queueAgeMillis: Schema.optionalKey(Count).annotateKey({
    description: "How long the lane has waited that is due first; 0 when none is due.",
  }),
  totals: Schema.optionalKey(OwnerTotals),
  passes: Schema.optionalKey(Schema.Array(MaintenancePassReport)).annotateKey({
    description:
      "The last passes that found something due, the newest first, at most `passesKept`. Of the present life only: they " +
      "are kept in memory, and absent where there was none or an older deployment answered.",
  }),
  hostLanes: Schema.optionalKey(Schema.Array(HostLaneStatus)).annotateKey({
    description: "Absent in a deployment without host lanes.",
  }),
}).annotate({ identifier: "MaintenanceStatus" })
export type MaintenanceStatus = typeof MaintenanceStatus.Type

export const Condemned = Schema.Struct({
  author: Schema.String,
  reason: Schema.String,
  abort: Schema.Boolean,
  sinceAt: Millis,
}).annotate({
  identifier: "Condemned",
  description:
    "Who had a thread condemned, why, and since when; `abort` tells whether what it owes " +
    "is aborted first.",
})
export type Condemned = typeof Condemned.Type

export const LaneStatus = Schema.Struct({
  threadId: ThreadId,
  known: Schema.Boolean.annotateKey({
    description: "Whether the owner has a row for it; all else is empty without one.",
  }),
  work: Schema.optionalKey(WorkKind).annotateKey({
    description: "What the lane needs next from the owner, and when.",
  }),
  workAt: Schema.optionalKey(Millis),
  outboxAt: Schema.optionalKey(Millis).annotateKey({
    description: "When what the thread has recorded for others is carried next.",
  }),
  publishAt: Schema.optionalKey(Millis).annotateKey({
    description: "When records of the thread are given to the deployment's sink next.",
  }),
  enrolled: Schema.optionalKey(Generation).annotateKey({
    description: "Set while a mutation of unknown fate may have reached the thread.",
  }),
  mustVisit: Schema.Boolean,
  suspect: Schema.Boolean.annotateKey({ description: "Its last call ended without an answer." }),
  paused: Schema.Boolean,
  running: Schema.Boolean,
  nonterminal: Count,
  head: Schema.optionalKey(LaneHead),
  backoffUntilAt: Schema.optionalKey(Millis),
  unchangedTurns: Count.annotateKey({ description: "Answers in a row that changed nothing." }),
  stalledUntilAt: Schema.optionalKey(Millis),
  binding: Schema.optionalKey(
    Schema.Struct({ attempts: Count, notBefore: Millis, name: Schema.optionalKey(Schema.String) }),
  ).annotateKey({ description: "The agent of the head is not in this deployment." }),
  fault: Schema.optionalKey(RecoveryFault).annotateKey({ description: "Its recovery is blocked." }),
  condemned: Schema.optionalKey(Condemned).annotateKey({
    description:
      "It is to be forgotten: nothing else happens for it, and it takes no input or command.",
  }),
}).annotate({
  identifier: "LaneStatus",
  description: "How the owner sees one thread: why it runs, or does not.",
})
export type LaneStatus = typeof LaneStatus.Type

export const WatchFrame = openUnion([
  Schema.TaggedStruct("Opened", { faultedLanes: Count }),
  Schema.TaggedStruct("Lane", { lane: LaneStatus }),
  Schema.TaggedStruct("Gap", { dropped: Count }).annotate({
    description: "This watcher was too slow; so many changed lanes were not told.",
  }),
  Schema.TaggedStruct("Ended", {}),
]).annotate({
  identifier: "WatchFrame",
  description:
    "What `watch` streams. `Opened` comes first, then every lane with a fault; from then " +
    "on each lane as it changes, the newest state only. `Ended` comes last, when nothing " +
    "changed for a while: watch again.",
})
export type WatchFrame = typeof WatchFrame.Type

/**
 * `OwnerRpc`: what an owner object serves. Every mutation of any of its threads goes through it.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { AbortErrors, AbortFields, AbortReply } from "./Abort.ts"
import { admits, CallerMiddleware, SpeaksFor } from "./Authorization.ts"
import { AbortManyReply, BulkFields, RetryManyReply } from "./Bulk.ts"
import { CommonErrors, StorageFull, WorkOwed } from "./Errors.ts"
import { ForgetFields, ForgetReply } from "./Forget.ts"
import { Count, OwnerId, ThreadId } from "./Identifiers.ts"
import { LaneReport } from "./LaneReport.ts"
import { LaneStatus, MaintenancePassReport, MaintenanceStatus, WatchFrame } from "./Maintenance.ts"
import { ListThreadsFields, ThreadPage } from "./ListThreads.ts"
import { ObligationPage, ObligationsFields } from "./Obligation.ts"
import { Message } from "./Outbox.ts"
import { PauseFields, PauseReply } from "./Pause.ts"
import { RecoveryFault } from "./Recovery.ts"
import {
  ResolveApprovalErrors,
  ResolveApprovalFields,
  ResolveApprovalReply,
} from "./ResolveApproval.ts"
import {
  ResolveUnknownFields,
  ResolveUnknownRefusal,
  ResolveUnknownReply,
} from "./ResolveUnknown.ts"
import { ResubmitErrors, ResubmitFields } from "./Resubmit.ts"
import { RetryErrors, RetryFields, RetryReply } from "./Retry.ts"
import {
  Schedule,
  ScheduleErrors,
  ScheduleFields,
  UnscheduleErrors,
  UnscheduleFields,
  UnscheduleReply,
} from "./Schedule.ts"
import { SignalErrors, SignalFields, SignalReply } from "./Signal.ts"
import { RebuildProjectionsReply, SearchFields, SearchPage } from "./Search.ts"
import { Receipt, SubmitFields } from "./Submission.ts"
import { SubmitErrors, SubmitManyErrors, SubmitManyFields, SubmitManyReply } from "./SubmitMany.ts"

const Address = { ownerId: OwnerId, threadId: ThreadId }
const Common = Schema.Union(CommonErrors)

const submit = Rpc.make("submit", {
  payload: SubmitFields,
  success: Receipt,
  error: SubmitErrors,
}).pipe(admits("Principal"))

/** One enrolment for all lanes, one call and one block in each thread. */
const submitMany = Rpc.make("submitMany", {
  payload: SubmitManyFields,
  success: SubmitManyReply,
  error: SubmitManyErrors,
}).pipe(admits("Principal"))

const resubmit = Rpc.make("resubmit", {
  payload: ResubmitFields,
  success: Receipt,
  error: ResubmitErrors,
}).pipe(admits("Principal"))

/** Each effect passes the gate for itself, as one `retry`. A dry run reads. */
const retryMany = Rpc.make("retryMany", {
  payload: BulkFields,
  success: RetryManyReply,
  error: Common,
}).pipe(admits("Principal"))

/** Each effect passes the gate for itself, as one `abort`. A dry run reads. */
const abortMany = Rpc.make("abortMany", {
  payload: BulkFields,
  success: AbortManyReply,
  error: Common,
}).pipe(admits("Principal"))

const abort = Rpc.make("abort", {
  payload: AbortFields,
  success: AbortReply,
  error: AbortErrors,
}).pipe(admits("Principal"))

/** All that a resolution can answer besides its reply. */
export const ResolveUnknownErrors = Schema.Union([
  ...CommonErrors,
  ...ResolveUnknownRefusal.members,
  StorageFull,
])

const resolveUnknown = Rpc.make("resolveUnknown", {
  payload: ResolveUnknownFields,
  success: ResolveUnknownReply,
  error: ResolveUnknownErrors,
}).pipe(admits("Principal"))

const resolveApproval = Rpc.make("resolveApproval", {
  payload: ResolveApprovalFields,
  success: ResolveApprovalReply,
  error: ResolveApprovalErrors,
}).pipe(admits("Principal"))

const signal = Rpc.make("signal", {
  payload: SignalFields,
  success: SignalReply,
  error: SignalErrors,
}).pipe(admits("Principal"))

/** A signal by a token: the thread has told which wait it is for. Its own name, by which the policy is asked. */
const callback = Rpc.make("callback", {
  payload: SignalFields,
  success: SignalReply,
  error: SignalErrors,
}).pipe(admits("Principal"))

const schedule = Rpc.make("schedule", {
  payload: ScheduleFields,
  success: Schedule,
  error: ScheduleErrors,
}).pipe(admits("Principal"))

const unschedule = Rpc.make("unschedule", {
  payload: UnscheduleFields,
  success: UnscheduleReply,
  error: UnscheduleErrors,
}).pipe(admits("Principal"))

/**
 * A message of another owner's thread, for one of this owner's. Denied unless this deployment's rule lets that
 * source in. Taken once by its id: the first receipt again is its answer.
 */
const deliver = Rpc.make("deliver", {
  payload: {
    ...Address,
    message: Message,
    /** The agents that the sending thread's code knows: a refusal for a missing one is final only if they agree. */
    agentsDigest: Schema.optionalKey(Schema.String.check(Schema.isMaxLength(64))),
  },
  success: Receipt,
  error: SubmitErrors,
})
  .annotate(SpeaksFor, ({ message }: { readonly message: Message }) => message.from.ownerId)
  .pipe(admits("Owner"))

/** Clears the fault's wait, the backoff and the stall of the lane, then has the thread retry. */
const retry = Rpc.make("retry", {
  payload: RetryFields,
  success: RetryReply,
  error: RetryErrors,
}).pipe(admits("Principal"))

/** All that a pause or resume can answer besides its reply. */
export const PauseErrors = Schema.Union([...CommonErrors, StorageFull])

const pauseThread = Rpc.make("pauseThread", {
  payload: PauseFields,
  success: PauseReply,
  error: PauseErrors,
}).pipe(admits("Principal"))

const resumeThread = Rpc.make("resumeThread", {
  payload: PauseFields,
  success: PauseReply,
  error: PauseErrors,
}).pipe(admits("Principal"))

/** All that a forgetting can answer besides its reply. */
export const ForgetErrors = Schema.Union([...CommonErrors, WorkOwed])

/** Condemns the lane, durably; the pass deletes what the thread holds once no mutation is active. */
const forgetThread = Rpc.make("forgetThread", {
  payload: ForgetFields,
  success: ForgetReply,
  error: ForgetErrors,
}).pipe(admits("Principal"))

/** Everything still owed, with what is in its way and its age. A bounded read, paged by thread id. */
const obligations = Rpc.make("obligations", {
  payload: ObligationsFields,
  success: ObligationPage,
  error: Common,
}).pipe(admits("Principal"))

/** A hint from a thread: guarded by its revision, not enrolled, may be lost. */
const report = Rpc.make("report", {
  payload: { ...Address, report: LaneReport },
  success: Schema.Void,
  error: Common,
}).pipe(admits("Thread"))

/** Ends the stall and the backoff of a lane and has it visited. Clears no fault. */
const wake = Rpc.make("wake", {
  payload: Address,
  success: LaneStatus,
  error: Common,
}).pipe(admits("Principal"))

/** The threads of one `reconcile`: 1 to 1,000. */
export const ReconcileFields = {
  ownerId: OwnerId,
  threadIds: Schema.Array(ThreadId).check(Schema.isMinLength(1), Schema.isMaxLength(1_000)),
}

export const ReconcileReply = Schema.Struct({ enrolled: Count }).annotate({
  identifier: "ReconcileReply",
  description: "How many lanes will be visited.",
})

/**
 * Forgets what the owner believes of these threads and visits them, fenced: an owner that was lost, or
 * restored from a backup, is rebuilt from its threads' ids. Clears no fault, stall or backoff.
 */
const reconcile = Rpc.make("reconcile", {
  payload: ReconcileFields,
  success: ReconcileReply,
  error: Common,
}).pipe(admits("Principal"))

const laneStatus = Rpc.make("laneStatus", {
  payload: Address,
  success: LaneStatus,
  error: Common,
}).pipe(admits("Principal"))

/**
 * The recorded fault of one thread: a bounded local read; never reads a journal, never calls the
 * thread. None means no recorded fault, not proof of health.
 */
const recoveryStatus = Rpc.make("recoveryStatus", {
  payload: Address,
  success: Schema.OptionFromNullOr(RecoveryFault),
  error: Common,
}).pipe(admits("Principal"))

const maintenanceStatus = Rpc.make("maintenanceStatus", {
  payload: { ownerId: OwnerId },
  success: MaintenanceStatus,
  error: Common,
}).pipe(admits("Principal"))

/**
 * The cron's look at an owner: like any entry it repairs the alarm, and it tells whether anything is
 * owed: open submissions, a pass, or an alarm. A read.
 */
const look = Rpc.make("look", {
  payload: { ownerId: OwnerId },
  success: Schema.Struct({ owes: Schema.Boolean }),
  error: Common,
}).pipe(admits("Scheduler"))

export const RunMaintenanceReply = Schema.Union([
  Schema.TaggedStruct("Finished", { pass: MaintenancePassReport }),
  Schema.TaggedStruct("Pending", {}).annotate({
    description: "No pass ended within the time; the alarm is armed.",
  }),
]).annotate({ identifier: "RunMaintenanceReply" })
export type RunMaintenanceReply = typeof RunMaintenanceReply.Type

/** Arms the alarm and waits for a pass; it never runs one in its own request. */
const runMaintenance = Rpc.make("runMaintenance", {
  payload: { ownerId: OwnerId, timeoutMillis: Schema.optionalKey(Count) },
  success: RunMaintenanceReply,
  error: Common,
}).pipe(admits("Principal"))

/** Lane changes and faults as they appear and clear. */
const watch = Rpc.make("watch", {
  payload: { ownerId: OwnerId },
  success: WatchFrame,
  error: Common,
  stream: true,
}).pipe(admits("Principal"))

const listThreads = Rpc.make("listThreads", {
  payload: ListThreadsFields,
  success: ThreadPage,
  error: Common,
}).pipe(admits("Principal"))

const search = Rpc.make("search", {
  payload: SearchFields,
  success: SearchPage,
  error: Common,
}).pipe(admits("Principal"))

/** Empties the directory and the search index, and has them built anew from the lanes and their threads. */
const rebuildProjections = Rpc.make("rebuildProjections", {
  payload: { ownerId: OwnerId },
  success: RebuildProjectionsReply,
  error: Common,
}).pipe(admits("Principal"))

export class OwnerRpc extends RpcGroup.make(
  submit,
  submitMany,
  resubmit,
  abort,
  abortMany,
  resolveApproval,
  resolveUnknown,
  signal,
  callback,
  schedule,
  unschedule,
  deliver,
  retry,
  retryMany,
  pauseThread,
  resumeThread,
  forgetThread,
  obligations,
  report,
  wake,
  reconcile,
  laneStatus,
  recoveryStatus,
  maintenanceStatus,
  look,
  runMaintenance,
  listThreads,
  search,
  rebuildProjections,
  watch,
).middleware(CallerMiddleware) {}

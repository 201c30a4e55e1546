/**
 * `HeddleRpc`: the public contract, served by an edge over a service binding or HTTPS. No client can
 * name a method of `ThreadRpc` or `OwnerRpc`.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { AbortErrors, AbortFields, AbortReply } from "./Abort.ts"
import { EdgeMiddleware } from "./Authorization.ts"
import { AbortManyReply, BulkFields, RetryManyReply } from "./Bulk.ts"
import { CallbackFields } from "./Callback.ts"
import { CommonErrors, SubmissionNotFound, ThreadUnreadable } from "./Errors.ts"
import { Description } from "./Description.ts"
import { ExplainFields, RecoveryExplanation } from "./Explain.ts"
import { ForgetFields, ForgetReply } from "./Forget.ts"
import { Count, OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { HistoryPage, ObserveFrame, ThreadState } from "./JournalRecord.ts"
import { ListThreadsFields, ThreadPage } from "./ListThreads.ts"
import { LaneStatus, MaintenanceStatus, WatchFrame } from "./Maintenance.ts"
import { ObligationPage, ObligationsFields } from "./Obligation.ts"
import {
  ForgetErrors,
  PauseErrors,
  ReconcileFields,
  ReconcileReply,
  ResolveUnknownErrors,
  RunMaintenanceReply,
} from "./OwnerRpc.ts"
import { PauseFields, PauseReply } from "./Pause.ts"
import { RecoveryFault } from "./Recovery.ts"
import { ListOwnersFields, OwnerPage } from "./RegistryRpc.ts"
import {
  ResolveApprovalErrors,
  ResolveApprovalFields,
  ResolveApprovalReply,
} from "./ResolveApproval.ts"
import { ResolveUnknownFields, ResolveUnknownReply } from "./ResolveUnknown.ts"
import { ResubmitErrors, ResubmitFields } from "./Resubmit.ts"
import { RetryErrors, RetryFields, RetryReply } from "./Retry.ts"
import {
  Schedule,
  ScheduleErrors,
  ScheduleFields,
  SchedulePage,
  SchedulesFields,
  UnscheduleErrors,
  UnscheduleFields,
  UnscheduleReply,
} from "./Schedule.ts"
import { RebuildProjectionsReply, SearchFields, SearchPage } from "./Search.ts"
import { AwaitSettlementReply, SubmissionStatus } from "./Settlement.ts"
import { SignalErrors, SignalFields, SignalReply } from "./Signal.ts"
import { Receipt, SubmitFields } from "./Submission.ts"
import { SubmitErrors, SubmitManyErrors, SubmitManyFields, SubmitManyReply } from "./SubmitMany.ts"
import { HistoryFields } from "./ThreadRpc.ts"
import { VerifyFields, VerifyReply } from "./Verify.ts"

const Address = { ownerId: OwnerId, threadId: ThreadId }
const Common = Schema.Union(CommonErrors)
const ReadErrors = Schema.Union([...CommonErrors, SubmissionNotFound, ThreadUnreadable])

export class HeddleRpc extends RpcGroup.make(
  Rpc.make("submit", { payload: SubmitFields, success: Receipt, error: SubmitErrors }).annotate(
    Description,
    "Has an input processed after all that were accepted by this thread before it.",
  ),
  Rpc.make("submitMany", {
    payload: SubmitManyFields,
    success: SubmitManyReply,
    error: SubmitManyErrors,
  }).annotate(
    Description,
    "Has many inputs processed, of any threads of the owner, each as `submit` would: those of one thread in " +
      "their order. Each is accepted or refused for itself.",
  ),
  Rpc.make("resubmit", {
    payload: ResubmitFields,
    success: Receipt,
    error: ResubmitErrors,
  }).annotate(
    Description,
    "Does the work of a failed or aborted submission once more, as a new submission that is linked to it: the same " +
      "agent, and the same input unless another is given.",
  ),
  Rpc.make("abort", { payload: AbortFields, success: AbortReply, error: AbortErrors }).annotate(
    Description,
    "Ends a submission `aborted`, unless it has settled: at once, or after a grace while " +
      "it runs.",
  ),
  Rpc.make("resolveApproval", {
    payload: ResolveApprovalFields,
    success: ResolveApprovalReply,
    error: ResolveApprovalErrors,
  }).annotate(Description, "Approves or denies what a run has asked for, and lets it go on."),
  Rpc.make("signal", {
    payload: SignalFields,
    success: SignalReply,
    error: SignalErrors,
  }).annotate(
    Description,
    "Gives a run the value that it waits for; one that has not asked yet finds it when it does.",
  ),
  Rpc.make("callback", {
    payload: CallbackFields,
    success: SignalReply,
    error: SignalErrors,
  }).annotate(
    Description,
    "Signals with a token that a run gave away: the token is the right to, and names the wait.",
  ),
  Rpc.make("schedule", {
    payload: ScheduleFields,
    success: Schedule,
    error: ScheduleErrors,
  }).annotate(
    Description,
    "Gives a thread an input at each time of a cron expression; the same name again replaces it.",
  ),
  Rpc.make("schedules", {
    payload: SchedulesFields,
    success: SchedulePage,
    error: Schema.Union([...CommonErrors, ThreadUnreadable]),
  }).annotate(Description, "The schedules of a thread, by name, a page at a time."),
  Rpc.make("unschedule", {
    payload: UnscheduleFields,
    success: UnscheduleReply,
    error: UnscheduleErrors,
  }).annotate(Description, "Cancels a schedule; what it has given the thread already stays."),
  Rpc.make("resolveUnknown", {
    payload: ResolveUnknownFields,
    success: ResolveUnknownReply,
    error: ResolveUnknownErrors,
  }).annotate(
    Description,
    "Decides an ordinary tool call of which nobody knows whether it happened.",
  ),
  Rpc.make("retry", { payload: RetryFields, success: RetryReply, error: RetryErrors }).annotate(
    Description,
    "Has a submission go on at once, and its parked messages carried again. Clears the lane's fault, backoff and " +
      "stall; bypasses no evidence.",
  ),
  Rpc.make("retryMany", { payload: BulkFields, success: RetryManyReply, error: Common }).annotate(
    Description,
    "Retries every open submission that the filter means, a page at a time, each as `retry` would; a dry run only " +
      "tells which.",
  ),
  Rpc.make("abortMany", { payload: BulkFields, success: AbortManyReply, error: Common }).annotate(
    Description,
    "Aborts every open submission that the filter means, a page at a time, each as `abort` would; a dry run only " +
      "tells which.",
  ),
  Rpc.make("pauseThread", {
    payload: PauseFields,
    success: PauseReply,
    error: PauseErrors,
  }).annotate(
    Description,
    "A paused thread accepts and gives receipts, and starts nothing until it is resumed.",
  ),
  Rpc.make("resumeThread", {
    payload: PauseFields,
    success: PauseReply,
    error: PauseErrors,
  }).annotate(
    Description,
    "Lets a paused thread start its work again. Resuming one that is not paused changes nothing.",
  ),
  Rpc.make("forgetThread", {
    payload: ForgetFields,
    success: ForgetReply,
    error: ForgetErrors,
  }).annotate(
    Description,
    "Deletes all that a thread holds, for ever; refuses with `WorkOwed` unless told to " +
      "abort first.",
  ),
  Rpc.make("explain", {
    payload: ExplainFields,
    success: Schema.Array(RecoveryExplanation),
    error: ReadErrors,
  }).annotate(
    Description,
    "Why it does not run: the thread's own view, completed by the owner's. Writes nothing.",
  ),
  Rpc.make("verify", { payload: VerifyFields, success: VerifyReply, error: ReadErrors }).annotate(
    Description,
    "Whether the history and the ledger of a thread hold together, a page at a time. " +
      "Writes nothing.",
  ),
  Rpc.make("obligations", {
    payload: ObligationsFields,
    success: ObligationPage,
    error: Common,
  }).annotate(Description, "Everything an owner still owes, with what is in its way and its age."),
  Rpc.make("awaitSettlement", {
    payload: {
      ...Address,
      submissionId: SubmissionId,
      timeoutMillis: Schema.optionalKey(Count).annotateKey({
        description: "How long to wait, at most five minutes, which is the default.",
      }),
    },
    success: AwaitSettlementReply,
    error: ReadErrors,
  }).annotate(Description, "Waits up to five minutes; `Pending` is not a failure, call again."),
  Rpc.make("status", {
    payload: { ...Address, submissionId: SubmissionId },
    success: SubmissionStatus,
    error: ReadErrors,
  }).annotate(
    Description,
    "Where one submission stands now, with its settlement once there is one. Waits for nothing.",
  ),
  Rpc.make("history", { payload: HistoryFields, success: HistoryPage, error: ReadErrors }).annotate(
    Description,
    "A page of the records of a thread, forwards or backwards.",
  ),
  Rpc.make("observe", {
    payload: {
      ...Address,
      after: Schema.optionalKey(Count).annotateKey({
        description: "The last sequence that was seen; absent starts at the beginning.",
      }),
    },
    success: ObserveFrame,
    error: ReadErrors,
    stream: true,
  }).annotate(
    Description,
    "Every record after a sequence, once and in order, then those to come. Ends with a " +
      "cursor.",
  ),
  Rpc.make("readState", { payload: Address, success: ThreadState, error: ReadErrors }).annotate(
    Description,
    "The application's own value of a thread, as the last run that changed it left it.",
  ),
  Rpc.make("wake", { payload: Address, success: LaneStatus, error: Common }).annotate(
    Description,
    "Ends the stall and the backoff of a lane and has it visited. Clears no fault.",
  ),
  Rpc.make("reconcile", {
    payload: ReconcileFields,
    success: ReconcileReply,
    error: Common,
  }).annotate(
    Description,
    "Forgets what the owner believes of these threads and visits them, fenced.",
  ),
  Rpc.make("recoveryStatus", {
    payload: Address,
    success: Schema.OptionFromNullOr(RecoveryFault),
    error: Common,
  }).annotate(
    Description,
    "The recorded fault of one thread. None means no recorded fault, not proof of health.",
  ),
  Rpc.make("maintenanceStatus", {
    payload: { ownerId: OwnerId },
    success: MaintenanceStatus,
    error: Common,
  }).annotate(Description, "What an owner knows of its own work: passes, lanes, the alarm."),
  Rpc.make("runMaintenance", {
    payload: {
      ownerId: OwnerId,
      timeoutMillis: Schema.optionalKey(Count).annotateKey({
        description: "How long to wait for the pass.",
      }),
    },
    success: RunMaintenanceReply,
    error: Common,
  }).annotate(Description, "Arms the alarm and waits for a pass."),
  Rpc.make("listThreads", {
    payload: ListThreadsFields,
    success: ThreadPage,
    error: Common,
  }).annotate(
    Description,
    "The threads of an owner, a page at a time, by id or by their last activity: all of them, or those that stand as " +
      "is said, or whose title or id has a text.",
  ),
  Rpc.make("search", { payload: SearchFields, success: SearchPage, error: Common }).annotate(
    Description,
    "Full text over the titles of an owner's threads and, where the deployment says so, over how their submissions " +
      "ended. Needs a grant for all threads of the owner.",
  ),
  Rpc.make("rebuildProjections", {
    payload: { ownerId: OwnerId },
    success: RebuildProjectionsReply,
    error: Common,
  }).annotate(
    Description,
    "Empties what `listThreads` and `search` are answered from, and has it built anew. No work is touched.",
  ),
  Rpc.make("listOwners", { payload: ListOwnersFields, success: OwnerPage, error: Common }).annotate(
    Description,
    "The owners of this deployment, by id. Needs a grant for all owners: a bare `*`.",
  ),
  Rpc.make("watch", {
    payload: { ownerId: OwnerId },
    success: WatchFrame,
    error: Common,
    stream: true,
  }).annotate(Description, "Lane changes and faults as they appear and clear."),
).middleware(EdgeMiddleware) {}

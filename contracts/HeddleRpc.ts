/**
 * `HeddleRpc`: the public contract, served by an edge over a service binding or HTTPS. No client can
 * name a method of `ThreadRpc` or `OwnerRpc`.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { AbortFields, AbortReply } from "./Abort.ts"
import { EdgeMiddleware } from "./Authorization.ts"
import { CommonErrors, SubmissionNotFound, ThreadUnreadable } from "./Errors.ts"
import { ExplainFields, RecoveryExplanation } from "./Explain.ts"
import { ForgetFields, ForgetReply } from "./Forget.ts"
import { Count, OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { HistoryPage, ObserveFrame, ThreadState } from "./JournalRecord.ts"
import { LaneStatus, MaintenanceStatus, ThreadPage, WatchFrame } from "./Maintenance.ts"
import { ObligationPage, ObligationsFields } from "./Obligation.ts"
import {
  AbortErrors,
  ForgetErrors,
  ListThreadsFields,
  PauseErrors,
  ReconcileFields,
  ReconcileReply,
  ResolveUnknownErrors,
  RetryErrors,
  RunMaintenanceReply,
  SubmitErrors,
} from "./OwnerRpc.ts"
import { PauseFields, PauseReply } from "./Pause.ts"
import { RecoveryFault } from "./Recovery.ts"
import { ListOwnersFields, OwnerPage } from "./RegistryRpc.ts"
import { ResolveUnknownFields, ResolveUnknownReply } from "./ResolveUnknown.ts"
import { RetryFields, RetryReply } from "./Retry.ts"
import { AwaitSettlementReply, SubmissionStatus } from "./Settlement.ts"
import { Receipt, SubmitFields } from "./Submission.ts"
import { HistoryFields } from "./ThreadRpc.ts"
import { VerifyFields, VerifyReply } from "./Verify.ts"

const Address = { ownerId: OwnerId, threadId: ThreadId }
const Common = Schema.Union(CommonErrors)
const ReadErrors = Schema.Union([...CommonErrors, SubmissionNotFound, ThreadUnreadable])

export class HeddleRpc extends RpcGroup.make(
  /** Has an input processed after all that were accepted by this thread before it. */
  Rpc.make("submit", { payload: SubmitFields, success: Receipt, error: SubmitErrors }),
  /** Ends a submission `aborted`, unless it has settled: at once, or after a grace while it runs. */
  Rpc.make("abort", { payload: AbortFields, success: AbortReply, error: AbortErrors }),
  /** Decides an ordinary tool call of which nobody knows whether it happened. */
  Rpc.make("resolveUnknown", {
    payload: ResolveUnknownFields,
    success: ResolveUnknownReply,
    error: ResolveUnknownErrors,
  }),
  /** Has a submission go on at once. Clears the lane's fault, backoff and stall; bypasses no evidence. */
  Rpc.make("retry", { payload: RetryFields, success: RetryReply, error: RetryErrors }),
  /** A paused thread accepts and gives receipts, and starts nothing until it is resumed. */
  Rpc.make("pauseThread", { payload: PauseFields, success: PauseReply, error: PauseErrors }),
  Rpc.make("resumeThread", { payload: PauseFields, success: PauseReply, error: PauseErrors }),
  /** Deletes all that a thread holds, for ever; refuses with `WorkOwed` unless told to abort first. */
  Rpc.make("forgetThread", { payload: ForgetFields, success: ForgetReply, error: ForgetErrors }),
  /** Why it does not run: the thread's own view, completed by the owner's. Writes nothing. */
  Rpc.make("explain", {
    payload: ExplainFields,
    success: Schema.Array(RecoveryExplanation),
    error: ReadErrors,
  }),
  /** Whether the history and the ledger of a thread hold together, a page at a time. Writes nothing. */
  Rpc.make("verify", { payload: VerifyFields, success: VerifyReply, error: ReadErrors }),
  /** Everything an owner still owes, with what is in its way and its age. */
  Rpc.make("obligations", {
    payload: ObligationsFields,
    success: ObligationPage,
    error: Common,
  }),
  /** Waits up to five minutes; `Pending` is not a failure, call again. */
  Rpc.make("awaitSettlement", {
    payload: { ...Address, submissionId: SubmissionId, timeoutMillis: Schema.optionalKey(Count) },
    success: AwaitSettlementReply,
    error: ReadErrors,
  }),
  Rpc.make("status", {
    payload: { ...Address, submissionId: SubmissionId },
    success: SubmissionStatus,
    error: ReadErrors,
  }),
  Rpc.make("history", { payload: HistoryFields, success: HistoryPage, error: ReadErrors }),
  /** Every record after a sequence, once and in order, then those to come. Ends with a cursor. */
  Rpc.make("observe", {
    payload: { ...Address, after: Schema.optionalKey(Count) },
    success: ObserveFrame,
    error: ReadErrors,
    stream: true,
  }),
  Rpc.make("readState", { payload: Address, success: ThreadState, error: ReadErrors }),
  /** Ends the stall and the backoff of a lane and has it visited. Clears no fault. */
  Rpc.make("wake", { payload: Address, success: LaneStatus, error: Common }),
  /** Forgets what the owner believes of these threads and visits them, fenced. */
  Rpc.make("reconcile", { payload: ReconcileFields, success: ReconcileReply, error: Common }),
  /** The recorded fault of one thread. None means no recorded fault, not proof of health. */
  Rpc.make("recoveryStatus", {
    payload: Address,
    success: Schema.OptionFromNullOr(RecoveryFault),
    error: Common,
  }),
  Rpc.make("maintenanceStatus", {
    payload: { ownerId: OwnerId },
    success: MaintenanceStatus,
    error: Common,
  }),
  /** Arms the alarm and waits for a pass. */
  Rpc.make("runMaintenance", {
    payload: { ownerId: OwnerId, timeoutMillis: Schema.optionalKey(Count) },
    success: RunMaintenanceReply,
    error: Common,
  }),
  Rpc.make("listThreads", { payload: ListThreadsFields, success: ThreadPage, error: Common }),
  /** The owners of this deployment, by id. Needs a grant for all owners: a bare `*`. */
  Rpc.make("listOwners", { payload: ListOwnersFields, success: OwnerPage, error: Common }),
  /** Lane changes and faults as they appear and clear. */
  Rpc.make("watch", {
    payload: { ownerId: OwnerId },
    success: WatchFrame,
    error: Common,
    stream: true,
  }),
).middleware(EdgeMiddleware) {}

/**
 * `HeddleRpc`: the public contract, served by an edge over a service binding or HTTPS. No client can
 * name a method of `ThreadRpc` or `OwnerRpc`.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { AbortFields, AbortReply } from "./Abort.ts"
import { EdgeMiddleware } from "./Authorization.ts"
import { CommonErrors, SubmissionNotFound, ThreadUnreadable } from "./Errors.ts"
import { Count, OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { HistoryPage, ObserveFrame, ThreadState } from "./JournalRecord.ts"
import { LaneStatus, MaintenanceStatus, ThreadPage, WatchFrame } from "./Maintenance.ts"
import {
  AbortErrors,
  ListThreadsFields,
  ReconcileFields,
  ReconcileReply,
  RunMaintenanceReply,
  SubmitErrors,
} from "./OwnerRpc.ts"
import { RecoveryFault } from "./Recovery.ts"
import { ListOwnersFields, OwnerPage } from "./RegistryRpc.ts"
import { AwaitSettlementReply, SubmissionStatus } from "./Settlement.ts"
import { Receipt, SubmitFields } from "./Submission.ts"
import { HistoryFields } from "./ThreadRpc.ts"

const Address = { ownerId: OwnerId, threadId: ThreadId }
const Common = Schema.Union(CommonErrors)
const ReadErrors = Schema.Union([...CommonErrors, SubmissionNotFound, ThreadUnreadable])

export class HeddleRpc extends RpcGroup.make(
  /** Has an input processed after all that were accepted by this thread before it. */
  Rpc.make("submit", { payload: SubmitFields, success: Receipt, error: SubmitErrors }),
  /** Ends a submission `aborted`, unless it has settled: at once, or after a grace while it runs. */
  Rpc.make("abort", { payload: AbortFields, success: AbortReply, error: AbortErrors }),
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

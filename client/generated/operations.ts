/**
 * The operations: their types, and what the runtime must know of each.
 *
 * Written by `npm run generate` from contracts/. Do not edit: say it in the contract, and generate
 * again.
 */
import type { CallOptions, OperationShape } from "../sdk/Operations.ts"
import type { HeddleStream } from "../sdk/Stream.ts"
import type * as Errors from "./errors.ts"
import type * as Types from "./types.ts"

/** Every operation of a deployment. */
export interface Operations {
  /**
   * Has an input processed after all that were accepted by this thread before it.
   *
   * Rejects with `AdmissionLimitExceeded`, `AgentNotRegistered`, `IdempotencyConflict`,
   * `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`, `StorageFull`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly submit: (
    payload: Types.SubmitPayload,
    options?: CallOptions,
  ) => Promise<Types.Receipt>

  /**
   * Has many inputs processed, of any threads of the owner, each as `submit` would: those of one
   * thread in their order. Each is accepted or refused for itself.
   *
   * Rejects with `AdmissionLimitExceeded`, `IdentityMismatch`, `InternalDefect`, `InvalidInput`,
   * `OperationDenied`, `StorageFull`, `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`,
   * `Unavailable`.
   */
  readonly submitMany: (
    payload: Types.SubmitManyPayload,
    options?: CallOptions,
  ) => Promise<Types.SubmitManyReply>

  /**
   * Does the work of a failed or aborted submission once more, as a new submission that is linked to
   * it: the same agent, and the same input unless another is given.
   *
   * Rejects with `AdmissionLimitExceeded`, `AgentNotRegistered`, `IdempotencyConflict`,
   * `IdentityMismatch`, `InputPruned`, `InternalDefect`, `InvalidInput`, `JoinedToHost`,
   * `NotSettled`, `OperationDenied`, `SettlementConflict`, `StorageFull`, `StorageUnavailable`,
   * `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`, `Unauthenticated`, `Unavailable`.
   */
  readonly resubmit: (
    payload: Types.ResubmitPayload,
    options?: CallOptions,
  ) => Promise<Types.Receipt>

  /**
   * Ends a submission `aborted`, unless it has settled: at once, or after a grace while it runs.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `JoinedToHost`,
   * `OperationDenied`, `ResolutionConflict`, `SettlementConflict`, `StorageFull`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly abort: (
    payload: Types.AbortPayload,
    options?: CallOptions,
  ) => Promise<Types.AbortReply>

  /**
   * Approves or denies what a run has asked for, and lets it go on.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `JoinedToHost`,
   * `NotAwaiting`, `OperationDenied`, `ResolutionConflict`, `SettlementConflict`, `StorageFull`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly resolveApproval: (
    payload: Types.ResolveApprovalPayload,
    options?: CallOptions,
  ) => Promise<Types.ResolveApprovalReply>

  /**
   * Gives a run the value that it waits for; one that has not asked yet finds it when it does.
   *
   * Rejects with `AdmissionLimitExceeded`, `IdentityMismatch`, `InternalDefect`, `InvalidInput`,
   * `JoinedToHost`, `NotAwaiting`, `OperationDenied`, `ResolutionConflict`, `SettlementConflict`,
   * `StorageFull`, `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`,
   * `ThreadUnreadable`, `Unauthenticated`, `Unavailable`.
   */
  readonly signal: (
    payload: Types.SignalPayload,
    options?: CallOptions,
  ) => Promise<Types.SignalReply>

  /**
   * Signals with a token that a run gave away: the token is the right to, and names the wait.
   *
   * Rejects with `AdmissionLimitExceeded`, `IdentityMismatch`, `InternalDefect`, `InvalidInput`,
   * `JoinedToHost`, `NotAwaiting`, `OperationDenied`, `ResolutionConflict`, `SettlementConflict`,
   * `StorageFull`, `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`,
   * `ThreadUnreadable`, `Unauthenticated`, `Unavailable`.
   */
  readonly callback: (
    payload: Types.CallbackPayload,
    options?: CallOptions,
  ) => Promise<Types.SignalReply>

  /**
   * Gives a thread an input at each time of a cron expression; the same name again replaces it.
   *
   * Rejects with `AdmissionLimitExceeded`, `AgentNotRegistered`, `IdentityMismatch`,
   * `InternalDefect`, `InvalidInput`, `OperationDenied`, `StorageFull`, `StorageUnavailable`,
   * `ThreadForgotten`, `ThreadUnreadable`, `Unauthenticated`, `Unavailable`.
   */
  readonly schedule: (
    payload: Types.SchedulePayload,
    options?: CallOptions,
  ) => Promise<Types.Schedule>

  /**
   * The schedules of a thread, by name, a page at a time.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `ThreadUnreadable`, `Unauthenticated`, `Unavailable`.
   */
  readonly schedules: (
    payload: Types.SchedulesPayload,
    options?: CallOptions,
  ) => Promise<Types.SchedulePage>

  /**
   * Cancels a schedule; what it has given the thread already stays.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageFull`, `StorageUnavailable`, `ThreadForgotten`, `ThreadUnreadable`, `Unauthenticated`,
   * `Unavailable`.
   */
  readonly unschedule: (
    payload: Types.UnschedulePayload,
    options?: CallOptions,
  ) => Promise<Types.UnscheduleReply>

  /**
   * Decides an ordinary tool call of which nobody knows whether it happened.
   *
   * Rejects with `AgentNotRegistered`, `IdentityMismatch`, `InternalDefect`, `InvalidInput`,
   * `NotAwaiting`, `OperationDenied`, `ResolutionConflict`, `SettlementConflict`, `StorageFull`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly resolveUnknown: (
    payload: Types.ResolveUnknownPayload,
    options?: CallOptions,
  ) => Promise<Types.ResolveUnknownReply>

  /**
   * Has a submission go on at once, and its parked messages carried again. Clears the lane's fault,
   * backoff and stall; bypasses no evidence.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `JoinedToHost`,
   * `NotAwaiting`, `OperationDenied`, `SettlementConflict`, `StorageFull`, `StorageUnavailable`,
   * `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`, `Unauthenticated`, `Unavailable`.
   */
  readonly retry: (
    payload: Types.RetryPayload,
    options?: CallOptions,
  ) => Promise<Types.RetryReply>

  /**
   * Retries every open submission that the filter means, a page at a time, each as `retry` would; a
   * dry run only tells which.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly retryMany: (
    payload: Types.RetryManyPayload,
    options?: CallOptions,
  ) => Promise<Types.RetryManyReply>

  /**
   * Aborts every open submission that the filter means, a page at a time, each as `abort` would; a
   * dry run only tells which.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly abortMany: (
    payload: Types.AbortManyPayload,
    options?: CallOptions,
  ) => Promise<Types.AbortManyReply>

  /**
   * A paused thread accepts and gives receipts, and starts nothing until it is resumed.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageFull`, `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly pauseThread: (
    payload: Types.PauseThreadPayload,
    options?: CallOptions,
  ) => Promise<Types.PauseReply>

  /**
   * Lets a paused thread start its work again. Resuming one that is not paused changes nothing.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageFull`, `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly resumeThread: (
    payload: Types.ResumeThreadPayload,
    options?: CallOptions,
  ) => Promise<Types.PauseReply>

  /**
   * Deletes all that a thread holds, for ever; refuses with `WorkOwed` unless told to abort first.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`, `WorkOwed`.
   */
  readonly forgetThread: (
    payload: Types.ForgetThreadPayload,
    options?: CallOptions,
  ) => Promise<Types.ForgetReply>

  /**
   * Why it does not run: the thread's own view, completed by the owner's. Writes nothing.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly explain: (
    payload: Types.ExplainPayload,
    options?: CallOptions,
  ) => Promise<ReadonlyArray<Types.RecoveryExplanation>>

  /**
   * Whether the history and the ledger of a thread hold together, a page at a time. Writes nothing.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly verify: (
    payload: Types.VerifyPayload,
    options?: CallOptions,
  ) => Promise<Types.VerifyReply>

  /**
   * Everything an owner still owes, with what is in its way and its age.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly obligations: (
    payload: Types.ObligationsPayload,
    options?: CallOptions,
  ) => Promise<Types.ObligationPage>

  /**
   * Waits up to five minutes; `Pending` is not a failure, call again.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly awaitSettlement: (
    payload: Types.AwaitSettlementPayload,
    options?: CallOptions,
  ) => Promise<Types.AwaitSettlementReply>

  /**
   * Where one submission stands now, with its settlement once there is one. Waits for nothing.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly status: (
    payload: Types.StatusPayload,
    options?: CallOptions,
  ) => Promise<Types.SubmissionStatus>

  /**
   * A page of the records of a thread, forwards or backwards.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly history: (
    payload: Types.HistoryPayload,
    options?: CallOptions,
  ) => Promise<Types.HistoryPage>

  /**
   * Every record after a sequence, once and in order, then those to come. Ends with a cursor.
   *
   * A stream that goes on from the last record after a lost connection and when the wait ended: it
   * never ends by itself. Other frames may be seen again.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly observe: (
    payload: Types.ObservePayload,
    options?: CallOptions,
  ) => HeddleStream<Types.ObserveFrame>

  /**
   * The application's own value of a thread, as the last run that changed it left it.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `SubmissionNotFound`, `ThreadForgotten`, `ThreadUnreadable`,
   * `Unauthenticated`, `Unavailable`.
   */
  readonly readState: (
    payload: Types.ReadStatePayload,
    options?: CallOptions,
  ) => Promise<Types.ThreadState>

  /**
   * Ends the stall and the backoff of a lane and has it visited. Clears no fault.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly wake: (
    payload: Types.WakePayload,
    options?: CallOptions,
  ) => Promise<Types.LaneStatus>

  /**
   * Forgets what the owner believes of these threads and visits them, fenced.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly reconcile: (
    payload: Types.ReconcilePayload,
    options?: CallOptions,
  ) => Promise<Types.ReconcileReply>

  /**
   * The recorded fault of one thread. None means no recorded fault, not proof of health.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly recoveryStatus: (
    payload: Types.RecoveryStatusPayload,
    options?: CallOptions,
  ) => Promise<Types.RecoveryFault | null>

  /**
   * What an owner knows of its own work: passes, lanes, the alarm.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly maintenanceStatus: (
    payload: Types.MaintenanceStatusPayload,
    options?: CallOptions,
  ) => Promise<Types.MaintenanceStatus>

  /**
   * Arms the alarm and waits for a pass.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly runMaintenance: (
    payload: Types.RunMaintenancePayload,
    options?: CallOptions,
  ) => Promise<Types.RunMaintenanceReply>

  /**
   * The threads of an owner, a page at a time, by id or by their last activity: all of them, or
   * those that stand as is said, or whose title or id has a text.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly listThreads: (
    payload: Types.ListThreadsPayload,
    options?: CallOptions,
  ) => Promise<Types.ThreadPage>

  /**
   * Full text over the titles of an owner's threads and, where the deployment says so, over how
   * their submissions ended. Needs a grant for all threads of the owner.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly search: (
    payload: Types.SearchPayload,
    options?: CallOptions,
  ) => Promise<Types.SearchPage>

  /**
   * Empties what `listThreads` and `search` are answered from, and has it built anew. No work is
   * touched.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly rebuildProjections: (
    payload: Types.RebuildProjectionsPayload,
    options?: CallOptions,
  ) => Promise<Types.RebuildProjectionsReply>

  /**
   * The owners of this deployment, by id. Needs a grant for all owners: a bare `*`.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly listOwners: (
    payload: Types.ListOwnersPayload,
    options?: CallOptions,
  ) => Promise<Types.OwnerPage>

  /**
   * Lane changes and faults as they appear and clear.
   *
   * A stream. One that is lost fails; open it again.
   *
   * Rejects with `IdentityMismatch`, `InternalDefect`, `InvalidInput`, `OperationDenied`,
   * `StorageUnavailable`, `ThreadForgotten`, `Unauthenticated`, `Unavailable`.
   */
  readonly watch: (
    payload: Types.WatchPayload,
    options?: CallOptions,
  ) => HeddleStream<Types.WatchFrame>
}

/** What each operation can reject with, besides what a newer deployment adds. */
export interface OperationErrors {
  readonly submit:
    | Errors.AdmissionLimitExceeded
    | Errors.AgentNotRegistered
    | Errors.IdempotencyConflict
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly submitMany:
    | Errors.AdmissionLimitExceeded
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly resubmit:
    | Errors.AdmissionLimitExceeded
    | Errors.AgentNotRegistered
    | Errors.IdempotencyConflict
    | Errors.IdentityMismatch
    | Errors.InputPruned
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.JoinedToHost
    | Errors.NotSettled
    | Errors.OperationDenied
    | Errors.SettlementConflict
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly abort:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.JoinedToHost
    | Errors.OperationDenied
    | Errors.ResolutionConflict
    | Errors.SettlementConflict
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly resolveApproval:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.JoinedToHost
    | Errors.NotAwaiting
    | Errors.OperationDenied
    | Errors.ResolutionConflict
    | Errors.SettlementConflict
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly signal:
    | Errors.AdmissionLimitExceeded
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.JoinedToHost
    | Errors.NotAwaiting
    | Errors.OperationDenied
    | Errors.ResolutionConflict
    | Errors.SettlementConflict
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly callback:
    | Errors.AdmissionLimitExceeded
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.JoinedToHost
    | Errors.NotAwaiting
    | Errors.OperationDenied
    | Errors.ResolutionConflict
    | Errors.SettlementConflict
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly schedule:
    | Errors.AdmissionLimitExceeded
    | Errors.AgentNotRegistered
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly schedules:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly unschedule:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly resolveUnknown:
    | Errors.AgentNotRegistered
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.NotAwaiting
    | Errors.OperationDenied
    | Errors.ResolutionConflict
    | Errors.SettlementConflict
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly retry:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.JoinedToHost
    | Errors.NotAwaiting
    | Errors.OperationDenied
    | Errors.SettlementConflict
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly retryMany:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly abortMany:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly pauseThread:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly resumeThread:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageFull
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly forgetThread:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
    | Errors.WorkOwed
  readonly explain:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly verify:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly obligations:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly awaitSettlement:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly status:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly history:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly observe:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly readState:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.SubmissionNotFound
    | Errors.ThreadForgotten
    | Errors.ThreadUnreadable
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly wake:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly reconcile:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly recoveryStatus:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly maintenanceStatus:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly runMaintenance:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly listThreads:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly search:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly rebuildProjections:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly listOwners:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
  readonly watch:
    | Errors.IdentityMismatch
    | Errors.InternalDefect
    | Errors.InvalidInput
    | Errors.OperationDenied
    | Errors.StorageUnavailable
    | Errors.ThreadForgotten
    | Errors.Unauthenticated
    | Errors.Unavailable
}

export const operationShapes = {
  submit: { kind: "unary", keys: [["idempotencyKey"]] },
  submitMany: { kind: "unary", keys: [["submissions","[]","idempotencyKey"]] },
  resubmit: { kind: "unary", keys: [["idempotencyKey"]] },
  abort: { kind: "unary", keys: [] },
  resolveApproval: { kind: "unary", keys: [] },
  signal: { kind: "unary", keys: [] },
  callback: { kind: "unary", keys: [] },
  schedule: { kind: "unary", keys: [] },
  schedules: { kind: "unary", keys: [] },
  unschedule: { kind: "unary", keys: [] },
  resolveUnknown: { kind: "unary", keys: [] },
  retry: { kind: "unary", keys: [] },
  retryMany: { kind: "unary", keys: [] },
  abortMany: { kind: "unary", keys: [] },
  pauseThread: { kind: "unary", keys: [] },
  resumeThread: { kind: "unary", keys: [] },
  forgetThread: { kind: "unary", keys: [] },
  explain: { kind: "unary", keys: [] },
  verify: { kind: "unary", keys: [] },
  obligations: { kind: "unary", keys: [] },
  awaitSettlement: { kind: "unary", keys: [] },
  status: { kind: "unary", keys: [] },
  history: { kind: "unary", keys: [] },
  observe: { kind: "records", keys: [] },
  readState: { kind: "unary", keys: [] },
  wake: { kind: "unary", keys: [] },
  reconcile: { kind: "unary", keys: [] },
  recoveryStatus: { kind: "unary", keys: [] },
  maintenanceStatus: { kind: "unary", keys: [] },
  runMaintenance: { kind: "unary", keys: [] },
  listThreads: { kind: "unary", keys: [] },
  search: { kind: "unary", keys: [] },
  rebuildProjections: { kind: "unary", keys: [] },
  listOwners: { kind: "unary", keys: [] },
  watch: { kind: "stream", keys: [], cases: ["Opened","Lane","Gap","Ended"] },
} as const satisfies Readonly<Record<keyof Operations, OperationShape>>

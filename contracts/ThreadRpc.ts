/**
 * `ThreadRpc`: what a thread actor serves. Its owner calls the mutations and turns; the edge calls
 * the reads directly, so that readers never load the owner.
 *
 * A mutation always succeeds on the wire with `{ report, result }`: a refusal is data of the reply,
 * so that the owner learns the thread's state from a refusal too. Only what stopped the call before
 * the thread could look at itself (`CommonErrors`) is an error of the call.
 */
import { Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { AbortFields, AbortRefusal, AbortReply } from "./Abort.ts"
import { admits, CallerMiddleware } from "./Authorization.ts"
import { OpenFields, OpenPage } from "./Bulk.ts"
import {
  abortChild,
  acknowledgeOutbox,
  acknowledgePublication,
  askChild,
  claimOutbox,
  claimPublication,
  settleChild,
} from "./CarriedRpc.ts"
import { CallbackTarget, CallbackToken } from "./Callback.ts"
import { ThreadCommandFields } from "./Command.ts"
import { CommonErrors, SubmissionNotFound, ThreadUnreadable, Unavailable } from "./Errors.ts"
import { ExplainFields, RecoveryExplanation } from "./Explain.ts"
import { ThreadForgetRefusal, ThreadForgetReply } from "./Forget.ts"
import {
  AgentId,
  Count,
  Generation,
  Millis,
  OwnerId,
  Principal,
  SubmissionId,
  ThreadId,
} from "./Identifiers.ts"
import { HistoryPage, ObserveFrame, ThreadState } from "./JournalRecord.ts"
import { openUnion } from "./Open.ts"
import { ParentLink, Sender } from "./Outbox.ts"
import { OutcomesFields, OutcomesReply } from "./Outcomes.ts"
import { PauseFields, PauseRefusal, PauseReply } from "./Pause.ts"
import { RecoveryReport } from "./Recovery.ts"
import {
  ResolveApprovalFields,
  ResolveApprovalRefusal,
  ResolveApprovalReply,
} from "./ResolveApproval.ts"
import {
  ResolveUnknownFields,
  ResolveUnknownRefusal,
  ResolveUnknownReply,
} from "./ResolveUnknown.ts"
import { ResubmitFields, ResubmitRefusal } from "./Resubmit.ts"
import { RetryFields, RetryRefusal, RetryReply } from "./Retry.ts"
import {
  Schedule,
  ScheduleFields,
  SchedulePage,
  ScheduleRefusal,
  SchedulesFields,
  UnscheduleFields,
  UnscheduleRefusal,
  UnscheduleReply,
} from "./Schedule.ts"
import { AwaitSettlementReply, SubmissionStatus } from "./Settlement.ts"
import { SignalFields, SignalRefusal, SignalReply } from "./Signal.ts"
import { AdmissionRefusal, Outcome, Receipt, SubmitFields, ThreadSubmission } from "./Submission.ts"
import { threadReply } from "./ThreadReply.ts"
import { VerifyFields, VerifyReply } from "./Verify.ts"

const Address = { ownerId: OwnerId, threadId: ThreadId }
const Common = Schema.Union(CommonErrors)
const ReadErrors = Schema.Union([...CommonErrors, SubmissionNotFound, ThreadUnreadable])

/** What one head of a turn came to. */
export const HeadAnswer = openUnion([
  Schema.TaggedStruct("Settled", { submissionId: SubmissionId, outcome: Outcome }),
  Schema.TaggedStruct("Suspended", { submissionId: SubmissionId }),
  Schema.TaggedStruct("Unknown", { submissionId: SubmissionId }),
  /** It handed back at its yield time and is ready again. */
  Schema.TaggedStruct("Yielded", { submissionId: SubmissionId }),
  /** A declared retry waits until `dueAt`. */
  Schema.TaggedStruct("Retrying", { submissionId: SubmissionId, dueAt: Millis }),
  /** The attempt goes on after the attention time; its end is pushed as a report. */
  Schema.TaggedStruct("Running", { submissionId: SubmissionId }),
  /** The head is running without a live attempt: `recover` first. */
  Schema.TaggedStruct("NeedsRecovery", { submissionId: SubmissionId }),
  Schema.TaggedStruct("Paused", {}),
  /** The agent of the head, or a step named by `name`, is not in this deployment. */
  Schema.TaggedStruct("BindingUnavailable", {
    submissionId: SubmissionId,
    agent: AgentId,
    name: Schema.optionalKey(Schema.String),
  }),
])
export type HeadAnswer = typeof HeadAnswer.Type

/** What an owner that is full says: the fields of an `AdmissionLimitExceeded`. */
const Fullness = Schema.Struct({
  limit: Schema.String.check(Schema.isMaxLength(64)),
  actual: Count,
  maximum: Count,
})

/** What an admission carries besides the submission. */
const Admitted = {
  principal: Principal,
  generation: Generation,
  /** The owner is full: only a key that was accepted before gets its receipt, others this refusal. */
  replayOnly: Schema.optionalKey(Fullness),
}

const admit = Rpc.make("admit", {
  payload: {
    ...SubmitFields,
    ...Admitted,
    /** The run that sent it, where a message brings it. */
    from: Schema.optionalKey(Sender),
    /** The run whose child it is. */
    parent: Schema.optionalKey(ParentLink),
    /** The owner's clock; from then on the thread's clock is at least that. */
    now: Millis,
  },
  success: threadReply(Receipt, AdmissionRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** One submission of several, in their place. */
const AdmitOutcome = Schema.Union([
  Schema.TaggedStruct("Accepted", { receipt: Receipt }),
  Schema.TaggedStruct("Refused", { error: AdmissionRefusal }),
])
export type AdmitOutcome = typeof AdmitOutcome.Type

/** Several submissions to this thread, admitted in their order in one block; each is refused by itself. */
const admitMany = Rpc.make("admitMany", {
  payload: {
    ...Address,
    submissions: Schema.Array(ThreadSubmission),
    ...Admitted,
    /** How many new ones the owner has room for before `replayOnly` is said; all without it. */
    room: Schema.optionalKey(Count),
    now: Millis,
  },
  success: threadReply(Schema.Array(AdmitOutcome), Unavailable),
  error: Common,
}).pipe(admits("Owner"))

/** Admits the work of a submission that failed, or was aborted, once more, in one block. */
const resubmit = Rpc.make("resubmit", {
  payload: { ...ResubmitFields, ...Admitted, now: Millis },
  success: threadReply(Receipt, ResubmitRefusal),
  error: Common,
}).pipe(admits("Owner"))

/**
 * Ends a submission: what does not run settles in this block, what runs is told once the intent is
 * durable.
 */
const requestAbort = Rpc.make("requestAbort", {
  payload: {
    ...AbortFields,
    /** Who called, as the edge verified it. Not compared: the content of the command is its words. */
    principal: Principal,
    generation: Generation,
    now: Millis,
  },
  success: threadReply(AbortReply, AbortRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** What every command carries besides its own fields: who called, as the edge verified it, is recorded. */
const Commanded = { principal: Principal, generation: Generation, now: Millis }

/** Decides an ordinary call of which nobody knows whether it happened. */
const resolveUnknown = Rpc.make("resolveUnknown", {
  payload: { ...ResolveUnknownFields, ...Commanded },
  success: threadReply(ResolveUnknownReply, ResolveUnknownRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** Decides what a run has asked for. */
const resolveApproval = Rpc.make("resolveApproval", {
  payload: { ...ResolveApprovalFields, ...Commanded },
  success: threadReply(ResolveApprovalReply, ResolveApprovalRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** Gives a run the value that it waits for, or will. */
const signal = Rpc.make("signal", {
  payload: { ...SignalFields, ...Commanded },
  success: threadReply(SignalReply, SignalRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** Sets a schedule of this thread, or replaces the one of the same name. */
const schedule = Rpc.make("schedule", {
  payload: { ...ScheduleFields, ...Commanded },
  success: threadReply(Schedule, ScheduleRefusal),
  error: Common,
}).pipe(admits("Owner"))

const unschedule = Rpc.make("unschedule", {
  payload: { ...UnscheduleFields, ...Commanded },
  success: threadReply(UnscheduleReply, UnscheduleRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** Ends the rest between two attempts of a submission. */
const retry = Rpc.make("retry", {
  payload: { ...RetryFields, ...Commanded },
  success: threadReply(RetryReply, RetryRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** One whose generation is not above that of the last pause or resume changes nothing. */
const pause = Rpc.make("pause", {
  payload: { ...PauseFields, ...Commanded },
  success: threadReply(PauseReply, PauseRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** `unheard` where its owner has never heard of the thread: one that is untouched stays so. */
const resume = Rpc.make("resume", {
  payload: { ...PauseFields, ...Commanded, unheard: Schema.optionalKey(Schema.Boolean) },
  success: threadReply(PauseReply, PauseRefusal),
  error: Common,
}).pipe(admits("Owner"))

/**
 * Deletes all of the thread but a tombstone, in the block that finds nothing owed. With `abort` it first
 * aborts what is owed; what still runs has its grace, and the call says `WorkOwed` until it has ended.
 */
const forget = Rpc.make("forget", {
  payload: { ...ThreadCommandFields, abort: Schema.Boolean, ...Commanded },
  success: threadReply(ThreadForgetReply, ThreadForgetRefusal),
  error: Common,
}).pipe(admits("Owner"))

/** One bounded local read. With `fence` it is a fenced visit: the thread stores it, a mutation. */
const inspect = Rpc.make("inspect", {
  payload: {
    ...Address,
    now: Millis,
    fence: Schema.optionalKey(Generation),
    /** Whether the owner knows nothing of the thread any more: either may have gone back, and asks after what it waits for. */
    anew: Schema.optionalKey(Schema.Boolean),
  },
  success: threadReply(Schema.Void, Schema.Never),
  error: Common,
}).pipe(admits("Owner"))

/** The open submissions that are meant, by sequence. Writes nothing. */
const listOpen = Rpc.make("listOpen", {
  payload: { ...Address, ...OpenFields },
  success: OpenPage,
  error: Schema.Union([...CommonErrors, ThreadUnreadable]),
}).pipe(admits("Owner"))

/** The settlements behind a record, as texts to be searched. Writes nothing. */
const readOutcomes = Rpc.make("readOutcomes", {
  payload: { ...Address, ...OutcomesFields },
  success: OutcomesReply,
  error: Schema.Union([...CommonErrors, ThreadUnreadable]),
}).pipe(admits("Owner"))

/** Classifies and repairs the nonterminal submissions. Never runs a handler. */
const recover = Rpc.make("recover", {
  payload: { ...Address, now: Millis },
  success: threadReply(Schema.Array(RecoveryReport), ThreadUnreadable),
  error: Common,
}).pipe(admits("Owner"))

/** One turn: the head, and while the slice lasts the ready heads behind it. */
const processHead = Rpc.make("processHead", {
  payload: {
    ...Address,
    now: Millis,
    /** No claim starts at or after it. */
    yieldAt: Millis,
    maxHeads: Count,
    sliceMillis: Count,
    attentionMillis: Count,
    /** The last call ended without an answer: flush the strike before running anything. */
    suspect: Schema.Boolean,
    /** Agents with a limit that this turn was not counted for: it starts none of theirs. */
    notAgents: Schema.optionalKey(Schema.Array(AgentId)),
  },
  success: threadReply(Schema.Array(HeadAnswer), ThreadUnreadable),
  error: Common,
}).pipe(admits("Owner"))

const status = Rpc.make("status", {
  payload: { ...Address, submissionId: SubmissionId },
  success: SubmissionStatus,
  error: ReadErrors,
}).pipe(admits("Principal"))

export const HistoryFields = {
  ...Address,
  after: Schema.optionalKey(Count).annotateKey({
    description: "Pages forwards from this sequence; without it and `before` from the beginning.",
  }),
  before: Schema.optionalKey(Count).annotateKey({
    description: "Pages backwards from this sequence.",
  }),
  limit: Schema.optionalKey(Count).annotateKey({
    description: "Records of this page, at most `historyRecords`.",
  }),
}

const history = Rpc.make("history", {
  payload: HistoryFields,
  success: HistoryPage,
  error: ReadErrors,
}).pipe(admits("Principal"))

const observe = Rpc.make("observe", {
  payload: { ...Address, after: Schema.optionalKey(Count) },
  success: ObserveFrame,
  error: ReadErrors,
  stream: true,
}).pipe(admits("Principal"))

const awaitSettlement = Rpc.make("awaitSettlement", {
  payload: { ...Address, submissionId: SubmissionId, timeoutMillis: Schema.optionalKey(Count) },
  success: AwaitSettlementReply,
  error: ReadErrors,
}).pipe(admits("Principal"))

const readState = Rpc.make("readState", {
  payload: Address,
  success: ThreadState,
  error: ReadErrors,
}).pipe(admits("Principal"))

const schedules = Rpc.make("schedules", {
  payload: SchedulesFields,
  success: SchedulePage,
  error: Schema.Union([...CommonErrors, ThreadUnreadable]),
}).pipe(admits("Principal"))

/** Which wait a token is for. `OperationDenied` where there is none: no word on what exists. */
const callback = Rpc.make("callback", {
  payload: { ...Address, token: CallbackToken },
  success: CallbackTarget,
  error: Common,
}).pipe(admits("Principal"))

const explain = Rpc.make("explain", {
  payload: ExplainFields,
  success: Schema.Array(RecoveryExplanation),
  error: ReadErrors,
}).pipe(admits("Principal"))

const verify = Rpc.make("verify", {
  payload: VerifyFields,
  success: VerifyReply,
  error: ReadErrors,
}).pipe(admits("Principal"))

export class ThreadRpc extends RpcGroup.make(
  admit,
  admitMany,
  resubmit,
  requestAbort,
  resolveApproval,
  resolveUnknown,
  signal,
  retry,
  schedule,
  unschedule,
  pause,
  resume,
  forget,
  inspect,
  listOpen,
  readOutcomes,
  recover,
  processHead,
  claimOutbox,
  acknowledgeOutbox,
  claimPublication,
  acknowledgePublication,
  settleChild,
  abortChild,
  askChild,
  status,
  schedules,
  callback,
  history,
  observe,
  awaitSettlement,
  readState,
  explain,
  verify,
).middleware(CallerMiddleware) {}

/**
 * Every error that can cross a boundary, with what the caller can do about it.
 *
 * Messages come from our own code. They never hold a stack, SQL, a payload or a provider's text.
 * A defect crosses as `InternalDefect`, whose reference id the log of the object repeats.
 */
import { Schema } from "effect"
import { AgentId, Count, IdempotencyKey, OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"

const Reason = Schema.String.check(Schema.isMaxLength(1024)).annotateKey({
  description: "In a sentence, for people.",
})

const LimitName = Schema.String.check(Schema.isMaxLength(64)).annotateKey({
  description: "The field's name in `Limits`.",
})

const counted = (description: string) => Count.annotateKey({ description })

const OperationName = Schema.String.check(Schema.isMaxLength(64)).annotateKey({
  description: "The operation that was asked for.",
})

export class InvalidInput extends Schema.TaggedError<InvalidInput>()(
  "InvalidInput",
  {
    path: Schema.String.check(Schema.isMaxLength(256)).annotateKey({
      description: "Where, as `a.b[0]`; empty for the whole request.",
    }),
    reason: Reason,
  },
  {
    description:
      "The request breaks its schema or a rule of text (NUL, lone surrogate, nesting, not " +
      "JSON). Remedy: correct the request; the same request will fail again.",
  },
) {}

export class IdentityMismatch extends Schema.TaggedError<IdentityMismatch>()(
  "IdentityMismatch",
  {
    ownerId: OwnerId,
    threadId: Schema.optionalKey(ThreadId),
  },
  {
    description:
      "The request names another owner or thread than the object it reached. Remedy: none " +
      "for a caller; report it. Nothing was read or written.",
  },
) {}

export class AgentNotRegistered extends Schema.TaggedError<AgentNotRegistered>()(
  "AgentNotRegistered",
  { agent: AgentId },
  {
    description:
      "No agent of this name is registered in the deployment that served the call. Remedy: " +
      "check the name, or retry when the deployment that has it is out everywhere.",
  },
) {}

export class IdempotencyConflict extends Schema.TaggedError<IdempotencyConflict>()(
  "IdempotencyConflict",
  {
    idempotencyKey: IdempotencyKey,
    submissionId: SubmissionId.annotateKey({ description: "What was accepted with the key." }),
  },
  {
    description:
      "The idempotency key was used on this thread by this principal with another input. " +
      "Remedy: a new key for a new intent, or the original input for a retry.",
  },
) {}

export class AdmissionLimitExceeded extends Schema.TaggedError<AdmissionLimitExceeded>()(
  "AdmissionLimitExceeded",
  {
    limit: LimitName,
    actual: counted("What it would have come to."),
    maximum: counted("What it may be in this deployment."),
  },
  {
    description:
      "A limit would be exceeded; nothing was written. Remedy: send less, or wait until queued work has settled, then retry with " +
      "the same key. A signal that came too early (`earlySignals`, `earlySignalBytes`): send it again once its run waits for it.",
  },
) {}

export class SubmissionNotFound extends Schema.TaggedError<SubmissionNotFound>()(
  "SubmissionNotFound",
  { submissionId: SubmissionId },
  { description: "This thread has no such submission. Remedy: check owner, thread and id." },
) {}

export class SettlementConflict extends Schema.TaggedError<SettlementConflict>()(
  "SettlementConflict",
  {
    submissionId: SubmissionId,
    outcome: openLiterals(["completed", "failed", "aborted"]).annotateKey({
      description: "How it has settled.",
    }),
  },
  {
    description:
      "The submission has settled already, and a settlement is for good. Remedy: none; read its settlement.",
  },
) {}

export class NotSettled extends Schema.TaggedError<NotSettled>()(
  "NotSettled",
  {
    submissionId: SubmissionId,
    state: openLiterals(["ready", "running", "suspended", "unknown"]).annotateKey({
      description: "Where it stands.",
    }),
  },
  {
    description:
      "The submission is still open, and its work not to be done twice. Remedy: wait for its " +
      "settlement, or `retry` or `abort` it.",
  },
) {}

export class InputPruned extends Schema.TaggedError<InputPruned>()(
  "InputPruned",
  { submissionId: SubmissionId },
  {
    description:
      "The submission's work may be done again, but its own input was pruned: this deployment keeps the content of settled work " +
      "for a time only. Remedy: give the input with the call (`input`).",
  },
) {}

export class JoinedToHost extends Schema.TaggedError<JoinedToHost>()(
  "JoinedToHost",
  {
    submissionId: SubmissionId,
    hostSubmissionId: SubmissionId.annotateKey({ description: "Whose run has taken it." }),
  },
  {
    description:
      "The input was taken by another run and settles with it. Remedy: name the host in its place.",
  },
) {}

export class NotAwaiting extends Schema.TaggedError<NotAwaiting>()(
  "NotAwaiting",
  {
    submissionId: SubmissionId,
    name: Schema.String.check(Schema.isMaxLength(128)).annotateKey({
      description: "What was to be decided; may be empty.",
    }),
  },
  {
    description:
      "Nothing waits for this decision (never did, withdrawn, or expired). Remedy: ask " +
      "`explain` what it waits for.",
  },
) {}

export class ResolutionConflict extends Schema.TaggedError<ResolutionConflict>()(
  "ResolutionConflict",
  {
    first: Schema.String.check(Schema.isMaxLength(256)).annotateKey({
      description: "The decision that stands.",
    }),
  },
  {
    description:
      "Another decision was recorded first, and nothing was changed. Remedy: none; the first decides.",
  },
) {}

export class OperationDenied extends Schema.TaggedError<OperationDenied>()(
  "OperationDenied",
  {
    operation: OperationName,
  },
  {
    description:
      "The principal may not do this here; whether there is something is not said. Remedy: use " +
      "an identity whose grants name the owner, the thread and the operation, or ask its administrator.",
  },
) {}

export class Unauthenticated extends Schema.TaggedError<Unauthenticated>()(
  "Unauthenticated",
  {
    reason: Reason,
  },
  {
    description:
      "No verified identity. Remedy: send a valid token for this deployment; where all are refused, see to the deployment's keys.",
  },
) {}

export class StorageUnavailable extends Schema.TaggedError<StorageUnavailable>()(
  "StorageUnavailable",
  {
    operation: Schema.String.check(Schema.isMaxLength(64)).annotateKey({
      description: "What the object was about to do.",
    }),
  },
  {
    description:
      "The object's database failed. Nothing of this call is durable. Remedy: try again after a " +
      "while, with pauses that grow.",
  },
) {}

export class StorageFull extends Schema.TaggedError<StorageFull>()(
  "StorageFull",
  {
    actualBytes: counted("What the database holds."),
    maximumBytes: counted("From where on it takes no more."),
  },
  {
    description:
      "The object's database is full: nothing that brings work is taken. Reads, running work and every " +
      "other word (an abort, a decision, a pause) go on. Remedy: forget threads that nobody needs.",
  },
) {}

export class WorkOwed extends Schema.TaggedError<WorkOwed>()(
  "WorkOwed",
  {
    nonterminal: counted("Submissions that have not settled."),
    outbox: counted("Messages that have not been taken."),
    records: Schema.optionalKey(
      counted("Records that the deployment's sink has not taken, where there are some."),
    ),
  },
  {
    description:
      "The thread still owes work and cannot be forgotten. Remedy: wait until it has settled, or have it aborted first.",
  },
) {}

export class ChildLimitExceeded extends Schema.TaggedError<ChildLimitExceeded>()(
  "ChildLimitExceeded",
  { limit: LimitName, maximum: counted("What it may be.") },
  { description: "A run may not have more children, or nest them deeper. Remedy: split the work." },
) {}

export class ThreadForgotten extends Schema.TaggedError<ThreadForgotten>()(
  "ThreadForgotten",
  {
    threadId: ThreadId,
    forgottenAt: counted("When, in milliseconds since 1970."),
  },
  {
    description:
      "The thread was forgotten, and its id stays used up. Remedy: use another thread id.",
  },
) {}

export class ThreadUnreadable extends Schema.TaggedError<ThreadUnreadable>()(
  "ThreadUnreadable",
  {
    threadId: ThreadId,
    what: Schema.String.check(Schema.isMaxLength(64)).annotateKey({
      description: "What did not decode: a table or record name from a fixed list.",
    }),
  },
  {
    description:
      "Rows or records of this thread do not decode. Other threads are not affected, and " +
      "admission goes on. Remedy: an operator's; `recoveryStatus` shows its fault.",
  },
) {}

export class Unavailable extends Schema.TaggedError<Unavailable>()(
  "Unavailable",
  {
    retryable: Schema.Boolean.annotateKey({ description: "Whether the same call may do better." }),
    overloaded: Schema.Boolean.annotateKey({
      description: "Whether it is too much at once: repeating soon makes it worse.",
    }),
    reason: Reason,
  },
  {
    description:
      "The object or its peer could not answer: it went away, could not start, is " +
      "overloaded, lacks the method or answered what does not decode (another version), or " +
      "a fence refused a late call. The call may or may not have happened. Remedy: if " +
      "`retryable`, repeat it with the same key; if `overloaded`, only after a longer " +
      "pause.",
  },
) {}

export class InternalDefect extends Schema.TaggedError<InternalDefect>()(
  "InternalDefect",
  {
    reference: Schema.String.check(Schema.isMaxLength(64)).annotateKey({
      description: "What the log of the object repeats.",
    }),
  },
  {
    description:
      "A programming error in the object that served the call; this call alone failed. " +
      "Remedy: look for `reference` in the log of the object.",
  },
) {}

/** What any call between objects can answer besides its own errors. */
export const CommonErrors = [
  InvalidInput,
  IdentityMismatch,
  OperationDenied,
  StorageUnavailable,
  ThreadForgotten,
  Unavailable,
  InternalDefect,
] as const

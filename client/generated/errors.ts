/**
 * The errors of the contract: a class for each, with its fields.
 *
 * Written by `npm run generate` from contracts/. Do not edit: say it in the contract, and generate
 * again.
 */
import { HeddleError, UnrecognizedError } from "../sdk/HeddleError.ts"
import type * as Types from "./types.ts"

/**
 * A limit would be exceeded; nothing was written.
 *
 * Remedy: send less, or wait until queued work has settled, then retry with the same key. A signal
 * that came too early (`earlySignals`, `earlySignalBytes`): send it again once its run waits for
 * it.
 */
export class AdmissionLimitExceeded extends HeddleError<"AdmissionLimitExceeded"> {
  /** The field's name in `Limits`. */
  declare readonly limit: string
  /** What it would have come to. */
  declare readonly actual: number
  /** What it may be in this deployment. */
  declare readonly maximum: number

  constructor(fields: Omit<Types.AdmissionLimitExceededData, "_tag">) {
    super(
      {
        tag: "AdmissionLimitExceeded",
        meaning: "A limit would be exceeded; nothing was written.",
        remedy: "Send less, or wait until queued work has settled, then retry with the same key. A signal that came too early (`earlySignals`, `earlySignalBytes`): send it again once its run waits for it.",
        fields: ["limit","actual","maximum"],
      },
      { ...fields },
    )
  }
}

/**
 * No agent of this name is registered in the deployment that served the call.
 *
 * Remedy: check the name, or retry when the deployment that has it is out everywhere.
 */
export class AgentNotRegistered extends HeddleError<"AgentNotRegistered"> {
  declare readonly agent: Types.AgentId

  constructor(fields: Omit<Types.AgentNotRegisteredData, "_tag">) {
    super(
      {
        tag: "AgentNotRegistered",
        meaning: "No agent of this name is registered in the deployment that served the call.",
        remedy: "Check the name, or retry when the deployment that has it is out everywhere.",
        fields: ["agent"],
      },
      { ...fields },
    )
  }
}

/**
 * The idempotency key was used on this thread by this principal with another input.
 *
 * Remedy: a new key for a new intent, or the original input for a retry.
 */
export class IdempotencyConflict extends HeddleError<"IdempotencyConflict"> {
  declare readonly idempotencyKey: Types.IdempotencyKey
  /** What was accepted with the key. */
  declare readonly submissionId: Types.SubmissionId

  constructor(fields: Omit<Types.IdempotencyConflictData, "_tag">) {
    super(
      {
        tag: "IdempotencyConflict",
        meaning: "The idempotency key was used on this thread by this principal with another input.",
        remedy: "A new key for a new intent, or the original input for a retry.",
        fields: ["idempotencyKey","submissionId"],
      },
      { ...fields },
    )
  }
}

/**
 * The request names another owner or thread than the object it reached.
 *
 * Remedy: none for a caller; report it. Nothing was read or written.
 */
export class IdentityMismatch extends HeddleError<"IdentityMismatch"> {
  declare readonly ownerId: Types.OwnerId
  declare readonly threadId?: Types.ThreadId

  constructor(fields: Omit<Types.IdentityMismatchData, "_tag">) {
    super(
      {
        tag: "IdentityMismatch",
        meaning: "The request names another owner or thread than the object it reached.",
        remedy: "None for a caller; report it. Nothing was read or written.",
        fields: ["ownerId","threadId"],
      },
      { ...fields },
    )
  }
}

/**
 * The submission's work may be done again, but its own input was pruned: this deployment keeps the
 * content of settled work for a time only.
 *
 * Remedy: give the input with the call (`input`).
 */
export class InputPruned extends HeddleError<"InputPruned"> {
  declare readonly submissionId: Types.SubmissionId

  constructor(fields: Omit<Types.InputPrunedData, "_tag">) {
    super(
      {
        tag: "InputPruned",
        meaning: "The submission's work may be done again, but its own input was pruned: this deployment keeps the content of settled work for a time only.",
        remedy: "Give the input with the call (`input`).",
        fields: ["submissionId"],
      },
      { ...fields },
    )
  }
}

/**
 * A programming error in the object that served the call; this call alone failed.
 *
 * Remedy: look for `reference` in the log of the object.
 */
export class InternalDefect extends HeddleError<"InternalDefect"> {
  /** What the log of the object repeats. */
  declare readonly reference: string

  constructor(fields: Omit<Types.InternalDefectData, "_tag">) {
    super(
      {
        tag: "InternalDefect",
        meaning: "A programming error in the object that served the call; this call alone failed.",
        remedy: "Look for `reference` in the log of the object.",
        fields: ["reference"],
      },
      { ...fields },
    )
  }
}

/**
 * The request breaks its schema or a rule of text (NUL, lone surrogate, nesting, not JSON).
 *
 * Remedy: correct the request; the same request will fail again.
 */
export class InvalidInput extends HeddleError<"InvalidInput"> {
  /** Where, as `a.b[0]`; empty for the whole request. */
  declare readonly path: string
  /** In a sentence, for people. */
  declare readonly reason: string

  constructor(fields: Omit<Types.InvalidInputData, "_tag">) {
    super(
      {
        tag: "InvalidInput",
        meaning: "The request breaks its schema or a rule of text (NUL, lone surrogate, nesting, not JSON).",
        remedy: "Correct the request; the same request will fail again.",
        fields: ["path","reason"],
      },
      { ...fields },
    )
  }
}

/**
 * The input was taken by another run and settles with it.
 *
 * Remedy: name the host in its place.
 */
export class JoinedToHost extends HeddleError<"JoinedToHost"> {
  declare readonly submissionId: Types.SubmissionId
  /** Whose run has taken it. */
  declare readonly hostSubmissionId: Types.SubmissionId

  constructor(fields: Omit<Types.JoinedToHostData, "_tag">) {
    super(
      {
        tag: "JoinedToHost",
        meaning: "The input was taken by another run and settles with it.",
        remedy: "Name the host in its place.",
        fields: ["submissionId","hostSubmissionId"],
      },
      { ...fields },
    )
  }
}

/**
 * Nothing waits for this decision (never did, withdrawn, or expired).
 *
 * Remedy: ask `explain` what it waits for.
 */
export class NotAwaiting extends HeddleError<"NotAwaiting"> {
  declare readonly submissionId: Types.SubmissionId
  /** What was to be decided; may be empty. */
  declare readonly name: string

  constructor(fields: Omit<Types.NotAwaitingData, "_tag">) {
    super(
      {
        tag: "NotAwaiting",
        meaning: "Nothing waits for this decision (never did, withdrawn, or expired).",
        remedy: "Ask `explain` what it waits for.",
        fields: ["submissionId","name"],
      },
      { ...fields },
    )
  }
}

/**
 * The submission is still open, and its work not to be done twice.
 *
 * Remedy: wait for its settlement, or `retry` or `abort` it.
 */
export class NotSettled extends HeddleError<"NotSettled"> {
  declare readonly submissionId: Types.SubmissionId
  /** Where it stands. */
  declare readonly state: "ready" | "running" | "suspended" | "unknown" | (string & {})

  constructor(fields: Omit<Types.NotSettledData, "_tag">) {
    super(
      {
        tag: "NotSettled",
        meaning: "The submission is still open, and its work not to be done twice.",
        remedy: "Wait for its settlement, or `retry` or `abort` it.",
        fields: ["submissionId","state"],
      },
      { ...fields },
    )
  }
}

/**
 * The principal may not do this here; whether there is something is not said.
 *
 * Remedy: use an identity whose grants name the owner, the thread and the operation, or ask its
 * administrator.
 */
export class OperationDenied extends HeddleError<"OperationDenied"> {
  /** The operation that was asked for. */
  declare readonly operation: string

  constructor(fields: Omit<Types.OperationDeniedData, "_tag">) {
    super(
      {
        tag: "OperationDenied",
        meaning: "The principal may not do this here; whether there is something is not said.",
        remedy: "Use an identity whose grants name the owner, the thread and the operation, or ask its administrator.",
        fields: ["operation"],
      },
      { ...fields },
    )
  }
}

/**
 * Another decision was recorded first, and nothing was changed.
 *
 * Remedy: none; the first decides.
 */
export class ResolutionConflict extends HeddleError<"ResolutionConflict"> {
  /** The decision that stands. */
  declare readonly first: string

  constructor(fields: Omit<Types.ResolutionConflictData, "_tag">) {
    super(
      {
        tag: "ResolutionConflict",
        meaning: "Another decision was recorded first, and nothing was changed.",
        remedy: "None; the first decides.",
        fields: ["first"],
      },
      { ...fields },
    )
  }
}

/**
 * The submission has settled already, and a settlement is for good.
 *
 * Remedy: none; read its settlement.
 */
export class SettlementConflict extends HeddleError<"SettlementConflict"> {
  declare readonly submissionId: Types.SubmissionId
  /** How it has settled. */
  declare readonly outcome: "completed" | "failed" | "aborted" | (string & {})

  constructor(fields: Omit<Types.SettlementConflictData, "_tag">) {
    super(
      {
        tag: "SettlementConflict",
        meaning: "The submission has settled already, and a settlement is for good.",
        remedy: "None; read its settlement.",
        fields: ["submissionId","outcome"],
      },
      { ...fields },
    )
  }
}

/**
 * The object's database is full: nothing that brings work is taken. Reads, running work and every
 * other word (an abort, a decision, a pause) go on.
 *
 * Remedy: forget threads that nobody needs.
 */
export class StorageFull extends HeddleError<"StorageFull"> {
  /** What the database holds. */
  declare readonly actualBytes: number
  /** From where on it takes no more. */
  declare readonly maximumBytes: number

  constructor(fields: Omit<Types.StorageFullData, "_tag">) {
    super(
      {
        tag: "StorageFull",
        meaning: "The object's database is full: nothing that brings work is taken. Reads, running work and every other word (an abort, a decision, a pause) go on.",
        remedy: "Forget threads that nobody needs.",
        fields: ["actualBytes","maximumBytes"],
      },
      { ...fields },
    )
  }
}

/**
 * The object's database failed. Nothing of this call is durable.
 *
 * Remedy: try again after a while, with pauses that grow.
 */
export class StorageUnavailable extends HeddleError<"StorageUnavailable"> {
  /** What the object was about to do. */
  declare readonly operation: string

  constructor(fields: Omit<Types.StorageUnavailableData, "_tag">) {
    super(
      {
        tag: "StorageUnavailable",
        meaning: "The object's database failed. Nothing of this call is durable.",
        remedy: "Try again after a while, with pauses that grow.",
        fields: ["operation"],
      },
      { ...fields },
    )
  }
}

/**
 * This thread has no such submission.
 *
 * Remedy: check owner, thread and id.
 */
export class SubmissionNotFound extends HeddleError<"SubmissionNotFound"> {
  declare readonly submissionId: Types.SubmissionId

  constructor(fields: Omit<Types.SubmissionNotFoundData, "_tag">) {
    super(
      {
        tag: "SubmissionNotFound",
        meaning: "This thread has no such submission.",
        remedy: "Check owner, thread and id.",
        fields: ["submissionId"],
      },
      { ...fields },
    )
  }
}

/**
 * The thread was forgotten, and its id stays used up.
 *
 * Remedy: use another thread id.
 */
export class ThreadForgotten extends HeddleError<"ThreadForgotten"> {
  declare readonly threadId: Types.ThreadId
  /** When, in milliseconds since 1970. */
  declare readonly forgottenAt: number

  constructor(fields: Omit<Types.ThreadForgottenData, "_tag">) {
    super(
      {
        tag: "ThreadForgotten",
        meaning: "The thread was forgotten, and its id stays used up.",
        remedy: "Use another thread id.",
        fields: ["threadId","forgottenAt"],
      },
      { ...fields },
    )
  }
}

/**
 * Rows or records of this thread do not decode. Other threads are not affected, and admission goes
 * on.
 *
 * Remedy: an operator's; `recoveryStatus` shows its fault.
 */
export class ThreadUnreadable extends HeddleError<"ThreadUnreadable"> {
  declare readonly threadId: Types.ThreadId
  /** What did not decode: a table or record name from a fixed list. */
  declare readonly what: string

  constructor(fields: Omit<Types.ThreadUnreadableData, "_tag">) {
    super(
      {
        tag: "ThreadUnreadable",
        meaning: "Rows or records of this thread do not decode. Other threads are not affected, and admission goes on.",
        remedy: "An operator's; `recoveryStatus` shows its fault.",
        fields: ["threadId","what"],
      },
      { ...fields },
    )
  }
}

/**
 * No verified identity.
 *
 * Remedy: send a valid token for this deployment; where all are refused, see to the deployment's
 * keys.
 */
export class Unauthenticated extends HeddleError<"Unauthenticated"> {
  /** In a sentence, for people. */
  declare readonly reason: string

  constructor(fields: Omit<Types.UnauthenticatedData, "_tag">) {
    super(
      {
        tag: "Unauthenticated",
        meaning: "No verified identity.",
        remedy: "Send a valid token for this deployment; where all are refused, see to the deployment's keys.",
        fields: ["reason"],
      },
      { ...fields },
    )
  }
}

/**
 * The object or its peer could not answer: it went away, could not start, is overloaded, lacks the
 * method or answered what does not decode (another version), or a fence refused a late call. The
 * call may or may not have happened.
 *
 * Remedy: if `retryable`, repeat it with the same key; if `overloaded`, only after a longer pause.
 */
export class Unavailable extends HeddleError<"Unavailable"> {
  /** Whether the same call may do better. */
  declare readonly retryable: boolean
  /** Whether it is too much at once: repeating soon makes it worse. */
  declare readonly overloaded: boolean
  /** In a sentence, for people. */
  declare readonly reason: string

  constructor(fields: Omit<Types.UnavailableData, "_tag">) {
    super(
      {
        tag: "Unavailable",
        meaning: "The object or its peer could not answer: it went away, could not start, is overloaded, lacks the method or answered what does not decode (another version), or a fence refused a late call. The call may or may not have happened.",
        remedy: "If `retryable`, repeat it with the same key; if `overloaded`, only after a longer pause.",
        fields: ["retryable","overloaded","reason"],
      },
      { ...fields },
    )
  }
}

/**
 * The thread still owes work and cannot be forgotten.
 *
 * Remedy: wait until it has settled, or have it aborted first.
 */
export class WorkOwed extends HeddleError<"WorkOwed"> {
  /** Submissions that have not settled. */
  declare readonly nonterminal: number
  /** Messages that have not been taken. */
  declare readonly outbox: number
  /** Records that the deployment's sink has not taken, where there are some. */
  declare readonly records?: number

  constructor(fields: Omit<Types.WorkOwedData, "_tag">) {
    super(
      {
        tag: "WorkOwed",
        meaning: "The thread still owes work and cannot be forgotten.",
        remedy: "Wait until it has settled, or have it aborted first.",
        fields: ["nonterminal","outbox","records"],
      },
      { ...fields },
    )
  }
}

/** Every error that the SDK rejects with. */
export type AnyHeddleError =
  | AdmissionLimitExceeded
  | AgentNotRegistered
  | IdempotencyConflict
  | IdentityMismatch
  | InputPruned
  | InternalDefect
  | InvalidInput
  | JoinedToHost
  | NotAwaiting
  | NotSettled
  | OperationDenied
  | ResolutionConflict
  | SettlementConflict
  | StorageFull
  | StorageUnavailable
  | SubmissionNotFound
  | ThreadForgotten
  | ThreadUnreadable
  | Unauthenticated
  | Unavailable
  | WorkOwed
  | UnrecognizedError

/** Whether an error is one of the SDK's; its `tag` tells which, with its fields. */
export const isHeddleError = (error: unknown): error is AnyHeddleError =>
  error instanceof HeddleError

/** The errors as they cross. */
export type AnyErrorData =
  | Types.AdmissionLimitExceededData
  | Types.AgentNotRegisteredData
  | Types.IdempotencyConflictData
  | Types.IdentityMismatchData
  | Types.InputPrunedData
  | Types.InternalDefectData
  | Types.InvalidInputData
  | Types.JoinedToHostData
  | Types.NotAwaitingData
  | Types.NotSettledData
  | Types.OperationDeniedData
  | Types.ResolutionConflictData
  | Types.SettlementConflictData
  | Types.StorageFullData
  | Types.StorageUnavailableData
  | Types.SubmissionNotFoundData
  | Types.ThreadForgottenData
  | Types.ThreadUnreadableData
  | Types.UnauthenticatedData
  | Types.UnavailableData
  | Types.WorkOwedData

/** The error of what a deployment has sent, also inside a reply. Total. */
export const errorOf = (sent: unknown): AnyHeddleError => {
  const data = (typeof sent === "object" && sent !== null ? sent : {}) as AnyErrorData
  switch (data._tag) {
    case "AdmissionLimitExceeded":
      return new AdmissionLimitExceeded(data)
    case "AgentNotRegistered":
      return new AgentNotRegistered(data)
    case "IdempotencyConflict":
      return new IdempotencyConflict(data)
    case "IdentityMismatch":
      return new IdentityMismatch(data)
    case "InputPruned":
      return new InputPruned(data)
    case "InternalDefect":
      return new InternalDefect(data)
    case "InvalidInput":
      return new InvalidInput(data)
    case "JoinedToHost":
      return new JoinedToHost(data)
    case "NotAwaiting":
      return new NotAwaiting(data)
    case "NotSettled":
      return new NotSettled(data)
    case "OperationDenied":
      return new OperationDenied(data)
    case "ResolutionConflict":
      return new ResolutionConflict(data)
    case "SettlementConflict":
      return new SettlementConflict(data)
    case "StorageFull":
      return new StorageFull(data)
    case "StorageUnavailable":
      return new StorageUnavailable(data)
    case "SubmissionNotFound":
      return new SubmissionNotFound(data)
    case "ThreadForgotten":
      return new ThreadForgotten(data)
    case "ThreadUnreadable":
      return new ThreadUnreadable(data)
    case "Unauthenticated":
      return new Unauthenticated(data)
    case "Unavailable":
      return new Unavailable(data)
    case "WorkOwed":
      return new WorkOwed(data)
    default:
      return new UnrecognizedError(data)
  }
}

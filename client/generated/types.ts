/**
 * The types of what crosses: identifiers, replies, frames and payloads.
 *
 * Written by `npm run generate` from contracts/. Do not edit: say it in the contract, and generate
 * again.
 */
import type { Unrecognized } from "../sdk/Operations.ts"

/** Any JSON value. */
export type Json =
  | null
  | boolean
  | number
  | string
  | ReadonlyArray<Json>
  | { readonly [key: string]: Json }

/** Who ended it and why. `forced` tells that the handler did not stop within its grace. */
export interface Abort {
  readonly author: string
  readonly reason: string
  readonly forced: boolean
}

export interface AbortManyReply {
  /**
   * By thread id; the submissions of a thread in the order of their commands: a retry begins with
   * the first, an abort with the last. The state is that of before the command.
   */
  readonly results: ReadonlyArray<AbortManyResult>
  /** Threads that did not tell what is open: nothing was done there. */
  readonly unanswered: ReadonlyArray<{
    readonly threadId: ThreadId
    readonly error:
      | InvalidInputData
      | IdentityMismatchData
      | OperationDeniedData
      | StorageUnavailableData
      | ThreadForgottenData
      | UnavailableData
      | InternalDefectData
      | ThreadUnreadableData
  }>
  /** Goes on behind this page, which may be empty; absent at the end. */
  readonly next?: BulkCursor
}

export interface AbortManyResult {
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
  readonly sequence: number
  readonly agent: AgentId
  readonly state: SubmissionState
  readonly acceptedAt: number
  readonly effect:
    | {
      /** Of a dry run: what the command would do by the state it is in. */
      readonly _tag: "Planned"
      readonly would: "settle" | "interrupt" | "retry" | "nothing" | "refuse" | (string & {})
    }
    | {
      readonly _tag: "Done"
      readonly reply: AbortReply
    }
    | {
      readonly _tag: "Refused"
      readonly error:
        | InvalidInputData
        | IdentityMismatchData
        | OperationDeniedData
        | StorageUnavailableData
        | ThreadForgottenData
        | UnavailableData
        | InternalDefectData
        | SubmissionNotFoundData
        | SettlementConflictData
        | ResolutionConflictData
        | JoinedToHostData
        | ThreadUnreadableData
        | StorageFullData
    }
}

/**
 * `Settled`: it did not run, and has ended. `Aborting`: it runs; its handler has been interrupted,
 * and it settles `aborted` within `abortGraceMillis` (or when its thread, if that was lost, is
 * recovered).
 */
export type AbortReply =
  | {
    readonly _tag: "Settled"
    readonly settlement: Settlement
  }
  | {
    readonly _tag: "Aborting"
  }

/**
 * `nobody` it goes on by itself · `operator` a command · `deployer` a deployment · `caller` a
 * decision.
 */
export type Actor = "nobody" | "operator" | "deployer" | "caller" | (string & {})

export interface AdmissionLimitExceededData {
  readonly _tag: "AdmissionLimitExceeded"
  /** The field's name in `Limits`. */
  readonly limit: string
  /** What it would have come to. */
  readonly actual: number
  /** What it may be in this deployment. */
  readonly maximum: number
}

/** The registered name of an agent: 1–64 characters out of `A-Z a-z 0-9 . _ : -`. */
export type AgentId = string

export interface AgentNotRegisteredData {
  readonly _tag: "AgentNotRegistered"
  readonly agent: AgentId
}

/** One ownership period of a run. UUIDv7 text, made by the thread at the claim. */
export type AttemptId = string

/** `Pending` is not a failure: the wait ended, call again. */
export type AwaitSettlementReply =
  | {
    readonly _tag: "Settled"
    readonly settlement: Settlement
  }
  | {
    readonly _tag: "Pending"
  }

/**
 * What a submission, or a whole lane, waits for. The owner alone tells of `fault`, `stalled`,
 * `backoff` (its thread does not answer), `held` (as many attempts run as may) and `condemned`,
 * and of `binding` where the head's agent is missing; a thread tells `binding` of a tool without
 * which a lost call cannot be asked about.
 */
export type Blocker =
  | "approval"
  | "signal"
  | "unknown"
  | "child"
  | "timer"
  | "binding"
  | "fault"
  | "stalled"
  | "backoff"
  | "held"
  | "condemned"
  | "paused"
  | "outbox"
  | "publication"
  | "ready-aged"
  | "running-aged"
  | (string & {})

/**
 * Goes on behind this submission of the thread, in the order of the results, or without a sequence
 * behind the thread.
 */
export interface BulkCursor {
  readonly threadId: ThreadId
  readonly sequence?: number
  /**
   * What the page before meant by it: the next one means the same, unless its filter says another
   * time.
   */
  readonly acceptedBefore?: number
}

/** What a submission must be to be meant: all of what is said. Nothing said means every open one. */
export interface BulkFilter {
  /** These threads only. */
  readonly threadIds?: ReadonlyArray<ThreadId> | undefined
  readonly agent?: AgentId | undefined
  readonly state?: "ready" | "running" | "suspended" | "unknown" | "joined" | undefined
  /**
   * Accepted before this time, epoch milliseconds. By default the time of the call, of the first one
   * where pages go on, so that what is repeated later means nothing that came since.
   */
  readonly acceptedBefore?: number | undefined
  /** Of threads that are held by this as a whole, as `obligations` tells it. */
  readonly blocker?: "fault" | "backoff" | "stalled" | "binding" | "paused" | undefined
}

/** Owner, thread and 128 random bits. A secret: whoever has it may use it, once. */
export type CallbackToken = string

/**
 * Who had a thread condemned, why, and since when; `abort` tells whether what it owes is aborted
 * first.
 */
export interface Condemned {
  readonly author: string
  readonly reason: string
  readonly abort: boolean
  readonly sinceAt: number
}

/** `queue` (default) waits for its turn; `join` is offered to the thread's open run first. */
export type Delivery = "queue" | "join"

/**
 * `repaired` it changed something · `deferred` somebody else must act · `unknown` an operator
 * must.
 */
export type Disposition = "none" | "repaired" | "deferred" | "unknown" | (string & {})

/** Something that a submission waits for, or that holds its whole thread. */
export interface ExplainedWait {
  readonly blocker: Blocker
  /** The agent's name of the call or wait, or of the missing agent. */
  readonly name?: string
  /** What a decision about it names. */
  readonly recordId?: RecordId
  readonly sinceAt?: number
  readonly untilAt?: number
  readonly whoCanAct: Actor
  /** In words, at most 1,024 characters: what it is, and the command that ends it. */
  readonly message: string
}

/** Why it failed: never a stack, a Cause or a raw provider payload. */
export interface Failure {
  /** At most 256 characters. One of `SystemFailureTags` is the system's word, never an agent's. */
  readonly tag: string
  /** At most 16 KiB. */
  readonly message: string
  /** The encoded error of the agent's error schema, when it declared one. */
  readonly error?: Json
}

/**
 * `Forgotten`: it is done. `Condemned`: it is decided and durable, and will be done by the alarm:
 * a mutation is under way, the thread could not be reached yet, or what is aborted still has its
 * grace. Without `abort` it may still turn out that the thread owes work: then it stays, as if
 * nobody had asked, and the owner's log says so. `laneStatus` (`condemned`) and `obligations` tell
 * which of the two it came to.
 */
export type ForgetReply =
  | {
    readonly _tag: "Forgotten"
    readonly forgottenAt: number
  }
  | {
    readonly _tag: "Condemned"
  }

/**
 * The owner's mark of one mutation: `iiiiiiiiiiiiiii-cccccccccc`, incarnation then counter, both
 * of fixed width, so that generations compare as text and stay ordered across incarnations.
 */
export type Generation = string

/** A page, and the cursor to go on with in the same direction; absent at the end. */
export interface HistoryPage {
  readonly records: ReadonlyArray<JournalRecord>
  readonly next?: number
}

/** A host lane: work of the application's own in its owner. */
export interface HostLaneStatus {
  readonly name: string
  /**
   * `idle`: it wants no wave. `stopped`: its turns held the owner for too long; another version of
   * the deployment starts it again.
   */
  readonly state: "idle" | "waiting" | "running" | "stopped" | (string & {})
  /** When its next wave is due. */
  readonly nextAt?: number
  /** Waves in a row that failed. */
  readonly failures: number
  /** The version of the deployment that stopped it. */
  readonly stopped?: string
}

export interface IdempotencyConflictData {
  readonly _tag: "IdempotencyConflict"
  readonly idempotencyKey: IdempotencyKey
  /** What was accepted with the key. */
  readonly submissionId: SubmissionId
}

/** The caller's name for one intent: 1–256 printable characters. Scoped by thread and principal. */
export type IdempotencyKey = string

export interface IdentityMismatchData {
  readonly _tag: "IdentityMismatch"
  readonly ownerId: OwnerId
  readonly threadId?: ThreadId
}

export interface InputPrunedData {
  readonly _tag: "InputPruned"
  readonly submissionId: SubmissionId
}

export interface InternalDefectData {
  readonly _tag: "InternalDefect"
  /** What the log of the object repeats. */
  readonly reference: string
}

export interface InvalidInputData {
  readonly _tag: "InvalidInput"
  /** Where, as `a.b[0]`; empty for the whole request. */
  readonly path: string
  /** In a sentence, for people. */
  readonly reason: string
}

export interface JoinedToHostData {
  readonly _tag: "JoinedToHost"
  readonly submissionId: SubmissionId
  /** Whose run has taken it. */
  readonly hostSubmissionId: SubmissionId
}

/** One fact. Its identity is (submission, kind's name space, name); `sequence` pages the thread. */
export interface JournalRecord {
  /** Thread-wide, from 1, without gaps. */
  readonly sequence: number
  readonly submissionId: SubmissionId
  readonly kind: RecordKind
  /** The agent's name of the step, wait or value, where the kind has one. */
  readonly name?: string
  /** The epoch of the attempt that wrote it. */
  readonly epoch: number
  readonly recordedAt: number
  readonly payload: Json
  /**
   * What it said was pruned, as the deployment keeps it for a time only: the payload is an empty
   * object, or, of an applied input, has no `input`.
   */
  readonly pruned?: boolean
}

/**
 * The open run if there is one, else the resolved unknown of lowest sequence, else the first
 * ready.
 */
export interface LaneHead {
  readonly submissionId: SubmissionId
  readonly sequence: number
  readonly state: SubmissionState
  readonly agent: AgentId
  /** Whether an attempt has ever claimed it. */
  readonly attempted: boolean
  /** When it was accepted: the age of what is owed. */
  readonly acceptedAt?: number
  /** The thread of the run whose child it is. */
  readonly parent?: ThreadId
}

/** How the owner sees one thread: why it runs, or does not. */
export interface LaneStatus {
  readonly threadId: ThreadId
  /** Whether the owner has a row for it; all else is empty without one. */
  readonly known: boolean
  /** What the lane needs next from the owner, and when. */
  readonly work?: WorkKind
  readonly workAt?: number
  /** When what the thread has recorded for others is carried next. */
  readonly outboxAt?: number
  /** When records of the thread are given to the deployment's sink next. */
  readonly publishAt?: number
  /** Set while a mutation of unknown fate may have reached the thread. */
  readonly enrolled?: Generation
  readonly mustVisit: boolean
  /** Its last call ended without an answer. */
  readonly suspect: boolean
  readonly paused: boolean
  readonly running: boolean
  readonly nonterminal: number
  readonly head?: LaneHead
  readonly backoffUntilAt?: number
  /** Answers in a row that changed nothing. */
  readonly unchangedTurns: number
  readonly stalledUntilAt?: number
  /** The agent of the head is not in this deployment. */
  readonly binding?: {
    readonly attempts: number
    readonly notBefore: number
    readonly name?: string
  }
  /** Its recovery is blocked. */
  readonly fault?: RecoveryFault
  /** It is to be forgotten: nothing else happens for it, and it takes no input or command. */
  readonly condemned?: Condemned
}

/** One maintenance event, as it ended. */
export interface MaintenancePassReport {
  /** `caught-up`: nothing was due. */
  readonly phase: "caught-up" | "actionable" | (string & {})
  /** Threads whose recovery repaired something. */
  readonly recovered: number
  readonly settled: number
  /** Nonterminal submissions of the owner at its end. */
  readonly nonterminal: number
  readonly alarm: "rearmed" | "cleared" | (string & {})
  readonly startedAt: number
  readonly endedAt: number
  /** Calls of thread actors, and of the owner registry. */
  readonly actorCalls: number
  readonly endedBy: "quiescent" | "yield" | "ceiling" | "calls" | "failure" | (string & {})
}

export interface MaintenanceStatus {
  readonly ownerId: OwnerId
  /** The newest generation; absent for an untouched owner. */
  readonly dirty?: Generation
  /**
   * The newest generation below which nothing is enrolled; absent when too many lanes have work to
   * tell.
   */
  readonly processed?: Generation
  readonly nonterminal: number
  readonly lanes: number
  /** Exact to 1,000, then "at least". */
  readonly dueLanes: number
  /** Of which an attempt may run; a faulted lane counts as faulted alone. */
  readonly runningLanes: number
  readonly faultedLanes: number
  /** Passes that began and did not finish, in a row. */
  readonly unfinishedPasses: number
  readonly alarmAt?: number
  readonly lastServedThreadId?: ThreadId
  readonly lastRecoveredThreadId?: ThreadId
  readonly lastPass?: MaintenancePassReport
  /** How long the lane has waited that is due first; 0 when none is due. */
  readonly queueAgeMillis?: number
  readonly totals?: OwnerTotals
  /**
   * The last passes that found something due, the newest first, at most `passesKept`. Of the present
   * life only: they are kept in memory, and absent where there was none or an older deployment
   * answered.
   */
  readonly passes?: ReadonlyArray<MaintenancePassReport>
  /** Absent in a deployment without host lanes. */
  readonly hostLanes?: ReadonlyArray<HostLaneStatus>
}

export interface NotAwaitingData {
  readonly _tag: "NotAwaiting"
  readonly submissionId: SubmissionId
  /** What was to be decided; may be empty. */
  readonly name: string
}

export interface NotSettledData {
  readonly _tag: "NotSettled"
  readonly submissionId: SubmissionId
  /** Where it stands. */
  readonly state: "ready" | "running" | "suspended" | "unknown" | (string & {})
}

/**
 * One thing in the way of one thread. `aging` from `agedAfterMillis` on, `overdue` from four times
 * that.
 */
export interface Obligation {
  readonly threadId: ThreadId
  /** Absent where the whole thread is held and nothing tells which submission is next. */
  readonly submissionId?: SubmissionId
  readonly agent?: AgentId
  readonly state?: SubmissionState
  readonly blocker: Blocker
  /** The agent's name of the call or wait, or of the missing agent. */
  readonly name?: string
  /** What a decision about it names. */
  readonly recordId?: RecordId
  readonly sinceAt: number
  readonly ageMillis: number
  readonly severity: "ok" | "aging" | "overdue" | (string & {})
  /** Open submissions of this thread, this one included. */
  readonly nonterminal: number
}

/** By thread id. A page may be empty and have a `next`: the threads it passed owe nothing. */
export interface ObligationPage {
  readonly obligations: ReadonlyArray<Obligation>
  readonly next?: ThreadId
}

/**
 * What `observe` streams. `Opened` comes first; `Cursor` last, when the wait ended without a
 * failure: go on with `observe({ after })`. `Emitted` has no row: it reaches present observers
 * only.
 */
export type ObserveFrame =
  | {
    readonly _tag: "Opened"
    readonly tailSequence: number
    /** The owner's view of the lane, added by the edge. */
    readonly lane?: LaneStatus
  }
  | {
    readonly _tag: "Record"
    readonly record: JournalRecord
  }
  | {
    readonly _tag: "Emitted"
    readonly submissionId: SubmissionId
    readonly attemptId: AttemptId
    /** Counts the chunks of this attempt from 0; a hole is a gap. */
    readonly index: number
    readonly chunk: Json
  }
  | {
    /** This observer was too slow; so many chunks were dropped. Records are never dropped. */
    readonly _tag: "Gap"
    readonly dropped: number
  }
  | {
    readonly _tag: "Cursor"
    readonly after: number
  }

export interface OperationDeniedData {
  readonly _tag: "OperationDenied"
  /** The operation that was asked for. */
  readonly operation: string
}

/** How it ended: `completed` with an output, `failed` with a failure, `aborted` on somebody's word. */
export type Outcome = "completed" | "failed" | "aborted" | (string & {})

/** One tenant: 1–128 characters out of `A-Z a-z 0-9 . _ : -`. It is the owner object's name. */
export type OwnerId = string

/** A page of owners by id; `next` is the `after` of the next page, absent at the end. */
export interface OwnerPage {
  readonly owners: ReadonlyArray<OwnerSummary>
  readonly next?: OwnerId
}

/** An owner as the registry knows it. */
export interface OwnerSummary {
  readonly ownerId: OwnerId
  readonly enteredAt: number
  /** When the cron last heard from it; absent before its first look. */
  readonly lookedAt?: number
  /** Whether it owed anything at the last look, or else when it entered. Not its state now. */
  readonly owed: boolean
}

/**
 * What an owner has counted since its tables were made. After a crash a few of what was counted
 * last may be missing.
 */
export interface OwnerTotals {
  /** Submissions that were admitted. */
  readonly accepted: number
  readonly completed: number
  readonly failed: number
  readonly aborted: number
  /** Attempts that turns have started. */
  readonly attempts: number
  /** Threads that could not be recovered. */
  readonly faults: number
  readonly passes: number
  /** How long all passes took together. */
  readonly passMillis: number
  /** Calls that all passes made. */
  readonly passCalls: number
  /** By the owner itself; threads not counted. */
  readonly rowsRead: number
  readonly rowsWritten: number
  readonly alarmWrites: number
}

/** Who paused a thread, why, and since when. */
export interface Pause {
  readonly author: string
  readonly reason: string
  readonly sinceAt: number
}

/** The state after the command; pausing a paused thread keeps the first words. */
export interface PauseReply {
  readonly paused: boolean
  /** Exactly when `paused`. */
  readonly pause?: Pause
}

/** The directory and the search index are empty now, and are built anew, a batch at a time. */
export interface RebuildProjectionsReply {
  /** The threads that will be looked at again. */
  readonly lanes: number
}

/** The proof of acceptance: returned only once the submission is durable in its thread. */
export interface Receipt {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
  /** Thread-local, from 1, without gaps. It alone defines the order. */
  readonly sequence: number
  readonly acceptedAt: number
  /** Whether this key was accepted before; the rest is then the original receipt. */
  readonly duplicate: boolean
  /** The submission whose work this one does again; only where `resubmit` made it. */
  readonly resubmissionOf?: SubmissionId
}

/** How many lanes will be visited. */
export interface ReconcileReply {
  readonly enrolled: number
}

/** One record of a thread: 32 hexadecimal digits, a hash of (submission, name, part). */
export type RecordId = string

export type RecordKind =
  | "InputApplied"
  | "StepCompleted"
  | "StepFailed"
  | "ToolPrepared"
  | "ToolSettled"
  | "ToolUnknown"
  | "ToolResolved"
  | "ApprovalRequested"
  | "ApprovalDecided"
  | "SignalAwaited"
  | "SignalReceived"
  | "TimerSet"
  | "TimerFired"
  | "WaitWithdrawn"
  | "ChildRequested"
  | "ChildSettled"
  | "MessageQueued"
  | "InputsTaken"
  | "StateRead"
  | "StateChanged"
  | "VersionChosen"
  | "ValueDrawn"
  | "Progress"
  | "AttemptInterrupted"
  | "AbortRequested"
  | "Recovered"
  | "Resubmitted"
  | "ResultReached"
  | "Settled"
  | (string & {})

/** What the classifier decided for one submission. */
export type RecoveryDecision =
  | "NoAction"
  | "AwaitAttempt"
  | "SettleWithHost"
  | "AwaitHost"
  | "AwaitChild"
  | "SettleAborted"
  | "AwaitCall"
  | "Reconcile"
  | "MarkUnknown"
  | "AwaitResolution"
  | "Resume"
  | "AwaitApproval"
  | "AwaitSignal"
  | "AwaitTimer"
  | "ResumeRun"
  | "AwaitDue"
  | "ApplyInput"
  | (string & {})

export interface RecoveryExplanation {
  readonly submissionId: SubmissionId
  readonly sequence: number
  readonly agent: AgentId
  readonly state: SubmissionState
  readonly acceptedAt: number
  readonly attempts: number
  /** What the classifier decides now. */
  readonly decision: RecoveryDecision
  readonly disposition: Disposition
  /** What it decides by, in words. */
  readonly evidence: ReadonlyArray<string>
  /** What would happen, in words. */
  readonly wouldDo: string
  /** What it waits for itself; its place behind others is no wait of its own. */
  readonly waits: ReadonlyArray<ExplainedWait>
  /** What holds its thread: a pause; added by the edge from the owner: fault, missing agent, stall. */
  readonly heldBy: ReadonlyArray<ExplainedWait>
}

/** Tag and message come from fixed lists: nothing of the application is in them. */
export interface RecoveryFailure {
  readonly phase: "call" | "history" | "recovery" | (string & {})
  readonly operation: string
  readonly reason: "failure" | "defect" | "timeout" | (string & {})
  readonly tag: string
  readonly message: string
}

/** A durable note of the owner that a thread's recovery is blocked. */
export interface RecoveryFault {
  readonly schemaVersion: 1
  readonly threadId: ThreadId
  readonly firstFailedAt: number
  readonly lastFailedAt: number
  readonly retryAt: number
  /** Saturates at 2³¹ − 1. */
  readonly attempts: number
  readonly failure: RecoveryFailure
}

/**
 * `CompletedWithResult`: it happened, and this is what it gave: a result, or with `isFailure` a
 * declared failure, as the tool's schema encodes it. `NeverHappened` and `SafeToRetry`: the call
 * may be made again. `AbortSubmission`: the submission ends `aborted`; the record of the doubt
 * stays.
 */
export type Resolution =
  | {
    readonly _tag: "CompletedWithResult"
    readonly result: Json
    readonly isFailure?: boolean | undefined
  }
  | {
    readonly _tag: "NeverHappened"
  }
  | {
    readonly _tag: "SafeToRetry"
  }
  | {
    readonly _tag: "AbortSubmission"
  }

export interface ResolutionConflictData {
  readonly _tag: "ResolutionConflict"
  /** The decision that stands. */
  readonly first: string
}

/** The decision as it is recorded. */
export interface ResolveApprovalReply {
  /** Of the `ApprovalRequested` that it answers. */
  readonly recordId: RecordId
  readonly approved: boolean
  readonly decidedAt: number
  /** Where the submission stands now. */
  readonly state: SubmissionState
}

/** Where the submission stands now: it goes on once no call of it is left undecided. */
export interface ResolveUnknownReply {
  readonly state: SubmissionState
  /** Calls of it that still wait for a word. */
  readonly undecided: number
  /** Exactly when it has settled. */
  readonly settlement?: Settlement
}

export interface RetryManyReply {
  /**
   * By thread id; the submissions of a thread in the order of their commands: a retry begins with
   * the first, an abort with the last. The state is that of before the command.
   */
  readonly results: ReadonlyArray<RetryManyResult>
  /** Threads that did not tell what is open: nothing was done there. */
  readonly unanswered: ReadonlyArray<{
    readonly threadId: ThreadId
    readonly error:
      | InvalidInputData
      | IdentityMismatchData
      | OperationDeniedData
      | StorageUnavailableData
      | ThreadForgottenData
      | UnavailableData
      | InternalDefectData
      | ThreadUnreadableData
  }>
  /** Goes on behind this page, which may be empty; absent at the end. */
  readonly next?: BulkCursor
}

export interface RetryManyResult {
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
  readonly sequence: number
  readonly agent: AgentId
  readonly state: SubmissionState
  readonly acceptedAt: number
  readonly effect:
    | {
      /** Of a dry run: what the command would do by the state it is in. */
      readonly _tag: "Planned"
      readonly would: "settle" | "interrupt" | "retry" | "nothing" | "refuse" | (string & {})
    }
    | {
      readonly _tag: "Done"
      readonly reply: RetryReply
    }
    | {
      readonly _tag: "Refused"
      readonly error:
        | InvalidInputData
        | IdentityMismatchData
        | OperationDeniedData
        | StorageUnavailableData
        | ThreadForgottenData
        | UnavailableData
        | InternalDefectData
        | SubmissionNotFoundData
        | SettlementConflictData
        | JoinedToHostData
        | NotAwaitingData
        | ThreadUnreadableData
        | StorageFullData
    }
}

/** Where the submission stands now, and what its next try still waits for. */
export interface RetryReply {
  readonly state: SubmissionState
  /** When it will be tried; absent when something else than time is in its way (`explain` tells). */
  readonly dueAt?: number
}

export type RunMaintenanceReply =
  | {
    readonly _tag: "Finished"
    readonly pass: MaintenancePassReport
  }
  | {
    /** No pass ended within the time; the alarm is armed. */
    readonly _tag: "Pending"
  }

/** A schedule of a thread, as it stands. */
export interface Schedule {
  /** Its name in the thread: it is cancelled by it. */
  readonly name: string
  /** Five fields (minute first), or six with seconds. */
  readonly cron: string
  /** An IANA name such as `Europe/Berlin`; UTC without it. */
  readonly timeZone?: string
  readonly agent: AgentId
  readonly title?: string
  readonly input: Json
  readonly createdAt: number
  /** The next occurrence; absent when there is none any more. */
  readonly nextAt?: number
  /** The last one that was accepted. */
  readonly lastAt?: number
  readonly lastSubmissionId?: SubmissionId
  /**
   * Occurrences that were overdue together with a later one, and had no input of their own. Of one
   * long absence at most 128 are counted.
   */
  readonly collapsed: number
  /** Why an occurrence that is due was not accepted yet: the tag of the refusal. It is tried again. */
  readonly waitsFor?: string
}

/** By name; `next` is the `after` of the next page, absent at the end. */
export interface SchedulePage {
  readonly schedules: ReadonlyArray<Schedule>
  readonly next?: string
}

/** Where a search goes on: the `next` of the page before, of the same query. */
export type SearchCursor = string

/** One place where a search found its words. */
export interface SearchHit {
  readonly threadId: ThreadId
  /** Whose outcome it is; absent where the title of the thread was found. */
  readonly submissionId?: SubmissionId
  /** The present title of the thread. */
  readonly title?: string
  /** How the submission ended; only where its outcome was found. */
  readonly outcome?: Outcome
  /** What was found and what stands around it; found words are between `[` and `]`. */
  readonly snippet: string
  /** When the submission settled; only where its outcome was found. */
  readonly at?: number
}

/**
 * Hits, those last taken into the index first; `next` is the `after` of the next page, absent at
 * the end.
 */
export interface SearchPage {
  readonly hits: ReadonlyArray<SearchHit>
  readonly next?: SearchCursor
  /** The index is being built, or outcomes are still to be read: hits may be missing. */
  readonly behind?: true
}

export interface Settlement {
  readonly submissionId: SubmissionId
  readonly sequence: number
  readonly outcome: Outcome
  /** JSON as the agent's output schema encoded it; only on `completed`. */
  readonly output?: Json
  /** Exactly on `failed`. */
  readonly failure?: Failure
  /** Exactly on `aborted`. */
  readonly abort?: Abort
  /**
   * The submission whose run has taken it: it settled with that one, as that one did. Only where it
   * joined one.
   */
  readonly hostSubmissionId?: SubmissionId
  /**
   * Its output, failure or words were pruned, as the deployment keeps them for a time only. Then
   * they are absent.
   */
  readonly pruned?: boolean
  readonly settledAt: number
  /** How many attempts were made, whatever their end. */
  readonly attempts: number
}

export interface SettlementConflictData {
  readonly _tag: "SettlementConflict"
  readonly submissionId: SubmissionId
  /** How it has settled. */
  readonly outcome: "completed" | "failed" | "aborted" | (string & {})
}

/** The signal as it is recorded. */
export interface SignalReply {
  readonly receivedAt: number
  /** Whether the same value was received before. */
  readonly duplicate: boolean
  /** Where the submission stands now. */
  readonly state: SubmissionState
}

export interface StorageFullData {
  readonly _tag: "StorageFull"
  /** What the database holds. */
  readonly actualBytes: number
  /** From where on it takes no more. */
  readonly maximumBytes: number
}

export interface StorageUnavailableData {
  readonly _tag: "StorageUnavailable"
  /** What the object was about to do. */
  readonly operation: string
}

/** One accepted input. UUIDv7 text, made by the thread at admission. */
export type SubmissionId = string

export interface SubmissionNotFoundData {
  readonly _tag: "SubmissionNotFound"
  readonly submissionId: SubmissionId
}

/**
 * `ready` waits for its turn · `running` has an attempt · `suspended` waits for something outside
 * · `unknown` an ordinary call may have happened, an operator decides · `joined` was taken by
 * another run and settles with it · `settled` is final.
 */
export type SubmissionState = "ready" | "running" | "suspended" | "unknown" | "joined" | "settled" | (string & {})

/** Where one submission stands. `settlement` exactly when `state` is `settled`. */
export interface SubmissionStatus {
  readonly submissionId: SubmissionId
  readonly state: SubmissionState
  readonly sequence: number
  readonly attempts: number
  /** The submission whose work this one does again; only where `resubmit` made it. */
  readonly resubmissionOf?: SubmissionId
  readonly settlement?: Settlement
}

export interface SubmitManyReply {
  /** One for each submission, in their order. */
  readonly outcomes: ReadonlyArray<SubmitOutcome>
}

/**
 * What `submit` would have answered. A refusal that is `Unavailable` and `retryable` may have been
 * accepted all the same: submit it again with the same key.
 */
export type SubmitOutcome =
  | {
    readonly _tag: "Accepted"
    readonly receipt: Receipt
  }
  | {
    readonly _tag: "Refused"
    readonly error:
      | InvalidInputData
      | IdentityMismatchData
      | OperationDeniedData
      | StorageUnavailableData
      | ThreadForgottenData
      | UnavailableData
      | InternalDefectData
      | AgentNotRegisteredData
      | IdempotencyConflictData
      | AdmissionLimitExceededData
      | StorageFullData
  }

/**
 * How a thread stands; of several that hold the first is told: `condemned` it is to be forgotten ·
 * `faulted` its recovery is blocked · `paused` · `unknown` somebody must decide about a call ·
 * `running` · `suspended` it waits for something outside · `ready` it has work that has not
 * started, or waits for its time · `idle` it owes nothing.
 */
export type ThreadCondition =
  | "condemned"
  | "faulted"
  | "paused"
  | "unknown"
  | "running"
  | "suspended"
  | "ready"
  | "idle"
  | (string & {})

/** Where a list of threads goes on: the `next` of the page before, in the same order. */
export type ThreadCursor = string

export interface ThreadForgottenData {
  readonly _tag: "ThreadForgotten"
  readonly threadId: ThreadId
  /** When, in milliseconds since 1970. */
  readonly forgottenAt: number
}

/** One conversation, order or document of an owner: 1–128 characters out of `A-Z a-z 0-9 . _ : -`. */
export type ThreadId = string

/** `thread` (default): by thread id. `activity`: by the last activity, the newest first. */
export type ThreadOrder = "thread" | "activity"

/**
 * A page of threads; `next` is the `after` of the next page, absent at the end. A page may be
 * short, or empty, and have a `next`: what it passed does not match. No thread is told twice; one
 * that changes meanwhile may be passed.
 */
export interface ThreadPage {
  readonly threads: ReadonlyArray<ThreadSummary>
  readonly next?: ThreadCursor
  /** The directory is being built anew: threads may be missing. Ask again later. */
  readonly behind?: true
}

/** The application's typed value of a thread. Version 0 and no value until first written. */
export interface ThreadState {
  readonly version: number
  readonly value?: Json
}

/** What `submit` takes, for one of the threads of an owner. */
export interface ThreadSubmission {
  readonly threadId: ThreadId
  readonly agent: AgentId
  /** JSON as the agent's input schema encodes it. */
  readonly input: Json
  /**
   * One per intent, made before the first try; a retry with the same key gets the same receipt. Made
   * here, once for each call, unless it is given.
   */
  readonly idempotencyKey?: IdempotencyKey | undefined
  readonly delivery?: Delivery | undefined
  readonly title?: string | undefined
  /** Keeps the submission out of the queue until then; it holds nobody meanwhile. */
  readonly notBefore?: number | undefined
}

/** A row of the list of threads. */
export interface ThreadSummary {
  readonly threadId: ThreadId
  readonly title?: string
  /** Absent where an older deployment answered. */
  readonly state?: ThreadCondition
  /** When its owner last heard of an input, a record or a settlement of it. */
  readonly activeAt?: number
  readonly nonterminal: number
  readonly parked: number
  readonly paused: boolean
  readonly tailSequence: number
  readonly head?: LaneHead
}

export interface ThreadUnreadableData {
  readonly _tag: "ThreadUnreadable"
  readonly threadId: ThreadId
  /** What did not decode: a table or record name from a fixed list. */
  readonly what: string
}

export interface UnauthenticatedData {
  readonly _tag: "Unauthenticated"
  /** In a sentence, for people. */
  readonly reason: string
}

export interface UnavailableData {
  readonly _tag: "Unavailable"
  /** Whether the same call may do better. */
  readonly retryable: boolean
  /** Whether it is too much at once: repeating soon makes it worse. */
  readonly overloaded: boolean
  /** In a sentence, for people. */
  readonly reason: string
}

export interface UnscheduleReply {
  /** Whether there was one of this name. */
  readonly removed: boolean
}

/** One check on one page. A detail names sequences and kinds, never what a payload holds. */
export type VerifyCheck =
  | {
    readonly _tag: "Passed"
    readonly check: VerifyCheckName
  }
  | {
    readonly _tag: "Failed"
    readonly check: VerifyCheckName
    readonly detail: string
    /** How many places of this page fail it; `detail` tells the first. */
    readonly places: number
  }
  | {
    readonly _tag: "Skipped"
    readonly check: VerifyCheckName
    readonly why: string
  }

/**
 * `recordIdentity` the same fact stands once · `contiguity` sequences have no gap · `digestChain`
 * every digest covers its record and the one before · `schemaRoundTrip` kinds and payloads decode,
 * and mean the same written again · `oneSettlement` each submission has at most one, and exactly
 * one once it is settled · `fifo` inputs were applied in order · `ledger` the ledger, and the rows
 * of calls, waits and callbacks, say what the journal says · `outbox` each entry carries a fact of
 * the run that sent it, in order for its target, and a parked one says why (one that is missing
 * cannot be told from one that was taken) · `children` each request has its one child, and
 * whatever is to be seen settled is waited for · `schedules` each decodes, and has a time if it
 * comes; looked at on the last page.
 */
export type VerifyCheckName =
  | "recordIdentity"
  | "contiguity"
  | "digestChain"
  | "schemaRoundTrip"
  | "oneSettlement"
  | "fifo"
  | "ledger"
  | "outbox"
  | "children"
  | "schedules"
  | (string & {})

/** Every check once, in the order of `verifyChecks`. Go on with `after: next` until there is none. */
export interface VerifyReply {
  readonly checks: ReadonlyArray<VerifyCheck>
  /** Records looked at. */
  readonly records: number
  readonly next?: number
}

/**
 * What `watch` streams. `Opened` comes first, then every lane with a fault; from then on each lane
 * as it changes, the newest state only. `Ended` comes last, when nothing changed for a while:
 * watch again.
 */
export type WatchFrame =
  | {
    readonly _tag: "Opened"
    readonly faultedLanes: number
  }
  | {
    readonly _tag: "Lane"
    readonly lane: LaneStatus
  }
  | {
    /** This watcher was too slow; so many changed lanes were not told. */
    readonly _tag: "Gap"
    readonly dropped: number
  }
  | {
    readonly _tag: "Ended"
  }
  | Unrecognized

/** The kinds of work a lane can need from its owner. */
export type WorkKind = "visit" | "recover" | "dispatch" | "binding" | "held" | "forget" | "outbox" | (string & {})

export interface WorkOwedData {
  readonly _tag: "WorkOwed"
  /** Submissions that have not settled. */
  readonly nonterminal: number
  /** Messages that have not been taken. */
  readonly outbox: number
  /** Records that the deployment's sink has not taken, where there are some. */
  readonly records?: number
}

/** What `submit` is given. */
export interface SubmitPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly agent: AgentId
  /** JSON as the agent's input schema encodes it. */
  readonly input: Json
  /**
   * One per intent, made before the first try; a retry with the same key gets the same receipt. Made
   * here, once for each call, unless it is given.
   */
  readonly idempotencyKey?: IdempotencyKey | undefined
  readonly delivery?: Delivery | undefined
  readonly title?: string | undefined
  /** Keeps the submission out of the queue until then; it holds nobody meanwhile. */
  readonly notBefore?: number | undefined
}

/** What `submitMany` is given. */
export interface SubmitManyPayload {
  readonly ownerId: OwnerId
  /**
   * At most `submissionsPerCall` (256), with inputs of `submissionBytesPerCall` (4 MiB) together;
   * those of one thread are accepted in this order. One key per intent: the same call again is safe.
   */
  readonly submissions: ReadonlyArray<ThreadSubmission>
}

/** What `resubmit` is given. */
export interface ResubmitPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
  readonly submissionId: SubmissionId
  /**
   * One per intent, as for a submit: a retry with the same key gets the same receipt. Made here,
   * once for each call, unless it is given.
   */
  readonly idempotencyKey?: IdempotencyKey | undefined
  /**
   * Instead of the old one's, and needed where that was pruned. JSON as the agent's input schema
   * encodes it.
   */
  readonly input?: Json | undefined
}

/** What `abort` is given. */
export interface AbortPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
  readonly submissionId: SubmissionId
}

/** What `resolveApproval` is given. */
export interface ResolveApprovalPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
  readonly submissionId: SubmissionId
  /** Of the approval in its run: told by `explain`, `obligations` and its record. */
  readonly name: string
  /** Denial is a value of the run, not its failure. */
  readonly approved: boolean
}

/** What `signal` is given. */
export interface SignalPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
  /** Of the wait in its run, which may yet be to come. */
  readonly name: string
  /** JSON as the wait's schema encodes it; at most `recordBytes`. */
  readonly payload: Json
}

/** What `callback` is given. */
export interface CallbackPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** As the run gave it away. */
  readonly token: CallbackToken
  /** JSON as the wait's schema encodes it; at most `recordBytes`. */
  readonly payload: Json
}

/** What `schedule` is given. */
export interface SchedulePayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** Its name in the thread: it is cancelled by it. */
  readonly name: string
  /** Five fields (minute first), or six with seconds. */
  readonly cron: string
  /** An IANA name such as `Europe/Berlin`; UTC without it. */
  readonly timeZone?: string | undefined
  readonly agent: AgentId
  readonly title?: string | undefined
  /** What each occurrence is given, as the agent's input schema encodes it. */
  readonly input: Json
}

/** What `schedules` is given. */
export interface SchedulesPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** The last name of the page before. */
  readonly after?: string | undefined
  /** Of this page, at most `pageSchedules`. */
  readonly limit?: number | undefined
}

/** What `unschedule` is given. */
export interface UnschedulePayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** Its name in the thread: it is cancelled by it. */
  readonly name: string
}

/** What `resolveUnknown` is given. */
export interface ResolveUnknownPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
  readonly submissionId: SubmissionId
  /** Of the `ToolUnknown` record: told by `explain`, `obligations` and the record itself. */
  readonly recordId: RecordId
  readonly resolution: Resolution
}

/** What `retry` is given. */
export interface RetryPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
  readonly submissionId: SubmissionId
}

/** What `retryMany` is given. */
export interface RetryManyPayload {
  readonly ownerId: OwnerId
  readonly filter: BulkFilter
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
  /** Tells what is meant, and what would be done. Writes nothing. */
  readonly dryRun: boolean
  /** The `next` of the page before. */
  readonly after?: BulkCursor | undefined
  /** Submissions of one page, at most `bulkSubmissions` (128). */
  readonly limit?: number | undefined
}

/** What `abortMany` is given. */
export interface AbortManyPayload {
  readonly ownerId: OwnerId
  readonly filter: BulkFilter
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
  /** Tells what is meant, and what would be done. Writes nothing. */
  readonly dryRun: boolean
  /** The `next` of the page before. */
  readonly after?: BulkCursor | undefined
  /** Submissions of one page, at most `bulkSubmissions` (128). */
  readonly limit?: number | undefined
}

/** What `pauseThread` is given. */
export interface PauseThreadPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
}

/** What `resumeThread` is given. */
export interface ResumeThreadPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
}

/** What `forgetThread` is given. */
export interface ForgetThreadPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** At most 256 characters. */
  readonly author: string
  /** At most 1,024 characters. */
  readonly reason: string
  /** Aborts what is owed first. Without it a thread that owes anything refuses with `WorkOwed`. */
  readonly abort?: boolean | undefined
}

/** What `explain` is given. */
export interface ExplainPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /**
   * This one only; without it all that are open, and those that have settled and sent a message that
   * nobody took.
   */
  readonly submissionId?: SubmissionId | undefined
}

/** What `verify` is given. */
export interface VerifyPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** The last sequence of the page before; 0 or absent starts. */
  readonly after?: number | undefined
  /** Records of this page, at most `historyRecords`. */
  readonly limit?: number | undefined
}

/** What `obligations` is given. */
export interface ObligationsPayload {
  readonly ownerId: OwnerId
  /** From this age on, work that is merely ready or running is told, too. Default 15 min. */
  readonly agedAfterMillis?: number | undefined
  readonly after?: ThreadId | undefined
  /** Obligations after which a page ends, at most `pageThreads`; those of one thread stay together. */
  readonly limit?: number | undefined
}

/** What `awaitSettlement` is given. */
export interface AwaitSettlementPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
  /** How long to wait, at most five minutes, which is the default. */
  readonly timeoutMillis?: number | undefined
}

/** What `status` is given. */
export interface StatusPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly submissionId: SubmissionId
}

/** What `history` is given. */
export interface HistoryPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** Pages forwards from this sequence; without it and `before` from the beginning. */
  readonly after?: number | undefined
  /** Pages backwards from this sequence. */
  readonly before?: number | undefined
  /** Records of this page, at most `historyRecords`. */
  readonly limit?: number | undefined
}

/** What `observe` is given. */
export interface ObservePayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  /** The last sequence that was seen; absent starts at the beginning. */
  readonly after?: number | undefined
}

/** What `readState` is given. */
export interface ReadStatePayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}

/** What `wake` is given. */
export interface WakePayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}

/** What `reconcile` is given. */
export interface ReconcilePayload {
  readonly ownerId: OwnerId
  readonly threadIds: ReadonlyArray<ThreadId>
}

/** What `recoveryStatus` is given. */
export interface RecoveryStatusPayload {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}

/** What `maintenanceStatus` is given. */
export interface MaintenanceStatusPayload {
  readonly ownerId: OwnerId
}

/** What `runMaintenance` is given. */
export interface RunMaintenancePayload {
  readonly ownerId: OwnerId
  /** How long to wait for the pass. */
  readonly timeoutMillis?: number | undefined
}

/** What `listThreads` is given. */
export interface ListThreadsPayload {
  readonly ownerId: OwnerId
  readonly after?: ThreadCursor | undefined
  /** Threads of this page, at most `pageThreads`. */
  readonly limit?: number | undefined
  /** Only threads that stand so. */
  readonly state?: "condemned" | "faulted" | "paused" | "unknown" | "running" | "suspended" | "ready" | "idle" | undefined
  /** Only threads whose title or id contains it; small and capital letters are the same. */
  readonly text?: string | undefined
  /** Only threads whose last activity is later than this, to the minute. */
  readonly activeAfter?: number | undefined
  /** Only threads whose last activity is earlier than this, to the minute. */
  readonly activeBefore?: number | undefined
  readonly order?: ThreadOrder | undefined
}

/** What `search` is given. */
export interface SearchPayload {
  readonly ownerId: OwnerId
  /**
   * Words, all of which must occur, in any order; the last one may be the beginning of a word. Words
   * in double quotes must occur as they stand. Nothing else has a meaning.
   */
  readonly query: string
  readonly after?: SearchCursor | undefined
  /** Hits of this page, at most `pageHits`. */
  readonly limit?: number | undefined
}

/** What `rebuildProjections` is given. */
export interface RebuildProjectionsPayload {
  readonly ownerId: OwnerId
}

/** What `listOwners` is given. */
export interface ListOwnersPayload {
  readonly after?: OwnerId | undefined
  readonly limit?: number | undefined
}

/** What `watch` is given. */
export interface WatchPayload {
  readonly ownerId: OwnerId
}

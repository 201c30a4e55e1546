/**
 * What an error of the contract means at a terminal: the words, the exit code, and what to do next.
 *
 * What to do is the contract's own remedy, unless a command or a flag can be named.
 *
 * - R1 Every error has an exit code that a script can rely on; one that is not known here is refused (1).
 */
import type * as Errors from "../contracts/Errors.ts"
import { contractRemedy } from "./ContractRemedy.ts"
import { ExitCode } from "./ExitCode.ts"
import { isoOf } from "./Times.ts"
import { plain } from "./Plain.ts"
import { Stopped } from "./Stopped.ts"

/** Any error that an operation of `HeddleRpc` answers with. */
export type CallError =
  | Errors.InvalidInput
  | Errors.IdentityMismatch
  | Errors.AgentNotRegistered
  | Errors.IdempotencyConflict
  | Errors.AdmissionLimitExceeded
  | Errors.SubmissionNotFound
  | Errors.SettlementConflict
  | Errors.NotSettled
  | Errors.InputPruned
  | Errors.JoinedToHost
  | Errors.NotAwaiting
  | Errors.ResolutionConflict
  | Errors.OperationDenied
  | Errors.Unauthenticated
  | Errors.StorageUnavailable
  | Errors.StorageFull
  | Errors.WorkOwed
  | Errors.ThreadForgotten
  | Errors.ThreadUnreadable
  | Errors.Unavailable
  | Errors.InternalDefect

/** What a command was about, as far as words need it. */
export interface About {
  readonly url: string
  readonly ownerId?: string | undefined
  readonly threadId?: string | undefined
}

interface Words {
  readonly exitCode: ExitCode
  readonly what: string
  readonly next?: string
}

const refused = (what: string, next: string): Words => ({ exitCode: ExitCode.refused, what, next })

const localToken =
  "Locally: npm run --silent token -- --principal NAME --owners PATTERN prints one for npm run dev."

const unauthenticated = (reason: string): Words => ({
  exitCode: ExitCode.denied,
  what: `Not authenticated: ${plain(reason)}`,
  next: /expired/i.test(reason)
    ? `Get a new token. ${localToken}`
    : `Check the token, and that it is for this deployment. ${localToken}`,
})

const unavailable = (
  { overloaded, reason, retryable }: Errors.Unavailable,
  about: About,
): Words => {
  const next = overloaded
    ? "It is overloaded: try again after a longer pause."
    : retryable
      ? "Try again. If it stays: does the deployment run, and is --url (HEDDLE_URL) right?"
      : "Check --url (HEDDLE_URL), and that the deployment runs: its /health answers with its version."
  const where = reason.includes(about.url) ? "" : ` (${about.url})`
  return { exitCode: ExitCode.unavailable, what: `${plain(reason)}${where}`, next }
}

const ofNobody =
  "Nobody may know the callback's token: it is mistyped, or its run has settled. Otherwise: "

const denied = (operation: string, { ownerId, threadId }: About): Words => {
  const place = [ownerId && `owner ${ownerId}`, threadId && `thread ${threadId}`]
  const at = place.filter((part) => part !== undefined && part !== "").join(", ")
  return {
    exitCode: ExitCode.denied,
    what: `This token may not ${plain(operation)}${at === "" ? "" : ` for ${at}`}`,
    next: `${operation === "callback" ? ofNobody : ""}Check --owner; or get a token that names the owner, the thread and the operation.`,
  }
}

const ofSubmission = (error: CallError): Words | undefined => {
  switch (error._tag) {
    case "SubmissionNotFound":
      return {
        exitCode: ExitCode.notFound,
        what: `There is no submission ${error.submissionId} in this thread`,
        next: "Check the owner, the thread and the id: heddle threads lists threads, heddle history shows a thread's submissions.",
      }
    case "SettlementConflict":
      return refused(
        `It has settled already: ${error.outcome}`,
        "Nothing is left to do; heddle status shows how it ended.",
      )
    case "NotSettled":
      return refused("It has not settled yet", "Wait for it (heddle wait), or abort it first.")
    case "InputPruned":
      return refused(
        "Its input was pruned: the deployment keeps it for a time only",
        "Give it again: --input JSON.",
      )
    case "JoinedToHost":
      return refused(
        `It was taken by the run of ${error.hostSubmissionId} and settles with it`,
        contractRemedy(error._tag),
      )
    case "NotAwaiting":
      return refused(
        `Nothing waits for this${error.name === "" ? "" : ` (${plain(error.name)})`}`,
        "heddle explain tells what it waits for.",
      )
    case "ResolutionConflict":
      return refused(`Another word came first: ${plain(error.first)}`, contractRemedy(error._tag))
    case "AgentNotRegistered":
      return refused(
        `There is no agent ${JSON.stringify(error.agent)} in this deployment`,
        contractRemedy(error._tag),
      )
    case "IdempotencyConflict":
      return refused(
        `The key was used with another input, for submission ${error.submissionId}`,
        "Send the same input to get that receipt, or leave --key out for a new submission.",
      )
    case "AdmissionLimitExceeded":
      return refused(
        `${error.limit} would be ${error.actual}, and ${error.maximum} is the limit`,
        error.limit === "recordBytes"
          ? "Send less: this is the limit of one value."
          : "Send less, or try again (with the same --key) once queued work has settled.",
      )
    default:
      return undefined
  }
}

const ofThread = (error: CallError): Words | undefined => {
  switch (error._tag) {
    case "WorkOwed":
      return refused(
        `The thread still owes work: ${error.nonterminal} open submissions, ${error.outbox} messages`,
        "Wait for it, or have it aborted first with --abort.",
      )
    case "ThreadForgotten":
      return {
        exitCode: ExitCode.notFound,
        what: `The thread was forgotten at ${isoOf(error.forgottenAt)}`,
        next: contractRemedy(error._tag),
      }
    case "ThreadUnreadable":
      return refused(
        `The thread holds what does not decode: ${plain(error.what)}`,
        "heddle recovery shows its fault; see “a thread that cannot be recovered” in docs/operate.md.",
      )
    case "IdentityMismatch":
      return refused("The request reached another object than it names", contractRemedy(error._tag))
    case "StorageUnavailable":
      return {
        exitCode: ExitCode.unavailable,
        what: `The storage of the object failed (${plain(error.operation)}); nothing was changed`,
        next: contractRemedy(error._tag),
      }
    case "StorageFull":
      return refused(
        `The database is full: ${error.actualBytes} of ${error.maximumBytes} bytes`,
        "Forget threads that nobody needs: heddle forget.",
      )
    default:
      return undefined
  }
}

const wordsOf = (error: CallError, about: About): Words => {
  switch (error._tag) {
    case "InvalidInput":
      return refused(
        `The request is not valid${error.path === "" ? "" : ` at ${plain(error.path)}`}: ${plain(error.reason)}`,
        contractRemedy(error._tag),
      )
    case "OperationDenied":
      return denied(error.operation, about)
    case "Unauthenticated":
      return unauthenticated(error.reason)
    case "Unavailable":
      return unavailable(error, about)
    case "InternalDefect":
      return refused(
        `The deployment failed on this call (reference ${plain(error.reference)})`,
        contractRemedy(error._tag),
      )
    default:
      return (
        ofSubmission(error) ??
        ofThread(error) ??
        refused(
          `The deployment refused: ${plain((error as { _tag: string })._tag)}`,
          contractRemedy((error as { _tag: string })._tag),
        ) // R1
      )
  }
}

/** Why the command ends. */
export const stoppedBy = (error: CallError, about: About): Stopped =>
  new Stopped({ ...wordsOf(error, about), error })

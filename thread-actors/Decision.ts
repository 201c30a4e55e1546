/**
 * What recovery decides for one submission: a pure, total function of its row, its open calls, the live
 * attempt and the time. First match wins; the table stands in the same order as the code.
 *
 * | evidence | decision |
 * | --- | --- |
 * | settled | `NoAction` |
 * | running, its attempt lives here | `AwaitAttempt` |
 * | joined, its host settled / not | `SettleWithHost` / `AwaitHost` |
 * | an abort was asked for, children open / none, or its attempt was lost | `AwaitChild` / `SettleAborted` |
 * | an ordinary call is open, its end passed | `Reconcile`, if this deployment knows its tool |
 * | an ordinary call is open | `AwaitCall` |
 * | calls that nobody knows about, not parked yet / parked | `MarkUnknown` / `AwaitResolution` |
 * | unknown or suspended, what it waited for is there | `Resume` |
 * | suspended | `AwaitApproval`, `AwaitSignal`, `AwaitTimer`, `AwaitChild` |
 * | running, its attempt was lost | `ResumeRun` |
 * | ready, not due / due | `AwaitDue` / `ApplyInput` |
 */
import type { Disposition, RecoveryDecision } from "../contracts/Recovery.ts"
import type { SubmissionRow } from "./Ledger.ts"
import type { OpenCall } from "./OpenCalls.ts"

export interface Decided {
  readonly decision: RecoveryDecision
  readonly disposition: Disposition
}

/** What a suspended run waits for, and whether it is there. */
export interface Wait {
  readonly kind: "approval" | "signal" | "timer" | "child" | "call"
  readonly there: boolean
}

export interface Evidence {
  readonly row: Pick<
    SubmissionRow,
    "sequence" | "epoch" | "state" | "abort" | "dueAt" | "notBefore"
  >
  /** The submission and epoch of the attempt that this incarnation runs. */
  readonly live: { readonly sequence: number; readonly epoch: number } | undefined
  /** Its ordinary calls whose outcome is not recorded. */
  readonly calls: ReadonlyArray<OpenCall>
  /** Whether the host of a joined one has settled. */
  readonly hostSettled: boolean
  /** Children that have not settled. */
  readonly childrenOpen: boolean
  /** Of a suspended one. */
  readonly wait: Wait | undefined
  readonly now: number
}

const none: Decided = { decision: "NoAction", disposition: "none" }
const deferred = (decision: RecoveryDecision): Decided => ({ decision, disposition: "deferred" })
const repaired = (decision: RecoveryDecision): Decided => ({ decision, disposition: "repaired" })
const unknown = (decision: RecoveryDecision): Decided => ({ decision, disposition: "unknown" })

/** Whether the attempt that owns this row runs in this incarnation. */
export const isLive = (
  row: Pick<SubmissionRow, "sequence" | "epoch">,
  live: Evidence["live"],
): boolean => live !== undefined && live.sequence === row.sequence && live.epoch === row.epoch

/** Whether nobody knows whether this call happened, and somebody's word is waited for. */
export const isUnknown = (call: OpenCall): boolean => call.unknownAt !== null

/** Whether a reconciler may be asked about this call, or it is to be marked unknown. */
export const isReconcilable = (call: OpenCall, now: number): boolean =>
  !isUnknown(call) && call.declared && call.deadlineAt <= now

/** When recovery would next do something about the open calls; none when it waits for a word. */
export const callsDueAt = (calls: ReadonlyArray<OpenCall>): number | undefined => {
  const ends = calls.filter((call) => !isUnknown(call)).map((call) => call.deadlineAt)
  return ends.length === 0 ? undefined : Math.min(...ends)
}

/** What the open calls of a submission ask for; none without one. */
const decideCalls = ({ calls, now, row }: Evidence): Decided | undefined => {
  if (calls.length === 0) return undefined
  if (calls.some((call) => isReconcilable(call, now))) return repaired("Reconcile")
  if (!calls.every(isUnknown)) return deferred("AwaitCall")
  return row.state === "unknown" ? unknown("AwaitResolution") : unknown("MarkUnknown")
}

const awaiting = {
  approval: "AwaitApproval",
  signal: "AwaitSignal",
  timer: "AwaitTimer",
  child: "AwaitChild",
  call: "AwaitCall",
} as const

export const decide = (evidence: Evidence): Decided => {
  const { row, live, now } = evidence
  if (row.state === "settled") return none
  if (row.state === "running" && isLive(row, live)) return deferred("AwaitAttempt")
  if (row.state === "joined")
    return evidence.hostSettled ? repaired("SettleWithHost") : deferred("AwaitHost")
  if (row.abort !== null)
    return evidence.childrenOpen && row.state !== "running"
      ? deferred("AwaitChild")
      : repaired("SettleAborted")
  const ofCalls = decideCalls(evidence)
  if (ofCalls !== undefined) return ofCalls
  switch (row.state) {
    case "unknown":
      return repaired("Resume")
    case "suspended": {
      const { wait } = evidence
      return wait === undefined || wait.there ? repaired("Resume") : deferred(awaiting[wait.kind])
    }
    case "running":
      return repaired("ResumeRun")
    case "ready":
      return deferred(
        Math.max(row.dueAt ?? 0, row.notBefore ?? 0) > now ? "AwaitDue" : "ApplyInput",
      )
  }
}

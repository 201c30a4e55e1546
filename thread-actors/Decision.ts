/**
 * What recovery decides for one submission: a pure, total function of its row, the live attempt and
 * the time. First match wins.
 */
import type { Disposition, RecoveryDecision } from "../contracts/Recovery.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { isLive } from "./LaneReport.ts"

export interface Decided {
  readonly decision: RecoveryDecision
  readonly disposition: Disposition
}

export interface Evidence {
  readonly row: SubmissionRow
  /** The submission and epoch of the attempt that this incarnation runs. */
  readonly live: { readonly sequence: number; readonly epoch: number } | undefined
  readonly now: number
}

const deferred = (decision: RecoveryDecision): Decided => ({ decision, disposition: "deferred" })

export const decide = ({ row, live, now }: Evidence): Decided => {
  if (row.state === "settled") return { decision: "NoAction", disposition: "none" }
  if (row.state === "running" && isLive(row, live)) return deferred("AwaitAttempt")
  if (row.state === "joined") return deferred("AwaitHost")
  if (row.abort !== null) return { decision: "SettleAborted", disposition: "repaired" }
  switch (row.state) {
    case "running":
      return { decision: "ResumeRun", disposition: "repaired" }
    case "unknown":
      return { decision: "AwaitResolution", disposition: "unknown" }
    case "suspended":
      return deferred(row.dueAt === null ? "AwaitSignal" : "AwaitTimer")
    case "ready":
      return deferred(
        Math.max(row.dueAt ?? 0, row.notBefore ?? 0) > now ? "AwaitDue" : "ApplyInput",
      )
  }
}

/**
 * Who waits in an owner object for something to end.
 *
 * It is the object's and no life's: what is waited for is in the rows, and ends in whichever life comes to it. Who
 * waited in a life that has ended would else hear nothing.
 */
import type { Exit } from "effect"
import type { WorkOwed } from "../contracts/Errors.ts"
import type { ForgetReply } from "../contracts/Forget.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { MaintenancePassReport } from "../contracts/Maintenance.ts"

/** How the forgetting of a thread ended. */
export type ForgetEnd = Exit.Exit<ForgetReply, WorkOwed>

export interface Waiters {
  /** Told the end of the next pass, once. */
  readonly passes: Set<(report: MaintenancePassReport) => void>
  /** Told the end of a forgetting. */
  readonly forgets: Map<ThreadId, Set<(end: ForgetEnd) => void>>
}

export const makeWaiters = (): Waiters => ({ passes: new Set(), forgets: new Map() })

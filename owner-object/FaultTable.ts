/** Recorded faults as rows: one per faulted thread, with bounded reads. */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { RecoveryFailure, RecoveryFault } from "../contracts/Recovery.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Lane } from "./Lane.ts"
import { recoveryFailureOf } from "./Stored.ts"

interface StoredFault {
  readonly [column: string]: string | number
  readonly thread_id: string
  readonly first_failed_at: number
  readonly last_failed_at: number
  readonly retry_at: number
  readonly attempts: number
  readonly failure: string
}

/** Told of a fault whose own note of the failure does not decode. */
const unreadableNote: RecoveryFailure = {
  phase: "call",
  operation: "recover",
  reason: "failure",
  tag: "NoteUnreadable",
  message: "the owner's note of what failed does not decode",
}

/** The recorded fault of a thread: one row at most. */
export const readFault = (sql: Sql, threadId: ThreadId): RecoveryFault | undefined => {
  const [row] = sql.all<StoredFault>("SELECT * FROM recovery_faults WHERE thread_id = ?", threadId)
  if (row === undefined) return undefined
  return {
    schemaVersion: 1,
    threadId,
    firstFailedAt: row.first_failed_at,
    lastFailedAt: row.last_failed_at,
    retryAt: row.retry_at,
    attempts: row.attempts,
    failure: recoveryFailureOf(row.failure) ?? unreadableNote,
  }
}

/** Writes the fault of a thread over the one before. */
export const writeFault = (sql: Sql, fault: RecoveryFault): void =>
  sql.run(
    `INSERT OR REPLACE INTO recovery_faults
      (thread_id, first_failed_at, last_failed_at, retry_at, attempts, failure)
     VALUES (?, ?, ?, ?, ?, ?)`,
    fault.threadId,
    fault.firstFailedAt,
    fault.lastFailedAt,
    fault.retryAt,
    fault.attempts,
    JSON.stringify(fault.failure),
  )

/** The faulted threads by id; at most `limit`. */
export const faultedThreads = (sql: Sql, limit: number): ReadonlyArray<ThreadId> =>
  sql
    .all<{ thread_id: string }>(
      "SELECT thread_id FROM recovery_faults ORDER BY thread_id LIMIT +?",
      limit,
    )
    .map((row) => row.thread_id as ThreadId)

/** The lane with the marks of its recorded fault. Pure. */
export const faultedLane = (lane: Lane, { failure, retryAt }: RecoveryFault): Lane => {
  const { faultTrial: _t, faultVisit: _v, ...marks } = lane.marks
  const visit = failure.operation === "inspect" ? ({ faultVisit: true } as const) : {}
  return { ...lane, marks: { ...marks, ...visit, faultRetryAt: retryAt } }
}

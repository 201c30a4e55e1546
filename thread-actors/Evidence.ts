/**
 * The evidence that recovery decides by: what rows say of one submission, read in the block that acts on it.
 *
 * - E1 It reads the submission's row and its open calls, never results, so that it costs the same whatever
 *   the history.
 * - E2 A row or record that does not decode is told as such, by a look at the records of a run that no
 *   payload leaves the database for.
 * - E3 The records without a name (input applied, attempt interrupted, …) have no index: those of the open run are
 *   looked at from where it was opened last, so that the look costs what the run has recorded. What a run recorded
 *   before it was parked, and what settled ones did, `verify` and `history` find; nothing is decided by it.
 */
import { recordKinds } from "../contracts/JournalRecord.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Evidence, Wait } from "./Decision.ts"
import { hostIsSettled, type SubmissionRow } from "./Ledger.ts"
import { openCalls } from "./OpenCalls.ts"
import { isMillis, maybe } from "./StoredColumns.ts"
import type { Thread } from "./Thread.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

/** What a run was suspended for. */
export interface Suspension {
  readonly kind: "call"
  /** When it may be claimed once what it waits for is there. */
  readonly dueAt: number | null
}

const isDue = maybe(isMillis)

/** The suspension in a row. */
export const suspensionOf = (row: Pick<SubmissionRow, "suspension">): Suspension | undefined => {
  if (row.suspension === null) return undefined
  const value = parsed(row.suspension, "submissions") as Partial<Suspension> | null
  if (value?.kind !== "call" || !isDue(value.dueAt)) throw new Unreadable("submissions") // E2
  return { kind: value.kind, dueAt: value.dueAt ?? null }
}

/** What it waits for: open calls are looked at before this, so without one the call's outcome is there. */
const waitOf = (row: SubmissionRow): Wait | undefined => {
  const suspension = row.state === "suspended" ? suspensionOf(row) : undefined
  return suspension === undefined ? undefined : { kind: suspension.kind, there: true }
}

/** The evidence about a submission now. What is to be aborted hangs on none of its calls or waits. // E1 */
export const evidenceOf = (thread: Thread, row: SubmissionRow, now: number): Evidence => {
  const { sql } = thread.host.storage
  const goesOn = row.abort === null
  return {
    row,
    live: thread.live,
    calls: goesOn && row.attempts > 0 ? openCalls(sql, thread.options.agents, row) : [],
    hostSettled: row.state === "joined" && hostIsSettled(sql, row),
    childrenOpen: false,
    wait: goesOn ? waitOf(row) : undefined,
    now,
  }
}

const knownKinds = recordKinds.map((kind) => `'${kind}'`).join(", ")

const isBroken = `(kind NOT IN (${knownKinds})
  OR CASE WHEN json_valid(payload) THEN json_type(payload) <> 'object' ELSE 1 END)`

/** The last record at which this run was not the open one; each record carries which one is. // E3 */
const beforeOpen = (sql: Sql, submission: number): number =>
  sql.all<{ sequence: number }>(
    "SELECT sequence FROM journal WHERE open IS NOT ? ORDER BY sequence DESC LIMIT 1",
    submission,
  )[0]?.sequence ?? 0

/** Refuses a run whose records do not decode. // E2 */
export const checkRecords = (sql: Sql, row: SubmissionRow): void => {
  if (row.attempts === 0) return
  const broken = sql.all(
    `SELECT 1 FROM (
       SELECT kind, payload FROM journal WHERE submission = ? AND name IS NOT NULL
       UNION ALL
       SELECT kind, payload FROM journal WHERE sequence > ? AND submission = ? AND name IS NULL)
     WHERE ${isBroken} LIMIT 1`,
    row.sequence,
    beforeOpen(sql, row.sequence),
    row.sequence,
  )
  if (broken.length > 0) throw new Unreadable("journal")
}

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
import { hasOpenChildren } from "./ChildRows.ts"
import type { Evidence, Wait } from "./Decision.ts"
import { hostIsSettled, type SubmissionRow } from "./Ledger.ts"
import { openCalls } from "./OpenCalls.ts"
import { suspensionOf } from "./Suspension.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"
import { oldestWaits } from "./WaitRows.ts"

/**
 * What it waits for, and whether that is there: open calls are looked at before this, so without one the call's
 * outcome is; and a word for a run that waits makes it ready at once, so that only its time can be there.
 */
const waitOf = (sql: Sql, row: SubmissionRow, now: number): Wait | undefined => {
  const suspension = row.state === "suspended" ? suspensionOf(row) : undefined
  switch (suspension?.kind) {
    case undefined:
      return undefined
    case "call":
      return { kind: "call", there: true }
    case "children":
      return { kind: "child", there: !hasOpenChildren(sql, row.sequence) }
    case "wait": {
      const [oldest] = oldestWaits(sql, row.sequence, 1)
      const { dueAt } = suspension
      return { kind: oldest?.kind ?? "timer", there: dueAt !== null && dueAt <= now }
    }
  }
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
    childrenOpen: !goesOn && row.attempts > 0 && hasOpenChildren(sql, row.sequence),
    wait: goesOn ? waitOf(sql, row, now) : undefined,
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

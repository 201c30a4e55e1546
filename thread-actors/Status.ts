/** Where one submission stands: its row, and the one record that holds its settlement. */
import type { SubmissionId } from "../contracts/Identifiers.ts"
import type { Settlement, SubmissionStatus } from "../contracts/Settlement.ts"
import type { Outcome } from "../contracts/Submission.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { findRow, readOriginal, type SubmissionRow } from "./Ledger.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"

type Content = Omit<Settlement, "submissionId" | "sequence" | "settledAt">

const parse = (payload: string): Content => {
  try {
    return JSON.parse(payload) as Content
  } catch {
    throw new Unreadable("journal")
  }
}

/** What the record says; of one that joined another, what that one's says, too. */
const contentOf = (sql: Sql, payload: string): Content => {
  const own = parse(payload)
  if (own.hostSubmissionId === undefined) return own
  const host = findRow(sql, own.hostSubmissionId)
  const { abort, failure, output, pruned } =
    (host === undefined ? undefined : readSettlement(sql, host)) ?? {}
  return {
    ...own,
    ...(abort === undefined ? {} : { abort }),
    ...(failure === undefined ? {} : { failure }),
    ...(output === undefined ? {} : { output }),
    ...(pruned === undefined ? {} : { pruned }),
  }
}

/** What the row alone tells of a settlement that was pruned. */
const prunedContent = (sql: Sql, row: SubmissionRow): Content => {
  const [found] = sql.all<{ id: SubmissionId }>(
    "SELECT h.id FROM submissions s JOIN submissions h ON h.sequence = s.host WHERE s.sequence = ?",
    row.sequence,
  )
  return {
    outcome: row.outcome as Outcome,
    attempts: row.attempts,
    ...(found === undefined ? {} : { hostSubmissionId: found.id }),
    pruned: true,
  }
}

/** The settlement of a row, once it has one. */
export const readSettlement = (sql: Sql, row: SubmissionRow): Settlement | undefined => {
  if (row.state !== "settled" || row.settledSequence === null) return undefined
  const [record] = sql.all<{ payload: string; recordedAt: number }>(
    "SELECT payload, recordedAt FROM journal WHERE sequence = ?",
    row.settledSequence,
  )
  if (record === undefined) throw new Unreadable("journal")
  return {
    submissionId: row.id,
    sequence: row.sequence,
    settledAt: record.recordedAt,
    ...(record.payload === "" ? prunedContent(sql, row) : contentOf(sql, record.payload)),
  }
}

/** None when this thread has no such submission. */
export const readStatus = (thread: Thread, id: SubmissionId): SubmissionStatus | undefined => {
  if (!thread.hasTables) return undefined
  const { sql } = thread.host.storage
  const row = findRow(sql, id)
  if (row === undefined) return undefined
  const settlement = readSettlement(sql, row)
  const resubmissionOf = readOriginal(sql, row.sequence)
  return {
    submissionId: row.id,
    state: row.state,
    sequence: row.sequence,
    attempts: row.attempts,
    ...(resubmissionOf === undefined ? {} : { resubmissionOf }),
    ...(settlement === undefined ? {} : { settlement }),
  }
}

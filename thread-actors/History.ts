/**
 * Pages of the journal, in both directions. Reads only; its cost is the page, not the history.
 *
 * - Y1 A page ends at its number of records or of bytes, whichever comes first, and has at least one
 *   record if there is one; payloads are read only for what is in the page.
 * - Y2 `after` gives records forwards, oldest first; `before` backwards, newest first. `next` goes on
 *   in the same direction.
 */
import { Effect } from "effect"
import { InvalidInput } from "../contracts/Errors.ts"
import type { SubmissionId } from "../contracts/Identifiers.ts"
import type { HistoryPage, JournalRecord } from "../contracts/JournalRecord.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { StoredRecord } from "./Journal.ts"
import { readInput } from "./Ledger.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"

export interface HistoryQuery {
  readonly after?: number | undefined
  readonly before?: number | undefined
  readonly limit?: number | undefined
}

interface Range {
  readonly backwards: boolean
  /** Exclusive. */
  readonly from: number
}

interface Extent {
  readonly sequences: ReadonlyArray<number>
  readonly more: boolean
}

/** Which records make the page: looks at sizes, never at payloads. */
const extentOf = (sql: Sql, range: Range, maximum: { records: number; bytes: number }): Extent => {
  const rows = sql.all<{ sequence: number; bytes: number }>(
    range.backwards
      ? "SELECT sequence, bytes FROM journal WHERE sequence < ? ORDER BY sequence DESC LIMIT +?"
      : "SELECT sequence, bytes FROM journal WHERE sequence > ? ORDER BY sequence LIMIT +?",
    range.from,
    maximum.records + 1,
  )
  const sequences: Array<number> = []
  let bytes = 0
  for (const row of rows) {
    bytes += row.bytes
    const full = sequences.length >= maximum.records || bytes > maximum.bytes
    if (sequences.length > 0 && full) break // Y1
    sequences.push(row.sequence)
  }
  return { sequences, more: sequences.length < rows.length }
}

const parse = (payload: string): JournalRecord["payload"] => {
  try {
    return JSON.parse(payload) as JournalRecord["payload"]
  } catch {
    throw new Unreadable("journal")
  }
}

/** What readers are shown of a record. */
type Shown = Omit<StoredRecord, "races">

/** Reads rows as records: with the id of their submission, and the input where it was applied. */
const recordReader = (sql: Sql): ((row: Shown) => JournalRecord) => {
  const ids = new Map<number, SubmissionId>()
  const idOf = (submission: number): SubmissionId => {
    const known = ids.get(submission)
    if (known !== undefined) return known
    const [row] = sql.all<{ id: SubmissionId }>(
      "SELECT id FROM submissions WHERE sequence = ?",
      submission,
    )
    if (row === undefined) throw new Unreadable("journal")
    ids.set(submission, row.id)
    return row.id
  }
  /** What it says, or that it says it no more. */
  const contentOf = (row: Shown): Pick<JournalRecord, "payload" | "pruned"> => {
    if (row.payload === "") return { payload: {}, pruned: true }
    const payload = parse(row.payload)
    if (row.kind !== "InputApplied") return { payload }
    const input = readInput(sql, row.submission)
    return input === ""
      ? { payload, pruned: true }
      : { payload: { ...(payload as object), input: parse(input) } }
  }
  return (row) => {
    return {
      sequence: row.sequence,
      submissionId: idOf(row.submission),
      kind: row.kind,
      ...(row.name === null ? {} : { name: row.name }),
      epoch: row.epoch,
      recordedAt: row.recordedAt,
      ...contentOf(row),
    }
  }
}

const readRange = (sql: Sql, extent: Extent, backwards: boolean): ReadonlyArray<JournalRecord> => {
  const { sequences } = extent
  if (sequences.length === 0) return []
  const rows = sql.all<Shown & { readonly [column: string]: string | number | null }>(
    `SELECT sequence, submission, kind, name, part, epoch, recordedAt, payload FROM journal
     WHERE sequence BETWEEN ? AND ? ORDER BY sequence ${backwards ? "DESC" : "ASC"}`,
    Math.min(...sequences),
    Math.max(...sequences),
  )
  return rows.map(recordReader(sql))
}

/** The records behind one, in their order: so many or of so many bytes at most, and one at least. */
export const recordsAfter = (
  sql: Sql,
  after: number,
  maximum: { readonly records: number; readonly bytes: number },
): ReadonlyArray<JournalRecord> =>
  readRange(sql, extentOf(sql, { backwards: false, from: after }, maximum), false)

/** A page of a thread; empty for an untouched one. */
export const readPage = (thread: Thread, query: HistoryQuery): HistoryPage => {
  if (!thread.hasTables) return { records: [] }
  const { sql } = thread.host.storage
  const { limits } = thread
  const backwards = query.before !== undefined
  const range: Range = { backwards, from: query.before ?? query.after ?? 0 }
  const wanted = query.limit ?? limits.historyRecords
  const extent = extentOf(sql, range, {
    records: Math.min(Math.max(wanted, 1), limits.historyRecords),
    bytes: limits.historyBytes,
  })
  const records = readRange(sql, extent, backwards)
  const next = extent.more ? records.at(-1)?.sequence : undefined // Y2
  return next === undefined ? { records } : { records, next }
}

/** `after` and `before` at once have no meaning. */
export const checkQuery = (query: HistoryQuery): Effect.Effect<void, InvalidInput> =>
  query.after !== undefined && query.before !== undefined
    ? Effect.fail(
        new InvalidInput({ path: "before", reason: "give `after` or `before`, not both" }),
      )
    : Effect.void

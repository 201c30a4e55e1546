/**
 * What `verify` looks at for one page: its records, what stands before them, and the rows they are about.
 *
 * - P1 It reads a bounded number of rows, whatever the history: those of the page, as many records before it
 *   without their payloads, and the ledger rows that these records name.
 * - P2 Nothing here decodes or throws for what it finds: a value of another type than its column's is kept and told
 *   by `isSound`.
 * - P3 An input is read, digested and dropped, one at a time.
 */
import type { SubmissionId } from "../contracts/Identifiers.ts"
import { sha256 } from "../platform/Digest.ts"
import type { Sql, SqlRow, SqlValue } from "../platform/ObjectStorage.ts"
import { allOf } from "./AllOf.ts"
import { checkedColumns, isSoundRow, type SubmissionRow } from "./Ledger.ts"
import { isCount, isText } from "./StoredColumns.ts"
import type { Thread } from "./Thread.ts"
import { earlyPart } from "./WaitRows.ts"

/** A record as it is stored, whatever is in it; its types hold only where it is sound. */
export interface RawRecord {
  readonly sequence: number
  readonly submission: number
  readonly kind: string
  readonly name: string | null
  readonly part: number
  readonly epoch: number
  readonly recordedAt: number
  readonly digest: string
  readonly open: number | null
  readonly settled: number
  readonly floor: number
  readonly bytes: number
  readonly payload: string
  readonly races: string | null
}

export interface PageRecord extends RawRecord {
  /** Whether every column holds what it is for. */
  readonly isSound: boolean
  /** The payload, where it is a JSON object. */
  readonly value: Readonly<Record<string, unknown>> | undefined
}

/** A record before the page, without its payload. */
export interface EarlierRecord extends Pick<
  RawRecord,
  "sequence" | "submission" | "kind" | "recordedAt" | "open" | "settled" | "floor"
> {
  readonly digest: SqlValue
}

export interface LedgerRow {
  readonly sequence: number
  readonly id: SubmissionId
  readonly principal: string
  readonly agent: string
  readonly acceptedAt: number
  readonly notBefore: number | null
  readonly inputDigest: string
  readonly state: string
  readonly epoch: number
  readonly attempts: number
  readonly suspension: string | null
  readonly abort: string | null
  readonly outcome: string | null
  readonly settledSequence: number | null
  /** The run that took it. */
  readonly host: number | null
  readonly inputBytes: number
}

/** A record of a call that nothing answers, and the row of the call where there is one. */
export interface UnansweredCall {
  readonly sequence: number
  readonly part: number
  readonly callPart: number | null
  readonly unknownAt: number | null
}

export interface VerifyPage {
  /** The sequence before the page; 0 at the start. */
  readonly after: number
  readonly records: ReadonlyArray<PageRecord>
  readonly isLast: boolean
  /** The records before the page, the latest first: one, or as many as the page where an input is applied in it. */
  readonly earlier: ReadonlyArray<EarlierRecord>
  /** Rows of the submissions that these records name, and those that the floor passes. */
  readonly rows: ReadonlyMap<number, LedgerRow>
  /** Submissions of these rows with a column that holds what it is not for. */
  readonly unsound: ReadonlySet<number>
  /** Submissions whose input was applied here and is not the one that was digested. */
  readonly changedInputs: ReadonlySet<number>
  /** Where the settlements stand that the rows name, as far as they are on no record of this page. */
  readonly settlements: ReadonlyMap<number, { readonly submission: number; readonly kind: string }>
  /** Records of this page whose name stands on an earlier one. */
  readonly repeated: ReadonlyArray<number>
  readonly unanswered: ReadonlyArray<UnansweredCall>
}

export interface VerifyQuery {
  readonly after?: number | undefined
  readonly limit?: number | undefined
}

/** The last sequence of the page, by the size of what would be read. */
const extentOf = (
  sql: Sql,
  after: number,
  maximum: { readonly records: number; readonly bytes: number },
): { readonly last: number; readonly isLast: boolean } => {
  const sizes = sql.all<{ sequence: number; bytes: SqlValue; length: number }>(
    `SELECT sequence, bytes, length(payload) AS length FROM journal
     WHERE sequence > ? ORDER BY sequence LIMIT +?`,
    after,
    maximum.records + 1,
  )
  let bytes = 0
  let last = after
  let count = 0
  for (const row of sizes) {
    bytes += Math.max(row.length, Number.isFinite(row.bytes) ? Number(row.bytes) : 0)
    if (count >= maximum.records || (count > 0 && bytes > maximum.bytes)) break
    last = row.sequence
    count += 1
  }
  return { last, isLast: count === sizes.length }
}

const soundness = (record: RawRecord): boolean =>
  [record.submission, record.part, record.epoch, record.recordedAt].every(isCount) &&
  [record.settled, record.floor, record.bytes].every(isCount) &&
  [record.kind, record.digest, record.payload].every(isText) &&
  (record.name === null || isText(record.name)) &&
  (record.races === null || isText(record.races)) &&
  (record.open === null || isCount(record.open)) // P2

const valueOf = (payload: unknown): PageRecord["value"] => {
  if (typeof payload !== "string") return undefined
  try {
    const value: unknown = JSON.parse(payload)
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined // P2
  }
}

/** The fields of a stored object; none where it is no JSON object. */
export const fieldsOf = (text: unknown): Readonly<Record<string, unknown>> => valueOf(text) ?? {} // P2

const readRecords = (sql: Sql, after: number, last: number): ReadonlyArray<PageRecord> =>
  sql
    .all<RawRecord & SqlRow>(
      `SELECT sequence, submission, kind, name, part, epoch, recordedAt, digest, open, settled,
         floor, bytes, payload, races FROM journal WHERE sequence > ? AND sequence <= ? ORDER BY sequence`,
      after,
      last,
    )
    .map((record) => ({
      ...record,
      isSound: soundness(record),
      value: valueOf(record.payload),
    }))

const readEarlier = (sql: Sql, after: number, limit: number): ReadonlyArray<EarlierRecord> =>
  after === 0
    ? []
    : sql.all<EarlierRecord & SqlRow>(
        `SELECT sequence, submission, kind, recordedAt, digest, open, settled, floor FROM journal
         WHERE sequence <= ? ORDER BY sequence DESC LIMIT +?`,
        after,
        limit,
      )

/** The rows of the submissions that were named, and those between the floors of the page. */
const readRows = (
  sql: Sql,
  page: Pick<VerifyPage, "records" | "earlier">,
  limit: number,
): Pick<VerifyPage, "rows" | "unsound"> => {
  const named = page.records.map((record) => record.submission)
  const from = page.earlier[0]?.floor ?? 1
  const to = Math.min(page.records.at(-1)?.floor ?? from, from + limit) // P1
  const between = Array.from({ length: Math.max(0, to - from + 1) }, (_, index) => from + index)
  const keys = [...new Set([...named, ...between])].filter(isCount)
  const rows = allOf<SubmissionRow & Pick<LedgerRow, "host"> & SqlRow>(
    sql,
    `SELECT ${checkedColumns}, host FROM submissions WHERE sequence IN ()`,
    keys,
  )
  const unsound = rows.filter((row) => !isSoundRow(row)).map((row) => row.sequence)
  return { rows: new Map(rows.map((row) => [row.sequence, row])), unsound: new Set(unsound) }
}

/** Whether the input of a row is the one that was digested at its admission. // P3 */
export const inputHolds = (
  sql: Sql,
  row: Pick<LedgerRow, "sequence" | "agent" | "inputDigest" | "state">,
): boolean => {
  const [stored] = sql.all<{ input: SqlValue }>(
    "SELECT input FROM submissions WHERE sequence = ?",
    row.sequence,
  )
  if (stored?.input === "") return row.state === "settled" // It was pruned.
  return (
    typeof stored?.input === "string" && sha256(row.agent, "\n", stored.input) === row.inputDigest
  )
}

const readSettlements = (
  sql: Sql,
  page: Pick<VerifyPage, "records" | "rows">,
): VerifyPage["settlements"] => {
  const here = new Set(page.records.map((record) => record.sequence))
  const keys = [...page.rows.values()]
    .map((row) => row.settledSequence)
    .filter((sequence) => sequence !== null && isCount(sequence) && !here.has(sequence))
  const found = allOf<{ sequence: number; submission: number; kind: string }>(
    sql,
    "SELECT sequence, submission, kind FROM journal WHERE sequence IN ()",
    keys as ReadonlyArray<number>,
  )
  return new Map(found.map(({ kind, sequence, submission }) => [sequence, { submission, kind }]))
}

const readRepeated = (sql: Sql, after: number, last: number): ReadonlyArray<number> =>
  sql
    .all<{ sequence: number }>(
      `SELECT j.sequence FROM journal j WHERE j.sequence > ? AND j.sequence <= ?
         AND j.name IS NOT NULL AND EXISTS (SELECT 1 FROM journal k WHERE k.submission = j.submission
           AND k.name = j.name AND k.part = j.part AND k.sequence < j.sequence)
       ORDER BY j.sequence`,
      after,
      last,
    )
    .map((record) => record.sequence)

const readUnanswered = (sql: Sql, after: number, last: number): VerifyPage["unanswered"] =>
  sql.all<UnansweredCall & SqlRow>(
    `SELECT j.sequence, j.part, c.part AS callPart, c.unknownAt FROM journal j
     LEFT JOIN calls c ON c.submission = j.submission AND c.name = j.name
     WHERE j.sequence > ? AND j.sequence <= ? AND j.kind IN ('ToolPrepared', 'ToolUnknown')
       AND NOT EXISTS (SELECT 1 FROM journal k WHERE k.submission = j.submission
         AND k.name = j.name AND k.part > j.part AND k.part <> ${earlyPart})
     ORDER BY j.sequence`,
    after,
    last,
  )

/** How many records before a page are looked at for what was applied there, at least. */
const reach = 64

/** Reads a page of a thread that has tables. // P1 */
export const readVerifyPage = (thread: Thread, query: VerifyQuery): VerifyPage => {
  const { sql } = thread.host.storage
  const { historyBytes, historyRecords } = thread.limits
  const limit = Math.min(Math.max(query.limit ?? historyRecords, 1), historyRecords)
  const after = query.after ?? 0
  const { isLast, last } = extentOf(sql, after, { records: limit, bytes: historyBytes })
  const records = readRecords(sql, after, last)
  const applied = records.filter((record) => record.kind === "InputApplied")
  const earlier = readEarlier(sql, after, applied.length === 0 ? 1 : Math.max(limit, reach))
  const { rows, unsound } = readRows(sql, { records, earlier }, limit)
  const changedInputs = applied
    .map((record) => rows.get(record.submission))
    .filter((row) => row !== undefined && !inputHolds(sql, row))
    .map((row) => row?.sequence ?? 0)
  return {
    after,
    records,
    isLast,
    earlier,
    rows,
    unsound,
    changedInputs: new Set(changedInputs),
    settlements: readSettlements(sql, { records, rows }),
    repeated: readRepeated(sql, after, last),
    unanswered: readUnanswered(sql, after, last),
  }
}

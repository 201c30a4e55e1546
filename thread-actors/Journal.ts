/**
 * The journal: the thread's append-only records, clustered by their thread-wide sequence.
 *
 * - J1 A named fact of a run can be written once: (submission, name, part) is unique. `InputApplied` and
 *   `Settled` are written once because the row's state allows each once.
 * - J2 Sequences count from 1 without gaps; a record's digest covers its content and the digest
 *   before it, so that a changed or missing record breaks the chain from there on.
 * - J3 The last record carries the thread's counters; every append copies or changes them.
 * - J4 The input stays in the ledger: `InputApplied` stores its digest, and readers get both.
 * - J6 A value that came before anything waited for it is no record of the run's, and no progress of it, until the run has
 *   read it.
 * - J7 Nothing is recorded behind a last record whose counters do not decode: they would be guessed, and stand there.
 * - J5 A record that was pruned has an empty payload. Whoever looks for what one says finds none; its digest stays.
 */
import type { RecordKind } from "../contracts/JournalRecord.ts"
import { sha256 } from "../platform/Digest.ts"
import { bindingsMax, type Sql } from "../platform/ObjectStorage.ts"
import type { Block } from "./Block.ts"
import { checkHeader, type Tail } from "./Header.ts"
import { earlyPart, notePart, tokenPart } from "./WaitRows.ts"

export interface NewRecord {
  /** The sequence of its submission. */
  readonly submission: number
  readonly kind: RecordKind
  /** The agent's name of the operation; all operations of a run share one name space. */
  readonly name?: string
  /** 0 the first record of an operation; later parts answer it. */
  readonly part?: number
  readonly epoch: number
  /** The branches of races that its operation stands in, as `RaceBranch` writes them; none outside of races. */
  readonly races?: string | null
  /** Canonical JSON. */
  readonly payload: string
  /** What a reader will be given, in bytes, when it is more than the payload. */
  readonly bytes?: number
}

export interface StoredRecord {
  readonly sequence: number
  readonly submission: number
  readonly kind: RecordKind
  readonly name: string | null
  readonly part: number
  readonly epoch: number
  readonly recordedAt: number
  readonly races: string | null
  readonly payload: string
}

/** The digest of a record in the chain. */
export const chainDigest = (previous: string, record: StoredRecord): string =>
  sha256(
    previous,
    "\n",
    JSON.stringify([
      record.sequence,
      record.submission,
      record.kind,
      record.name,
      record.part,
      record.epoch,
      record.recordedAt,
      ...(record.races === null ? [] : [record.races]),
    ]),
    "\n",
    record.payload,
  )

const utf8 = new TextEncoder()

export const bytesOf = (text: string): number => utf8.encode(text).length

/** Appends a record in this block, with the counters as they are after it. Gives its sequence. */
export const append = (
  block: Block,
  record: NewRecord,
  counters: Partial<Pick<Tail, "open" | "settled" | "floor">> = {},
): number => {
  checkHeader(block.header) // J7
  const { tail } = block.header
  const stored: StoredRecord = {
    sequence: tail.sequence + 1, // J2
    submission: record.submission,
    kind: record.kind,
    name: record.name ?? null,
    part: record.part ?? 0,
    epoch: record.epoch,
    recordedAt: block.now,
    races: record.races ?? null,
    payload: record.payload,
  }
  const next: Tail = {
    ...tail,
    ...counters, // J3
    sequence: stored.sequence,
    digest: chainDigest(tail.digest, stored), // J2
  }
  block.sql.run(
    `INSERT INTO journal (sequence, submission, kind, name, part, epoch, recordedAt, digest,
       open, settled, floor, bytes, payload, races)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, // J1
    stored.sequence,
    stored.submission,
    stored.kind,
    stored.name,
    stored.part,
    stored.epoch,
    stored.recordedAt,
    next.digest,
    next.open,
    next.settled,
    next.floor,
    record.bytes ?? bytesOf(record.payload), // J4
    stored.payload,
    stored.races,
  )
  block.header = { ...block.header, tail: next }
  return stored.sequence
}

/** The first record of a named operation of a run. */
export const findNamed = (
  sql: Sql,
  submission: number,
  name: string,
): Pick<StoredRecord, "kind" | "payload" | "sequence"> | undefined =>
  sql.all<{ kind: RecordKind; payload: string; sequence: number }>(
    `SELECT kind, payload, sequence FROM journal WHERE submission = ? AND name = ? AND part = 0
     AND payload <> ''`,
    submission,
    name,
  )[0]

/** The last record of a named operation of a run: what its state is. */
export const findLast = (
  sql: Sql,
  submission: number,
  name: string,
): Pick<StoredRecord, "kind" | "payload" | "part"> | undefined =>
  sql.all<{ kind: RecordKind; payload: string; part: number }>(
    `SELECT kind, payload, part FROM journal WHERE submission = ? AND name = ?
     AND part <> ${earlyPart} ORDER BY part DESC LIMIT 1`, // J6
    submission,
    name,
  )[0]

/** A record of a named operation by its part. */
export const findPart = (
  sql: Sql,
  submission: number,
  record: { readonly name: string; readonly part: number },
): Pick<StoredRecord, "kind" | "payload" | "sequence"> | undefined =>
  sql.all<{ kind: RecordKind; payload: string; sequence: number }>(
    `SELECT kind, payload, sequence FROM journal WHERE submission = ? AND name = ? AND part = ?
     AND payload <> ''`, // J5
    submission,
    record.name,
    record.part,
  )[0]

/** A name of a run, and whether it is the token for a wait that is on record under it. */
export interface RecordedName {
  readonly name: string
  readonly isToken: boolean
  /** The branches of races that it was recorded in; none outside of races. */
  readonly races: string | null
}

const isUnread = `part = ${earlyPart} AND NOT EXISTS (SELECT 1 FROM journal k
  WHERE k.submission = journal.submission AND k.name = journal.name AND k.part = ${notePart})`

const isToken = `kind = 'ValueDrawn' AND part = ${tokenPart}`

/** The names under which a run had recorded anything before this epoch. // J6 */
export const recordedNames = (
  sql: Sql,
  submission: number,
  epoch: number,
): ReadonlyArray<RecordedName> =>
  sql
    .all<{ name: string; isToken: number; races: string | null }>(
      `SELECT name, ${isToken} AS isToken, races FROM journal
       WHERE submission = ? AND name IS NOT NULL AND epoch < ?
       AND part <> ${earlyPart}`,
      submission,
      epoch,
    )
    .map((record) => ({ ...record, isToken: record.isToken === 1 }))

/** The branches of races in which a run has recorded anything under this name. */
export const recordedRaces = (
  sql: Sql,
  submission: number,
  named: Omit<RecordedName, "races">,
): ReadonlyArray<string> =>
  sql
    .all<{ races: string }>(
      `SELECT DISTINCT races FROM journal WHERE submission = ? AND name = ? AND races IS NOT NULL
       AND (${isToken}) = ?`,
      submission,
      named.name,
      named.isToken ? 1 : 0,
    )
    .map(({ races }) => races)

/** Whether a run has come so far that an operation of it is on record. */
export const hasOperations = (sql: Sql, submission: number): boolean =>
  sql.all(
    `SELECT 1 FROM journal WHERE submission = ? AND name IS NOT NULL AND NOT (${isUnread}) LIMIT 1`,
    submission,
  ).length > 0

/** When a record of a named operation was written. */
export const findRecordedAt = (
  sql: Sql,
  submission: number,
  record: { readonly name: string; readonly part: number },
): number | undefined =>
  sql.all<{ recordedAt: number }>(
    "SELECT recordedAt FROM journal WHERE submission = ? AND name = ? AND part = ?",
    submission,
    record.name,
    record.part,
  )[0]?.recordedAt

/**
 * The sequence of the last record under any of these names of a run; 0 without one. What a run notes about an answer
 * is not when it came.
 */
export const lastSequence = (
  sql: Sql,
  submission: number,
  names: ReadonlyArray<string>,
): number => {
  let last = 0
  for (let from = 0; from < names.length; from += bindingsMax - 1) {
    const some = names.slice(from, from + bindingsMax - 1)
    const [found] = sql.all<{ sequence: number | null }>(
      `SELECT max(sequence) AS sequence FROM journal WHERE submission = ?
       AND name IN (${some.map(() => "?").join(", ")}) AND NOT (kind = 'ValueDrawn' AND part > 0)
       AND NOT (${isUnread})`, // J6
      submission,
      ...some,
    )
    last = Math.max(last, found?.sequence ?? 0)
  }
  return last
}

/** The records of a run that asked for somebody's word. Reads that run's named records, no payload. */
export const unknownRecords = (
  sql: Sql,
  submission: number,
): ReadonlyArray<{ readonly name: string; readonly part: number }> =>
  sql.all<{ name: string; part: number }>(
    `SELECT name, part FROM journal
     WHERE submission = ? AND name IS NOT NULL AND kind = 'ToolUnknown'`,
    submission,
  )

export interface RunSize {
  readonly records: number
  readonly bytes: number
}

const sizeOf = (sql: Sql, submission: number, which: string): RunSize => {
  const [sum] = sql.all<{ records: number; bytes: number | null }>(
    `SELECT count(*) AS records, sum(bytes) AS bytes FROM journal
     WHERE submission = ? AND name IS NOT NULL AND ${which}`,
    submission,
  )
  return { records: sum?.records ?? 0, bytes: sum?.bytes ?? 0 }
}

/** How much a run has recorded under names. Reads that run's records only, never their payloads. // J6 */
export const runSize = (sql: Sql, submission: number): RunSize =>
  sizeOf(sql, submission, `NOT (${isUnread})`)

/** How much has come for a run that it has not read. */
export const unreadSize = (sql: Sql, submission: number): RunSize =>
  sizeOf(sql, submission, isUnread)

/** What is there for observers, or says only that something was begun, asked or is in doubt, is no result. */
const withoutProgress: ReadonlyArray<RecordKind> = [
  "Progress",
  "ToolPrepared",
  "ToolUnknown",
  "ToolResolved",
  "ApprovalRequested",
  "TimerSet",
  "SignalAwaited",
  "ChildRequested",
]

/** Whether a named record of this kind is a result. */
export const isProgress = (kind: RecordKind): boolean => !withoutProgress.includes(kind)

const noProgress = withoutProgress.map((kind) => `'${kind}'`).join(", ")

/** Whether the attempt of this epoch has recorded anything that counts as progress. */
export const progressed = (sql: Sql, submission: number, epoch: number): boolean =>
  sql.all(
    `SELECT 1 FROM journal WHERE submission = ? AND name IS NOT NULL AND epoch = ?
     AND kind NOT IN (${noProgress}) AND part <> ${earlyPart} LIMIT 1`, // J6
    submission,
    epoch,
  ).length > 0

/** The payload of a record by its sequence. */
export const readPayload = (sql: Sql, sequence: number): string | undefined =>
  sql.all<{ payload: string }>("SELECT payload FROM journal WHERE sequence = ?", sequence)[0]
    ?.payload

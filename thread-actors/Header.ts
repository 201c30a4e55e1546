/**
 * The header of a thread: the `meta` row, the last admitted sequence, and the last record with the
 * counters it carries. Read as one statement, and kept from block to block: nothing but
 * a block changes it.
 *
 * - H1 The revision grows with every change of anything in a report. Admissions and records count by
 *   themselves; a change without either touches the `meta` row.
 * - H2 Texts of people are kept as they are stored: a header is read whatever they hold.
 * - H3 A column that does not decode is never guessed into leave to change something: the header tells the table, no
 *   block takes it but an admission, a pause, a fence, a forgetting and (of the journal) the word on what was carried,
 *   and it is never written back. Only a title falls back to none.
 */
import type { Generation, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import {
  type Check,
  holds,
  isCount,
  isGeneration,
  isMillis,
  isText,
  isTitle,
  maybe,
} from "./StoredColumns.ts"
import { Unreadable } from "./Unreadable.ts"

/** What the last record says about the thread after it. */
export interface Tail {
  /** 0 before the first record. */
  readonly sequence: number
  /** Of the chain: each record's digest covers the one before. */
  readonly digest: string
  /** The sequence of the open run: between `InputApplied` and its settlement. */
  readonly open: number | null
  /** How many submissions have settled. */
  readonly settled: number
  /** Every queued submission below it has settled, is parked or has joined a run. */
  readonly floor: number
}

export interface Header {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly born: string
  readonly fence: Generation | null
  /** Refused generations, oldest first. */
  readonly refused: ReadonlyArray<string>
  /** Changes of a report that no admission and no record counts. */
  readonly touches: number
  readonly parked: number
  readonly paused: boolean
  /** Who paused it, why and since when, as JSON. */
  readonly pause: string | null
  /** Of the last pause or resume. */
  readonly pauseGeneration: Generation | null
  readonly title: string | null
  /** How many submissions have failed, and how many were aborted. */
  readonly failed: number
  readonly aborted: number
  /** The last record that the deployment's sink is known to have; 0 for none. */
  readonly published: number
  /** When the last submission was accepted whose key was pruned; 0 for none. */
  readonly keysGoneTo: number
  /** What makes the row a tombstone. */
  readonly forgottenAt: number | null
  /** 0 before the first admission. */
  readonly lastSequence: number
  readonly tail: Tail
  /** The table of what does not decode in it. // H3 */
  readonly unreadable?: "meta" | "journal"
}

/** Refuses a header that does not decode. // H3 */
export const checkHeader = ({ unreadable }: Header): void => {
  if (unreadable !== undefined) throw new Unreadable(unreadable)
}

export const emptyTail: Tail = { sequence: 0, digest: "", open: null, settled: 0, floor: 1 }

export const revisionOf = (header: Header): number =>
  header.touches + header.lastSequence + header.tail.sequence // H1

/** Submissions without a settlement. */
export const nonterminalOf = (header: Header): number => header.lastSequence - header.tail.settled

type MetaColumns = Pick<
  HeaderRow,
  | "fence"
  | "refused"
  | "revision"
  | "parked"
  | "paused"
  | "pauseGeneration"
  | "failed"
  | "aborted"
  | "published"
  | "keysGoneTo"
  | "forgottenAt"
>

type HeaderRow = {
  ownerId: string
  threadId: string
  born: string
  fence: string | null
  refused: string
  revision: number
  parked: number
  paused: number
  pause: string | null
  pauseGeneration: string | null
  title: string | null
  failed: number | null
  aborted: number | null
  published: number | null
  keysGoneTo: number | null
  forgottenAt: number | null
  lastSequence: number | null
  tailSequence: number | null
  digest: string | null
  open: number | null
  settled: number | null
  floor: number | null
}

const selectHeader = `SELECT m.ownerId, m.threadId, m.born, m.fence, m.refused, m.revision,
  m.parked, m.paused, m.pause, m.pauseGeneration, m.title, m.failed, m.aborted, m.forgottenAt,
  (SELECT passed FROM cursors WHERE name = 'publication') AS published,
  (SELECT passed FROM cursors WHERE name = 'keys') AS keysGoneTo, (SELECT max(sequence) FROM submissions) AS lastSequence,
  j.sequence AS tailSequence, j.digest, j.open, j.settled, j.floor
  FROM meta m LEFT JOIN
    (SELECT sequence, digest, open, settled, floor FROM journal ORDER BY sequence DESC LIMIT 1) j
  WHERE m.id = 1`

const metaChecks: { readonly [K in keyof MetaColumns]: Check } = {
  fence: maybe(isGeneration),
  refused: (value) => typeof value === "string" && refusedOf(value).every(isGeneration),
  revision: isCount,
  parked: isCount,
  paused: isCount,
  pauseGeneration: maybe(isGeneration),
  failed: maybe(isCount),
  aborted: maybe(isCount),
  published: maybe(isCount),
  keysGoneTo: maybe(isCount),
  forgottenAt: maybe(isMillis),
}

const tailChecks: { readonly [K in keyof Tail]: Check } = {
  sequence: isCount,
  digest: isText,
  open: maybe(isCount),
  settled: isCount,
  floor: isCount,
}

const refusedOf = (text: string): ReadonlyArray<string> => (text === "" ? [] : text.split(" "))

type Meta = Pick<
  Header,
  | "fence"
  | "refused"
  | "touches"
  | "parked"
  | "paused"
  | "pauseGeneration"
  | "failed"
  | "aborted"
  | "published"
  | "keysGoneTo"
  | "forgottenAt"
>

/** What nobody may act by: it tells only that there is something. // H3 */
const unreadableMeta: Meta = {
  fence: null,
  refused: [],
  touches: 0,
  parked: 0,
  paused: false,
  pauseGeneration: null,
  failed: 0,
  aborted: 0,
  published: 0,
  keysGoneTo: 0,
  forgottenAt: null,
}

const metaOf = (row: HeaderRow): Meta => ({
  fence: row.fence as Generation | null,
  refused: refusedOf(row.refused),
  touches: row.revision,
  parked: row.parked,
  paused: row.paused !== 0,
  pauseGeneration: row.pauseGeneration as Generation | null,
  failed: row.failed ?? 0,
  aborted: row.aborted ?? 0,
  published: row.published ?? 0,
  keysGoneTo: row.keysGoneTo ?? 0,
  forgottenAt: row.forgottenAt,
})

const tailOf = (row: HeaderRow): Tail | undefined => {
  const { digest, floor, open, settled, tailSequence } = row
  if (tailSequence === null) return emptyTail
  const tail = { sequence: tailSequence, digest, open, settled, floor } as Tail
  return holds(tail, tailChecks) && tail.settled <= (row.lastSequence ?? 0) ? tail : undefined
}

/** Counts what admission must know of a journal whose last record does not tell. A look at the whole ledger. */
const countedTail = (sql: Sql, row: HeaderRow): Tail => {
  const [count] = sql.all<{ settled: number }>(
    "SELECT count(*) AS settled FROM submissions WHERE state = 'settled'",
  )
  return { ...emptyTail, sequence: row.tailSequence ?? 0, settled: count?.settled ?? 0 }
}

/** The header of a thread whose tables exist. */
export const readHeader = (sql: Sql): Header => {
  const row = sql.all<HeaderRow>(selectHeader)[0]
  if (row === undefined) throw new Error("a thread with tables has no header")
  const meta = holds<MetaColumns>(row, metaChecks) ? metaOf(row) : undefined
  const tail = tailOf(row)
  const unreadable = meta === undefined ? "meta" : tail === undefined ? "journal" : undefined
  return {
    ownerId: row.ownerId as OwnerId,
    threadId: row.threadId as ThreadId,
    born: row.born,
    ...(meta ?? unreadableMeta), // H3
    pause: isText(row.pause) ? row.pause : null, // H2
    title: isTitle(row.title) ? row.title : null, // H3
    lastSequence: row.lastSequence ?? 0,
    tail: tail ?? countedTail(sql, row), // H3
    ...(unreadable === undefined ? {} : { unreadable }),
  }
}

/** The first `meta` row: identity, and the name of this database. */
export const insertHeader = (
  sql: Sql,
  identity: { readonly ownerId: OwnerId; readonly threadId: ThreadId; readonly born: string },
): void =>
  sql.run(
    `INSERT INTO meta (id, ownerId, threadId, born, fence, refused, revision, parked, paused, title,
       failed, aborted) VALUES (1, ?, ?, ?, NULL, '', 0, 0, 0, NULL, 0, 0)`,
    identity.ownerId,
    identity.threadId,
    identity.born,
  )

/** Writes the part of the header that has a row of its own. */
export const writeHeader = (sql: Sql, header: Header): void =>
  sql.run(
    `UPDATE meta SET fence = ?, refused = ?, revision = ?, parked = ?, paused = ?, pause = ?,
       pauseGeneration = ?, title = ?, failed = ?, aborted = ?, forgottenAt = ? WHERE id = 1`,
    header.fence,
    header.refused.join(" "),
    header.touches,
    header.parked,
    header.paused ? 1 : 0,
    header.pause,
    header.pauseGeneration,
    header.title,
    header.failed,
    header.aborted,
    header.forgottenAt,
  )

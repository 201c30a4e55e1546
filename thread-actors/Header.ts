/**
 * The header of a thread: the `meta` row, the last admitted sequence, and the last record with the
 * counters it carries. Read as one statement, and kept from block to block: nothing but
 * a block changes it.
 *
 * - H1 The revision grows with every change of anything in a report. Admissions and records count by
 *   themselves; a change without either touches the `meta` row.
 * - H2 Texts of people are kept as they are stored: a header is read whatever they hold.
 */
import type { Generation, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"

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
  /** Every queued submission below it has settled. */
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
  /** What makes the row a tombstone. */
  readonly forgottenAt: number | null
  /** 0 before the first admission. */
  readonly lastSequence: number
  readonly tail: Tail
}

export const emptyTail: Tail = { sequence: 0, digest: "", open: null, settled: 0, floor: 1 }

export const revisionOf = (header: Header): number =>
  header.touches + header.lastSequence + header.tail.sequence // H1

/** Submissions without a settlement. */
export const nonterminalOf = (header: Header): number => header.lastSequence - header.tail.settled

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
  forgottenAt: number | null
  lastSequence: number | null
  tailSequence: number | null
  digest: string | null
  open: number | null
  settled: number | null
  floor: number | null
}

const selectHeader = `SELECT m.ownerId, m.threadId, m.born, m.fence, m.refused, m.revision,
  m.parked, m.paused, m.pause, m.pauseGeneration, m.title, m.forgottenAt, (SELECT max(sequence) FROM submissions) AS lastSequence,
  j.sequence AS tailSequence, j.digest, j.open, j.settled, j.floor
  FROM meta m LEFT JOIN
    (SELECT sequence, digest, open, settled, floor FROM journal ORDER BY sequence DESC LIMIT 1) j
  WHERE m.id = 1`

/** The header of a thread whose tables exist. */
export const readHeader = (sql: Sql): Header => {
  const row = sql.all<HeaderRow>(selectHeader)[0]
  if (row === undefined) throw new Error("a thread with tables has no header")
  return {
    ownerId: row.ownerId as OwnerId,
    threadId: row.threadId as ThreadId,
    born: row.born,
    fence: row.fence as Generation | null,
    refused: row.refused === "" ? [] : row.refused.split(" "),
    touches: row.revision,
    parked: row.parked,
    paused: row.paused !== 0,
    pause: row.pause, // H2
    pauseGeneration: row.pauseGeneration as Generation | null,
    title: row.title,
    forgottenAt: row.forgottenAt,
    lastSequence: row.lastSequence ?? 0,
    tail:
      row.tailSequence === null
        ? emptyTail
        : {
            sequence: row.tailSequence,
            digest: row.digest ?? "",
            open: row.open,
            settled: row.settled ?? 0,
            floor: row.floor ?? 1,
          },
  }
}

/** The first `meta` row: identity, and the name of this database. */
export const insertHeader = (
  sql: Sql,
  identity: { readonly ownerId: OwnerId; readonly threadId: ThreadId; readonly born: string },
): void =>
  sql.run(
    `INSERT INTO meta (id, ownerId, threadId, born, fence, refused, revision, parked, paused, title)
     VALUES (1, ?, ?, ?, NULL, '', 0, 0, 0, NULL)`,
    identity.ownerId,
    identity.threadId,
    identity.born,
  )

/** Writes the part of the header that has a row of its own. */
export const writeHeader = (sql: Sql, header: Header): void =>
  sql.run(
    `UPDATE meta SET fence = ?, refused = ?, revision = ?, parked = ?, paused = ?, pause = ?,
       pauseGeneration = ?, title = ?, forgottenAt = ? WHERE id = 1`,
    header.fence,
    header.refused.join(" "),
    header.touches,
    header.parked,
    header.paused ? 1 : 0,
    header.pause,
    header.pauseGeneration,
    header.title,
    header.forgottenAt,
  )

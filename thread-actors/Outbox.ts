/**
 * The outbox: what this thread has recorded for others, a row each until it has been taken.
 *
 * - O1 A row is written in the block of the fact that it carries, and its id is a function of that fact: the same fact
 *   is queued once.
 * - O2 Of each target the first row that is to be carried has a time; those behind it have none: the order of each
 *   pair is that of the rows.
 */
import type { MessageId, OwnerId, SubmissionId, ThreadId } from "../contracts/Identifiers.ts"
import { readTraceparent, traceparentOf } from "../contracts/observability/TraceContext.ts"
import { sha256 } from "../platform/Digest.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { allOf } from "./AllOf.ts"
import { type Block, touch } from "./Block.ts"
import type { Thread } from "./Thread.ts"
import {
  type Check,
  holds,
  isCount,
  isMillis,
  isName,
  isSubmissionId,
  isText,
  maybe,
  oneOf,
} from "./StoredColumns.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

export const outboxKinds = ["Message", "Child", "ChildAbort", "ChildAsk", "ChildNotice"] as const
export type OutboxKind = (typeof outboxKinds)[number]

/** What is queued: where to, and what it is about. What it says stands in the journal, but for a few words. */
export interface Queued {
  readonly id: MessageId
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
  readonly kind: OutboxKind
  /** The run that it comes from, and the run's name for it; empty where it has none. */
  readonly submission: number
  readonly name: string
  /** When it is no longer to be carried; none where it never is given up. */
  readonly deadlineAt: number | null
  /** What it will be on its way. */
  readonly bytes: number
  /** Canonical JSON: what no record says. */
  readonly payload: string
}

/** What is queued beside a record: the trace that it goes on in. */
export const sentUnder = (trace: string | undefined): string =>
  trace === undefined ? "{}" : `{"trace":"${trace}"}`

/** The trace of an entry, as it was queued. */
export const traceOfEntry = ({ payload }: StoredEntry): { readonly trace?: string } => {
  const { trace } = parsed(payload, "outbox") as { readonly trace?: unknown }
  const read = readTraceparent(trace)
  return read === undefined ? {} : { trace: traceparentOf(read) }
}

/** One text for a target. */
export const targetOf = (target: {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}): string => `${target.ownerId}/${target.threadId}`

/** The id of what a run sends under a name; of each kind another. // O1 */
export const messageIdOf = (kind: OutboxKind, submissionId: string, name: string): MessageId =>
  sha256(kind, "\n", submissionId, "\n", name).slice(0, 32) as MessageId

/** A row as it is read. */
export interface StoredEntry {
  readonly sequence: number
  readonly id: MessageId
  readonly target: string
  readonly kind: OutboxKind
  readonly submission: number
  readonly name: string
  readonly queuedAt: number
  readonly deadlineAt: number | null
  readonly tries: number
  /** None behind others of its target, and where it is parked. */
  readonly nextAt: number | null
  readonly parkedAt: number | null
  /** The tag of what parked it. */
  readonly parkedFor: string | null
  readonly bytes: number
  readonly payload: string
}

const checks: { readonly [K in keyof StoredEntry]: Check } = {
  sequence: isCount,
  id: isText,
  target: isText,
  kind: oneOf(outboxKinds),
  submission: isCount,
  name: isText,
  queuedAt: isMillis,
  deadlineAt: maybe(isMillis),
  tries: isCount,
  nextAt: maybe(isMillis),
  parkedAt: maybe(isMillis),
  parkedFor: maybe(isText),
  bytes: isCount,
  payload: isText,
}

type Raw = { readonly [K in keyof StoredEntry]: string | number | null }

/** Whether a row decodes. */
export const isSoundEntry = (row: Raw): boolean => holds(row, checks)

const decode = (row: Raw): StoredEntry => {
  if (!isSoundEntry(row)) throw new Unreadable("outbox")
  return row as unknown as StoredEntry
}

const columns = `sequence, id, target, kind, submission, name, queuedAt, deadlineAt, tries, nextAt,
  parkedAt, parkedFor, bytes, payload`

/** The first rows of the table, as they are. */
export const rawEntries = (sql: Sql, limit: number): ReadonlyArray<Raw> =>
  sql.all<Raw>(`SELECT ${columns} FROM outbox ORDER BY sequence LIMIT +?`, limit)

/** The rows with these ids, as they are. */
export const rawEntriesOf = (sql: Sql, ids: ReadonlyArray<MessageId>): ReadonlyArray<Raw> =>
  allOf<Raw>(sql, `SELECT ${columns} FROM outbox WHERE id IN ()`, ids)

/** The targets that something is to be carried to now, the longest due first. */
export const dueTargets = (sql: Sql, now: number, limit: number): ReadonlyArray<string> =>
  sql
    .all<{ target: string }>(
      "SELECT target FROM outbox WHERE nextAt <= ? ORDER BY nextAt, sequence LIMIT +?",
      now,
      limit,
    )
    .map(({ target }) => target)

/** What is to be carried to a target, in order. */
export const entriesOf = (sql: Sql, target: string, limit: number): ReadonlyArray<StoredEntry> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM outbox WHERE target = ? AND parkedAt IS NULL ORDER BY sequence LIMIT +?`,
      target,
      limit,
    )
    .map(decode)

export const findEntry = (sql: Sql, id: MessageId): StoredEntry | undefined => {
  const [row] = sql.all<Raw>(`SELECT ${columns} FROM outbox WHERE id = ?`, id)
  return row === undefined ? undefined : decode(row)
}

/** How many entries are still to be carried; what is parked waits for nobody's taking. */
export const countOwed = (sql: Sql): number =>
  sql.all<{ count: number }>("SELECT count(*) AS count FROM outbox WHERE parkedAt IS NULL")[0]
    ?.count ?? 0

/** How many entries there are, the parked among them. */
export const countEntries = (sql: Sql): number =>
  sql.all<{ count: number }>("SELECT count(*) AS count FROM outbox")[0]?.count ?? 0

/** The next of a target is to be carried, now that the one before it is not any more. // O2 */
const promote = (block: Block, target: string): void =>
  block.sql.run(
    `UPDATE outbox SET nextAt = ? WHERE nextAt IS NULL AND sequence =
       (SELECT min(sequence) FROM outbox WHERE target = ? AND parkedAt IS NULL)`,
    block.now,
    target,
  )

/** It is done with. */
export const removeEntry = (block: Block, { sequence, target }: StoredEntry): void => {
  block.sql.run("DELETE FROM outbox WHERE sequence = ?", sequence)
  promote(block, target) // O2
  touch(block)
}

/** It waits for somebody's word; those behind it pass. */
export const parkEntry = (block: Block, entry: StoredEntry, why: string): void => {
  block.sql.run(
    "UPDATE outbox SET nextAt = NULL, parkedAt = ?, parkedFor = ? WHERE sequence = ?",
    block.now,
    why,
    entry.sequence,
  )
  promote(block, entry.target) // O2
  touch(block)
}

/** It is tried again later. */
export const delayEntry = (block: Block, { sequence, tries }: StoredEntry, at: number): void => {
  block.sql.run(
    "UPDATE outbox SET nextAt = ?, tries = ? WHERE sequence = ? AND nextAt IS NOT NULL", // O2
    at,
    tries + 1,
    sequence,
  )
  touch(block)
}

const isBehindOthers = (sql: Sql, target: string): boolean =>
  sql.all("SELECT 1 FROM outbox WHERE target = ? AND parkedAt IS NULL LIMIT 1", target).length > 0

/** Queues an entry in this block. Queueing it again changes nothing. // O1 */
export const queue = (block: Block, entry: Queued): void => {
  const { now, sql } = block
  const target = targetOf(entry)
  const nextAt = isBehindOthers(sql, target) ? null : now // O2
  block.thread.outboxEmpty = false
  sql.run(
    `INSERT OR IGNORE INTO outbox (id, target, kind, submission, name, queuedAt, deadlineAt, tries,
       nextAt, bytes, payload) VALUES (?, ?, ?, ?, ?, ?, ?, 0, ?, ?, ?)`,
    entry.id,
    target,
    entry.kind,
    entry.submission,
    entry.name,
    now,
    entry.deadlineAt,
    nextAt,
    entry.bytes,
    entry.payload,
  )
  touch(block)
}

/** A message that is parked, with its submission's id. */
export interface ParkedMessage {
  readonly submissionId: SubmissionId
  readonly name: string
  readonly parkedAt: number
  readonly parkedFor: string
}

const parkedChecks = {
  submissionId: isSubmissionId,
  name: isName,
  parkedAt: isMillis,
  parkedFor: isText,
}

const parkedRows = (sql: Sql, where: string, ...bindings: ReadonlyArray<number>) =>
  sql
    .all<{ [K in keyof ParkedMessage]: ParkedMessage[K] }>(
      `SELECT s.id AS submissionId, o.name, o.parkedAt, o.parkedFor
       FROM outbox o JOIN submissions s ON s.sequence = o.submission
       WHERE o.parkedAt IS NOT NULL ${where} ORDER BY o.parkedAt, o.sequence LIMIT +?`,
      ...bindings,
    )
    .map((message) => {
      if (!holds(message, parkedChecks)) throw new Unreadable("outbox")
      return message
    })

/** The messages that wait for somebody's word, the longest first. Where none is known to be, no row is read. */
export const parkedMessages = (thread: Thread, limit: number): ReadonlyArray<ParkedMessage> =>
  thread.outboxEmpty ? [] : parkedRows(thread.host.storage.sql, "", limit)

/** The submissions that sent them, by sequence. Where none is known to be, no row is read. */
export const submissionsOfParked = (thread: Thread, limit: number): ReadonlyArray<number> =>
  thread.outboxEmpty
    ? []
    : thread.host.storage.sql
        .all<{ submission: number }>(
          `SELECT DISTINCT submission FROM outbox WHERE parkedAt IS NOT NULL
           ORDER BY submission LIMIT ?`,
          limit,
        )
        .map(({ submission }) => {
          if (!isCount(submission)) throw new Unreadable("outbox")
          return submission
        })

/** Those of one run. */
export const parkedOf = (
  sql: Sql,
  submission: number,
  limit: number,
): ReadonlyArray<ParkedMessage> => parkedRows(sql, "AND o.submission = ?", submission, limit)

/** Has the parked messages of a run carried again, behind all others of their targets. Gives how many there were. */
export const carryAgain = (block: Block, submission: number, deadlineMillis: number): number => {
  const parked = block.sql
    .all<Raw>(
      `SELECT ${columns} FROM outbox WHERE parkedAt IS NOT NULL AND submission = ? ORDER BY sequence`,
      submission,
    )
    .map(decode)
  for (const entry of parked) {
    const [ownerId = "", threadId = ""] = entry.target.split("/")
    block.sql.run("DELETE FROM outbox WHERE sequence = ?", entry.sequence)
    queue(block, {
      ...entry,
      ownerId: ownerId as OwnerId,
      threadId: threadId as ThreadId,
      deadlineAt: entry.deadlineAt === null ? null : block.now + deadlineMillis,
    })
  }
  return parked.length
}

/** When the first entry wants to be carried; none when none does. Where none is known to be, no row is read. */
export const outboxAt = (thread: Thread): number | undefined => {
  if (thread.outboxEmpty) return undefined
  const { sql } = thread.host.storage
  const [first] = sql.all<{ nextAt: number }>(
    "SELECT nextAt FROM outbox WHERE nextAt IS NOT NULL ORDER BY nextAt LIMIT 1",
  )
  if (first !== undefined && !isMillis(first.nextAt)) throw new Unreadable("outbox")
  thread.outboxEmpty = first === undefined && countEntries(sql) === 0
  return first?.nextAt
}

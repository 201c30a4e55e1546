/**
 * The outbox: what this thread has recorded for others, a row each until it has been taken.
 *
 * - O1 A row is written in the block of the fact that it carries, and its id is a function of that fact: the same fact
 *   is queued once.
 * - O2 Of each target the first row that is to be carried has a time; those behind it have none: the order of each
 *   pair is that of the rows.
 */
import type { MessageId, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import { sha256 } from "../platform/Digest.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Block, touch } from "./Block.ts"
import { isMillis } from "./StoredColumns.ts"
import { Unreadable } from "./Unreadable.ts"

export const outboxKinds = ["Message", "Child", "ChildAbort", "ChildNotice"] as const
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

/** One text for a target. */
export const targetOf = (target: {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}): string => `${target.ownerId}/${target.threadId}`

/** The id of what a run sends under a name; of each kind another. // O1 */
export const messageIdOf = (kind: OutboxKind, submissionId: string, name: string): MessageId =>
  sha256(kind, "\n", submissionId, "\n", name).slice(0, 32) as MessageId

const isBehindOthers = (sql: Sql, target: string): boolean =>
  sql.all("SELECT 1 FROM outbox WHERE target = ? AND parkedAt IS NULL LIMIT 1", target).length > 0

/** Queues an entry in this block. Queueing it again changes nothing. // O1 */
export const queue = (block: Block, entry: Queued): void => {
  const { now, sql } = block
  const target = targetOf(entry)
  const nextAt = isBehindOthers(sql, target) ? null : now // O2
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

/** When the first entry wants to be carried; none when none does. */
export const outboxAt = (sql: Sql): number | undefined => {
  const [first] = sql.all<{ nextAt: number }>(
    "SELECT nextAt FROM outbox WHERE nextAt IS NOT NULL ORDER BY nextAt LIMIT 1",
  )
  if (first !== undefined && !isMillis(first.nextAt)) throw new Unreadable("outbox")
  return first?.nextAt
}

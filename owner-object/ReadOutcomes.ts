/**
 * Reading outcomes: what the search index has of how submissions ended, pulled from their threads.
 *
 * Only in a deployment that searches outcomes. A thread with records that nobody has read has a time in the
 * directory; an answer, and how far it has come, are written together.
 *
 * Invariants
 * - Z1 Slots of its own: reading delays no lane, and no lane reading.
 * - Z2 The texts of an answer and the record up to which the thread was read are one transaction.
 * - Z3 A thread that does not answer is asked again, less often each time; nobody else waits.
 * - Z4 An answer is for the place that was asked from: it is dropped if its thread has left the directory meanwhile, or has
 *   been read from another place, as one that was built anew. What was before it would never be read otherwise.
 * - Z5 No answer has a thread asked again at once that did not get further by it.
 * - Z6 When the next read is due is what the rows say: it is read again wherever they may have changed, and by a look that
 *   finds none. A pass waits for the end of a read, or for a time that is to come; never for one that has passed.
 */
import { Effect } from "effect"
import { delayMillis } from "../contracts/Backoff.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { OutcomeText } from "../contracts/Outcomes.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { within } from "./Call.ts"
import type { Life, RunningPass } from "./Life.ts"
import { addressOf, type Owner } from "./Owner.ts"
import { failed } from "./Projected.ts"
import { isUsable, readAt } from "./Projections.ts"
import { nextUnreadAt, trimOutcomes, writeText } from "./ProjectionTables.ts"

/** A thread with records that nobody has read. */
export interface Unread {
  readonly threadId: ThreadId
  readonly readTo: number
  /** The last record that was known of when it was asked. */
  readonly tail: number
  readonly tries: number
}

/** When outcomes are to be read next, as far as this life knows. */
const nextAt = ({ maintenance, projecting }: Life): number | undefined =>
  readAt(maintenance.projections, projecting)

/** Uses the tables. Where that fails they are built anew. */
const using = <A>(owner: Owner, life: Life, use: () => A): A | undefined => {
  try {
    return use()
  } catch (cause) {
    failed(life, cause, { limits: owner.limits, now: owner.host.now() })
    return undefined
  }
}

/** When a read becomes due that was not by the last look; undefined without one. // Z6 */
export const nextFutureRead = (owner: Owner, life: Life, lookedAt: number): number | undefined =>
  nextAt(life) === undefined
    ? undefined
    : using(owner, life, () => nextUnreadAt(owner.host.storage.sql, lookedAt))

type StoredUnread = {
  readonly thread_id: string
  readonly read_to: number
  readonly tail: number
  readonly tries: number
}

/** The threads that are read next, for the slots that are free. // Z1 */
export const pickReads = (owner: Owner, life: Life, pass: RunningPass): ReadonlyArray<Unread> => {
  const { limits, host } = owner
  const free = Math.min(limits.outcomeSlots - pass.reads.size, limits.passCalls - pass.calls)
  const now = host.now()
  if (free <= 0 || (nextAt(life) ?? Infinity) > now) return []
  const { sql } = host.storage
  const due = using(owner, life, () => {
    const rows = sql.all<StoredUnread>(
      `SELECT thread_id, read_to, tail, tries FROM directory WHERE unread_at <= ? ORDER BY unread_at LIMIT +?`,
      now,
      free + pass.reads.size,
    )
    if (rows.length === 0) life.projecting.unreadAt = nextUnreadAt(sql) // Z6
    return rows
  })
  return (due ?? [])
    .map((row) => ({
      threadId: row.thread_id as ThreadId,
      readTo: row.read_to,
      tail: row.tail,
      tries: row.tries,
    }))
    .filter(({ threadId }) => !pass.reads.has(threadId))
    .slice(0, free)
}

interface Answer {
  readonly outcomes: ReadonlyArray<OutcomeText>
  readonly readTo: number
  readonly more: boolean
}

const write = (
  sql: Sql,
  { readTo, tail, threadId }: Unread,
  answer: Answer,
  kept: number,
): void => {
  const [row] = sql.all<{ read_to: number }>(
    "SELECT read_to FROM directory WHERE thread_id = ?",
    threadId,
  )
  if (row?.read_to !== readTo) return // Z4
  for (const { outcome, sequence, settledAt, submissionId, text } of answer.outcomes) {
    writeText(sql, { threadId, sequence, submissionId, outcome, at: settledAt, body: text })
  }
  if (answer.outcomes.length > 0) trimOutcomes(sql, threadId, kept)
  sql.run(
    `UPDATE directory SET read_to = max(read_to, ?1), tries = 0,
       unread_at = CASE WHEN ?2 = 1 OR tail > max(?1, ?4) THEN 0 ELSE NULL END WHERE thread_id = ?3`,
    answer.readTo,
    answer.more ? 1 : 0,
    threadId,
    tail,
  )
}

/** Puts a thread off that did not answer. // Z3 */
const putOff = (owner: Owner, { threadId, tries }: Unread): void => {
  const { projectionRetryMaxMillis, projectionRetryMillis } = owner.limits
  const curve = { baseMillis: projectionRetryMillis, maxMillis: projectionRetryMaxMillis }
  const at = owner.host.now() + delayMillis(curve, tries + 1)
  owner.host.storage.sql.run(
    "UPDATE directory SET tries = ?, unread_at = ? WHERE thread_id = ? AND unread_at IS NOT NULL",
    tries + 1,
    at,
    threadId,
  )
}

/** Commits one end of a read, by itself. What fails has the tables built anew. // Z2 */
const commit = (owner: Owner, life: Life, work: () => void): void => {
  if (owner.life !== life || !isUsable(life.maintenance.projections, life.projecting)) return
  const { storage } = owner.host
  using(owner, life, () => {
    storage.transaction(work)
    life.projecting.unreadAt = nextUnreadAt(storage.sql) // Z6
  })
}

/** Reads what a thread has behind what was read of it, once. Never fails. */
export const readNext = (owner: Owner, life: Life, unread: Unread): Effect.Effect<void> => {
  const { limits, host } = owner
  const call = owner.threads.readOutcomes({
    ...addressOf(life, unread.threadId),
    after: unread.readTo,
    limit: limits.outcomesPerRead,
    characters: limits.outcomeCharacters,
  })
  return Effect.matchCauseEffect(within(limits.outcomeMillis, call), {
    onSuccess: (answer) =>
      Effect.sync(() =>
        commit(owner, life, () =>
          answer.more && answer.readTo <= unread.readTo
            ? putOff(owner, unread) // Z5
            : write(host.storage.sql, unread, answer, limits.outcomesPerThread),
        ),
      ),
    onFailure: () => Effect.sync(() => commit(owner, life, () => putOff(owner, unread))),
  })
}

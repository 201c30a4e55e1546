/**
 * Whose outbox is to be carried, and when: the questions that the index over `outbox_at` answers.
 *
 * Tables from before there was that index hold none that could be told; the next mutation makes it.
 *
 * Invariants
 * - V1 Every question reads a bounded number of rows at any number of lanes, and none where nothing waits.
 */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { dueBefore } from "./Rotation.ts"
import { outboxSince } from "./Tables.ts"

/** The tables of an owner, by the version that they have. */
export interface Tables {
  readonly sql: Sql
  readonly version: number
}

const first = (slow: 0 | 1, bound: string): string =>
  `(SELECT outbox_at FROM lanes WHERE outbox_slow = ${slow} AND outbox_at IS NOT NULL${bound}
    ORDER BY outbox_at LIMIT 1)`

const earliest = `SELECT ${first(0, "")} AS fast, ${first(1, "")} AS slow`
const future = `SELECT ${first(0, " AND outbox_at >= ?1")} AS fast,
  ${first(1, " AND outbox_at >= ?1")} AS slow`

type Firsts = { readonly fast: number | null; readonly slow: number | null }

const smaller = ([row]: ReadonlyArray<Firsts>): number | undefined => {
  const tickets = [row?.fast, row?.slow].filter((ticket) => typeof ticket === "number")
  return tickets.length === 0 ? undefined : Math.min(...tickets)
}

/** The smallest ticket of all outboxes; undefined without one. */
export const earliestOutbox = ({ sql, version }: Tables): number | undefined =>
  version < outboxSince ? undefined : smaller(sql.all<Firsts>(earliest)) // V1

/** The smallest ticket that is not due yet; undefined without one. */
export const nextFutureOutbox = ({ sql, version }: Tables, now: number): number | undefined =>
  version < outboxSince ? undefined : smaller(sql.all<Firsts>(future, dueBefore(now))) // V1

/** A lane whose outbox is due, as selection sees it. */
export interface DueOutbox {
  readonly threadId: ThreadId
  readonly slow: boolean
  readonly ticket: number
}

/** The lanes whose outbox is due, by ticket: of those in backoff and of the others at most `limit` each. */
export const dueOutboxes = (
  { sql, version }: Tables,
  { limit, now }: { readonly limit: number; readonly now: number },
): ReadonlyArray<DueOutbox> => {
  if (version < outboxSince) return []
  return ([0, 1] as const)
    .flatMap((slow) =>
      sql
        .all<{ thread_id: string; outbox_at: number }>(
          `SELECT thread_id, outbox_at FROM lanes
           WHERE outbox_slow = ${slow} AND outbox_at IS NOT NULL AND outbox_at < ?
           ORDER BY outbox_at LIMIT ?`,
          dueBefore(now),
          limit,
        )
        .map((row) => ({
          threadId: row.thread_id as ThreadId,
          slow: slow === 1,
          ticket: row.outbox_at,
        })),
    )
    .sort((one, other) => one.ticket - other.ticket) // V1
}

/** How many lanes have an outbox that is due and no work that is, exact up to `limit`. */
export const countDueOutboxes = (
  { sql, version }: Tables,
  { limit, now }: { readonly limit: number; readonly now: number },
): number => {
  if (version < outboxSince || limit <= 0) return 0
  const bound = dueBefore(now)
  const [row] = sql.all<{ count: number }>(
    `SELECT COUNT(*) AS count FROM
      (SELECT work, next_at FROM lanes WHERE outbox_at IS NOT NULL AND outbox_at < ?1 LIMIT ?2)
     WHERE work IS NULL OR next_at >= ?1`,
    bound,
    limit,
  )
  return row?.count ?? 0
}

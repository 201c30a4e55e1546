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

type Slow = 0 | 1

interface StoredTicket {
  readonly [column: string]: string | number
  readonly thread_id: string
  readonly outbox_at: number
  readonly slow: Slow
}

/**
 * The two smallest tickets, of those in backoff and of the others. Almost always they are all that is asked for, and
 * cost nothing where nothing waits; a bound in the statement would cost a row each time.
 */
const firstTwo = (sql: Sql): ReadonlyArray<StoredTicket> =>
  sql.all<StoredTicket>(
    `SELECT * FROM (SELECT thread_id, outbox_at, 0 AS slow FROM lanes
       WHERE outbox_slow = 0 ORDER BY outbox_at LIMIT 2)
     UNION ALL
     SELECT * FROM (SELECT thread_id, outbox_at, 1 AS slow FROM lanes
       WHERE outbox_slow = 1 ORDER BY outbox_at LIMIT 2)`,
  )

const firstOf = (slow: Slow): string =>
  `(SELECT outbox_at FROM lanes WHERE outbox_slow = ${slow} ORDER BY outbox_at LIMIT 1)`

const earliest = `SELECT ${firstOf(0)} AS fast, ${firstOf(1)} AS slow`

const slows: ReadonlyArray<Slow> = [0, 1]

/** The smallest ticket of each kind that has one. */
const firstTickets = (sql: Sql): ReadonlyArray<readonly [Slow, number]> => {
  const [row] = sql.all<{ fast: number | null; slow: number | null }>(earliest)
  return slows.flatMap((slow) => {
    const ticket = slow === 0 ? row?.fast : row?.slow
    return typeof ticket === "number" ? [[slow, ticket] as const] : []
  })
}

const smallest = (tickets: ReadonlyArray<number>): number | undefined =>
  tickets.length === 0 ? undefined : Math.min(...tickets)

/** The smallest ticket of all outboxes; undefined without one. */
export const earliestOutbox = ({ sql, version }: Tables): number | undefined =>
  version < outboxSince ? undefined : smallest(firstTickets(sql).map(([, ticket]) => ticket)) // V1

/** The smallest ticket that is not due yet; undefined without one. */
export const nextFutureOutbox = ({ sql, version }: Tables, now: number): number | undefined => {
  if (version < outboxSince) return undefined
  const bound = dueBefore(now)
  const future = firstTickets(sql).map(([slow, ticket]) =>
    ticket >= bound
      ? ticket
      : sql.all<{ outbox_at: number }>(
          `SELECT outbox_at FROM lanes WHERE outbox_slow = ? AND outbox_at >= ?
           ORDER BY outbox_at LIMIT 1`,
          slow,
          bound,
        )[0]?.outbox_at,
  )
  return smallest(future.filter((ticket) => ticket !== undefined)) // V1
}

/** A lane whose outbox is due, as selection sees it. */
export interface DueOutbox {
  readonly threadId: ThreadId
  readonly slow: boolean
  readonly ticket: number
}

const dueOf = (
  sql: Sql,
  first: ReadonlyArray<StoredTicket>,
  { bound, limit, slow }: { bound: number; limit: number; slow: Slow },
): ReadonlyArray<Pick<StoredTicket, "thread_id" | "outbox_at">> => {
  const due = first.filter((row) => row.slow === slow && row.outbox_at < bound)
  if (due.length < 2 || limit <= due.length) return due.slice(0, limit)
  return sql.all<StoredTicket>(
    `SELECT thread_id, outbox_at FROM lanes WHERE outbox_slow = ? AND outbox_at < ?
     ORDER BY outbox_at LIMIT ?`,
    slow,
    bound,
    limit,
  )
}

/** The lanes whose outbox is due, by ticket: of those in backoff and of the others at most `limit` each. */
export const dueOutboxes = (
  { sql, version }: Tables,
  { limit, now }: { readonly limit: number; readonly now: number },
): ReadonlyArray<DueOutbox> => {
  if (version < outboxSince) return []
  const first = firstTwo(sql)
  return slows
    .flatMap((slow) =>
      dueOf(sql, first, { bound: dueBefore(now), limit, slow }).map((row) => ({
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
      (SELECT work, next_at FROM lanes
       WHERE outbox_slow IN (0, 1) AND outbox_at < ?1 LIMIT ?2)
     WHERE work IS NULL OR next_at >= ?1`,
    bound,
    limit,
  )
  return row?.count ?? 0
}

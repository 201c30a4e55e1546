/**
 * A second or third ticket of lanes, beside that of their work, and the questions that an index over it answers: when
 * an outbox is carried, and when records are published.
 *
 * Tables from before there was that index hold none that could be told; the next mutation makes it.
 *
 * Invariants
 * - V1 Every question reads a bounded number of rows at any number of lanes, and none where nothing waits.
 * - V2 Where no lane is known to have such a ticket, the database is not asked.
 */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Idle } from "./Idle.ts"
import { dueBefore } from "./Rotation.ts"

/** The tables of an owner, by the version that they have, and what is known to be in none of them. */
export interface Tables {
  readonly sql: Sql
  readonly version: number
  readonly idle: Idle
}

/** The tables as this life knows them. */
export const tablesOf = (sql: Sql, { idle, version }: Omit<Tables, "sql">): Tables => ({
  sql,
  version,
  idle,
})

/** Of which columns, and from which version on. The second is null without a ticket, 1 in backoff, else 0. */
export interface TicketColumns {
  readonly at: string
  readonly slow: string
  readonly since: number
}

/** A lane whose ticket is due, as selection sees it. */
export interface DueTicket {
  readonly threadId: ThreadId
  readonly slow: boolean
  readonly ticket: number
}

export interface DueQuery {
  readonly limit: number
  readonly now: number
}

export interface TicketIndex {
  /** The smallest ticket of all; undefined without one. */
  readonly earliest: (tables: Tables) => number | undefined
  /** The smallest ticket that is not due yet; undefined without one. */
  readonly nextFuture: (tables: Tables, now: number) => number | undefined
  /** The lanes whose ticket is due, by ticket: of those in backoff and of the others at most `limit` each. */
  readonly due: (tables: Tables, due: DueQuery) => ReadonlyArray<DueTicket>
  /** How many lanes have one that is due where `unless` does not hold, exact up to `limit`. */
  readonly countDue: (tables: Tables, due: DueQuery & { readonly unless: string }) => number
}

type Slow = 0 | 1

const slows: ReadonlyArray<Slow> = [0, 1]

interface StoredTicket {
  readonly [column: string]: string | number
  readonly thread_id: string
  readonly at: number
  readonly slow: Slow
}

const smallest = (tickets: ReadonlyArray<number>): number | undefined =>
  tickets.length === 0 ? undefined : Math.min(...tickets)

/** The statements over these columns. They are names of our own, never anybody's text. */
const statementsOf = ({ at, slow }: TicketColumns) => {
  const firstOf = (kind: Slow): string =>
    `(SELECT ${at} FROM lanes WHERE ${slow} = ${kind} ORDER BY ${at} LIMIT 1)`
  const twoOf = (kind: Slow): string =>
    `SELECT * FROM (SELECT thread_id, ${at} AS at, ${kind} AS slow FROM lanes
       WHERE ${slow} = ${kind} ORDER BY ${at} LIMIT 2)`
  return {
    first: `SELECT ${firstOf(0)} AS fast, ${firstOf(1)} AS slow`,
    next: `SELECT ${at} AS at FROM lanes WHERE ${slow} = ? AND ${at} >= ? ORDER BY ${at} LIMIT 1`,
    /**
     * Almost always these are all that is asked for, and cost nothing where nothing waits; a bound in the statement
     * would cost a row each time.
     */
    two: `${twoOf(0)} UNION ALL ${twoOf(1)}`,
    due: `SELECT thread_id, ${at} AS at FROM lanes WHERE ${slow} = ? AND ${at} < ?
       ORDER BY ${at} LIMIT +?`,
    count: (unless: string): string =>
      `SELECT COUNT(*) AS count FROM
        (SELECT * FROM lanes WHERE ${slow} IN (0, 1) AND ${at} < ?1 LIMIT +?2)
       WHERE NOT (${unless})`,
  }
}

/** The questions over these columns. */
export const makeTicketIndex = (columns: TicketColumns): TicketIndex => {
  const { at, since } = columns
  const statements = statementsOf(columns)

  /** What a look found, noted where it found nothing. // V2 */
  const noted = <A>(idle: Idle, found: ReadonlyArray<A>): ReadonlyArray<A> => {
    if (found.length === 0) idle.add(at)
    return found
  }

  /** The smallest ticket of each kind that has one. */
  const firsts = ({ idle, sql }: Tables): ReadonlyArray<readonly [Slow, number]> => {
    if (idle.has(at)) return [] // V2
    const [row] = sql.all<{ fast: number | null; slow: number | null }>(statements.first)
    const found = slows.flatMap((slow) => {
      const ticket = slow === 0 ? row?.fast : row?.slow
      return typeof ticket === "number" ? [[slow, ticket] as const] : []
    })
    return noted(idle, found)
  }

  const dueOf = (
    sql: Sql,
    first: ReadonlyArray<StoredTicket>,
    { bound, limit, slow }: { bound: number; limit: number; slow: Slow },
  ): ReadonlyArray<Pick<StoredTicket, "thread_id" | "at">> => {
    const due = first.filter((row) => row.slow === slow && row.at < bound)
    if (due.length < 2 || limit <= due.length) return due.slice(0, limit)
    return sql.all<StoredTicket>(statements.due, slow, bound, limit)
  }

  return {
    earliest: (tables) =>
      tables.version < since ? undefined : smallest(firsts(tables).map(([, ticket]) => ticket)), // V1
    nextFuture: (tables, now) => {
      const { sql, version } = tables
      if (version < since) return undefined
      const bound = dueBefore(now)
      const future = firsts(tables).map(([slow, ticket]) =>
        ticket >= bound ? ticket : sql.all<{ at: number }>(statements.next, slow, bound)[0]?.at,
      )
      return smallest(future.filter((ticket) => ticket !== undefined)) // V1
    },
    due: ({ idle, sql, version }, { limit, now }) => {
      if (version < since || idle.has(at)) return [] // V2
      const first = noted(idle, sql.all<StoredTicket>(statements.two))
      return slows
        .flatMap((slow) =>
          dueOf(sql, first, { bound: dueBefore(now), limit, slow }).map((row) => ({
            threadId: row.thread_id as ThreadId,
            slow: slow === 1,
            ticket: row.at,
          })),
        )
        .sort((one, other) => one.ticket - other.ticket) // V1
    },
    countDue: ({ idle, sql, version }, { limit, now, unless }) => {
      if (version < since || idle.has(at) || limit <= 0) return 0 // V2
      const [row] = sql.all<{ count: number }>(statements.count(unless), dueBefore(now), limit)
      return row?.count ?? 0
    },
  }
}

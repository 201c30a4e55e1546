/**
 * Lanes as rows: reading, writing and the few questions that one index answers.
 *
 * Invariants
 * - L1 Every question reads a bounded number of rows at any number of lanes.
 * - L2 No text in a row makes a read fail: a lane whose report or marks do not decode is read without
 *   them, as damaged, and must be visited.
 */
import type { Generation, ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Lane, timedWorks, type Work } from "./Lane.ts"
import { dueBefore } from "./Rotation.ts"
import { marksOf, reportOf } from "./Stored.ts"

interface StoredLane {
  readonly [column: string]: string | number | null
  readonly thread_id: string
  readonly report: string | null
  readonly enrolled: string | null
  readonly must_visit: number
  readonly suspect: number
  readonly marks: string
  readonly work: string | null
  readonly slow: number
  readonly next_at: number | null
}

const columns = "thread_id, report, enrolled, must_visit, suspect, marks, work, slow, next_at"

const fromStored = (row: StoredLane): Lane => {
  const report = row.report === null ? undefined : reportOf(row.report)
  const marks = marksOf(row.marks)
  const damaged = marks === undefined || (row.report !== null && report === undefined)
  return {
    threadId: row.thread_id as ThreadId,
    report,
    enrolled: (row.enrolled as Generation | null) ?? undefined,
    mustVisit: damaged || row.must_visit === 1, // L2
    suspect: row.suspect === 1,
    marks: marks ?? {},
    work: (row.work as Work | null) ?? undefined,
    slow: row.slow === 1,
    nextAt: row.next_at ?? undefined,
    ...(damaged ? { damaged } : {}),
  }
}

export const readLane = (sql: Sql, threadId: ThreadId): Lane | undefined => {
  const [row] = sql.all<StoredLane>(`SELECT ${columns} FROM lanes WHERE thread_id = ?`, threadId)
  return row === undefined ? undefined : fromStored(row)
}

export const writeLane = (sql: Sql, lane: Lane): void =>
  sql.run(
    `INSERT OR REPLACE INTO lanes (${columns}, outbox_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    lane.threadId,
    lane.report === undefined ? null : JSON.stringify(lane.report),
    lane.enrolled ?? null,
    lane.mustVisit ? 1 : 0,
    lane.suspect ? 1 : 0,
    JSON.stringify(lane.marks),
    lane.work ?? null,
    lane.slow ? 1 : 0,
    lane.nextAt ?? null,
    lane.report?.outboxAt ?? null,
  )

export const deleteLane = (sql: Sql, threadId: ThreadId): void =>
  sql.run("DELETE FROM lanes WHERE thread_id = ?", threadId)

const worksWith = (held: boolean): ReadonlyArray<Work> =>
  held ? [...timedWorks, "held"] : timedWorks

/** The smallest ticket of all lanes, held ones included or not; undefined without one. */
export const earliestTicket = (sql: Sql, held: boolean): number | undefined => {
  let earliest: number | undefined
  for (const work of worksWith(held)) {
    for (const slow of [0, 1]) {
      const [row] = sql.all<{ next_at: number }>(
        "SELECT next_at FROM lanes WHERE work = ? AND slow = ? ORDER BY next_at LIMIT 1",
        work,
        slow,
      )
      if (row !== undefined && (earliest === undefined || row.next_at < earliest)) {
        earliest = row.next_at
      }
    }
  }
  return earliest // L1
}

/**
 * The two smallest tickets of a kind. Almost always they are all that is asked for, and an empty
 * kind costs nothing; a bound in the statement would cost a row each time.
 */
const firstTwo = (sql: Sql, work: Work, slow: boolean): ReadonlyArray<StoredTicket> =>
  sql.all<StoredTicket>(
    "SELECT thread_id, next_at FROM lanes WHERE work = ? AND slow = ? ORDER BY next_at LIMIT 2",
    work,
    slow ? 1 : 0,
  )

type StoredTicket = { readonly thread_id: string; readonly next_at: number }

/** The smallest ticket of a kind that is not due yet. */
const futureTicketOf = (sql: Sql, work: Work, slow: boolean, bound: number): number | undefined => {
  const first = firstTwo(sql, work, slow)
  const future = first.find((row) => row.next_at >= bound)
  if (future !== undefined || first.length < 2) return future?.next_at
  return sql.all<{ next_at: number }>(
    `SELECT next_at FROM lanes WHERE work = ? AND slow = ? AND next_at >= ?
     ORDER BY next_at LIMIT 1`,
    work,
    slow ? 1 : 0,
    bound,
  )[0]?.next_at
}

/** The smallest ticket that is not due yet; undefined without one. */
export const nextFutureTicket = (sql: Sql, now: number): number | undefined => {
  let earliest: number | undefined
  for (const work of timedWorks) {
    for (const slow of [false, true]) {
      const ticket = futureTicketOf(sql, work, slow, dueBefore(now))
      if (ticket !== undefined && (earliest === undefined || ticket < earliest)) earliest = ticket
    }
  }
  return earliest // L1
}

/** The largest ticket that was given for the present or a past time; 0 without one. */
export const latestTicketUpTo = (sql: Sql, now: number): number => {
  let latest = 0
  for (const work of worksWith(true)) {
    for (const slow of [0, 1]) {
      const [row] = sql.all<{ next_at: number }>(
        `SELECT next_at FROM lanes WHERE work = ? AND slow = ? AND next_at < ?
         ORDER BY next_at DESC LIMIT 1`,
        work,
        slow,
        dueBefore(now),
      )
      if (row !== undefined && row.next_at > latest) latest = row.next_at
    }
  }
  return latest // L1
}

/** A due lane as selection sees it. */
export interface Due {
  readonly threadId: ThreadId
  readonly work: Work
  readonly slow: boolean
  readonly ticket: number
}

interface DueQuery {
  readonly work: Work
  readonly slow: boolean
  readonly now: number
  readonly limit: number
}

const dueTickets = (
  sql: Sql,
  { limit, now, slow, work }: DueQuery,
): ReadonlyArray<StoredTicket> => {
  const bound = dueBefore(now)
  const first = firstTwo(sql, work, slow)
  const due = first.filter((row) => row.next_at < bound)
  if (due.length < 2 || limit <= due.length) return due.slice(0, limit)
  return sql.all<StoredTicket>(
    `SELECT thread_id, next_at FROM lanes WHERE work = ? AND slow = ? AND next_at < ?
     ORDER BY next_at LIMIT ?`,
    work,
    slow ? 1 : 0,
    bound,
    limit,
  )
}

/** The due lanes of one kind with the smallest tickets, in their order. */
export const dueLanes = (sql: Sql, query: DueQuery): ReadonlyArray<Due> =>
  dueTickets(sql, query).map((row) => ({
    threadId: row.thread_id as ThreadId,
    work: query.work,
    slow: query.slow,
    ticket: row.next_at,
  })) // L1

/** Where a sweep over the waits for agents stands. */
export interface BindingCursor {
  readonly ticket: number
  readonly threadId: string
}

/** Lanes that wait for an agent, by ticket, behind the cursor. */
export const bindingLanes = (
  sql: Sql,
  page: { readonly after: BindingCursor; readonly limit: number },
): ReadonlyArray<Lane> =>
  sql
    .all<StoredLane>(
      `SELECT ${columns} FROM lanes WHERE work = 'binding' AND slow = 0
       AND (next_at, thread_id) > (?, ?) ORDER BY next_at, thread_id LIMIT ?`,
      page.after.ticket,
      page.after.threadId,
      page.limit,
    )
    .map(fromStored)

/** How many lanes are due, exact up to `limit`. */
export const countDue = (sql: Sql, now: number, limit: number): number => {
  let count = 0
  for (const work of worksWith(true)) {
    for (const slow of [false, true]) {
      if (count < limit) count += dueLanes(sql, { work, slow, now, limit: limit - count }).length
    }
  }
  return count
}

/**
 * The oldest generation that is enrolled, if any is; `complete` is false when there are more than
 * `limit` lanes with work, and an older one may be among the rest.
 */
export const oldestEnrolled = (
  sql: Sql,
  limit: number,
): { readonly oldest: Generation | undefined; readonly complete: boolean } => {
  const [row] = sql.all<{ oldest: string | null; seen: number }>(
    `SELECT MIN(enrolled) AS oldest, COUNT(*) AS seen FROM
      (SELECT enrolled FROM lanes WHERE work IS NOT NULL LIMIT ?)`,
    limit,
  )
  return {
    oldest: (row?.oldest as Generation | null | undefined) ?? undefined,
    complete: (row?.seen ?? 0) < limit,
  }
}

/** A page of lanes by thread id. */
export const pageLanes = (
  sql: Sql,
  page: { readonly after: string; readonly limit: number },
): ReadonlyArray<Lane> =>
  sql
    .all<StoredLane>(
      `SELECT ${columns} FROM lanes WHERE thread_id > ? ORDER BY thread_id LIMIT ?`,
      page.after,
      page.limit,
    )
    .map(fromStored)

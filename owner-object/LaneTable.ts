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
import type { Idle } from "./Idle.ts"
import { isOutboxSlow, isPublicationSlow, type Lane, timedWorks, type Work } from "./Lane.ts"
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
  readonly outbox_at: number | null
}

const columns =
  "thread_id, report, enrolled, must_visit, suspect, marks, work, slow, next_at, outbox_at, outbox_slow, active_at, publish_at, publish_slow"

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
    outboxTicket: row.outbox_at ?? undefined,
    // Absent in tables of earlier versions, until the next mutation.
    publishTicket: typeof row["publish_at"] === "number" ? row["publish_at"] : undefined,
    activeAt: typeof row["active_at"] === "number" ? row["active_at"] : undefined,
    ...(damaged ? { damaged } : {}),
  }
}

export const readLane = (sql: Sql, threadId: ThreadId): Lane | undefined => {
  const [row] = sql.all<StoredLane>(`SELECT * FROM lanes WHERE thread_id = ?`, threadId)
  return row === undefined ? undefined : fromStored(row)
}

/** Null without a ticket: such a lane has no entry in the index of outboxes, or of publications. */
const slowOf = (ticket: number | undefined, isSlow: boolean): number | null => {
  if (ticket === undefined) return null
  return isSlow ? 1 : 0
}

export const writeLane = (sql: Sql, lane: Lane): void =>
  sql.run(
    `INSERT OR REPLACE INTO lanes (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    lane.threadId,
    lane.report === undefined ? null : JSON.stringify(lane.report),
    lane.enrolled ?? null,
    lane.mustVisit ? 1 : 0,
    lane.suspect ? 1 : 0,
    JSON.stringify(lane.marks),
    lane.work ?? null,
    lane.slow ? 1 : 0,
    lane.nextAt ?? null,
    lane.outboxTicket ?? null,
    slowOf(lane.outboxTicket, isOutboxSlow(lane)),
    lane.activeAt ?? null,
    lane.publishTicket ?? null,
    slowOf(lane.publishTicket, isPublicationSlow(lane)),
  )

export const deleteLane = (sql: Sql, threadId: ThreadId): void =>
  sql.run("DELETE FROM lanes WHERE thread_id = ?", threadId)

const heldToo: ReadonlyArray<Work> = [...timedWorks, "held"]

const worksWith = (held: boolean): ReadonlyArray<Work> => (held ? heldToo : timedWorks)

/** The first ticket of one kind of work, among lanes in backoff or among the others. */
interface First {
  readonly work: Work
  readonly slow: boolean
  readonly ticket: number
}

interface Firsts {
  readonly kinds: ReadonlyArray<Omit<First, "ticket">>
  readonly statement: string
}

const firstsOf = (works: ReadonlyArray<Work>): Firsts => {
  const kinds = works.flatMap((work) => [false, true].map((slow) => ({ work, slow })))
  const asked = kinds.map(
    ({ slow, work }, index) =>
      `(SELECT next_at FROM lanes WHERE work = '${work}' AND slow = ${slow ? 1 : 0}
        ORDER BY next_at LIMIT 1) AS first${index}`,
  )
  return { kinds, statement: `SELECT ${asked.join(", ")}` }
}

/** By the works that are asked for: a handful of lists, each made once. */
const firstsByWorks = new Map<string, Firsts>()

/**
 * The first tickets of these works, in one statement: a row is read for each that has one, and none for
 * an empty kind.
 */
const firstTickets = (sql: Sql, works: ReadonlyArray<Work>): ReadonlyArray<First> => {
  const key = works.join()
  const firsts = firstsByWorks.get(key) ?? firstsOf(works)
  firstsByWorks.set(key, firsts)
  const [row] = sql.all<Record<string, number | null>>(firsts.statement)
  return firsts.kinds.flatMap((kind, index) => {
    const ticket = row?.[`first${index}`]
    return ticket === undefined || ticket === null ? [] : [{ ...kind, ticket }]
  })
}

const smallest = (tickets: ReadonlyArray<number>): number | undefined =>
  tickets.length === 0 ? undefined : Math.min(...tickets)

/** The smallest ticket of all lanes, held ones included or not; undefined without one. */
export const earliestTicket = (sql: Sql, held: boolean): number | undefined =>
  smallest(firstTickets(sql, worksWith(held)).map(({ ticket }) => ticket)) // L1

/** The smallest ticket that is not due yet; undefined without one. */
export const nextFutureTicket = (sql: Sql, now: number): number | undefined => {
  const bound = dueBefore(now)
  const future = firstTickets(sql, timedWorks).map(({ slow, ticket, work }) =>
    ticket >= bound
      ? ticket
      : sql.all<{ next_at: number }>(
          `SELECT next_at FROM lanes WHERE work = ? AND slow = ? AND next_at >= ?
           ORDER BY next_at LIMIT 1`,
          work,
          slow ? 1 : 0,
          bound,
        )[0]?.next_at,
  )
  return smallest(future.filter((ticket) => ticket !== undefined)) // L1
}

/** The largest ticket that was given for the present or a past time; 0 without one. */
export const latestTicketUpTo = (sql: Sql, now: number): number => {
  const bound = dueBefore(now)
  const latest = firstTickets(sql, heldToo)
    .filter(({ ticket }) => ticket < bound)
    .map(({ slow, work }) => {
      const [row] = sql.all<{ next_at: number }>(
        `SELECT next_at FROM lanes WHERE work = ? AND slow = ? AND next_at < ?
         ORDER BY next_at DESC LIMIT 1`,
        work,
        slow ? 1 : 0,
        bound,
      )
      return row?.next_at ?? 0
    })
  return Math.max(0, ...latest) // L1
}

/** A due lane as selection sees it. */
export interface Due {
  readonly threadId: ThreadId
  readonly work: Work
  readonly slow: boolean
  readonly ticket: number
}

interface DueQuery {
  readonly works: ReadonlyArray<Work>
  readonly now: number
  /** Of each kind of work, among lanes in backoff and among the others. */
  readonly limit: number
  /** Kinds of work that no lane has are not asked for, and those that none has now are noted. */
  readonly idle: Idle
}

type StoredTicket = { readonly thread_id: string; readonly next_at: number }

/**
 * The two smallest tickets of a work, among lanes in backoff and among the others. Almost always they are
 * all that is asked for, and an empty kind costs nothing; a bound in the statement would cost a row each time.
 */
const firstTwo = (sql: Sql, work: Work): ReadonlyArray<StoredTicket & { readonly slow: number }> =>
  sql.all(
    `SELECT * FROM (SELECT thread_id, next_at, 0 AS slow FROM lanes
       WHERE work = ?1 AND slow = 0 ORDER BY next_at LIMIT 2)
     UNION ALL
     SELECT * FROM (SELECT thread_id, next_at, 1 AS slow FROM lanes
       WHERE work = ?1 AND slow = 1 ORDER BY next_at LIMIT 2)`,
    work,
  )

const dueTickets = (
  sql: Sql,
  first: ReadonlyArray<StoredTicket>,
  { bound, limit, slow, work }: { bound: number; limit: number; slow: boolean; work: Work },
): ReadonlyArray<StoredTicket> => {
  const due = first.filter((row) => row.next_at < bound)
  if (due.length < 2 || limit <= due.length) return due.slice(0, limit)
  return sql.all<StoredTicket>(
    `SELECT thread_id, next_at FROM lanes WHERE work = ? AND slow = ? AND next_at < ?
     ORDER BY next_at LIMIT +?`,
    work,
    slow ? 1 : 0,
    bound,
    limit,
  )
}

/** The due lanes of these works, of each kind those with the smallest tickets, in their order. */
export const dueLanes = (sql: Sql, { idle, limit, now, works }: DueQuery): ReadonlyArray<Due> =>
  works.flatMap((work) => {
    if (idle.has(work)) return []
    const first = firstTwo(sql, work)
    if (first.length === 0) idle.add(work)
    return [false, true].flatMap((slow) => {
      const own = first.filter((row) => (row.slow === 1) === slow)
      return dueTickets(sql, own, { bound: dueBefore(now), limit, slow, work }).map((row) => ({
        threadId: row.thread_id as ThreadId,
        work,
        slow,
        ticket: row.next_at,
      }))
    })
  }) // L1

/** Where a sweep over the waits for agents stands: first over those in backoff, which leave it for the others. */
export interface BindingCursor {
  readonly slow: boolean
  readonly ticket: number
  readonly threadId: string
}

/** Lanes that wait for an agent, of those in backoff or of the others, by ticket, behind the cursor. */
export const bindingLanes = (
  sql: Sql,
  page: { readonly after: BindingCursor; readonly limit: number },
): ReadonlyArray<Lane> =>
  sql
    .all<StoredLane>(
      `SELECT * FROM lanes WHERE work = 'binding' AND slow = ?
       AND (next_at, thread_id) > (?, ?) ORDER BY next_at, thread_id LIMIT +?`,
      page.after.slow ? 1 : 0,
      page.after.ticket,
      page.after.threadId,
      page.limit,
    )
    .map(fromStored)

/** How many lanes are due, exact up to `limit`. */
export const countDue = (sql: Sql, now: number, limit: number, idle: Idle): number => {
  let count = 0
  for (const work of heldToo)
    if (count < limit)
      count += dueLanes(sql, { works: [work], now, limit: limit - count, idle }).length
  return Math.min(count, limit)
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
      (SELECT enrolled FROM lanes WHERE work IS NOT NULL LIMIT +?)`,
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
      `SELECT * FROM lanes WHERE thread_id > ? ORDER BY thread_id LIMIT +?`,
      page.after,
      page.limit,
    )
    .map(fromStored)

/**
 * The schedules of a thread: a row each, by name.
 *
 * - S1 `dueAt` is when a row wants to be looked at: at its next occurrence, or later where that could not be
 *   accepted; none where no occurrence comes any more. A look for the first reads one row, or none.
 * - S2 A row that does not decode is told as such; its name is enough to remove it.
 */
import type { Schedule } from "../contracts/Schedule.ts"
import type { AgentId, Principal, SubmissionId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import {
  type Check,
  holds,
  isAgentId,
  isCount,
  isMillis,
  isName,
  isSubmissionId,
  isText,
  isTitle,
  maybe,
} from "./StoredColumns.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

export interface ScheduleRow {
  readonly name: string
  readonly cron: string
  readonly timeZone: string | null
  readonly agent: AgentId
  readonly title: string | null
  /** Whose the submissions are: who set it last. */
  readonly principal: Principal
  readonly createdAt: number
  readonly nextAt: number | null
  readonly dueAt: number | null
  /** How often the next occurrence could not be accepted, and the tag of what was said last. */
  readonly tries: number
  readonly waitsFor: string | null
  readonly lastAt: number | null
  readonly lastSubmissionId: SubmissionId | null
  readonly collapsed: number
  /** Canonical JSON. */
  readonly input: string
}

const checks: { readonly [K in keyof ScheduleRow]: Check } = {
  name: isName,
  cron: isText,
  timeZone: maybe(isText),
  agent: isAgentId,
  title: maybe(isTitle),
  principal: isName,
  createdAt: isMillis,
  nextAt: maybe(isMillis),
  dueAt: maybe(isMillis),
  tries: isCount,
  waitsFor: maybe(isText),
  lastAt: maybe(isMillis),
  lastSubmissionId: maybe(isSubmissionId),
  collapsed: isCount,
  input: isText,
}

const columns = Object.keys(checks).join(", ")

type Raw = { readonly [K in keyof ScheduleRow]: string | number | null }

/** Whether a row decodes. */
export const isSoundSchedule = (row: Raw): boolean => holds(row, checks)

const decode = (row: Raw): ScheduleRow => {
  if (!isSoundSchedule(row)) throw new Unreadable("schedules") // S2
  return row as unknown as ScheduleRow
}

/** The first rows of the table, as they are. */
export const rawSchedules = (
  sql: Sql,
  limit: number,
): ReadonlyArray<Raw & { readonly comes: string | number | null }> =>
  sql.all(`SELECT ${columns}, comes FROM schedules ORDER BY name LIMIT ?`, limit)

/** Schedules by name. */
export const schedulesAfter = (
  sql: Sql,
  { after, limit }: { readonly after: string; readonly limit: number },
): ReadonlyArray<ScheduleRow> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM schedules WHERE name > ? ORDER BY name LIMIT +?`,
      after,
      limit,
    )
    .map(decode)

export const findSchedule = (sql: Sql, name: string): ScheduleRow | undefined => {
  const [row] = sql.all<Raw>(`SELECT ${columns} FROM schedules WHERE name = ?`, name)
  return row === undefined ? undefined : decode(row)
}

export const countSchedules = (sql: Sql): number =>
  sql.all<{ count: number }>("SELECT count(*) AS count FROM schedules")[0]?.count ?? 0

/** When the first wants to be looked at. // S1 */
export const schedulesAt = (sql: Sql): number | undefined => {
  const [first] = sql.all<{ dueAt: number }>(
    "SELECT dueAt FROM schedules WHERE comes = 1 ORDER BY dueAt LIMIT 1",
  )
  if (first !== undefined && !isMillis(first.dueAt)) throw new Unreadable("schedules") // S2
  return first?.dueAt
}

/** Those that are due, the longest first. */
export const dueSchedules = (sql: Sql, now: number, limit: number): ReadonlyArray<ScheduleRow> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM schedules WHERE comes = 1 AND dueAt <= ?
       ORDER BY dueAt, name LIMIT +?`,
      now,
      limit,
    )
    .map(decode)

export const writeSchedule = (sql: Sql, row: ScheduleRow): void =>
  sql.run(
    `INSERT OR REPLACE INTO schedules (name, cron, timeZone, agent, title, principal, createdAt,
       nextAt, comes, dueAt, tries, waitsFor, lastAt, lastSubmissionId, collapsed, input)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.name,
    row.cron,
    row.timeZone,
    row.agent,
    row.title,
    row.principal,
    row.createdAt,
    row.nextAt,
    row.nextAt === null ? 0 : 1,
    row.dueAt,
    row.tries,
    row.waitsFor,
    row.lastAt,
    row.lastSubmissionId,
    row.collapsed,
    row.input,
  )

/** Whether there was one. */
export const removeSchedule = (sql: Sql, name: string): boolean => {
  const found = sql.all("SELECT 1 FROM schedules WHERE name = ?", name).length > 0
  if (found) sql.run("DELETE FROM schedules WHERE name = ?", name)
  return found
}

/** A row as callers see it. */
export const toldSchedule = (row: ScheduleRow): Schedule =>
  ({
    name: row.name,
    cron: row.cron,
    ...(row.timeZone === null ? {} : { timeZone: row.timeZone }),
    agent: row.agent,
    ...(row.title === null ? {} : { title: row.title }),
    input: parsed(row.input, "schedules"),
    createdAt: row.createdAt,
    ...(row.nextAt === null ? {} : { nextAt: row.nextAt }),
    ...(row.lastAt === null ? {} : { lastAt: row.lastAt }),
    ...(row.lastSubmissionId === null ? {} : { lastSubmissionId: row.lastSubmissionId }),
    collapsed: row.collapsed,
    ...(row.waitsFor === null ? {} : { waitsFor: row.waitsFor }),
  }) as Schedule

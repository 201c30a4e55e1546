/**
 * The rows of open waits: what runs have asked of somebody outside, or of time.
 *
 * - W1 A row stands exactly while its wait is open: from the block of its request to that of its answer.
 */
import type { Sql } from "../platform/ObjectStorage.ts"
import {
  type Check,
  holds,
  isCount,
  isMillis,
  isName,
  isText,
  maybe,
  oneOf,
} from "./StoredColumns.ts"
import { Unreadable } from "./Unreadable.ts"

export const waitKinds = ["approval", "signal", "timer", "child"] as const
export type WaitKind = (typeof waitKinds)[number]

export interface StoredWait {
  readonly submission: number
  readonly name: string
  readonly kind: WaitKind
  readonly sinceAt: number
  /** When it fires or expires; none if it waits as long as it takes. */
  readonly dueAt: number | null
  /** The branches of races that it stands in, outermost first, as `RaceBranch` writes them; none outside of races. */
  readonly races: string | null
  /** 1 if the innermost of these branches is this wait and nothing else: its answer is the branch's outcome. */
  readonly sole: number
}

const checks: { readonly [K in keyof StoredWait]: Check } = {
  submission: isCount,
  name: isName,
  kind: oneOf(waitKinds),
  sinceAt: isMillis,
  dueAt: maybe(isMillis),
  races: maybe(isText),
  sole: isCount,
}

type Raw = { readonly [K in keyof StoredWait]: string | number | null }

/** Whether a row decodes. */
export const isSoundWait = (row: Raw): boolean => holds(row, checks)

const decode = (row: Raw): StoredWait => {
  if (!isSoundWait(row)) throw new Unreadable("waits")
  return row as unknown as StoredWait
}

const columns = "submission, name, kind, sinceAt, dueAt, races, sole"

/** The part of the journal under which a wait is answered. */
export const answerPart = 1

/** The part of the token that was made for a wait, and that of what the run has noted about its answer. */
export const tokenPart = 2
export const notePart = 3

/**
 * The part of a value that came before anything waited for it: beyond those of any operation, so that a stranger's
 * value is in the way of none that has its name.
 */
export const earlyPart = 1_000_000

/** An open wait of a run by its name. */
export const findWait = (sql: Sql, submission: number, name: string): StoredWait | undefined => {
  const [row] = sql.all<Raw>(
    `SELECT ${columns} FROM waits WHERE submission = ? AND name = ?`,
    submission,
    name,
  )
  return row === undefined ? undefined : decode(row)
}

/** The open waits of a run, by name. */
export const waitsOf = (sql: Sql, submission: number): ReadonlyArray<StoredWait> =>
  sql
    .all<Raw>(`SELECT ${columns} FROM waits WHERE submission = ? ORDER BY name`, submission)
    .map(decode)

/** The open waits of a run, the oldest first. */
export const oldestWaits = (
  sql: Sql,
  submission: number,
  limit: number,
): ReadonlyArray<StoredWait> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM waits WHERE submission = ? ORDER BY sinceAt, name LIMIT +?`,
      submission,
      limit,
    )
    .map(decode)

/** The first rows of the table, as they are. */
export const rawWaits = (sql: Sql, limit: number): ReadonlyArray<Raw> =>
  sql.all<Raw>(`SELECT ${columns} FROM waits ORDER BY submission, name LIMIT +?`, limit)

/** When the first of its waits fires or expires; none if none does. */
export const firstTimerAt = (sql: Sql, submission: number): number | undefined => {
  const [first] = sql.all<{ dueAt: number | null }>(
    "SELECT min(dueAt) AS dueAt FROM waits WHERE submission = ?",
    submission,
  )
  return first?.dueAt ?? undefined
}

/** Opens a wait. Writing it again changes nothing. // W1 */
export const openWait = (sql: Sql, wait: StoredWait): void =>
  sql.run(
    `INSERT OR IGNORE INTO waits (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    wait.submission,
    wait.name,
    wait.kind,
    wait.sinceAt,
    wait.dueAt,
    wait.races,
    wait.sole,
  )

/** It was answered, or is withdrawn. */
export const closeWait = (sql: Sql, submission: number, name: string): void =>
  sql.run("DELETE FROM waits WHERE submission = ? AND name = ?", submission, name)

/** All waits of a submission, when it settles. */
export const closeWaits = (sql: Sql, submission: number): void =>
  sql.run("DELETE FROM waits WHERE submission = ?", submission)

/** The open waits of a run that are over by the clock, the earliest first. */
export const dueWaits = (sql: Sql, submission: number, now: number): ReadonlyArray<StoredWait> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM waits WHERE submission = ? AND dueAt <= ? ORDER BY dueAt, name`,
      submission,
      now,
    )
    .map(decode)

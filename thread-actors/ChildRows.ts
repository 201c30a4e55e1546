/**
 * The children of a run that it must see settled before it settles itself: a row each, from the block that asks for
 * them to the block that takes their settlement. Detached ones have none.
 */
import type { MessageId, ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Check, holds, isCount, isName, isText } from "./StoredColumns.ts"
import { Unreadable } from "./Unreadable.ts"

export interface StoredChild {
  readonly submission: number
  readonly name: string
  readonly childId: MessageId
  readonly threadId: ThreadId
  /** 1 once it was told to end. */
  readonly aborted: number
}

const checks: { readonly [K in keyof StoredChild]: Check } = {
  submission: isCount,
  name: isName,
  childId: isText,
  threadId: isText,
  aborted: isCount,
}

const columns = "submission, name, childId, threadId, aborted"

type Raw = { readonly [K in keyof StoredChild]: string | number | null }

/** Whether a row decodes. */
export const isSoundChild = (row: Raw): boolean => holds(row, checks)

const decode = (row: Raw): StoredChild => {
  if (!isSoundChild(row)) throw new Unreadable("children")
  return row as unknown as StoredChild
}

/** The first rows of the table, as they are. */
export const rawChildren = (sql: Sql, limit: number): ReadonlyArray<Raw> =>
  sql.all<Raw>(`SELECT ${columns} FROM children ORDER BY submission, name LIMIT ?`, limit)

/** The row of one child, as it is. */
export const rawChild = (sql: Sql, submission: number, name: string): Raw | undefined =>
  sql.all<Raw>(
    `SELECT ${columns} FROM children WHERE submission = ? AND name = ?`,
    submission,
    name,
  )[0]

/** Whether a run has children that have not settled. */
export const hasOpenChildren = (sql: Sql, submission: number): boolean =>
  sql.all("SELECT 1 FROM children WHERE submission = ? LIMIT 1", submission).length > 0

/** The children of a run that have not settled, by name; all of them unless a limit is given. */
export const openChildren = (
  sql: Sql,
  submission: number,
  limit = -1,
): ReadonlyArray<StoredChild> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM children WHERE submission = ? ORDER BY name LIMIT +?`,
      submission,
      limit,
    )
    .map(decode)

/** A child of a run that has not settled, by its name. */
export const findOpenChild = (
  sql: Sql,
  submission: number,
  name: string,
): StoredChild | undefined => {
  const [row] = sql.all<{ readonly [K in keyof StoredChild]: string | number | null }>(
    `SELECT ${columns} FROM children WHERE submission = ? AND name = ?`,
    submission,
    name,
  )
  return row === undefined ? undefined : decode(row)
}

/** A child of this run is to be waited for. Writing it again changes nothing. */
export const openChild = (sql: Sql, child: StoredChild): void =>
  sql.run(
    `INSERT OR IGNORE INTO children (${columns}) VALUES (?, ?, ?, ?, ?)`,
    child.submission,
    child.name,
    child.childId,
    child.threadId,
    child.aborted,
  )

/** It was told to end. */
export const markAborted = (sql: Sql, child: StoredChild): void =>
  sql.run(
    "UPDATE children SET aborted = 1 WHERE submission = ? AND name = ?",
    child.submission,
    child.name,
  )

/** It has settled. */
export const closeChild = (sql: Sql, submission: number, name: string): void =>
  sql.run("DELETE FROM children WHERE submission = ? AND name = ?", submission, name)

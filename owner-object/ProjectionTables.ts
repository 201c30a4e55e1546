/**
 * The tables of the projections: the directory, and the search index over titles and outcomes.
 *
 * They are no part of the owner's migrations: another version of them is built anew, and nothing that fails here
 * keeps an owner from starting.
 *
 * Invariants
 * - X1 A thread at rest is in no index of states: there are many, and nobody asks for them alone.
 * - X2 A text keeps its place in the search index for as long as it is there, whatever it changes to, so that a page
 *   of hits goes on where it ended.
 * - X3 Of one thread a bounded number of outcomes is kept, the newest.
 */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { ThreadCondition } from "../contracts/ListThreads.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Shown } from "./Shown.ts"

const tables: ReadonlyArray<string> = ["directory", "search_entries", "search_text"]

const statements: ReadonlyArray<string> = [
  `CREATE TABLE directory (
    thread_id TEXT PRIMARY KEY,
    state TEXT NOT NULL,
    active_at INTEGER NOT NULL,
    title TEXT,
    folded TEXT NOT NULL,
    tail INTEGER NOT NULL,
    read_to INTEGER NOT NULL,
    unread_at INTEGER,
    tries INTEGER NOT NULL
  ) WITHOUT ROWID`,
  `CREATE INDEX directory_states ON directory (state, thread_id) WHERE state <> 'idle'`, // X1
  `CREATE INDEX directory_activity ON directory (active_at, thread_id)`,
  `CREATE INDEX directory_unread ON directory (unread_at) WHERE unread_at IS NOT NULL`,
  // The title of a thread has the sequence 0, an outcome that of its submission.
  `CREATE TABLE search_entries (
    id INTEGER PRIMARY KEY,
    thread_id TEXT NOT NULL,
    sequence INTEGER NOT NULL,
    submission_id TEXT,
    outcome TEXT,
    at INTEGER
  )`,
  `CREATE UNIQUE INDEX search_places ON search_entries (thread_id, sequence)`,
  `CREATE VIRTUAL TABLE search_text USING fts5(body, tokenize = 'unicode61 remove_diacritics 2')`,
]

/** Throws away what there is, and makes empty tables. */
export const makeProjectionTables = (sql: Sql): void => {
  for (const table of tables) sql.run(`DROP TABLE IF EXISTS ${table}`)
  for (const statement of statements) sql.run(statement)
}

/** A row of the directory, as it is compared with what should be shown. */
export interface DirectoryRow {
  readonly threadId: ThreadId
  readonly shown: Shown
}

interface StoredRow {
  readonly [column: string]: string | number | null
  readonly thread_id: string
  readonly state: string
  readonly active_at: number
  readonly title: string | null
  readonly tail: number
}

const fromStored = (row: StoredRow): DirectoryRow => ({
  threadId: row.thread_id as ThreadId,
  shown: {
    state: row.state as ThreadCondition,
    title: row.title ?? undefined,
    activeAt: row.active_at,
    tail: row.tail,
  },
})

const columns = "thread_id, state, active_at, title, tail"

export const readShown = (sql: Sql, threadId: ThreadId): Shown | undefined => {
  const [row] = sql.all<StoredRow>(`SELECT ${columns} FROM directory WHERE thread_id = ?`, threadId)
  return row === undefined ? undefined : fromStored(row).shown
}

/** The rows behind one thread id, up to another or to the end. */
export const rowsBetween = (
  sql: Sql,
  { after, upTo }: { readonly after: string; readonly upTo: string | undefined },
): ReadonlyArray<DirectoryRow> =>
  (upTo === undefined
    ? sql.all<StoredRow>(`SELECT ${columns} FROM directory WHERE thread_id > ?`, after)
    : sql.all<StoredRow>(
        `SELECT ${columns} FROM directory WHERE thread_id > ? AND thread_id <= ?`,
        after,
        upTo,
      )
  ).map(fromStored)

/** What a text is found by in the directory, whatever its letters' size. */
export const folded = (text: string): string => text.toLowerCase()

/** Shows a lane; what was read of its outcomes stays. */
export const writeShown = (sql: Sql, threadId: ThreadId, shown: Shown): void => {
  const unreadAt = shown.tail > 0 ? 0 : null
  sql.run(
    `INSERT INTO directory (thread_id, state, active_at, title, folded, tail, read_to, unread_at, tries)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 0, ?7, 0)
     ON CONFLICT (thread_id) DO UPDATE SET state = ?2, active_at = ?3, title = ?4, folded = ?5, tail = ?6,
       unread_at = CASE WHEN ?6 = 0 OR ?6 <= read_to THEN NULL ELSE coalesce(unread_at, 0) END`,
    threadId,
    shown.state,
    shown.activeAt,
    shown.title ?? null,
    folded(`${shown.title ?? ""}\n${threadId}`),
    shown.tail,
    unreadAt,
  )
}

/** The earliest time behind `after` at which a thread is to be read; undefined without one. */
export const nextUnreadAt = (sql: Sql, after = -1): number | undefined =>
  sql.all<{ unread_at: number }>(
    "SELECT unread_at FROM directory WHERE unread_at > ? ORDER BY unread_at LIMIT 1",
    after,
  )[0]?.unread_at

/** Removes all that the projections have of a thread. */
export const removeShown = (sql: Sql, threadId: ThreadId): void => {
  sql.run(
    "DELETE FROM search_text WHERE rowid IN (SELECT id FROM search_entries WHERE thread_id = ?)",
    threadId,
  )
  sql.run("DELETE FROM search_entries WHERE thread_id = ?", threadId)
  sql.run("DELETE FROM directory WHERE thread_id = ?", threadId)
}

/** What a search finds a text by. */
export interface SearchText {
  readonly threadId: ThreadId
  /** 0 for the title of the thread. */
  readonly sequence: number
  readonly submissionId: string | undefined
  readonly outcome: string | undefined
  readonly at: number | undefined
  readonly body: string
}

const placeOf = (sql: Sql, threadId: ThreadId, sequence: number): number | undefined =>
  sql.all<{ id: number }>(
    "SELECT id FROM search_entries WHERE thread_id = ? AND sequence = ?",
    threadId,
    sequence,
  )[0]?.id

/** Puts a text in the index, in its place if it has one. // X2 */
export const writeText = (sql: Sql, text: SearchText): void => {
  const place = placeOf(sql, text.threadId, text.sequence)
  if (place !== undefined) {
    sql.run("UPDATE search_text SET body = ? WHERE rowid = ?", text.body, place)
    return
  }
  sql.run(
    "INSERT INTO search_entries (thread_id, sequence, submission_id, outcome, at) VALUES (?, ?, ?, ?, ?)",
    text.threadId,
    text.sequence,
    text.submissionId ?? null,
    text.outcome ?? null,
    text.at ?? null,
  )
  const id = placeOf(sql, text.threadId, text.sequence) ?? 0
  sql.run("INSERT INTO search_text (rowid, body) VALUES (?, ?)", id, text.body)
}

const removeTexts = (sql: Sql, ids: ReadonlyArray<number>): void => {
  for (const id of ids) {
    sql.run("DELETE FROM search_text WHERE rowid = ?", id)
    sql.run("DELETE FROM search_entries WHERE id = ?", id)
  }
}

/** Takes the title of a thread out of the index. */
export const removeTitle = (sql: Sql, threadId: ThreadId): void => {
  const place = placeOf(sql, threadId, 0)
  if (place !== undefined) removeTexts(sql, [place])
}

/** Takes outcomes out that are older than the newest so many. // X3 */
export const trimOutcomes = (sql: Sql, threadId: ThreadId, kept: number): void => {
  const old = sql.all<{ id: number }>(
    `SELECT id FROM search_entries WHERE thread_id = ? AND sequence > 0
     ORDER BY sequence DESC LIMIT -1 OFFSET ?`,
    threadId,
    kept,
  )
  removeTexts(
    sql,
    old.map(({ id }) => id),
  )
}

/**
 * How far something has come that passes over the journal once, in its order: publication, and each policy of retention.
 */
import type { Sql } from "../platform/ObjectStorage.ts"
import { isCount } from "./StoredColumns.ts"
import { Unreadable } from "./Unreadable.ts"

/** The cursor of publication. Those of retention are digests. */
export const publicationCursor = "publication"

/** Not of records: until when submissions were accepted whose keys were pruned. */
export const keysCursor = "keys"

/** The last record that it has passed; 0 for none. */
export const readCursor = (sql: Sql, name: string): number => {
  const [row] = sql.all<{ passed: number }>("SELECT passed FROM cursors WHERE name = ?", name)
  if (row !== undefined && !isCount(row.passed)) throw new Unreadable("cursors")
  return row?.passed ?? 0
}

/** It has passed this record, in the block of what it did there. */
export const writeCursor = (sql: Sql, name: string, passed: number): void =>
  sql.run("INSERT OR REPLACE INTO cursors (name, passed) VALUES (?, ?)", name, passed)

/**
 * The registry's one table: a row per owner, and when it is to be looked at.
 *
 * Functions of a database and values; each that writes is to be called in one block.
 *
 * Invariants
 * - K1 The table is made by the first owner that enters; reading an untouched registry writes nothing.
 * - K2 Every question reads a bounded number of rows at any number of owners.
 * - K3 Entering again never puts a look off, and forgets no owner's debt.
 * - K4 An owner that was taken for a look is due again by itself: no look has to come back.
 */
import type { OwnerId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { OwnerLook, OwnerPage, OwnerSummary } from "../contracts/RegistryRpc.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { applyMigrations, storedVersion } from "./Tables.ts"

const migrations: ReadonlyArray<ReadonlyArray<string>> = [
  [
    `CREATE TABLE owners (
      owner_id TEXT PRIMARY KEY,
      entered_at INTEGER NOT NULL,
      looked_at INTEGER,
      owed INTEGER NOT NULL,
      due_at INTEGER NOT NULL
    ) WITHOUT ROWID`,
    `CREATE INDEX owners_due ON owners (due_at)`,
  ],
]

/** When an owner is due again after a look, or after it has entered. Pure. */
export const nextLookAt = (owed: boolean, now: number, limits: Limits): number =>
  now + (owed ? limits.lookOwingMillis : limits.lookIdleMillis)

/** Makes an owner known. */
export const enter = (
  sql: Sql,
  { ownerId, owes }: { readonly ownerId: OwnerId; readonly owes: boolean },
  { now, limits }: { readonly now: number; readonly limits: Limits },
): void => {
  const version = storedVersion(sql)
  if (version < migrations.length) applyMigrations(sql, migrations, version) // K1
  sql.run(
    `INSERT INTO owners (owner_id, entered_at, looked_at, owed, due_at) VALUES (?, ?, NULL, ?, ?)
     ON CONFLICT (owner_id) DO UPDATE SET
       owed = max(owed, excluded.owed), due_at = min(due_at, excluded.due_at)`,
    ownerId,
    now,
    owes ? 1 : 0,
    nextLookAt(owes, now, limits),
  ) // K3
}

interface StoredOwner {
  readonly [column: string]: string | number | null
  readonly owner_id: string
  readonly entered_at: number
  readonly looked_at: number | null
  readonly owed: number
}

const fromStored = (row: StoredOwner): OwnerSummary => ({
  ownerId: row.owner_id as OwnerId,
  enteredAt: row.entered_at,
  ...(row.looked_at === null ? {} : { lookedAt: row.looked_at }),
  owed: row.owed === 1,
})

/** A page of owners by id. `limit` is at least 1. */
export const list = (
  sql: Sql,
  { after, limit }: { readonly after: string; readonly limit: number },
): OwnerPage => {
  if (storedVersion(sql) === 0) return { owners: [] } // K1
  const rows = sql.all<StoredOwner>(
    `SELECT owner_id, entered_at, looked_at, owed FROM owners WHERE owner_id > ?
     ORDER BY owner_id LIMIT +?`,
    after,
    limit + 1,
  ) // K2
  const owners = rows.slice(0, limit).map(fromStored)
  const last = owners.at(-1)
  return rows.length > limit && last !== undefined ? { owners, next: last.ownerId } : { owners }
}

/** Takes the owners whose look is due, the longest due first. */
export const takeDue = (
  sql: Sql,
  limit: number,
  { now, limits }: { readonly now: number; readonly limits: Limits },
): ReadonlyArray<OwnerId> => {
  if (storedVersion(sql) === 0) return [] // K1
  const owners = sql
    .all<{ owner_id: string }>(
      "SELECT owner_id FROM owners WHERE due_at <= ? ORDER BY due_at LIMIT +?",
      now,
      limit,
    )
    .map((row) => row.owner_id as OwnerId) // K2
  for (const ownerId of owners) {
    sql.run(
      "UPDATE owners SET due_at = ? WHERE owner_id = ?",
      now + limits.lookRetryMillis,
      ownerId,
    ) // K4
  }
  return owners
}

/** Records what looks have found. */
export const recordLooks = (
  sql: Sql,
  looks: ReadonlyArray<OwnerLook>,
  { now, limits }: { readonly now: number; readonly limits: Limits },
): void => {
  if (storedVersion(sql) === 0) return // K1
  for (const { ownerId, owed } of looks) {
    sql.run(
      "UPDATE owners SET looked_at = ?, owed = ?, due_at = ? WHERE owner_id = ?",
      now,
      owed ? 1 : 0,
      nextLookAt(owed, now, limits),
      ownerId,
    )
  }
}

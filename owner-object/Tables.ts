/**
 * The owner's tables and their migrations.
 *
 * `lanes` has a row per thread; one index over (work, slow, next_at) answers what is due, who is next
 * and when the alarm must ring; others, over (outbox_slow, outbox_at) and (publish_slow, publish_at), do so for their
 * outboxes and for records that are to be published.
 * `maintenance` has one row. Nothing is ever scanned.
 *
 * Invariants
 * - T1 Tables are made by the first mutation; reading an untouched object writes nothing.
 * - T2 A migration is only ever appended; the number of those applied is in a table of our own.
 */
import type { Sql } from "../platform/ObjectStorage.ts"

/** Applied in order, once each, in the block of the first mutation that finds them missing. // T2 */
const migrations: ReadonlyArray<ReadonlyArray<string>> = [
  [
    `CREATE TABLE maintenance (
      id INTEGER PRIMARY KEY,
      owner_id TEXT NOT NULL,
      incarnation INTEGER NOT NULL,
      in_flight TEXT NOT NULL,
      unfinished INTEGER NOT NULL,
      lanes INTEGER NOT NULL,
      nonterminal INTEGER NOT NULL,
      running INTEGER NOT NULL,
      last_served TEXT,
      last_recovered TEXT,
      last_pass TEXT
    )`,
    `CREATE TABLE lanes (
      thread_id TEXT PRIMARY KEY,
      report TEXT,
      enrolled TEXT,
      must_visit INTEGER NOT NULL,
      suspect INTEGER NOT NULL,
      marks TEXT NOT NULL,
      work TEXT,
      slow INTEGER NOT NULL,
      next_at INTEGER,
      outbox_at INTEGER
    ) WITHOUT ROWID`,
    // Partial: a lane that needs nothing has no entry, so settling the last work writes none.
    `CREATE INDEX lanes_work ON lanes (work, slow, next_at) WHERE work IS NOT NULL`,
  ],
  [
    `CREATE TABLE recovery_faults (
      thread_id TEXT PRIMARY KEY,
      first_failed_at INTEGER NOT NULL,
      last_failed_at INTEGER NOT NULL,
      retry_at INTEGER NOT NULL,
      attempts INTEGER NOT NULL,
      failure TEXT NOT NULL
    ) WITHOUT ROWID`,
    `ALTER TABLE maintenance ADD COLUMN faulted INTEGER NOT NULL DEFAULT 0`,
  ],
  [`ALTER TABLE maintenance ADD COLUMN entry TEXT`],
  [
    // Null without anything to carry: such a lane has no entry in the index.
    `ALTER TABLE lanes ADD COLUMN outbox_slow INTEGER`,
    `CREATE INDEX lanes_outbox ON lanes (outbox_slow, outbox_at) WHERE outbox_slow IS NOT NULL`,
  ],
  [
    `ALTER TABLE maintenance ADD COLUMN projections TEXT`,
    `ALTER TABLE lanes ADD COLUMN active_at INTEGER`,
  ],
  [`ALTER TABLE maintenance ADD COLUMN running_of TEXT`],
  [`ALTER TABLE maintenance ADD COLUMN host_lanes TEXT`],
  [
    // As for outboxes: null without anything to publish, and then no entry in the index.
    `ALTER TABLE lanes ADD COLUMN publish_at INTEGER`,
    `ALTER TABLE lanes ADD COLUMN publish_slow INTEGER`,
    `CREATE INDEX lanes_publish ON lanes (publish_slow, publish_at) WHERE publish_slow IS NOT NULL`,
  ],
  [`ALTER TABLE maintenance ADD COLUMN totals TEXT`],
  // No table changes: faulted lanes, which counted as running, are counted no longer.
  [],
  // Null where code of before wrote the row last, which counts otherwise: it replaces the row, and knows no such column.
  [`ALTER TABLE maintenance ADD COLUMN counted_apart INTEGER`],
]

/** The version from which on there is a table of faults. */
export const faultsSince = 2

/** The version from which on there is an index of what waits in outboxes. */
export const outboxSince = 4

/** The version from which on there is an index of what waits to be published. */
export const publicationSince = 8

/** The version from which on the progress of the projections is kept. */
export const projectionsSince = 5

export const schemaVersion = migrations.length

/** The version of the stored tables; 0 for an untouched object. Each start looks: for the first table made, and no further. */
export const storedVersion = (sql: Sql): number => {
  const [table] = sql.all(
    "SELECT 1 AS here FROM sqlite_schema WHERE name = 'schema_version' LIMIT 1",
  )
  if (table === undefined) return 0
  const [row] = sql.all<{ version: number }>("SELECT version FROM schema_version")
  return row?.version ?? 0
}

/** Brings the tables up to date. Called inside the block of a mutation only. // T1 */
export const migrate = (sql: Sql, fromVersion: number): void =>
  applyMigrations(sql, migrations, fromVersion)

/** Applies those of an object's migrations that its database has not seen, in their order. */
export const applyMigrations = (
  sql: Sql,
  all: ReadonlyArray<ReadonlyArray<string>>,
  fromVersion: number,
): void => {
  if (fromVersion === 0) {
    sql.run("CREATE TABLE schema_version (id INTEGER PRIMARY KEY, version INTEGER NOT NULL)")
  }
  for (const statements of all.slice(fromVersion)) {
    for (const statement of statements) sql.run(statement)
  }
  sql.run("INSERT OR REPLACE INTO schema_version (id, version) VALUES (1, ?)", all.length)
}

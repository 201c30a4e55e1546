/** Has an owner's tables be of an earlier version, as one that nobody wrote to since then has them. */
import type { Sql } from "../../../platform/ObjectStorage.ts"

/** What undoes each migration, from the newest on. */
const undone: ReadonlyArray<readonly [number, ReadonlyArray<string>]> = [
  [11, ["ALTER TABLE maintenance DROP COLUMN counted_apart"]],
  [9, ["ALTER TABLE maintenance DROP COLUMN totals"]],
  [
    8,
    [
      "DROP INDEX lanes_publish",
      "ALTER TABLE lanes DROP COLUMN publish_slow",
      "ALTER TABLE lanes DROP COLUMN publish_at",
    ],
  ],
  [7, ["ALTER TABLE maintenance DROP COLUMN host_lanes"]],
  [6, ["ALTER TABLE maintenance DROP COLUMN running_of"]],
  [
    5,
    ["ALTER TABLE maintenance DROP COLUMN projections", "ALTER TABLE lanes DROP COLUMN active_at"],
  ],
  [4, ["DROP INDEX lanes_outbox", "ALTER TABLE lanes DROP COLUMN outbox_slow"]],
  [3, ["ALTER TABLE maintenance DROP COLUMN entry"]],
  [2, ["DROP TABLE recovery_faults", "ALTER TABLE maintenance DROP COLUMN faulted"]],
]

export const olderTables = (sql: Sql, version: number): void => {
  for (const [of, statements] of undone)
    if (of > version) for (const statement of statements) sql.run(statement)
  sql.run("UPDATE schema_version SET version = ?", version)
}

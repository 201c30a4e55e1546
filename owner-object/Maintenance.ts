/**
 * The maintenance row: the owner's own facts, one row, read once per life and kept as a copy.
 */
import type { MaintenancePassReport } from "../contracts/Maintenance.ts"
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Entry, none } from "./Entry.ts"
import { storedVersion } from "./Tables.ts"

export interface MaintenanceRow {
  readonly ownerId: OwnerId
  /** The newest life that wrote: its number is larger than that of every life before it. */
  readonly incarnation: number
  /** Lanes whose call may be under way: recorded before the calls. */
  readonly inFlight: ReadonlyArray<ThreadId>
  /** Passes that began and did not finish, in a row. */
  readonly unfinished: number
  readonly lanes: number
  readonly nonterminal: number
  /** Lanes whose thread runs an attempt. */
  readonly running: number
  /** Lanes with a recorded fault. */
  readonly faulted: number
  readonly lastServed: ThreadId | undefined
  readonly lastRecovered: ThreadId | undefined
  readonly lastPass: MaintenancePassReport | undefined
  /** Whether the owner registry knows this owner. */
  readonly entry: Entry
}

/** The row of an owner that has no tables yet. */
export const untouched = (ownerId: OwnerId): MaintenanceRow => ({
  ownerId,
  incarnation: 0,
  inFlight: [],
  unfinished: 0,
  lanes: 0,
  nonterminal: 0,
  running: 0,
  faulted: 0,
  lastServed: undefined,
  lastRecovered: undefined,
  lastPass: undefined,
  entry: none,
})

interface StoredRow {
  readonly [column: string]: string | number | null
  readonly owner_id: string
  readonly incarnation: number
  readonly in_flight: string
  readonly unfinished: number
  readonly lanes: number
  readonly nonterminal: number
  readonly running: number
  readonly last_served: string | null
  readonly last_recovered: string | null
  readonly last_pass: string | null
}

/** Reads the row; undefined when the tables were made and nothing was written yet. */
export const readMaintenance = (sql: Sql): MaintenanceRow | undefined => {
  const [row] = sql.all<StoredRow>("SELECT * FROM maintenance WHERE id = 1")
  if (row === undefined) return undefined
  return {
    ownerId: row.owner_id as OwnerId,
    incarnation: row.incarnation,
    inFlight: JSON.parse(row.in_flight) as ReadonlyArray<ThreadId>,
    unfinished: row.unfinished,
    lanes: row.lanes,
    nonterminal: row.nonterminal,
    running: row.running,
    // Absent in tables of the first version, until the next mutation.
    faulted: Number(row["faulted"] ?? 0),
    lastServed: (row.last_served as ThreadId | null) ?? undefined,
    lastRecovered: (row.last_recovered as ThreadId | null) ?? undefined,
    lastPass:
      row.last_pass === null ? undefined : (JSON.parse(row.last_pass) as MaintenancePassReport),
    // Absent in tables of the first two versions.
    entry: typeof row["entry"] === "string" ? (JSON.parse(row["entry"]) as Entry) : none,
  }
}

/** The owner's id as first contact stored it; for an alarm of an object that was not told its name. */
export const storedOwnerId = (sql: Sql): OwnerId | undefined =>
  storedVersion(sql) === 0 ? undefined : readMaintenance(sql)?.ownerId

export const writeMaintenance = (sql: Sql, row: MaintenanceRow): void =>
  sql.run(
    `INSERT OR REPLACE INTO maintenance (id, owner_id, incarnation, in_flight, unfinished, lanes,
      nonterminal, running, faulted, last_served, last_recovered, last_pass, entry)
    VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.ownerId,
    row.incarnation,
    JSON.stringify(row.inFlight),
    row.unfinished,
    row.lanes,
    row.nonterminal,
    row.running,
    row.faulted,
    row.lastServed ?? null,
    row.lastRecovered ?? null,
    row.lastPass === undefined ? null : JSON.stringify(row.lastPass),
    row.entry._tag === "None" ? null : JSON.stringify(row.entry),
  )

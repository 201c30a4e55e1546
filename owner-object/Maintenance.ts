/**
 * The maintenance row: the owner's own facts, one row, read once per life and kept as a copy.
 *
 * What of it does not decode counts as absent: nobody was in flight, no pass has ended, the entry is owed.
 */
import type { MaintenancePassReport } from "../contracts/Maintenance.ts"
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Entry, none } from "./Entry.ts"
import type { HostRow } from "./HostRow.ts"
import { noProjections, type Projections } from "./Projections.ts"
import {
  agentCountsOf,
  entryOf,
  hostRowsOf,
  passReportOf,
  projectionsOf,
  threadIdsOf,
} from "./Stored.ts"
import { storedVersion } from "./Tables.ts"
import { noTally, readTotals, type Tally, totalsText } from "./Totals.ts"

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
  /** Of these and of those that may run, how many of each agent; undefined where nobody has counted. */
  readonly runningOf: Readonly<Record<string, number>> | undefined
  /** Whether it was counted as this code counts: not by code of before, to which a deployment was rolled back. */
  readonly countedApart: boolean
  /** Lanes with a recorded fault. */
  readonly faulted: number
  readonly lastServed: ThreadId | undefined
  readonly lastRecovered: ThreadId | undefined
  readonly lastPass: MaintenancePassReport | undefined
  /** Whether the owner registry knows this owner. */
  readonly entry: Entry
  /** How far the directory and the search index are. */
  readonly projections: Projections
  /** How the application's host lanes fare, by name. */
  readonly hostLanes: Readonly<Record<string, HostRow>>
  /** What was counted so far. */
  readonly totals: Tally
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
  runningOf: {},
  countedApart: true,
  faulted: 0,
  lastServed: undefined,
  lastRecovered: undefined,
  lastPass: undefined,
  entry: none,
  projections: noProjections,
  hostLanes: {},
  totals: noTally,
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
    inFlight: threadIdsOf(row.in_flight) ?? [],
    unfinished: row.unfinished,
    lanes: row.lanes,
    nonterminal: row.nonterminal,
    running: row.running,
    // Absent in tables of earlier versions.
    runningOf: agentCountsOf(row["running_of"]),
    countedApart: row["counted_apart"] === 1,
    // Absent in tables of the first version, until the next mutation.
    faulted: Number(row["faulted"] ?? 0),
    lastServed: (row.last_served as ThreadId | null) ?? undefined,
    lastRecovered: (row.last_recovered as ThreadId | null) ?? undefined,
    lastPass: passReportOf(row.last_pass),
    // Absent in tables of the first two versions.
    entry: entryOf(row["entry"]) ?? none,
    projections: projectionsOf(row["projections"]) ?? noProjections,
    hostLanes: hostRowsOf(row["host_lanes"]) ?? {},
    totals: readTotals(row["totals"]),
  }
}

/** The owner's id as first contact stored it; for an alarm of an object that was not told its name. */
export const storedOwnerId = (sql: Sql): OwnerId | undefined =>
  storedVersion(sql) === 0 ? undefined : readMaintenance(sql)?.ownerId

export const writeMaintenance = (sql: Sql, row: MaintenanceRow): void =>
  sql.run(
    `INSERT OR REPLACE INTO maintenance (id, owner_id, incarnation, in_flight, unfinished, lanes,
      nonterminal, running, running_of, faulted, last_served, last_recovered, last_pass, entry, projections, host_lanes, totals, counted_apart)
    VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    row.ownerId,
    row.incarnation,
    JSON.stringify(row.inFlight),
    row.unfinished,
    row.lanes,
    row.nonterminal,
    row.running,
    row.runningOf === undefined ? null : JSON.stringify(row.runningOf),
    row.faulted,
    row.lastServed ?? null,
    row.lastRecovered ?? null,
    row.lastPass === undefined ? null : JSON.stringify(row.lastPass),
    row.entry._tag === "None" ? null : JSON.stringify(row.entry),
    JSON.stringify(row.projections),
    Object.keys(row.hostLanes).length === 0 ? null : JSON.stringify(row.hostLanes),
    totalsText(row.totals),
    row.countedApart ? 1 : null,
  )

type Counters = Pick<MaintenanceRow, "lanes" | "nonterminal" | "running" | "runningOf" | "faulted">

/** A sum over rows that may be damaged: what it gives may be anything. */
const counterOf = (sum: unknown): number =>
  typeof sum === "number" && Number.isFinite(sum) ? Math.max(0, Math.trunc(sum)) : 0

/** As `isOut` tells of one lane. */
const isOut = `(json_type(marks, '$.condemned.unheard') IS NOT NULL
  OR (json_type(marks, '$.faultRetryAt') IS NOT NULL
    AND (json_type(marks, '$.faultTrial') IS NULL OR must_visit = 1)))`

/** How many attempts of each agent may run, as the lanes' rows have it: as `agentAtWork` tells of one. */
export const countAgents = (sql: Sql): Readonly<Record<string, number>> =>
  Object.fromEntries(
    sql
      .all<{ agent: string | number | null; lanes: number }>(
        `SELECT agent, COUNT(*) AS lanes FROM (SELECT CASE
           WHEN report IS NULL AND json_valid(marks) THEN
             CASE WHEN ${isOut} THEN NULL ELSE json_extract(marks, '$.mayRun') END
           WHEN json_valid(report) AND json_valid(marks) THEN CASE
             WHEN ${isOut} THEN NULL
             WHEN must_visit = 1 AND suspect = 1 THEN json_extract(report, '$.head.agent')
             WHEN json_extract(report, '$.head.state') = 'running'
               AND json_type(report, '$.recoverAt') IS NULL THEN json_extract(report, '$.head.agent')
           END END AS agent FROM lanes) WHERE agent IS NOT NULL GROUP BY agent`,
      )
      .map(({ agent, lanes }) => [String(agent), lanes]),
  )

/** The counters as the lanes' rows have them. Reads all of them: only for what no difference can tell. */
export const recount = (sql: Sql): Counters => {
  const [row] = sql.all(
    `SELECT COUNT(*) AS lanes,
      SUM(CASE WHEN json_valid(report) THEN json_extract(report, '$.nonterminal') END) AS nonterminal,
      SUM(CASE WHEN json_valid(marks) THEN json_type(marks, '$.faultRetryAt') IS NOT NULL END) AS faulted
     FROM lanes`,
  )
  const runningOf = countAgents(sql)
  return {
    lanes: counterOf(row?.["lanes"]),
    nonterminal: counterOf(row?.["nonterminal"]),
    running: Object.values(runningOf).reduce((sum, lanes) => sum + lanes, 0),
    runningOf,
    faulted: counterOf(row?.["faulted"]),
  }
}

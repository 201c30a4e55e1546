/**
 * What the owner tells about itself. Reads only; bounded at any number of lanes.
 */
import { type Generation, makeGeneration, type ThreadId } from "../contracts/Identifiers.ts"
import type { LaneStatus, MaintenanceStatus, OwnerTotals } from "../contracts/Maintenance.ts"
import type { RecoveryFault } from "../contracts/Recovery.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Condemned, isHeld, isRunning, type Lane, type Work } from "./Lane.ts"
import { countDue, earliestTicket, oldestEnrolled, readLane } from "./LaneTable.ts"
import { hostStatus } from "./Hosts.ts"
import { totalsOf } from "./Block.ts"
import type { Life } from "./Life.ts"
import { readFault } from "./FaultTable.ts"
import { countDueOutboxes } from "./OutboxTable.ts"
import { countDuePublications } from "./PublicationTable.ts"
import { ticketMillis } from "./Rotation.ts"
import { faultsSince } from "./Tables.ts"
import { type Tables, tablesOf } from "./TicketIndex.ts"
import { totalNames, type Totals } from "./Totals.ts"

/** Counts are exact up to here, then "at least". */
const countedUpTo = 1_000

/** The field if it is there: an absent field and an undefined one are not the same in a contract. */
const present = <K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } =>
  value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V })

const newestGeneration = (life: Life): Generation | undefined =>
  life.maintenance.incarnation === 0
    ? undefined
    : makeGeneration({
        incarnation: life.maintenance.incarnation,
        counter: life.incarnation === life.maintenance.incarnation ? life.counter : 0,
      })

/** Lanes that are due, or whose outbox is, or whose records are. */
const dueLanes = (tables: Tables, now: number): number => {
  const due = countDue(tables.sql, now, countedUpTo, tables.idle)
  const carried = due + countDueOutboxes(tables, { now, limit: countedUpTo - due })
  return carried + countDuePublications(tables, { now, limit: countedUpTo - carried })
}

/** What was counted up to now. */
const totalsNow = (host: ObjectHost, life: Life): OwnerTotals => {
  const totals = totalsOf(host, life)
  return Object.fromEntries(totalNames.map((name) => [name, totals[name] ?? 0])) as Totals
}

/** How long the lane waits that is due first. */
const queueAge = (sql: Sql, now: number): number => {
  const ticket = earliestTicket(sql, true)
  return ticket === undefined ? 0 : Math.max(0, now - ticketMillis(ticket))
}

export const maintenanceStatus = (host: ObjectHost, life: Life): MaintenanceStatus => {
  const { sql } = host.storage
  const tables = life.version > 0
  const dirty = newestGeneration(life)
  const { oldest, complete } = tables
    ? oldestEnrolled(sql, countedUpTo)
    : { oldest: undefined, complete: true }
  const row = life.maintenance
  return {
    ownerId: life.ownerId,
    totals: totalsNow(host, life),
    queueAgeMillis: tables ? queueAge(sql, host.now()) : 0,
    ...present("dirty", dirty),
    ...present("processed", complete ? (oldest ?? dirty) : undefined),
    nonterminal: row.nonterminal,
    lanes: row.lanes,
    dueLanes: tables ? dueLanes(tablesOf(sql, life), host.now()) : 0,
    runningLanes: row.running,
    faultedLanes: row.faulted,
    unfinishedPasses: row.unfinished,
    ...present("alarmAt", life.armedAt),
    ...present("lastServedThreadId", row.lastServed),
    ...present("lastRecoveredThreadId", row.lastRecovered),
    ...present("lastPass", row.lastPass),
    ...(life.recentPasses.length === 0 ? {} : { passes: life.recentPasses }),
    ...(life.hosts.lanes.length === 0 ? {} : { hostLanes: hostStatus(life.hosts, row) }),
  }
}

/** Whether anything is owed: what the cron comes back for within the hour. */
export const owes = ({ armedAt, maintenance, pass }: Life): boolean =>
  maintenance.nonterminal > 0 || armedAt !== undefined || pass !== undefined

const condemnedStatus = ({ abort, author, reason, sinceAt }: Condemned) => ({
  author,
  reason,
  abort,
  sinceAt,
})

/** Whose limit holds a lane is told by its obligation. */
const workKindOf = (work: Work | undefined): Exclude<Work, `held:${string}`> | undefined =>
  isHeld(work) ? "held" : (work as Exclude<Work, `held:${string}`> | undefined)

/** A lane as its owner sees it. `now` tells which waits are still ahead. */
export const laneStatus = (
  threadId: ThreadId,
  lane: Lane | undefined,
  facts: { readonly now: number; readonly fault: RecoveryFault | undefined },
): LaneStatus => {
  const { report, marks } = lane ?? { report: undefined, marks: {} }
  const ahead = (at: number | undefined) => (at !== undefined && at > facts.now ? at : undefined)
  return {
    threadId,
    known: lane !== undefined,
    ...present("work", workKindOf(lane?.work)),
    ...present("workAt", lane?.nextAt === undefined ? undefined : ticketMillis(lane.nextAt)),
    ...present(
      "outboxAt",
      lane?.outboxTicket === undefined ? undefined : ticketMillis(lane.outboxTicket),
    ),
    ...present(
      "publishAt",
      lane?.publishTicket === undefined ? undefined : ticketMillis(lane.publishTicket),
    ),
    ...present("enrolled", lane?.enrolled),
    mustVisit: lane?.mustVisit ?? false,
    suspect: lane?.suspect ?? false,
    paused: report?.paused ?? false,
    running: lane !== undefined && isRunning(lane),
    nonterminal: report?.nonterminal ?? 0,
    ...present("head", report?.head),
    ...present("backoffUntilAt", ahead(marks.backoffUntilAt)),
    unchangedTurns: marks.unchanged ?? 0,
    ...present("stalledUntilAt", ahead(marks.stalledUntilAt)),
    ...present("fault", facts.fault),
    ...present("condemned", marks.condemned && condemnedStatus(marks.condemned)),
    ...present(
      "binding",
      marks.binding === undefined
        ? undefined
        : {
            attempts: marks.binding.attempts,
            notBefore: marks.binding.notBefore,
            ...present("name", marks.binding.name),
          },
    ),
  }
}

/** The recorded fault of a thread. */
export const faultOf = (
  host: ObjectHost,
  life: Life,
  threadId: ThreadId,
): RecoveryFault | undefined =>
  life.version < faultsSince ? undefined : readFault(host.storage.sql, threadId)

export const statusOfThread = (host: ObjectHost, life: Life, threadId: ThreadId): LaneStatus =>
  laneStatus(threadId, life.version === 0 ? undefined : readLane(host.storage.sql, threadId), {
    now: host.now(),
    fault: faultOf(host, life, threadId),
  })

/**
 * A life: what an owner object remembers between its start and its end. It only narrows; rows decide.
 *
 * A storage failure ends a life: the object forgets everything and starts again from its rows. That
 * is safe because forgetting is what a crash does, too: lanes stay enrolled and are visited.
 *
 * Invariants
 * - F1 The first writing block of a life makes its incarnation durable, larger than any before it,
 *   so that generations are ordered and unique across lives.
 * - F2 The copy of the maintenance row changes only with a committed block.
 */
import type { AgentId, Generation, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { MaintenancePassReport } from "../contracts/Maintenance.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import type { Idle } from "./Idle.ts"
import type { RowCounts, Sql } from "../platform/ObjectStorage.ts"
import { type Hosts, hostsDueAt, makeHosts } from "./Hosts.ts"
import { heldAgents } from "./HeldTable.ts"
import { deadline, none } from "./Entry.ts"
import { lanesAt } from "./LanesAt.ts"
import { type BindingCursor, latestTicketUpTo } from "./LaneTable.ts"
import { type MaintenanceRow, readMaintenance, untouched } from "./Maintenance.ts"
import type { Notice } from "./Notice.ts"
import type { Peer } from "./Peer.ts"
import { beginProjecting, isUsable, type Projecting, wantsNothing } from "./Projections.ts"
import { nextUnreadAt } from "./ProjectionTables.ts"
import { projectionsSince, storedVersion } from "./Tables.ts"
import { noTally, type Tally } from "./Totals.ts"
import { makeWaiters, type Waiters } from "./Waiters.ts"
import { makeUnderWay, type UnderWay } from "./UnderWay.ts"
import type { Watcher } from "./Watcher.ts"

/** The mutations of one lane that are under way together. */
export interface Overlap {
  count: number
  /** The end of the newest cover. */
  coverUntilAt: number
  /** Whether nothing of unknown fate was enrolled before the first of them. */
  readonly cleanAtFirst: boolean
  /** What the lane reported when the first of them enrolled. */
  sentUnder: LaneReport | undefined
  /** Whether the first of them made the lane's row. */
  readonly madeRow: boolean
  /** Set once one of them was told that the thread was forgotten. */
  forgottenAt: number | undefined
  allAnswered: boolean
  allRefused: boolean
  newest: Generation
}

/** A mutation that has ended and waits for its finish. */
export interface Ended {
  readonly threadId: ThreadId
  /** How many submissions it may have brought: its report, once it is taken, counts them. */
  readonly brings: number
  /** The thread's reply; undefined when none arrived. */
  readonly answer: { readonly report: LaneReport; readonly refused: boolean } | undefined
  /** Set when the thread said that it was forgotten. */
  readonly forgottenAt: number | undefined
}

/** The pass under way. What it has under way is its life's: it finds there what the one before it has left. */
export interface RunningPass extends Omit<UnderWay, "entering"> {
  readonly startedAt: number
  /** No work is selected from then on. */
  readonly yieldAt: number
  /** Set after several passes in a row that did not finish. */
  readonly oneSlot: boolean
  /** Host lanes whose wave has failed in this pass. */
  readonly hostsFailed: Set<string>
  readonly wake: () => void
  /**
   * What is due from then on it finds by itself: by its last look while it works, by its next while it waits. A block that
   * writes an earlier deadline wakes it.
   */
  findsFrom: number
  calls: number
  settled: number
  recovered: number
  /** Since when the lane was due that was due first as it began. */
  dueSinceAt: number | undefined
}

export interface Life {
  readonly ownerId: OwnerId
  version: number
  maintenance: MaintenanceRow // F2
  /** What was counted since the maintenance row was written. */
  uncounted: Tally
  /** Rows that are among what was counted. */
  rows: RowCounts
  /** What was counted and nobody was told of. */
  untold: Tally
  /** This life's incarnation; 0 until its first writing block. */
  incarnation: number
  counter: number
  lastTicket: number
  /** Whether its counters were counted anew in this life. */
  recounted: boolean
  /** The armed time as last written or read. */
  armedAt: number | undefined
  /** How far this object's clock is known to be behind the one by which alarms ring. */
  behindMillis: number
  /** Whether this deployment has an owner registry to enter. */
  readonly registers: boolean
  /** How many attempts of an agent may run at once, as this deployment says. */
  maxRunning: ReadonlyMap<AgentId, number>
  /** Whether lanes may be held by the limit of an agent; false only where none is. */
  holdsAgents: boolean
  /** The application's own lanes. */
  readonly hosts: Hosts
  /** What no lane is known to have. */
  readonly idle: Idle
  /** Whether it is known that nothing has a deadline. */
  quiet: boolean
  readonly overlaps: Map<ThreadId, Overlap>
  ended: Array<Ended>
  finishScheduled: boolean
  /** Submissions that mutations which are not finished may bring. */
  bringing: number
  /** Mutations under way, and the bytes of their payloads. */
  mutations: number
  heldBytes: number
  /** How far the waits for agents were compared with this deployment's; undefined once all were. */
  bindingsBehind: BindingCursor | undefined
  pass: RunningPass | undefined
  readonly underWay: UnderWay
  /** To whom outboxes were carried lately, where anything is to be remembered of it. */
  readonly peers: Map<string, Peer>
  /** What is to be brought into the directory and the search index. */
  readonly projecting: Projecting
  /** Whether outcomes are searched in this deployment. */
  readonly searchesOutcomes: boolean
  /** Who watches the lanes now. */
  readonly watchers: Set<Watcher>
  /** Who waits for the end of a pass, or of a forgetting. */
  readonly waiters: Waiters
  /** What is for the log, until a block that commits has it told. */
  readonly notices: Array<Notice>
  /** The last passes that found something due, the newest first. */
  recentPasses: ReadonlyArray<MaintenancePassReport>
}

/** What the tables of the projections tell a life that begins. They never keep it from beginning. */
const noteUnread = (sql: Sql, projecting: Projecting): void => {
  try {
    projecting.unreadAt = nextUnreadAt(sql)
  } catch {
    projecting.broken = true
  }
}

/**
 * Begins a life from the rows. Writes nothing. Who the owner is was stored at first contact; `asked`
 * is believed only by an object that the platform did not name and nobody has written to.
 */
export const beginLife = (
  host: ObjectHost,
  asked: OwnerId,
  armedAt: number | null,
  { registers, outcomes, lookMillis, hosts, waiters } = {
    registers: false,
    outcomes: false,
    lookMillis: 0,
    hosts: makeHosts(""),
    waiters: makeWaiters(),
  },
): Life => {
  const { sql } = host.storage
  const version = storedVersion(sql)
  const maintenance = version === 0 ? undefined : readMaintenance(sql)
  const ownerId = maintenance?.ownerId ?? (host.name as OwnerId | undefined) ?? asked
  const stored = maintenance ?? untouched(ownerId)
  const projecting = beginProjecting(stored.projections, host.now() + lookMillis)
  if (outcomes && isUsable(stored.projections, projecting)) noteUnread(sql, projecting)
  const entryAt = deadline(maintenance?.entry ?? none, registers)
  const idle: Idle = new Set()
  return {
    ownerId,
    version,
    maintenance: stored,
    uncounted: noTally,
    rows: host.storage.counts(),
    untold: noTally,
    incarnation: 0, // F1
    counter: 0,
    lastTicket: version === 0 ? 0 : latestTicketUpTo(sql, host.now()),
    recounted: false,
    armedAt: armedAt ?? undefined,
    behindMillis: 0,
    registers,
    maxRunning: new Map(),
    holdsAgents: version > 0 && heldAgents(sql).length > 0,
    hosts,
    idle,
    quiet:
      version === 0 ||
      (lanesAt({ sql, version, idle }, true) === undefined &&
        entryAt === undefined &&
        hostsDueAt({ hosts, version }, stored) === undefined &&
        (version < projectionsSince || wantsNothing(stored.projections, projecting))),
    peers: new Map(),
    projecting,
    searchesOutcomes: outcomes,
    overlaps: new Map(),
    ended: [],
    finishScheduled: false,
    bringing: 0,
    mutations: 0,
    heldBytes: 0,
    bindingsBehind: { slow: true, ticket: 0, threadId: "" },
    pass: undefined,
    underWay: makeUnderWay(stored.inFlight),
    watchers: new Set(),
    waiters,
    notices: [],
    recentPasses: [],
  }
}

/**
 * A block: one durable transition of the owner, synchronous, in one transaction.
 *
 * Everything that changes lanes goes through `writeLane` here: it keeps counters, tickets and the
 * alarm in step with the row, in the same commit.
 *
 * Invariants
 * - B1 One function writes lane rows, and in the same block it lowers the alarm. A block that writes anything repairs an
 *   alarm that is missing or given up.
 * - B2 Finishes that wait are taken into the next block, before anything else in it.
 * - B3 The maintenance row is written to the tables of this code, whatever wrote the database before.
 * - B4 A damaged lane is mended by the block that meets it: enrolled, so that a fenced visit heals it, told
 *   once, and the counters, to which nobody knows what it had added, are counted anew.
 * - B5 A block wakes the pass only for a deadline before those that the pass finds by itself: else every submit would
 *   have it look at all lanes, twice, for nothing.
 * - B6 A clock that was ahead and is right again puts off nothing that becomes due from then on.
 * - B7 Counters that are counted anew wake whom they hold no more: no run ends that would.
 */
import { type Generation, makeGeneration, type ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import type { RowCounts } from "../platform/ObjectStorage.ts"
import { freeTicket, holds, roomOf } from "./AgentLimits.ts"
import * as AlarmSlot from "./AlarmSlot.ts"
import { ticketAside } from "./Aside.ts"
import { isFaulted, moved, movedAgents } from "./Counters.ts"
import * as Entry from "./Entry.ts"
import { faultedLane, readFault } from "./FaultTable.ts"
import { hostsLookAt } from "./Hosts.ts"
import { wakeFor } from "./Idle.ts"
import { agentAtWork, emptyLane, isHeld, isRunning, type Lane, takesPlace } from "./Lane.ts"
import * as LaneTable from "./LaneTable.ts"
import type { Life } from "./Life.ts"
import { type MaintenanceRow, recount, writeMaintenance } from "./Maintenance.ts"
import type { Notice } from "./Notice.ts"
import { outboxTimeOf } from "./OutboxTurn.ts"
import { publicationTimeOf } from "./PublicationTurn.ts"
import { dueBefore, needOf, ticketMillis, ticketOf, toTicket } from "./Rotation.ts"
import * as Projected from "./Projected.ts"
import type { Shown } from "./Shown.ts"
import { migrate, schemaVersion } from "./Tables.ts"
import { goesOn } from "./UnderWay.ts"
import { noTally, rowsBetween, tallied, type Tally, toldBetween } from "./Totals.ts"

export interface Block {
  readonly host: ObjectHost
  readonly life: Life
  readonly limits: Limits
  readonly now: number
  /** The maintenance row as this block leaves it. */
  maintenance: MaintenanceRow
  /** What this block counts. */
  tally: Tally
  /** The lanes that this block wrote. */
  readonly written: Set<ThreadId>
  /** The lanes that this block changed in what a list shows of them. */
  readonly shown: Map<ThreadId, Shown | undefined>
  /** The earliest deadline that this block wrote. */
  earliestAt: number | undefined
  /** Whether the counters are to be counted anew. */
  miscounted: boolean
  /** What is logged once this block is committed. */
  readonly notices: Array<Notice>
  /** What is done once this block is committed. */
  readonly afterwards: Array<() => void>
}

/** Opens the tables and the incarnation of this life; first in every block that writes. */
export const openForWriting = (block: Block): void => {
  const { life, host } = block
  if (life.version < schemaVersion) {
    migrate(host.storage.sql, life.version)
    life.version = schemaVersion
  }
  if (!block.maintenance.countedApart) block.miscounted = true
  if (life.incarnation === 0) {
    setIncarnation(block, Math.max(block.maintenance.incarnation + 1, block.now))
    oweEntry(block)
  }
}

/** Owes the registry this owner's entry, in a block that writes the maintenance row anyway. */
const oweEntry = (block: Block): void => {
  if (!block.life.registers) return
  const entry = Entry.owedFromNow(block.maintenance.entry, block.now, block.limits)
  block.maintenance = { ...block.maintenance, entry }
  const at = entryAtOf(block)
  if (at !== undefined) noteDeadline(block, toTicket(at))
}

/** When this owner is to be entered in the registry, as this block leaves it. */
const entryAtOf = ({ life, maintenance }: Block): number | undefined =>
  Entry.deadline(maintenance.entry, life.registers)

/** The deadlines of this owner besides its lanes, as this block leaves it. */
export const deadlinesOf = (block: Block): AlarmSlot.Deadlines => ({
  now: block.now,
  held: mayStart(block),
  freeTicket: mayStart(block) ? freeTicket(block) : undefined,
  entryAt: entryAtOf(block),
  projectAt: Projected.deadlineOf(block),
  rideMillis: block.limits.projectionRideMillis,
  goesOn: goesOn(block.life.underWay),
  hostAt: hostsLookAt(block.life, block.maintenance, {
    hostReadMillis: block.limits.hostReadMillis,
    now: block.now,
  }),
})

export const setIncarnation = (block: Block, incarnation: number): void => {
  block.life.incarnation = incarnation
  block.life.counter = 0
  block.maintenance = { ...block.maintenance, incarnation }
}

/** A new generation, larger than every one before it. */
export const nextGeneration = (block: Block): Generation => {
  openForWriting(block)
  block.life.counter += 1
  return makeGeneration({ incarnation: block.life.incarnation, counter: block.life.counter })
}

/** Reads a lane. One that is damaged is mended first. */
export const readLane = (block: Block, threadId: ThreadId): Lane | undefined => {
  if (block.life.version === 0) return undefined
  const lane = LaneTable.readLane(block.host.storage.sql, threadId)
  return lane?.damaged === true ? mend(block, lane) : lane
}

/** Gives a damaged lane what its visit needs, and its fault back if it has one. // B4 */
const mend = (block: Block, { damaged: _d, ...found }: Lane): Lane => {
  const enrolled = nextGeneration(block)
  const fault = readFault(block.host.storage.sql, found.threadId)
  const lane = fault === undefined ? found : faultedLane(found, fault)
  block.miscounted = true
  const line = "the row of a lane was damaged; its thread is visited"
  block.notices.push({ level: "Error", threadId: found.threadId, line })
  return writeLane(block, found, { ...lane, enrolled }, { afterTurn: false })
}

/** Which turn of a lane has ended: one that is still due goes to the back. Of its own, its outbox or its records. */
interface Turned {
  readonly afterTurn: boolean
  readonly afterCarry?: boolean
  readonly afterPublishing?: boolean
}

/** Writes a lane with its next work, its tickets and those of its outbox. */
export const writeLane = (
  block: Block,
  before: Lane | undefined,
  lane: Lane,
  options: Turned,
): Lane => {
  openForWriting(block)
  const { life, now, limits } = block
  const watched =
    isRunning(lane) && lane.marks.watchAt === undefined
      ? { ...lane, marks: { ...lane.marks, watchAt: now + limits.watchMillis } }
      : lane
  const overlap = life.overlaps.get(lane.threadId)
  const cover = overlap === undefined ? undefined : { untilAt: overlap.coverUntilAt }
  const need = needOf(watched, cover, now, limits)
  const { faultRetryAt, failures = 0, unchanged = 0 } = watched.marks
  const slow = failures > 0 || unchanged > 0 || faultRetryAt !== undefined
  const kept = options.afterTurn ? undefined : before?.nextAt
  const nextAt =
    need === undefined ? undefined : ticketOf({ need, kept, now, lastTicket: life.lastTicket })
  if (nextAt !== undefined && need !== undefined && need.at <= now) {
    life.lastTicket = Math.max(life.lastTicket, nextAt)
  }
  const work = { work: need?.work, slow: need !== undefined && slow, nextAt }
  const { afterCarry = false, afterPublishing = false } = options
  const outboxTicket = nextTicketAside(
    block,
    outboxTimeOf(watched),
    afterCarry ? undefined : before?.outboxTicket,
  )
  const publishTicket = nextTicketAside(
    block,
    publicationTimeOf(watched),
    afterPublishing ? undefined : before?.publishTicket,
  )
  const written: Lane = { ...watched, ...work, outboxTicket, publishTicket }
  LaneTable.writeLane(block.host.storage.sql, written) // B1
  wakeFor(life.idle, written)
  if (isHeld(written.work) && written.work !== "held") life.holdsAgents = true
  block.written.add(lane.threadId)
  count(block, before, written)
  Projected.note(block, before, written)
  noteDeadline(block, nextAt)
  noteDeadline(block, outboxTicket)
  noteDeadline(block, publishTicket)
  return written
}

/** The ticket, of which the next one given for the present is larger. */
const taken = ({ life, now }: Block, ticket: number | undefined): number | undefined => {
  if (ticket !== undefined && ticket < dueBefore(now)) {
    life.lastTicket = Math.max(life.lastTicket, ticket)
  }
  return ticket
}

/** The ticket of work aside that is due at `at`; `kept` is the one it must keep. */
const nextTicketAside = (
  block: Block,
  at: number | undefined,
  kept: number | undefined,
): number | undefined => {
  const { life, now } = block
  return taken(block, ticketAside(at, { kept, now, lastTicket: life.lastTicket }))
}

/** Removes a lane that holds nothing. */
export const deleteLane = (block: Block, lane: Lane): void => {
  LaneTable.deleteLane(block.host.storage.sql, lane.threadId)
  block.written.add(lane.threadId)
  count(block, lane, undefined)
  const rebuildAt = Projected.leave(block, lane)
  if (rebuildAt !== undefined) noteDeadline(block, toTicket(rebuildAt))
}

export const noteDeadline = (block: Block, ticket: number | undefined): void => {
  if (ticket === undefined) return
  block.life.quiet = false
  const at = ticketMillis(ticket)
  if (block.earliestAt === undefined || at < block.earliestAt) block.earliestAt = at
}

/** Keeps the counters of the maintenance row in step with the rows. */
const count = (block: Block, before: Lane | undefined, after: Lane | undefined): void => {
  const lanes = Number(after !== undefined) - Number(before !== undefined)
  const nonterminal = (after?.report?.nonterminal ?? 0) - (before?.report?.nonterminal ?? 0)
  const running = Number(takesPlace(after)) - Number(takesPlace(before))
  const faulted = Number(isFaulted(after)) - Number(isFaulted(before))
  const ended = agentAtWork(before)
  const started = agentAtWork(after)
  block.tally = tallied(block.tally, toldBetween(before, after))
  if (lanes === 0 && nonterminal === 0 && running === 0 && faulted === 0 && ended === started)
    return
  const row = block.maintenance
  block.maintenance = {
    ...row,
    lanes: moved(row.lanes, lanes),
    nonterminal: moved(row.nonterminal, nonterminal),
    running: moved(row.running, running),
    runningOf: movedAgents(row.runningOf, ended, started),
    faulted: moved(row.faulted, faulted),
  }
  // A lane that is held may start now.
  if (running < 0 && row.running >= block.limits.runningPerOwner) noteDeadline(block, toTicket(0))
  if (ended !== undefined && ended !== started && roomOf(block, ended) > 0 && holds(block, ended))
    noteDeadline(block, toTicket(0))
}

/** Whether another attempt may start, as this block leaves the owner. */
export const mayStart = (block: Block): boolean =>
  block.maintenance.running < block.limits.runningPerOwner

/** The lane of a thread, or a new one, with whether it had a row. */
export const laneOrNew = (
  block: Block,
  threadId: ThreadId,
): { readonly before: Lane | undefined; readonly lane: Lane } => {
  const before = readLane(block, threadId)
  return { before, lane: before ?? emptyLane(threadId) }
}

/** What was counted so far, what is not stored yet among it. */
export const totalsOf = (host: ObjectHost, life: Life, more: Tally = noTally): Tally => {
  const rows = rowsBetween(life.rows, host.storage.counts())
  return [life.uncounted, more, rows].reduce(tallied, life.maintenance.totals)
}

/** Has the alarm ring for what this block wrote; a block that writes and finds none, for all that is due. // B1 */
const keepAlarm = (block: Block): void => {
  const { earliestAt: atMillis, host, life, limits, maintenance, now } = block
  const { alarm, sql } = host.storage
  if (atMillis !== undefined)
    AlarmSlot.lower(alarm, sql, life, { ...deadlinesOf(block), atMillis, limits })
  else if (maintenance !== life.maintenance && AlarmSlot.needsRepair(life, now, limits))
    AlarmSlot.armEarliest(alarm, sql, life, deadlinesOf(block))
}

/** Wakes the pass for what it would not find in time. // B5 */
const wakePass = ({ earliestAt, life, shown }: Block): void => {
  const { pass } = life
  if (pass === undefined) return
  const shownAt = shown.size === 0 ? Infinity : (Projected.projectionsAt(life) ?? Infinity)
  if (Math.min(earliestAt ?? Infinity, shownAt) < pass.findsFrom) pass.wake()
}

/**
 * Forgets a last ticket of a time that is not to come for long: the clock was ahead when it was given. A little ahead it
 * may be, where many were given for one millisecond. // B6
 */
const checkLastTicket = ({ host, life, limits, now }: Block): void => {
  if (life.version === 0 || life.lastTicket < dueBefore(now + limits.clockAllowanceMillis)) return
  life.lastTicket = LaneTable.latestTicketUpTo(host.storage.sql, now)
}

/** What runs inside every block before its own work; set by the gate. */
export type TakeFinishes = (block: Block) => void

/** Runs a body as one block of this life. Throws what the storage throws. */
export const runBlock = <A>(
  host: ObjectHost,
  life: Life,
  limits: Limits,
  takeFinishes: TakeFinishes,
  body: (block: Block) => A,
): A => {
  const block: Block = {
    host,
    life,
    limits,
    now: host.now(),
    maintenance: life.maintenance,
    tally: noTally,
    written: new Set(),
    shown: new Map(),
    earliestAt: undefined,
    miscounted: false,
    notices: [],
    afterwards: [],
  }
  let counted: { readonly totals: Tally; readonly rows: RowCounts } | undefined
  const result = host.storage.transaction(() => {
    checkLastTicket(block) // B6
    takeFinishes(block) // B2
    const value = body(block)
    if (block.miscounted || block.maintenance !== life.maintenance) {
      openForWriting(block) // B3
      if (block.miscounted) {
        const couldStart = mayStart(block)
        block.maintenance = {
          ...block.maintenance,
          ...recount(host.storage.sql),
          countedApart: true,
        } // B4
        if (!couldStart && mayStart(block)) noteDeadline(block, toTicket(0)) // B7
        if (mayStart(block)) noteDeadline(block, freeTicket(block)) // B7
      }
      counted = { totals: totalsOf(host, life, block.tally), rows: host.storage.counts() }
      block.maintenance = { ...block.maintenance, totals: counted.totals }
      writeMaintenance(host.storage.sql, block.maintenance)
    }
    keepAlarm(block)
    return value
  })
  life.maintenance = block.maintenance
  life.uncounted = counted === undefined ? tallied(life.uncounted, block.tally) : noTally
  life.rows = counted?.rows ?? life.rows
  life.untold = tallied(life.untold, block.tally)
  Projected.keep(block)
  wakePass(block)
  life.notices.push(...block.notices)
  for (const act of block.afterwards) act()
  if (block.written.size > 0) for (const watcher of life.watchers) watcher.changed(block.written)
  return result
}

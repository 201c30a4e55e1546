/**
 * I10 Fairness: a due lane is served before every lane that became due after it, and one that is still due after
 * its turn goes behind all that wait. I19 Bounded waiting: so a due lane is served within as many turns as lanes
 * were due before it; and while a pass runs and a slot is free, at once: also beside neighbours that fare ill (I9).
 *
 * Judged by the order in which an owner's calls are made, and by when the rows of its lanes came due; not by their
 * tickets.
 *
 * - T1 Kinds of calls have slots of their own, so only lanes that want the same kind are compared; one in backoff
 *   may have to wait for a slot of its own.
 * - T2 When a lane came due is known within bounds: its row may be written while its call is under way. One lane
 *   goes before another for certain if even its latest bound is before the earliest of the other.
 * - T3 What a new life finds in its rows came due at the times that they tell; what was in flight has had its turn.
 * - T4 A lane that would start an attempt waits while as many run as may.
 * - T6 A lane that its agent's limit holds waits until there is room for certain; then it goes before all that would start
 *   an attempt of that agent and came due after it, and for nobody else.
 * - T5 Who waits is as the block that selected left it, but for what it wrote itself: that may have wanted another
 *   kind before. A call made later than that tells nothing.
 * - T7 A pass whose event has failed is over.
 */
import type { SqlValue } from "../../platform/ObjectStorage.ts"
import type { Incarnation, SimulatedObject } from "../Incarnation.ts"
import type { World } from "../World.ts"
import { goesInTime } from "./AgentLimits.ts"
import { heldLanes, holderOf, limitOf, maybeAtWork } from "./AgentRoom.ts"
import { type Kind, makeRoom } from "./Room.ts"
import type { Violate } from "./Violate.ts"

/** The kind of call by which a lane's work is done. */
const kinds: Readonly<Record<string, Kind>> = {
  dispatch: "dispatch",
  binding: "dispatch",
  held: "dispatch",
  visit: "visit",
  recover: "recover",
  forget: "forget",
}

/** The kind of a call, by its operation. */
const turns: Readonly<Record<string, Kind>> = {
  processHead: "dispatch",
  inspect: "visit",
  recover: "recover",
  forget: "forget",
}

const kindOf = (work: string | null): Kind | undefined =>
  work === null ? undefined : holderOf(work) === undefined ? kinds[work] : "dispatch"

/** A lane as its row was last committed. Times are of the owner's clock. */
interface Lane {
  readonly threadId: string
  /** The agent whose limit holds it. */
  heldOf: string | undefined
  kind: Kind | undefined
  slow: boolean
  report: string | null
  /** When it is or came due: its row's own word for a time to come. // T2 */
  readyAt: number
  earliest: number
  latest: number
  /** When it came due, by the true time, if a commit made it due; undefined if its own deadline did. */
  committedAt: number | undefined
  /** Its call may be under way. */
  served: boolean
}

interface Snapshot {
  readonly batch: number
  readonly inFlight: ReadonlySet<string>
  readonly waiting: ReadonlyArray<Lane>
}

interface OwnerTurns {
  incarnation: Incarnation | undefined
  readonly lanes: Map<string, Lane>
  /** What was in flight when its life began, also where the row was deleted since. // T3 */
  flown: ReadonlySet<string>
  /** Writes of the block that is open. */
  pending: Array<readonly [text: string, bindings: ReadonlyArray<SqlValue>]>
  isStale: boolean
  selected: Snapshot | undefined
  unfinished: number
  /** Since when there is room for another attempt of an agent of which lanes are held; true time. */
  readonly roomSince: Map<string, number>
  /** Since when its pass runs; true time. */
  passSince: number | undefined
}

export interface Turns {
  readonly onWrite: (
    owner: SimulatedObject,
    text: string,
    bindings: ReadonlyArray<SqlValue>,
  ) => void
  /** What was written and not committed is not there; or something was changed beside the owner. */
  readonly onUndone: (owner: SimulatedObject) => void
  readonly onBatch: (owner: SimulatedObject) => void
  /** The owner makes a call of a thread. */
  readonly onCall: (owner: Incarnation, threadId: string, tag: string) => void
  readonly onAlarmEnd: (owner: SimulatedObject) => void
  readonly onAlarmFailed: (owner: SimulatedObject) => void
}

const lanesText = "INSERT OR REPLACE INTO lanes ("
const maintenanceText = "INSERT OR REPLACE INTO maintenance ("

/** Where the columns of a statement stand among its bindings. */
const places = new Map<string, Readonly<Record<string, number>>>()

const placesOf = (text: string): Readonly<Record<string, number>> => {
  const known = places.get(text)
  if (known !== undefined) return known
  const columns = text
    .slice(text.indexOf("(") + 1, text.indexOf(")"))
    .split(",")
    .map((column) => column.trim())
  // The maintenance row's id is no binding.
  const bound = columns.filter((column) => column !== "id")
  const found = Object.fromEntries(bound.map((column, index) => [column, index]))
  places.set(text, found)
  return found
}

const millisOf = (ticket: SqlValue): number => Math.floor(Number(ticket) / 1000)

const unknownBounds = { earliest: Infinity, latest: -Infinity }

interface Row {
  readonly [column: string]: SqlValue
  readonly thread_id: string
  readonly report: string | null
  readonly work: string | null
  readonly slow: number
  readonly next_at: number | null
}

const isDue = (lane: Lane, clock: number): boolean =>
  lane.kind !== undefined && lane.readyAt <= clock

/** When a row was committed: by the owner's clock, and truly. */
interface Moment {
  readonly clock: number
  readonly now: number
}

/** Takes a committed row in. */
const take = (of: OwnerTurns, row: Row, { clock, now }: Moment): void => {
  const before = of.lanes.get(row.thread_id)
  const kind = kindOf(row.work)
  const readyAt = row.next_at === null ? Infinity : millisOf(row.next_at)
  const keeps = before !== undefined && !before.served && isDue(before, clock) && readyAt <= clock
  const cameDue = Math.max(readyAt, clock)
  const bounds = keeps
    ? { earliest: before.earliest, latest: before.latest }
    : before?.served === true
      ? {
          earliest: Math.min(before.earliest, cameDue),
          latest: Math.max(before.latest, cameDue),
        } // T2
      : { earliest: cameDue, latest: cameDue }
  of.lanes.set(row.thread_id, {
    threadId: row.thread_id,
    heldOf: holderOf(row.work),
    kind,
    slow: row.slow === 1,
    report: row.report,
    readyAt,
    served: before?.served ?? of.flown.has(row.thread_id),
    committedAt: keeps ? before.committedAt : readyAt <= clock ? now : undefined,
    ...bounds,
  })
}

/** Reads all lanes as a new life finds them. // T3 */
const reload = (of: OwnerTurns, owner: SimulatedObject): void => {
  of.lanes.clear()
  of.selected = undefined
  of.isStale = false
  of.flown = new Set()
  if (!owner.state.hasTable("lanes")) return
  for (const row of owner.state.read<Row>(
    "SELECT thread_id, report, work, slow, next_at FROM lanes",
  )) {
    take(of, row, { clock: -Infinity, now: 0 })
  }
  const [row] = owner.state.read<{ in_flight: string }>("SELECT in_flight FROM maintenance")
  of.flown = new Set(JSON.parse(row?.in_flight ?? "[]") as ReadonlyArray<string>)
  for (const threadId of of.flown) {
    const lane = of.lanes.get(threadId)
    if (lane !== undefined) lane.served = true
  }
}

interface Selected {
  readonly clock: number
  readonly inFlight: string
  readonly written: ReadonlySet<string>
}

/** Notes who waits as a block that selects leaves it. // T5 */
const noteSelection = (
  of: OwnerTurns,
  batch: number,
  { clock, inFlight: text, written }: Selected,
): void => {
  const inFlight = new Set(JSON.parse(text) as ReadonlyArray<string>)
  const waiting: Array<Lane> = []
  of.flown = new Set()
  for (const lane of of.lanes.values()) {
    if (inFlight.has(lane.threadId)) continue
    if (lane.served && lane.earliest === Infinity)
      Object.assign(lane, { earliest: clock, latest: clock })
    lane.served = false
    if (isDue(lane, clock) && !written.has(lane.threadId)) waiting.push(lane) // T5
  }
  of.selected = { batch, inFlight, waiting }
}

const isRunning = ({ report }: Lane): boolean => {
  if (report === null) return false
  const { head, recoverAt } = JSON.parse(report) as {
    readonly head?: { readonly state: string }
    readonly recoverAt?: number
  }
  return head?.state === "running" && recoverAt === undefined
}

const agentOf = ({ report }: Lane): string | undefined =>
  report === null
    ? undefined
    : (JSON.parse(report) as { readonly head?: { readonly agent: string } }).head?.agent

/** The longest that a lane waits for a free slot; for its own deadline by a clock that is behind. */
const atOnceMillis = 2_000
const deadlineMillis = 10_000

/** From the end of a pass to that of its handler: what it wrote must be durable first. */
const flushMillis = 10_000

export const makeTurns = (world: World, violate: Violate): Turns => {
  const { limits, plan, queue } = world
  const all = new Map<SimulatedObject, OwnerTurns>()
  // A fiber that yields between its selection and its calls lets others in. // T5
  const isOrdered = plan.pace.yields === 0
  const room = makeRoom(world)
  /** Whether fewer may run than there are lanes, those of children among them, which nobody planned. // T4 */
  const fewStart = ({ lanes }: OwnerTurns): boolean =>
    limits.runningPerOwner < Math.max(lanes.size, plan.threads.length)

  const turnsOf = (owner: SimulatedObject): OwnerTurns => {
    const known = all.get(owner)
    if (known !== undefined) return known
    const made: OwnerTurns = {
      incarnation: undefined,
      lanes: new Map(),
      flown: new Set(),
      pending: [],
      isStale: true,
      selected: undefined,
      unfinished: 0,
      roomSince: new Map(),
      passSince: undefined,
    }
    all.set(owner, made)
    return made
  }

  const apply = (of: OwnerTurns, owner: SimulatedObject, moment: Moment): void => {
    let inFlight: string | undefined
    const written = new Set<string>()
    for (const [text, bindings] of of.pending) {
      if (text.startsWith(lanesText)) {
        const at = placesOf(text)
        const value = (column: string): SqlValue => bindings[at[column] ?? -1] ?? null
        const row = {
          thread_id: value("thread_id"),
          report: value("report"),
          work: value("work"),
          slow: value("slow"),
          next_at: value("next_at"),
        }
        take(of, row as unknown as Row, moment)
        written.add(row.thread_id as string)
      } else if (text.startsWith(maintenanceText)) {
        const at = placesOf(text)
        inFlight = String(bindings[at["in_flight"] ?? -1])
        of.unfinished = Number(bindings[at["unfinished"] ?? -1])
      } else if (text.startsWith("DELETE FROM lanes")) of.lanes.delete(String(bindings[0]))
    }
    if (inFlight !== undefined && inFlight !== "[]")
      noteSelection(of, owner.state.batches(), { clock: moment.clock, inFlight, written })
  }

  /** Whether one that waits should have been called before this one. */
  const isOvertaken = (of: OwnerTurns, waits: Lane, called: Lane): boolean =>
    waits.kind === called.kind &&
    (!waits.slow || called.slow) && // T1
    waits.latest < called.earliest && // T2
    (waits.heldOf === undefined || (waits.heldOf === agentOf(called) && !isRunning(called))) && // T6
    !(fewStart(of) && !isRunning(waits) && isRunning(called)) // T4

  /** Whether it has waited longer than a free slot explains, and `besides`. */
  const waitedLong = (of: OwnerTurns, lane: Lane, by: Incarnation, besides = 0): boolean => {
    if (lane.slow || of.unfinished >= limits.unfinishedPassesBeforeOneSlot) return false
    if (of.passSince === undefined || lane.kind === "forget") return false
    if (!room.isFor(by.object, lane, of.lanes.size)) return false // T1
    const { committedAt, heldOf, latest } = lane
    const roomSince = heldOf === undefined ? 0 : of.roomSince.get(heldOf)
    if (roomSince === undefined || (heldOf !== undefined && fewStart(of))) return false // T4 T6
    const dueAt = committedAt ?? latest - by.runner.skewMillis
    const since = Math.max(dueAt, of.passSince, roomSince)
    const most = committedAt === undefined && dueAt > of.passSince ? deadlineMillis : atOnceMillis
    return queue.now() - since > most + besides
  }

  /** Notes of which agents another attempt may start, by what the rows say and what is being called. // T6 */
  const noteRoom = (of: OwnerTurns, { object, version }: Incarnation): void => {
    if (plan.running === undefined || !object.state.hasTable("lanes")) return
    const free = new Set<string>()
    for (const { work } of heldLanes(object)) {
      const agent = holderOf(work) ?? ""
      const starting = [...of.lanes.values()].filter((one) => one.served && agentOf(one) === agent)
      const atWork = [...maybeAtWork(object, agent), ...starting.map((one) => one.threadId)]
      if (new Set(atWork).size < limitOf(plan, version, agent)) free.add(agent)
    }
    for (const agent of of.roomSince.keys()) if (!free.has(agent)) of.roomSince.delete(agent)
    for (const agent of free) if (!of.roomSince.has(agent)) of.roomSince.set(agent, queue.now())
  }

  return {
    onWrite: (owner, text, bindings) => {
      turnsOf(owner).pending.push([text, bindings])
    },
    onUndone: (owner) => {
      const of = turnsOf(owner)
      of.pending = []
      of.isStale = true
    },
    onBatch: (owner) => {
      const of = turnsOf(owner)
      const { incarnation } = owner
      if (incarnation === undefined) return
      if (of.incarnation !== incarnation) {
        of.incarnation = incarnation
        of.passSince = undefined
        of.isStale = true
      }
      if (owner.alarm.running === incarnation) of.passSince ??= queue.now()
      if (of.isStale) reload(of, owner)
      else apply(of, owner, { clock: incarnation.runner.clock, now: queue.now() })
      of.pending = []
      noteRoom(of, incarnation)
    },
    onCall: (by, threadId, tag) => {
      const kind = turns[tag]
      const of = turnsOf(by.object)
      const lane = of.lanes.get(threadId)
      if (kind === undefined || of.incarnation !== by || lane === undefined) return
      if (lane.heldOf !== undefined && !lane.served && !fewStart(of)) {
        const name = `${by.object.name}/${threadId}`
        goesInTime(world, { lane: name, since: of.roomSince.get(lane.heldOf) }, violate) // T6
      }
      const { selected } = of
      const isFresh =
        selected !== undefined &&
        selected.batch === by.object.state.batches() &&
        selected.inFlight.has(threadId) // T5
      if (isFresh && lane.kind === kind && lane.earliest !== Infinity) {
        const told = `${by.object.name}: ${tag} of ${threadId}, due since ${lane.earliest}`
        if (isOrdered)
          for (const waits of selected.waiting)
            if (isOvertaken(of, waits, lane))
              violate("I10", `${told}, and ${waits.threadId} waits since ${waits.latest}`)
        if (waitedLong(of, lane, by))
          violate(room.named(by.object), `${told}, comes at ${queue.now()}`)
      }
      lane.served = true
      Object.assign(lane, unknownBounds)
      noteRoom(of, by)
    },
    onAlarmFailed: (owner) => void (turnsOf(owner).passSince = undefined), // T7
    onAlarmEnd: (owner) => {
      const of = turnsOf(owner)
      const { incarnation } = owner
      if (incarnation !== undefined && of.incarnation === incarnation && !of.isStale)
        for (const lane of of.lanes.values())
          if (
            !lane.served &&
            isDue(lane, incarnation.runner.clock) &&
            waitedLong(of, lane, incarnation, flushMillis)
          )
            violate(
              room.named(owner),
              `${owner.name}: ${lane.threadId} is due since ${lane.latest}, and its pass ended`,
            )
      of.passSince = undefined
    },
  }
}

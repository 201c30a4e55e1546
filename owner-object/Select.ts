/**
 * Selection: who gets the free slots, in one block that records them before their calls.
 *
 * Invariants
 * - D1 Each kind of call has slots of its own, so that no kind can starve another.
 * - D2 The smallest tickets go first; lanes in backoff take at most half of the slots of a kind.
 * - D3 The set in flight is durable before the first of its calls.
 * - D4 A lane is in flight once.
 * - D5 While as many attempts run as may, a lane that would start another is held, with its ticket.
 *   So is one of an agent of which as many run as may; others behind it are taken in the same selection.
 * - D6 A pass makes no more calls than its budget.
 */
import type { AgentId, Generation, ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import { freeWorks, roomOf } from "./AgentLimits.ts"
import { type Block, nextGeneration, readLane, writeLane } from "./Block.ts"
import { type CallKind, heldOf, isRunning, type Lane, withoutHold, type Work } from "./Lane.ts"
import { type Due, dueLanes } from "./LaneTable.ts"
import type { RunningPass } from "./Life.ts"

const kinds: ReadonlyArray<CallKind> = ["forget", "visit", "recover", "dispatch"]

const worksOf = (block: Block, kind: CallKind, mayStart: boolean): ReadonlyArray<Work> => {
  if (kind !== "dispatch") return [kind]
  return mayStart ? ["dispatch", "binding", "held", ...freeWorks(block)] : ["dispatch", "binding"]
}

const slotsOf = (kind: CallKind, limits: Limits): number => {
  switch (kind) {
    case "dispatch":
      return limits.dispatchSlots
    case "visit":
      return limits.visitSlots
    case "recover":
      return limits.recoverySlots
    case "forget":
      return limits.forgetSlots
  }
}

/** A lane that was given a slot. */
export interface Picked {
  readonly kind: CallKind
  readonly lane: Lane
  readonly slow: boolean
  /**
   * What the call carries. Of a visit that may clear the enrolment: that enrolment, which the thread stores
   * as its fence. Of a call to forget: a new one, by which a late replay of it is fenced.
   */
  readonly generation: Generation | undefined
}

/** What may still be started: what runs, and what is being started, counts. */
interface Starts {
  owner: number
  /** Of each agent with a limit that was asked for. */
  readonly agents: Map<AgentId, number>
}

const startsLeft = (block: Block, pass: RunningPass): Starts => {
  let starting = 0
  for (const flight of pass.flights.values()) if (flight.starts) starting += 1
  const { limits, maintenance } = block
  return { owner: limits.runningPerOwner - maintenance.running - starting, agents: new Map() }
}

const agentStartsLeft = (block: Block, pass: RunningPass, starts: Starts, agent: AgentId) => {
  const known = starts.agents.get(agent)
  if (known !== undefined) return known
  let left = roomOf(block, agent)
  for (const flight of pass.flights.values()) if (flight.starts && flight.agent === agent) left -= 1
  starts.agents.set(agent, left)
  return left
}

/** What holds a lane that would start an attempt; none if it may, and then the attempt is counted. // D5 */
const hold = (
  block: Block,
  pass: RunningPass,
  starts: Starts,
  lane: Lane,
): Pick<Lane["marks"], "held" | "heldOf"> | undefined => {
  const agent = lane.report?.head?.agent
  const left = agent === undefined ? Infinity : agentStartsLeft(block, pass, starts, agent)
  if (agent !== undefined && left <= 0) return { heldOf: agent }
  if (starts.owner <= 0) return { held: true }
  starts.owner -= 1
  if (agent !== undefined) starts.agents.set(agent, left - 1)
  return undefined
}

/** The free slots of a kind, and how many of them a lane in backoff may take. // D1 */
const freeSlots = (block: Block, pass: RunningPass, kind: CallKind) => {
  const slots = pass.oneSlot ? 1 : slotsOf(kind, block.limits)
  let used = 0
  let slowUsed = 0
  for (const flight of pass.flights.values()) {
    if (flight.kind !== kind) continue
    used += 1
    if (flight.slow) slowUsed += 1
  }
  return { free: slots - used, slowFree: Math.max(1, Math.floor(slots / 2)) - slowUsed }
}

/** The due lanes that could take a free slot of this kind, by ticket. */
const candidates = (
  block: Block,
  pass: RunningPass,
  kind: CallKind,
  options: { readonly limit: number; readonly mayStart: boolean },
): ReadonlyArray<Due> => {
  // Lanes in flight keep their rows as they are, so they come first and are passed over.
  const limit = options.limit + pass.flights.size
  const works = worksOf(block, kind, options.mayStart)
  const { idle } = block.life
  return dueLanes(block.host.storage.sql, { works, now: block.now, limit, idle })
    .filter((due) => !pass.flights.has(due.threadId)) // D4
    .sort((first, second) => first.ticket - second.ticket) // D2
}

/** A visit whose only reason is a cover that has ended while its mutation is active: moved on. */
const movesOn = (block: Block, lane: Lane): boolean =>
  lane.work === "visit" && !lane.mustVisit && block.life.overlaps.has(lane.threadId)

const generationOf = (block: Block, kind: CallKind, lane: Lane): Generation | undefined => {
  if (kind === "forget") return nextGeneration(block)
  return kind === "visit" && !block.life.overlaps.has(lane.threadId) ? lane.enrolled : undefined
}

const pickOf = (block: Block, kind: CallKind, lane: Lane): Picked => ({
  kind,
  lane,
  slow: lane.slow,
  generation: generationOf(block, kind, lane),
})

/** What one selection of a kind has come to. */
interface Selection {
  readonly free: number
  slowLeft: number
  readonly starts: Starts
  readonly picks: Array<Picked>
  /** Lanes that it held. */
  held: number
}

const isPicked = ({ picks }: Selection, { threadId }: Due): boolean =>
  picks.some((pick) => pick.lane.threadId === threadId)

const consider = (
  block: Block,
  pass: RunningPass,
  kind: CallKind,
  selection: Selection,
  due: Due,
): void => {
  const lane = readLane(block, due.threadId)
  // One that was mended just now waits for its visit.
  if (lane === undefined || lane.work !== due.work) return
  if (movesOn(block, lane)) {
    writeLane(block, lane, lane, { afterTurn: false })
    return
  }
  if (kind === "dispatch" && !isRunning(lane)) {
    const held = hold(block, pass, selection.starts, lane)
    if (held !== undefined) {
      // Who is held already stays as it is: its row is not written again.
      if (held.heldOf !== undefined && lane.work === heldOf(held.heldOf)) return
      const marks = { ...withoutHold(lane.marks), ...held }
      writeLane(block, lane, { ...lane, marks }, { afterTurn: false }) // D5
      selection.held += 1
      return
    }
  }
  if (due.slow) selection.slowLeft -= 1
  selection.picks.push(pickOf(block, kind, lane))
}

const selectKind = (
  block: Block,
  pass: RunningPass,
  kind: CallKind,
  callsLeft: number,
): ReadonlyArray<Picked> => {
  const slots = freeSlots(block, pass, kind)
  const free = Math.min(slots.free, callsLeft) // D6
  if (free <= 0) return []
  const starts = startsLeft(block, pass)
  const selection: Selection = { free, slowLeft: slots.slowFree, starts, picks: [], held: 0 }
  for (let before = -1; before < selection.held && before < block.limits.promotionBatch;) {
    before = selection.held
    const mayStart = starts.owner > 0
    for (const due of candidates(block, pass, kind, { limit: free * 2, mayStart })) {
      if (selection.picks.length === free) return selection.picks
      if (isPicked(selection, due) || (due.slow && selection.slowLeft <= 0)) continue // D2
      consider(block, pass, kind, selection, due)
    }
  }
  return selection.picks
}

/** Gives every free slot away and records who is in flight. */
export const select = (block: Block, pass: RunningPass): ReadonlyArray<Picked> => {
  if (block.life.version === 0) return []
  const picks: Array<Picked> = []
  for (const kind of kinds) {
    const callsLeft = block.limits.passCalls - pass.calls - picks.length
    picks.push(...selectKind(block, pass, kind, callsLeft))
  }
  if (picks.length === 0) return picks
  const inFlight: Array<ThreadId> = [...pass.flights.keys(), ...picks.map((p) => p.lane.threadId)]
  block.maintenance = {
    ...block.maintenance,
    inFlight, // D3
    lastServed: lastOf(picks, "dispatch") ?? block.maintenance.lastServed,
    lastRecovered: lastOf(picks, "recover") ?? block.maintenance.lastRecovered,
  }
  return picks
}

const lastOf = (picks: ReadonlyArray<Picked>, kind: CallKind): ThreadId | undefined =>
  picks.findLast((pick) => pick.kind === kind)?.lane.threadId

/**
 * Hints: what changes a lane without being a mutation of its thread.
 *
 * Invariants
 * - H1 A thread's report is a hint: guarded by its revision, not enrolled, and may be lost.
 * - H2 A hint from a thread without a row makes one that must be visited before it is believed.
 * - H3 What is reconciled is enrolled under a new generation, so that the visit is fenced and nothing
 *   sent before it can land afterwards.
 * - H4 Who reconciles may know of rows that were deleted, which nothing in the owner tells: its counters are
 *   counted anew, of many lanes once a life.
 */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import { acceptReport } from "./AcceptReport.ts"
import { type Block, laneOrNew, nextGeneration, readLane, writeLane } from "./Block.ts"
import {
  type Lane,
  type Marks,
  withoutBackoff,
  withoutCarryWaits,
  withoutReport,
  withoutStall,
} from "./Lane.ts"
import { retryFaultNow } from "./RecoveryFaults.ts"

/** The marks of a condemned lane whose thread now says that it owes nothing: its time has come. */
export const broughtForward = ({ marks, report }: Lane, now: number): Marks => {
  const { condemned } = marks
  const owes =
    report === undefined ||
    report.nonterminal > 0 ||
    report.outboxAt !== undefined ||
    report.publishAt !== undefined
  if (condemned === undefined || owes) return marks
  return { ...marks, condemned: { ...condemned, retryAt: Math.min(condemned.retryAt, now) } }
}

/** Takes a thread's own report in. */
export const takeReport = (block: Block, threadId: ThreadId, report: LaneReport): void => {
  const { before, lane } = laneOrNew(block, threadId)
  const accepted = acceptReport(block, lane, report, { fenced: false, sentUnder: undefined }).lane // H1
  const mustVisit = before === undefined ? true : accepted.mustVisit // H2
  const marks = broughtForward(accepted, block.now)
  writeLane(block, before, { ...accepted, marks, mustVisit }, { afterTurn: false })
}

/** Ends the stall and the backoff of a lane and of what is carried of it, and has it visited. Gives the lane, if there is one. */
export const wake = (block: Block, threadId: ThreadId): Lane | undefined => {
  const before = readLane(block, threadId)
  if (before === undefined) return undefined
  const { pass, underWay } = block.life
  // Of a running pass also a call that was selected and has not begun.
  if (pass !== undefined || underWay.flights.has(threadId)) underWay.marked.add(threadId)
  const marks = withoutCarryWaits(withoutStall(withoutBackoff(before.marks)))
  return writeLane(block, before, { ...before, mustVisit: true, marks }, { afterTurn: false })
}

/**
 * Ends the waits of a lane, so that it is tried now: the wait of its fault, its backoff and that of what is carried of it, and
 * the wait for a missing agent. The fault itself stays until what failed succeeds; so does the count of a wait for an
 * agent. A stall ends with any mutation.
 */
export const endWaits = (block: Block, lane: Lane): Lane => {
  const { binding, ...rest } = withoutCarryWaits(withoutBackoff(lane.marks))
  const marks =
    binding === undefined ? rest : { ...rest, binding: { ...binding, notBefore: block.now } }
  return retryFaultNow(block, { ...lane, marks })
}

/** Has the counters counted anew, which a row that is no more can never leave. // H4 */
export const countAnew = (block: Block): void => {
  const { life, limits, maintenance } = block
  if (life.recounted && maintenance.lanes > limits.recountLanes) return
  life.recounted = true
  block.miscounted = true
}

/** Forgets the stored report of a thread and has it visited, fenced. */
export const reconcile = (block: Block, threadId: ThreadId): void => {
  const { before, lane } = laneOrNew(block, threadId)
  const enrolled = nextGeneration(block) // H3
  writeLane(block, before, { ...withoutReport(lane), enrolled }, { afterTurn: false })
}

/**
 * Finish: what the owner believes after a mutation has ended. Runs inside a block.
 *
 * Invariants
 * - E1 An enrolment is cleared only if the lane was clean when the first of the overlapping mutations
 *   enrolled, every one of them answered with a report, and this is the last of them.
 * - E2 A row that these mutations made is removed only if all of them were refused and the thread
 *   says that it holds nothing.
 * - E3 A mutation without an answer leaves the lane enrolled; only a fenced visit clears it.
 * - E4 A lane whose mutations were told that the thread was forgotten goes with the last of them.
 */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import { roomOf } from "./AgentLimits.ts"
import { acceptReport } from "./AcceptReport.ts"
import { type Block, deleteLane, laneOrNew, writeLane, mayStart } from "./Block.ts"
import { type Lane, type Marks, withoutHold } from "./Lane.ts"
import { removeForgotten } from "./Forgotten.ts"
import { broughtForward } from "./Hints.ts"
import type { Ended, Life, Overlap } from "./Life.ts"

/** Whether the end of an overlap accounts for everything that was enrolled in it. Pure. */
export const clears = (
  overlap: Pick<Overlap, "cleanAtFirst" | "allAnswered" | "newest">,
  enrolled: Lane["enrolled"],
): boolean => overlap.cleanAtFirst && overlap.allAnswered && enrolled === overlap.newest // E1, E3

/** Whether the lane's row may go with the overlap that made it. Pure. */
export const vanishes = (overlap: Pick<Overlap, "madeRow" | "allRefused">, lane: Lane): boolean =>
  overlap.madeRow &&
  overlap.allRefused &&
  lane.enrolled === undefined &&
  lane.marks.faultRetryAt === undefined &&
  lane.marks.condemned === undefined &&
  !lane.mustVisit &&
  lane.report !== undefined &&
  lane.report.nonterminal === 0 &&
  lane.report.outboxAt === undefined &&
  lane.report.publishAt === undefined &&
  lane.report.upkeepAt === undefined // E2

/** A hold ends with its reason: while another attempt may start, no mutation leaves a lane held. */
export const freed = (block: Block, marks: Marks): Marks =>
  mayStart(block) && roomOf(block, marks.heldOf) > 0 ? withoutHold(marks) : marks

const finishOne = (block: Block, ended: Ended): void => {
  const { life } = block
  life.bringing -= ended.brings
  const overlap = life.overlaps.get(ended.threadId)
  if (overlap === undefined) return
  const { before, lane } = laneOrNew(block, ended.threadId)
  const accepted =
    ended.answer === undefined
      ? { lane, counted: false }
      : acceptReport(block, lane, ended.answer.report, {
          fenced: false,
          sentUnder: overlap.sentUnder,
        })
  overlap.count -= 1
  overlap.forgottenAt ??= ended.forgottenAt
  if (!accepted.counted) {
    overlap.allAnswered = false
    overlap.sentUnder = undefined // What it could prove is proved; the lane stays enrolled.
  }
  if (ended.answer?.refused !== true) overlap.allRefused = false
  if (overlap.count > 0) {
    writeLane(block, before, accepted.lane, { afterTurn: false })
    return
  }
  life.overlaps.delete(ended.threadId)
  if (overlap.forgottenAt !== undefined) {
    const { forgottenAt } = overlap
    const underWay = inFlight(block, ended)
    if (removeForgotten(block, ended.threadId, { forgottenAt, underWay })) return // E4
  }
  const marks = broughtForward(accepted.lane, block.now)
  const free = { ...accepted.lane, marks: freed(block, marks) }
  const cleared = clears(overlap, free.enrolled) ? { ...free, enrolled: undefined } : free
  if (before !== undefined && vanishes(overlap, cleared) && !inFlight(block, ended)) {
    deleteLane(block, before)
    return
  }
  writeLane(block, before, cleared, { afterTurn: false })
}

const inFlight = (block: Block, ended: Ended): boolean =>
  block.life.underWay.flights.has(ended.threadId)

/** Finishes every mutation that has ended, in their order. */
export const takeFinishes = (block: Block): void => {
  const waiting = block.life.ended
  if (waiting.length === 0) return
  block.life.ended = []
  for (const ended of waiting) finishOne(block, ended)
}

/** Whether a new mutation of this lane would be one too many; those that only wait to be finished do
 * not count. */
export const laneFull = (life: Life, threadId: ThreadId, limits: Limits): boolean => {
  const overlap = life.overlaps.get(threadId)
  if (overlap === undefined || overlap.count < limits.mutationsPerLane) return false
  const ended = life.ended.filter((one) => one.threadId === threadId).length
  return overlap.count - ended >= limits.mutationsPerLane
}

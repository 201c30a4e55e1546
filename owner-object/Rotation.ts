/**
 * Rotation: what a lane needs next, when, and its place among the others. Pure.
 *
 * Invariants
 * - R1 Nothing of a lane is due before the end of its backoff.
 * - R2 A lane that is due keeps its ticket until its turn; after its turn it gets a new one behind
 *   all that wait. An order by name would starve old threads under rising ids.
 * - R3 A lane that becomes due stands behind every deadline of that millisecond and every ticket
 *   already given for the present.
 * - R4 An enrolled lane is always due at some time: a visit, or the end of its cover.
 * - R5 Of a faulted lane only what failed is tried: its recovery, or its visit.
 * - R6 Of a condemned lane only its forgetting is tried, and not while a mutation of it is active.
 * - R7 What would start an attempt is held once its time has come and none may be started, whatever it waited
 *   for before: a due lane that no selection may take would be looked at for ever. Not before its time, which is a
 *   deadline like any other: nobody waits for the time of what is held.
 */
import { millisMax } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import { agentWait, heldOf, isHeld, isRunning, type Lane, type Work } from "./Lane.ts"

/** Something to do, from a time on (epoch milliseconds; 0 or any past time is now). */
export interface Need {
  readonly work: Work
  readonly at: number
}

/** What the owner knows in memory about the mutations of a lane: when their cover ends. */
export interface Cover {
  readonly untilAt: number
}

/** The earlier of a need and the end of a cover. What is held has no time of its own. */
const coveredBy = (asked: Need | undefined, cover: Need): Need =>
  asked === undefined || isHeld(asked.work) || cover.at < asked.at ? cover : asked

/** Before it nothing of the lane is due. */
const backoffEnd = ({ marks }: Lane): number => marks.backoffUntilAt ?? 0

/** What would start an attempt, unless it waits for the end of another's. // R7 */
const starting = (lane: Lane, need: Need, now: number): Need => {
  if (Math.max(need.at, backoffEnd(lane)) > now) return need
  const agent = lane.report?.head?.agent
  // The limit of another agent than the head's holds it no more.
  if (agent !== undefined && lane.marks.heldOf === agent) return { ...need, work: heldOf(agent) }
  return lane.marks.held === true ? { ...need, work: "held" } : need
}

/** The lines of the table from `recoverAt` on: what the stored report asks for. */
const needOfReport = (lane: Lane, now: number, limits: Limits): Need | undefined => {
  const report = lane.report
  if (report === undefined) return undefined
  if (report.recoverAt !== undefined) {
    const { binding } = lane.marks
    const notBefore = binding?.ofTool === true ? binding.notBefore : 0
    return { work: "recover", at: Math.max(report.recoverAt, notBefore) }
  }
  if (isRunning(lane)) {
    return { work: "dispatch", at: lane.marks.watchAt ?? now + limits.watchMillis }
  }
  if (report.paused) return undefined
  const dueAt = Math.min(report.dueAt ?? Infinity, report.upkeepAt ?? Infinity)
  if (dueAt === Infinity) return undefined
  if (lane.marks.stalledUntilAt !== undefined) {
    const at = Math.max(dueAt, lane.marks.stalledUntilAt)
    return starting(lane, { work: "dispatch", at }, now)
  }
  const binding = agentWait(lane)
  if (binding !== undefined) {
    return starting(lane, { work: "binding", at: Math.max(dueAt, binding.notBefore) }, now)
  }
  return starting(lane, { work: "dispatch", at: dueAt }, now)
}

/**
 * What the lane needs next, first match wins, or nothing. `cover` is there exactly while a mutation
 * of this lane is active; a cover that has ended moves on instead of turning into a visit.
 */
export const needOf = (
  lane: Lane,
  cover: Cover | undefined,
  now: number,
  limits: Limits,
): Need | undefined => {
  const need = needBeforeBackoff(lane, cover, now, limits)
  if (need === undefined) return undefined
  return { work: need.work, at: Math.max(need.at, backoffEnd(lane)) } // R1
}

const needBeforeBackoff = (
  lane: Lane,
  cover: Cover | undefined,
  now: number,
  limits: Limits,
): Need | undefined => {
  const { condemned, faultRetryAt, faultTrial, faultVisit } = lane.marks
  if (condemned !== undefined) {
    return cover === undefined
      ? { work: "forget", at: condemned.retryAt }
      : { work: "visit", at: coverEndOf(cover, now, limits) } // R6
  }
  if (faultRetryAt !== undefined && faultTrial === undefined)
    return { work: faultVisit === true ? "visit" : "recover", at: faultRetryAt } // R5
  if (lane.mustVisit || (lane.enrolled !== undefined && cover === undefined)) {
    return { work: "visit", at: now } // R4
  }
  const asked = needOfReport(lane, now, limits)
  if (cover === undefined) return asked
  return coveredBy(asked, { work: "visit", at: coverEndOf(cover, now, limits) }) // R4
}

/** When a cover ends; one that has ended moves on. */
const coverEndOf = (cover: Cover, now: number, limits: Limits): number =>
  cover.untilAt > now ? cover.untilAt : now + limits.coverMillis

/** Thousandths of a millisecond from epoch milliseconds; what is farther than they count is last. */
export const toTicket = (atMillis: number): number => Math.min(atMillis, millisMax) * 1000

/** The millisecond a ticket falls into: when the alarm must ring for it. */
export const ticketMillis = (ticket: number): number => Math.floor(ticket / 1000)

/** Every ticket below this is due at `now`. */
export const dueBefore = (now: number): number => toTicket(now + 1)

/** The ticket for a need. `kept` is the lane's ticket if it must keep it while due. */
export const ticketOf = (options: {
  readonly need: Pick<Need, "at">
  readonly kept: number | undefined
  readonly now: number
  readonly lastTicket: number
}): number => {
  const { need, kept, now, lastTicket } = options
  if (need.at > now) return toTicket(need.at)
  if (kept !== undefined && kept < dueBefore(now)) return kept // R2
  return Math.max(toTicket(now) + 1, lastTicket + 1) // R3
}

/**
 * Work of a lane beside its turns: what its outbox holds, and what a sink lacks. Each kind has a time and a place of its
 * own, and waits for itself. Pure.
 *
 * - A1 Whatever a lane runs, waits for or is barred from, its work aside goes on.
 * - A2 What failed, or changed nothing although something was due, is tried again later, longer each time: the same
 *   question at once would have the same answer.
 */
import type { LaneReport } from "../contracts/LaneReport.ts"
import { ticketOf } from "./Rotation.ts"

/** Why it rests: what came to nothing in a row, since when, and until when. */
export interface WaitAside {
  readonly failures: number
  readonly sinceAt: number
  readonly untilAt: number
}

/** When it is to be done next; undefined when there is nothing to do. // A1 */
export const timeAside = (
  reportedAt: number | undefined,
  wait: WaitAside | undefined,
): number | undefined =>
  reportedAt === undefined ? undefined : Math.max(reportedAt, wait?.untilAt ?? 0)

/** Its ticket. `kept` is the one it must keep while it is due. */
export const ticketAside = (
  at: number | undefined,
  options: {
    readonly kept: number | undefined
    readonly now: number
    readonly lastTicket: number
  },
): number | undefined => (at === undefined ? undefined : ticketOf({ need: { at }, ...options }))

/** The rest after it came to nothing once more. // A2 */
export const waitAgain = (
  wait: WaitAside | undefined,
  now: number,
  delayOf: (failures: number) => number,
): WaitAside => {
  const failures = (wait?.failures ?? 0) + 1
  return { failures, sinceAt: wait?.sinceAt ?? now, untilAt: now + delayOf(failures) }
}

/** What a turn of it has heard. */
export interface HeardAside {
  /** What the last claim reported; undefined when nobody answered it. */
  readonly claimed: LaneReport | undefined
  /** What the acknowledgement behind that claim reported, if one was answered. */
  readonly acknowledged: LaneReport | undefined
}

/** Whether a turn moved the thread on, or left nothing that is due. `restedAt` is its time without a rest. // A2 */
export const cameToSomething = (
  { acknowledged, claimed }: HeardAside,
  restedAt: number | undefined,
  now: number,
): boolean => {
  if (claimed === undefined) return false
  const moved = acknowledged !== undefined && acknowledged.revision > claimed.revision
  return moved || (restedAt ?? Infinity) > now
}

/**
 * When an outbox has its turn, and what a turn makes of its wait. Pure.
 *
 * - W1 An outbox has a time and a place of its own: whatever its lane runs, waits for or is barred from, what the
 *   thread has recorded for others is carried.
 * - W2 A claim that failed, gave nothing although something was due, or whose end changed nothing backs this outbox
 *   off: the same question at once would have the same answer.
 */
import { jitteredMillis } from "../contracts/Backoff.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { Moment } from "./Answer.ts"
import { type Lane, withoutOutboxWait } from "./Lane.ts"
import { ticketOf } from "./Rotation.ts"

/** When the outbox is to be carried next; undefined when it holds nothing that wants to be. // W1 */
export const outboxTimeOf = ({ marks, report }: Lane): number | undefined =>
  report?.outboxAt === undefined ? undefined : Math.max(report.outboxAt, marks.outbox?.untilAt ?? 0)

/** Its ticket. `kept` is the one it must keep while it is due. */
export const outboxTicketOf = (
  lane: Lane,
  options: {
    readonly kept: number | undefined
    readonly now: number
    readonly lastTicket: number
  },
): number | undefined => {
  const at = outboxTimeOf(lane)
  return at === undefined ? undefined : ticketOf({ need: { at }, ...options })
}

/** The lane whose outbox came to nothing: tried again after a backoff that grows. // W2 */
export const outboxAgain = (
  lane: Lane,
  moment: Pick<Moment, "limits" | "now" | "random">,
): Lane => {
  const { limits, now, random } = moment
  const failures = (lane.marks.outbox?.failures ?? 0) + 1
  const curve = {
    baseMillis: limits.outboxRetryMillis,
    maxMillis: limits.outboxRetryMaxMillis,
  }
  const outbox = {
    failures,
    sinceAt: lane.marks.outbox?.sinceAt ?? now,
    untilAt: now + jitteredMillis(curve, failures, random),
  }
  return { ...lane, marks: { ...lane.marks, outbox } }
}

/** How a carry has ended. */
export interface Carried {
  /** What the claim reported; undefined when nobody answered. */
  readonly claimed: LaneReport | undefined
  /** Whether it gave entries that were not even begun: the time, or the budget of the pass, had ended. */
  readonly unbegun: boolean
  /** What the last acknowledgement reported, if one was answered. */
  readonly acknowledged: LaneReport | undefined
}

/** The lane after a carry, its reports already taken in. */
export const afterCarry = (
  lane: Lane,
  { acknowledged, claimed, unbegun }: Carried,
  moment: Pick<Moment, "limits" | "now" | "random">,
): Lane => {
  const rested: Lane = { ...lane, marks: withoutOutboxWait(lane.marks) }
  if (claimed === undefined) return outboxAgain(lane, moment)
  const moved = acknowledged !== undefined && acknowledged.revision > claimed.revision
  const waits = (outboxTimeOf(rested) ?? Infinity) > moment.now
  return unbegun || moved || waits ? rested : outboxAgain(lane, moment) // W2
}

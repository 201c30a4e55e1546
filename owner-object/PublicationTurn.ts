/**
 * When the records of a thread are published, and what a turn of that makes of its wait. Pure.
 *
 * - W1 Publication has a time and a place of its own, like an outbox: whatever its lane runs, waits for or is barred
 *   from, its records go.
 * - W2 What failed, or changed nothing although something was due, is tried again after 5 s, doubling to 60 s. That is
 *   a wait of this thread's records alone.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { Moment } from "./Answer.ts"
import { type Lane, withoutPublicationWait } from "./Lane.ts"
import { ticketOf } from "./Rotation.ts"

/** When records are to be published next; undefined when the sink has all. // W1 */
export const publicationTimeOf = ({ marks, report }: Lane): number | undefined =>
  report?.publishAt === undefined
    ? undefined
    : Math.max(report.publishAt, marks.publication?.untilAt ?? 0)

/** Its ticket. `kept` is the one it must keep while it is due. */
export const publicationTicketOf = (
  lane: Lane,
  options: {
    readonly kept: number | undefined
    readonly now: number
    readonly lastTicket: number
  },
): number | undefined => {
  const at = publicationTimeOf(lane)
  return at === undefined ? undefined : ticketOf({ need: { at }, ...options })
}

/** The lane whose records could not be published: tried again after a backoff that grows. // W2 */
export const publicationAgain = (lane: Lane, moment: Pick<Moment, "limits" | "now">): Lane => {
  const { limits, now } = moment
  const failures = (lane.marks.publication?.failures ?? 0) + 1
  const curve = {
    baseMillis: limits.publishRetryMillis,
    maxMillis: limits.publishRetryMaxMillis,
  }
  const publication = {
    failures,
    sinceAt: lane.marks.publication?.sinceAt ?? now,
    untilAt: now + delayMillis(curve, failures),
  }
  return { ...lane, marks: { ...lane.marks, publication } }
}

/** How a turn of publishing has ended. */
export interface Publishing {
  /** What the last claim reported; undefined when nobody answered it. */
  readonly claimed: LaneReport | undefined
  /** Whether the sink refused a batch, or did not take it in its time. */
  readonly refused: boolean
  /** What the acknowledgement behind that claim reported, if one was answered. */
  readonly acknowledged: LaneReport | undefined
}

/** The lane after it, its reports already taken in. */
export const afterPublishing = (
  lane: Lane,
  { acknowledged, claimed, refused }: Publishing,
  moment: Pick<Moment, "limits" | "now">,
): Lane => {
  const rested: Lane = { ...lane, marks: withoutPublicationWait(lane.marks) }
  if (claimed === undefined || refused) return publicationAgain(lane, moment)
  const moved = acknowledged !== undefined && acknowledged.revision > claimed.revision
  const waits = (publicationTimeOf(rested) ?? Infinity) > moment.now
  return moved || waits ? rested : publicationAgain(lane, moment) // W2
}

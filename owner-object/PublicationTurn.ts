/**
 * When the records of a thread are published, and what a turn of that makes of its wait. Pure.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { Moment } from "./Answer.ts"
import { cameToSomething, type HeardAside, timeAside, waitAgain } from "./Aside.ts"
import { type Lane, withoutPublicationWait } from "./Lane.ts"

/** When records are to be published next; undefined when the sink has all. */
export const publicationTimeOf = ({ marks, report }: Lane): number | undefined =>
  timeAside(report?.publishAt, marks.publication)

type Now = Pick<Moment, "limits" | "now">

/** The lane whose records could not be published: tried again after 5 s, doubling to 60 s. */
export const publicationAgain = (lane: Lane, { limits, now }: Now): Lane => {
  const curve = { baseMillis: limits.publishRetryMillis, maxMillis: limits.publishRetryMaxMillis }
  const publication = waitAgain(lane.marks.publication, now, (failures) =>
    delayMillis(curve, failures),
  )
  return { ...lane, marks: { ...lane.marks, publication } }
}

/** How a turn of publishing has ended. */
export interface Publishing extends HeardAside {
  /** Whether the sink refused a batch, or did not take it in its time. */
  readonly refused: boolean
}

/** The lane after it, its reports already taken in. */
export const afterPublishing = (lane: Lane, end: Publishing, moment: Now): Lane => {
  const rested: Lane = { ...lane, marks: withoutPublicationWait(lane.marks) }
  const goesOn = !end.refused && cameToSomething(end, publicationTimeOf(rested), moment.now)
  return goesOn ? rested : publicationAgain(lane, moment)
}

/**
 * When an outbox has its turn, and what a turn makes of its wait. Pure.
 */
import { jitteredMillis } from "../contracts/Backoff.ts"
import type { Moment } from "./Answer.ts"
import { cameToSomething, type HeardAside, timeAside, waitAgain } from "./Aside.ts"
import { type Lane, withoutOutboxWait } from "./Lane.ts"

/** When the outbox is to be carried next; undefined when it holds nothing that wants to be. */
export const outboxTimeOf = ({ marks, report }: Lane): number | undefined =>
  timeAside(report?.outboxAt, marks.outbox)

type Now = Pick<Moment, "limits" | "now" | "random">

/** The lane whose outbox came to nothing: tried again after a backoff that grows. */
export const outboxAgain = (lane: Lane, { limits, now, random }: Now): Lane => {
  const curve = { baseMillis: limits.outboxRetryMillis, maxMillis: limits.outboxRetryMaxMillis }
  const outbox = waitAgain(lane.marks.outbox, now, (failures) =>
    jitteredMillis(curve, failures, random),
  )
  return { ...lane, marks: { ...lane.marks, outbox } }
}

/** How a carry has ended. */
export interface Carried extends HeardAside {
  /** Whether it gave entries that were not even begun: the time, or the budget of the pass, had ended. */
  readonly unbegun: boolean
}

/** The lane after a carry, its reports already taken in. */
export const afterCarry = (lane: Lane, carried: Carried, moment: Now): Lane => {
  const rested: Lane = { ...lane, marks: withoutOutboxWait(lane.marks) }
  const goesOn =
    (carried.unbegun && carried.claimed !== undefined) ||
    cameToSomething(carried, outboxTimeOf(rested), moment.now)
  return goesOn ? rested : outboxAgain(lane, moment)
}

/**
 * The owner's one alarm: the only file that writes it.
 *
 * Invariants
 * - C1 An armed time counts as an alarm until it is `alarmGraceMillis` overdue. Setting it again
 *   earlier would cancel the delivery under way, and under load a due pass would then never run.
 * - C2 Only an armed time older than that, or none, is repaired, and then to the earliest of all
 *   deadlines.
 * - C3 While a pass runs no deadline is written: the pass's own re-arm is the cover.
 * - C4 Armed times are in the future, and none is later than is counted: the platform refuses it, and only once the
 *   block is committed.
 * - C5 A pass that hangs holds nobody's alarm.
 * - C6 The platform rings by a clock of its own. An alarm that rings early by this object's clock is set later by
 *   as much from then on: set for the same time again it would ring at once, over and over.
 * - C7 Lists and searches have no alarm of their own where one rings soon after: they go with it.
 */
import { millisMax } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { AlarmSlot, Sql } from "../platform/ObjectStorage.ts"
import { lanesAt } from "./LanesAt.ts"
import type { Life } from "./Life.ts"
import { ticketMillis } from "./Rotation.ts"
import { tablesOf } from "./TicketIndex.ts"

/** Whether the armed time will still be delivered. */
export const counts = (armedAt: number | undefined, now: number, limits: Limits): boolean =>
  armedAt !== undefined && armedAt > now - limits.alarmGraceMillis // C1

/** Whether a pass runs. One that hangs beyond its ceiling does not: its event was cut off. // C5 */
export const passRuns = (life: Life, now: number, limits: Limits): boolean =>
  life.pass !== undefined &&
  now <= life.pass.startedAt + limits.passCeilingMillis + limits.closeMillis

const set = (slot: AlarmSlot, life: Life, atMillis: number, now: number): void => {
  const at = Math.min(Math.max(Math.ceil(atMillis), now + 1), millisMax) // C4
  slot.set(at + life.behindMillis) // C6
  life.armedAt = at
}

/**
 * The alarm has rung. How early, by this object's clock, tells how far that is behind the platform's; no ring is
 * believed for more than clocks may be apart, so that one which meant another time puts nothing off for long, and all
 * together for less than an alarm may be overdue: a clock that is set right must find its alarm, not repair it. // C6
 */
export const rang = (life: Life, now: number, limits: Limits): void => {
  const { armedAt, behindMillis } = life
  if (armedAt === undefined) return
  const earlyMillis = Math.max(0, armedAt + behindMillis - now)
  const believedMillis = Math.min(
    behindMillis + limits.clockAllowanceMillis,
    Math.floor(limits.alarmGraceMillis / 2),
  )
  life.behindMillis = Math.min(earlyMillis, believedMillis)
  life.armedAt = undefined
}

/** Arms for a pass that may not come back; the pass owns the alarm until it finishes. */
export const armRetry = (slot: AlarmSlot, life: Life, atMillis: number, now: number): void =>
  set(slot, life, atMillis, now)

/** Arms for a pass at once. One that is due already, or due next, is left alone. // C1 */
export const armNow = (slot: AlarmSlot, life: Life, now: number, limits: Limits): void => {
  if (counts(life.armedAt, now, limits) && (life.armedAt ?? 0) <= now + 1) return
  set(slot, life, now, now)
}

/** What a block knows of its owner's deadlines besides its lanes. */
export interface Deadlines {
  readonly now: number
  /** Whether lanes that wait for a run to end count, since one may start. */
  readonly held: boolean
  /** The first ticket of the lanes that the limit of an agent held and holds no more. */
  readonly freeTicket: number | undefined
  /** When the owner is to be entered in the registry; undefined when it need not. */
  readonly entryAt: number | undefined
  /** When the directory and the search index want a batch; undefined when they are up to date. */
  readonly projectAt: number | undefined
  /** How long that may wait for an alarm that rings anyway. */
  readonly rideMillis: number
  /** When a host lane wants its next wave; undefined when none does. */
  readonly hostAt: number | undefined
  /** Whether something goes on that a pass is to see the end of. */
  readonly goesOn: boolean
}

/**
 * When the alarm rings, infinite for never: for what is owed, and for what is only to be shown, unless what is owed
 * comes at most so much later. Pure. // C7
 */
export const ringAt = (
  { owedAt, showAt }: { readonly owedAt: number; readonly showAt: number },
  rideMillis: number,
): number => (showAt < owedAt - rideMillis ? showAt : owedAt)

/** Sets the alarm to the earliest deadline of all, or deletes it. Tells which. */
export const armEarliest = (
  slot: AlarmSlot,
  sql: Sql,
  life: Life,
  { now, held, freeTicket, entryAt, goesOn, hostAt, projectAt, rideMillis }: Deadlines,
): "rearmed" | "cleared" => {
  const ticket = lanesAt(tablesOf(sql, life), held)
  const laneAt = ticketMillis(Math.min(ticket ?? Infinity, freeTicket ?? Infinity))
  const owedAt = goesOn ? now : Math.min(laneAt, entryAt ?? Infinity, hostAt ?? Infinity)
  const at = ringAt({ owedAt, showAt: projectAt ?? Infinity }, rideMillis)
  life.quiet = at === Infinity
  if (life.quiet) {
    if (life.armedAt !== undefined) slot.delete()
    life.armedAt = undefined
    return "cleared"
  }
  set(slot, life, at, now)
  return "rearmed"
}

/** Makes sure of an alarm no later than `atMillis`, in the block that wrote that deadline. */
export const lower = (
  slot: AlarmSlot,
  sql: Sql,
  life: Life,
  options: Deadlines & { readonly atMillis: number; readonly limits: Limits },
): void => {
  const { atMillis, now, limits } = options
  if (passRuns(life, now, limits)) return // C3
  if (!counts(life.armedAt, now, limits)) {
    armEarliest(slot, sql, life, options) // C2
    return
  }
  // A due alarm is earlier than any that could be set now.
  if (Math.max(atMillis, now + 1) < (life.armedAt ?? 0)) set(slot, life, atMillis, now) // C1
}

/** Whether any request must repair the alarm now. Reads memory only. */
export const needsRepair = (life: Life, now: number, limits: Limits): boolean =>
  !passRuns(life, now, limits) && !life.quiet && !counts(life.armedAt, now, limits) // C2

/** The last resort of an `alarm()` that failed: nothing else may be done there. */
export const armFallback = (slot: AlarmSlot, now: number, limits: Limits): void =>
  slot.set(now + limits.alarmFallbackMillis)

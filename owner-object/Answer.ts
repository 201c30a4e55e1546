/**
 * What the end of a call makes of a lane's marks. Pure: rows and numbers in, marks out.
 *
 * Invariants
 * - N1 A call that ended without an answer makes its lane suspect and to be visited.
 * - N2 Only answers stall a lane: eight in a row, on the owner's own code version, that changed
 *   nothing. Failures back off and never stall.
 * - N3 A run that goes on, a timer that is not due and a call that came after the yield time are not
 *   unchanged turns.
 * - N4 A thread that answers no visit is a fault after so many in a row, of a thread out of reach not before a
 *   deploy's noise must be over.
 */
import { delayMillis, jitteredMillis } from "../contracts/Backoff.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { HeadAnswer } from "../contracts/ThreadRpc.ts"
import {
  type BindingWait,
  isRunning,
  type Lane,
  type Marks,
  type Unseen,
  withoutBackoff,
  withoutHold,
  withoutStall,
} from "./Lane.ts"

/** What the pure functions need to know of the moment. */
export interface Moment {
  readonly now: number
  /** In [0, 1). */
  readonly random: number
  readonly limits: Limits
  readonly codeVersion: string
  readonly agentsDigest: string
}

/** Whether a turn changed what the thread reports. A lost attempt does so without a new revision. */
export const changed = (before: LaneReport | undefined, after: LaneReport | undefined): boolean =>
  before === undefined || after === undefined || JSON.stringify(before) !== JSON.stringify(after)

/** The lane after a call without an answer, or with one that tells nothing. // N1 */
export const afterSilence = (lane: Lane, moment: Moment, transport: boolean): Lane => {
  const { limits, now, random } = moment
  const failures = (lane.marks.failures ?? 0) + 1
  const maxMillis = transport ? limits.transportBackoffMaxMillis : limits.laneBackoffMaxMillis
  const wait = jitteredMillis({ baseMillis: limits.laneBackoffMillis, maxMillis }, failures, random)
  return {
    ...lane,
    mustVisit: true,
    suspect: true,
    marks: {
      ...withoutHold(lane.marks),
      failures,
      failingSinceAt: lane.marks.failingSinceAt ?? now,
      backoffUntilAt: now + wait,
    },
  }
}

/** The count of visits without an answer after one more. */
export const unseenAgain = (marks: Marks, now: number): Unseen => ({
  visits: (marks.unseen?.visits ?? 0) + 1,
  sinceAt: marks.unseen?.sinceAt ?? now,
})

/** Whether so many visits without an answer are a fault. Those that only did not get through may be a
 * deploy's noise, and are one only once that must be over. */
export const isOutage = (unseen: Unseen, moment: Moment, transport: boolean): boolean =>
  unseen.visits >= moment.limits.visitsBeforeFault &&
  (!transport || moment.now - unseen.sinceAt >= moment.limits.deployNoiseMillis) // N4

const unchangedTurn = (lane: Lane, moment: Moment): Lane => {
  const { limits, now, random } = moment
  const unchanged = (lane.marks.unchanged ?? 0) + 1
  const curve = { baseMillis: limits.laneBackoffMillis, maxMillis: limits.laneBackoffMaxMillis }
  const backoffUntilAt = now + jitteredMillis(curve, unchanged, random)
  const stalls =
    unchanged >= limits.unchangedBeforeStall && lane.report?.codeVersion === moment.codeVersion // N2
  if (!stalls) return { ...lane, marks: { ...lane.marks, unchanged, backoffUntilAt } }
  const count = (lane.marks.stalls ?? 0) + 1
  const wait = delayMillis(
    { baseMillis: limits.stallMillis, maxMillis: limits.stallMaxMillis },
    count,
  )
  return {
    ...lane,
    marks: {
      ...withoutBackoff(lane.marks),
      stalls: count,
      stalledSinceAt: lane.marks.stalledSinceAt ?? now,
      stalledUntilAt: now + wait,
    },
  }
}

const watchedRun = (lane: Lane, moment: Moment): Lane => {
  const { limits, now } = moment
  const watches = (lane.marks.watches ?? 0) + 1
  const curve = { baseMillis: limits.watchMillis, maxMillis: limits.watchMaxMillis }
  return {
    ...lane,
    marks: {
      ...withoutStall(withoutBackoff(lane.marks)),
      watches,
      watchAt: now + delayMillis(curve, watches),
    },
  }
}

/** Answers that are progress by themselves, whatever else changed meanwhile. */
const isProgress = (head: HeadAnswer): boolean =>
  head._tag !== "NeedsRecovery" && head._tag !== "Paused" && head._tag !== "Running"

/**
 * The lane after an answered `processHead`, its report already taken in. `sentUnder` is what the
 * call was sent under: the row may have changed while it was under way.
 */
export const afterTurn = (options: {
  readonly sentUnder: LaneReport | undefined
  readonly lane: Lane
  readonly heads: ReadonlyArray<HeadAnswer>
  readonly yieldAt: number
  readonly moment: Moment
}): Lane => {
  const { heads, moment, sentUnder, yieldAt } = options
  const lane = { ...options.lane, suspect: false, marks: withoutHold(options.lane.marks) }
  const last = heads.at(-1)
  if (last?._tag === "BindingUnavailable") {
    const { agent, name, submissionId } = last
    return boundLane(lane, { submissionId, name: name ?? agent }, moment)
  }
  const { binding: _ended, ...marks } = lane.marks
  const free = { ...lane, marks }
  if (isRunning(free)) return watchedRun(free, moment) // N3
  if (heads.some(isProgress) || changed(sentUnder, free.report)) {
    return { ...free, marks: withoutStall(withoutBackoff(marks)) }
  }
  const dueAt = Math.min(free.report?.dueAt ?? Infinity, free.report?.upkeepAt ?? Infinity)
  const early = dueAt > moment.now || moment.now >= yieldAt
  return early ? free : unchangedTurn(free, moment) // N3
}

/** What the head lacks in this deployment. */
type Missing = Pick<BindingWait, "submissionId" | "name" | "ofTool">

/** The tool without which the head's lost call cannot be asked about, if its report tells one. */
export const missingTool = (report: LaneReport | undefined): Missing | undefined => {
  const head = report?.head?.submissionId
  const wait = report?.waits.find((one) => one.blocker === "binding" && one.submissionId === head)
  if (wait === undefined) return undefined
  const { name, submissionId } = wait
  return { submissionId, ...(name === undefined ? {} : { name }), ofTool: true }
}

const boundLane = (lane: Lane, missing: Missing, moment: Moment): Lane => {
  const { limits, now } = moment
  const { binding } = lane.marks
  const same = binding?.submissionId === missing.submissionId && binding.ofTool === missing.ofTool
  const known = same ? binding : undefined
  const attempts = (known?.attempts ?? 0) + 1
  const curve = { baseMillis: limits.bindingWaitMillis, maxMillis: limits.bindingWaitMaxMillis }
  return {
    ...lane,
    marks: {
      ...withoutStall(withoutBackoff(lane.marks)),
      binding: {
        ...missing,
        attempts,
        sinceAt: known === undefined ? now : (known.sinceAt ?? known.reportedAt),
        notBefore: now + delayMillis(curve, attempts),
        reportedAt: bindingLogDue(known, now, limits) ? now : (known?.reportedAt ?? now),
        agentsDigest: moment.agentsDigest,
      },
    },
  }
}

/** Whether a missing binding is worth an Error line: the first time and every 15 minutes. */
export const bindingLogDue = (known: Marks["binding"], now: number, limits: Limits): boolean =>
  known === undefined || now - known.reportedAt >= limits.bindingReportMillis

/** The lane after an answered `recover`, its report already taken in. */
export const afterRecovery = (
  sentUnder: LaneReport | undefined,
  lane: Lane,
  moment: Moment,
): Lane => {
  const missing = missingTool(lane.report)
  if (missing !== undefined) return boundLane(lane, missing, moment)
  return changed(sentUnder, lane.report)
    ? { ...lane, marks: withoutStall(withoutBackoff(lane.marks)) }
    : unchangedTurn(lane, moment)
}

/**
 * What a list of threads shows of a lane. Pure.
 *
 * Invariants
 * - W1 Of several conditions that hold, the one that most wants a person is told.
 * - W2 A time of activity is shown to the minute, so that work which begins and ends within one changes nothing
 *   that is shown.
 */
import { type ThreadCondition, type ThreadSummary } from "../contracts/ListThreads.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import { isRunning, type Lane } from "./Lane.ts"

const minute = 60_000

/** Of one lane, all that the directory keeps. */
export interface Shown {
  readonly state: ThreadCondition
  readonly title: string | undefined
  /** To the minute; 0 where nothing has been heard. // W2 */
  readonly activeAt: number
  /** The last record that may hold an outcome nobody has read; 0 where outcomes are not searched. */
  readonly tail: number
}

/** How a thread stands, as far as its owner knows. // W1 */
export const conditionOf = (lane: Lane): ThreadCondition => {
  const { marks, report } = lane
  if (marks.condemned !== undefined) return "condemned"
  if (marks.faultRetryAt !== undefined) return "faulted"
  if (report === undefined) return "idle"
  if (report.paused) return "paused"
  const state = report.head?.state
  if (report.parked > 0 || state === "unknown") return "unknown"
  if (isRunning(lane)) return "running"
  if (state === "suspended") return "suspended"
  return report.nonterminal > 0 ? "ready" : "idle"
}

/** Whether its row tells how it stands; one without a report is to be visited. */
export const isBelieved = ({ marks, report }: Lane): boolean =>
  report !== undefined || marks.condemned !== undefined || marks.faultRetryAt !== undefined

export const toTheMinute = (at: number): number => at - (at % minute)

/** What is shown of a lane; undefined for none. */
export const shownOf = (lane: Lane | undefined, outcomes: boolean): Shown | undefined =>
  lane === undefined
    ? undefined
    : {
        state: conditionOf(lane),
        title: lane.report?.title,
        activeAt: toTheMinute(lane.activeAt ?? 0),
        tail: outcomes ? (lane.report?.tailSequence ?? 0) : 0,
      }

export const sameShown = (first: Shown | undefined, second: Shown | undefined): boolean =>
  first === undefined || second === undefined
    ? first === second
    : first.state === second.state &&
      first.title === second.title &&
      first.activeAt === second.activeAt &&
      first.tail === second.tail

/** Whether what a thread reports differs by more than a visit or a pause: an input, a record, a settlement. */
export const isActivity = (before: LaneReport | undefined, report: LaneReport): boolean =>
  before === undefined
    ? report.revision > 0
    : before.born !== report.born ||
      before.tailSequence !== report.tailSequence ||
      before.nonterminal !== report.nonterminal

/** A lane as a row of the list. */
export const summaryOf = (lane: Lane): ThreadSummary => {
  const { activeAt, report, threadId } = lane
  return {
    threadId,
    ...(report?.title === undefined ? {} : { title: report.title }),
    state: conditionOf(lane),
    ...(activeAt === undefined ? {} : { activeAt }),
    nonterminal: report?.nonterminal ?? 0,
    parked: report?.parked ?? 0,
    paused: report?.paused ?? false,
    tailSequence: report?.tailSequence ?? 0,
    ...(report?.head === undefined ? {} : { head: report.head }),
  }
}

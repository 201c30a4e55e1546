/**
 * Taking in what a thread reports: what its owner believes of it from then on.
 *
 * - R1 A report of another database, which no fence made the truth, leaves the lane enrolled.
 * - R2 A thread's revision never falls: a reply below the report that its call was sent under proves that the
 *   thread's database went back. The lane is enrolled without a report, so that there will be a fenced visit which says
 *   so. A push proves nothing: it may have been overtaken.
 * - R3 What a thread has forgotten may be somebody's child: its parent is visited in the same way, and asks after it.
 */
import { type Generation, incarnationOf, makeGeneration } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import { missingTool } from "./Answer.ts"
import {
  type Block,
  nextGeneration,
  openForWriting,
  readLane,
  setIncarnation,
  writeLane,
} from "./Block.ts"
import { type BindingWait, isRunning, type Lane, withoutReport, withoutUnheard } from "./Lane.ts"
import { isActivity } from "./Shown.ts"

/** How a report was asked for. */
interface Sent {
  /** Whether it answers a visit that carried a fence. */
  readonly fenced: boolean
  /** The report that the lane had when the call was sent; undefined also for what was not asked for. */
  readonly sentUnder: LaneReport | undefined
}

/** Whether a reply proves that the thread's database went back. Pure. */
export const wentBack = (sentUnder: LaneReport | undefined, report: LaneReport): boolean =>
  sentUnder !== undefined && sentUnder.born === report.born && report.revision < sentUnder.revision // R2

/** Has the parent of what a thread was at visited as one of which nothing is known. // R3 */
const doubtParent = (block: Block, stored: LaneReport | undefined): void => {
  const parent = stored?.head?.parent
  const before = parent === undefined ? undefined : readLane(block, parent)
  if (before === undefined) return
  const lane = { ...withoutReport(before), enrolled: nextGeneration(block) }
  writeLane(block, before, lane, { afterTurn: false })
}

const afterGoingBack = (block: Block, lane: Lane) => {
  // What is told before its lane was visited again was told already.
  if (lane.report !== undefined) {
    const line = "the thread's database went back: it knows less than it has reported"
    block.notices.push({ level: "Error", threadId: lane.threadId, line })
  }
  doubtParent(block, lane.report)
  return {
    lane: { ...withoutReport(lane), enrolled: nextGeneration(block) }, // R2
    counted: false,
  }
}

/** Takes a report in: the lane, and whether the report accounts for the thread's database. */
export const acceptReport = (
  block: Block,
  lane: Lane,
  report: LaneReport,
  options: Sent,
): { readonly lane: Lane; readonly counted: boolean } => {
  raiseAbove(block, report.fence)
  const stored = lane.report
  if (wentBack(options.sentUnder, report)) return afterGoingBack(block, lane)
  const foreign = stored !== undefined && stored.born !== "" && stored.born !== report.born
  if (foreign && !options.fenced) {
    return { lane: { ...lane, enrolled: lane.enrolled ?? nextGeneration(block) }, counted: false } // R1
  }
  if (!foreign && stored !== undefined && report.revision < stored.revision) {
    return { lane, counted: true }
  }
  if (foreign) doubtParent(block, stored)
  return { lane: withReport(block, lane, report), counted: true }
}

/** Whether a wait is still that of the head: for an agent until a turn, for a tool while a report tells it. */
const isOf = (binding: BindingWait, report: LaneReport): boolean =>
  binding.ofTool === true
    ? missingTool(report)?.submissionId === binding.submissionId
    : report.head?.submissionId === binding.submissionId

/** A binding wait belongs to one head, a watch to one run; the rest of the marks stay. */
const withReport = ({ now }: Block, lane: Lane, report: LaneReport): Lane => {
  const { binding, mayRun: _r, watches, watchAt, ...marks } = withoutUnheard(lane.marks)
  // A report that was forgotten on purpose is asked for again: nothing has happened by that.
  const again = lane.report === undefined && lane.activeAt !== undefined
  const active = !again && isActivity(lane.report, report)
  const head = report.head?.submissionId
  const sameRun = isRunning(lane) && lane.report?.head?.submissionId === head
  return {
    ...lane,
    report,
    activeAt: active ? now : lane.activeAt,
    marks: {
      ...marks,
      ...(binding !== undefined && isOf(binding, report) ? { binding } : {}),
      ...(sameRun && watches !== undefined ? { watches } : {}),
      ...(sameRun && watchAt !== undefined ? { watchAt } : {}),
    },
  }
}

/** A thread whose fence is not below our generations was fenced by an owner that is no more. */
const raiseAbove = (block: Block, fence: Generation | undefined): void => {
  if (fence === undefined) return
  openForWriting(block)
  const next = makeGeneration({
    incarnation: block.life.incarnation,
    counter: block.life.counter + 1,
  })
  if (fence >= next) setIncarnation(block, incarnationOf(fence) + 1)
}

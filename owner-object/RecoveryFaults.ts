/**
 * Recovery faults: durable notes that a thread's recovery is blocked, one row per thread.
 *
 * Invariants
 * - Y1 A failure is recorded before anything else happens for its lane; only a success of what failed
 *   removes it.
 * - Y2 The first failure of an outage stays known; attempts saturate at 2³¹ − 1.
 * - Y3 Tag and message come from fixed lists: nothing of the application is in a fault.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { RecoveryFailure, RecoveryFault } from "../contracts/Recovery.ts"
import type { Block } from "./Block.ts"
import { faultedLane, readFault, writeFault } from "./FaultTable.ts"
import type { Lane } from "./Lane.ts"
import { tallied } from "./Totals.ts"

const attemptsMax = 2 ** 31 - 1

/** What went wrong, in our words. // Y3 */
const messages = {
  NoAnswer: "the thread did not answer in time",
  ThreadUnreadable: "rows or records of the thread do not decode",
  Unavailable: "the thread's object could not be reached or went away",
  StorageUnavailable: "the thread's storage failed",
  InternalDefect: "the thread's object has a defect; its log tells more",
} as const

const isKnown = (tag: unknown): tag is keyof typeof messages =>
  typeof tag === "string" && tag in messages

/** The failure of a call as a fault tells it. Pure and total. */
export const failureOf = (
  operation: "inspect" | "recover" | "processHead",
  error: unknown,
): RecoveryFailure => {
  const tagged = typeof error === "object" && error !== null && "_tag" in error
  const told: unknown = tagged ? error._tag : undefined
  const tag = isKnown(told) ? told : "InternalDefect"
  return {
    phase: tag === "ThreadUnreadable" ? "history" : isKnown(told) ? "call" : "recovery",
    operation,
    reason: tag === "NoAnswer" ? "timeout" : tag === "InternalDefect" ? "defect" : "failure",
    tag,
    message: messages[tag],
  }
}

/** The next fault of a thread, after a failure now. Pure. // Y2 */
export const nextFault = (options: {
  readonly threadId: ThreadId
  readonly known: RecoveryFault | undefined
  readonly failure: RecoveryFailure
  readonly now: number
  readonly limits: Limits
}): RecoveryFault => {
  const { known, failure, now, limits, threadId } = options
  const attempts = Math.min(attemptsMax, (known?.attempts ?? 0) + 1)
  const maxMillis =
    failure.reason === "timeout" ? limits.faultTimeoutRetryMaxMillis : limits.faultRetryMaxMillis
  const wait = delayMillis({ baseMillis: limits.faultRetryMillis, maxMillis }, attempts)
  return {
    schemaVersion: 1,
    threadId,
    firstFailedAt: known?.firstFailedAt ?? now,
    lastFailedAt: now,
    retryAt: now + wait,
    attempts,
    failure,
  }
}

/** Records a failure in this block, and gives the lane with its retry. // Y1 */
export const recordFault = (block: Block, lane: Lane, failure: RecoveryFailure): Lane => {
  const { sql } = block.host.storage
  const { threadId } = lane
  const known = lane.marks.faultRetryAt === undefined ? undefined : readFault(sql, threadId)
  const { now, limits } = block
  const fault = nextFault({ threadId, known, failure, now, limits })
  if (known === undefined) block.tally = tallied(block.tally, { faults: 1 })
  writeFault(sql, fault)
  return faultedLane(lane, fault)
}

/** What a successful recovery leaves of a fault: nothing, or a trial if it was a turn that failed. */
export const afterRecovery = (block: Block, lane: Lane): Lane => {
  if (lane.marks.faultRetryAt === undefined) return lane
  const fault = readFault(block.host.storage.sql, lane.threadId)
  if (fault?.failure.operation !== "processHead") return clearFault(block, lane)
  return { ...lane, marks: { ...lane.marks, faultTrial: true } }
}

/** What an answered visit leaves of a fault: that of visits is over, any other stays. // Y1 */
export const afterVisit = (block: Block, lane: Lane): Lane =>
  lane.marks.faultVisit === true ? clearFault(block, lane) : lane

/** Removes a thread's fault in this block, if it has one, and gives the lane without it. // Y1 */
export const clearFault = (block: Block, lane: Lane): Lane => {
  const { faultRetryAt, faultTrial: _t, faultVisit: _v, ...marks } = lane.marks
  if (faultRetryAt === undefined) return lane
  block.host.storage.sql.run("DELETE FROM recovery_faults WHERE thread_id = ?", lane.threadId)
  return { ...lane, marks }
}

/** Has the recovery of a faulted thread tried now. Its fault stays; gives the lane with its retry. */
export const retryFaultNow = (block: Block, lane: Lane): Lane => {
  const { faultRetryAt } = lane.marks
  if (faultRetryAt === undefined || faultRetryAt <= block.now) return lane
  block.host.storage.sql.run(
    "UPDATE recovery_faults SET retry_at = ? WHERE thread_id = ?",
    block.now,
    lane.threadId,
  )
  return { ...lane, marks: { ...lane.marks, faultRetryAt: block.now } }
}

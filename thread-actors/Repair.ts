/**
 * Repairs: what recovery does for one submission, in the block that decides it.
 *
 * - R1 A repair is one block with the look that justifies it.
 * - R2 A restart alone is no failure: an attempt that recorded a result starts the count of the vanished
 *   anew, and so does another code version; the rest put the submission off, longer each time.
 * - R3 What is lost under one version after the other rests longer each time, too: while two are out at once,
 *   an object comes back now with the one, now with the other.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { RecoveryReport } from "../contracts/Recovery.ts"
import type { Block } from "./Block.ts"
import { type Decided, decide, isReconcilable } from "./Decision.ts"
import { evidenceOf } from "./Evidence.ts"
import { systemFailure } from "./Failures.ts"
import { append, progressed } from "./Journal.ts"
import { lastInterruption } from "./Interruption.ts"
import { abortOf, readRow, retriesOf, type SubmissionRow } from "./Ledger.ts"
import type { OpenCall } from "./OpenCalls.ts"
import { park, resume } from "./Park.ts"
import { type Asked, lookLater } from "./Reconcile.ts"
import { release } from "./Release.ts"
import { abortedBy, exhausted, settle, settleAfterChildren } from "./Settle.ts"
import { suspensionOf } from "./Suspension.ts"
import type { Thread } from "./Thread.ts"

/** Records that the attempt was lost with its object; `lost` counts those before it under any version. */
const interrupted = (block: Block, row: SubmissionRow, vanished: number, lost = vanished): void => {
  const { attempts, vanishedVersion } = row
  append(block, {
    submission: row.sequence,
    kind: "AttemptInterrupted",
    epoch: row.epoch,
    payload: JSON.stringify({ attempts, codeVersion: vanishedVersion, lost, vanished }),
  })
}

/** How many attempts in a row were lost, under whatever version, with this one. // R3 */
const lostInARow = ({ sql }: Block, row: SubmissionRow): number => {
  const before = lastInterruption(sql, row.sequence)
  if (before?.attempts !== row.attempts - 1) return row.vanished
  const goesOn = before.codeVersion !== row.vanishedVersion || before.vanished === row.vanished - 1
  return goesOn ? before.lost + 1 : row.vanished
}

/** Settles what was to be aborted when its attempt was lost. No handler is left to be fenced off. */
export const settleAborted = (block: Block, row: SubmissionRow): void => {
  const intent = abortOf(row)
  if (intent === undefined) return
  if (row.state === "suspended" && suspensionOf(row)?.kind === "children")
    return settleAfterChildren(block, row)
  if (row.state === "running") interrupted(block, row, row.vanished)
  settle(block, row, abortedBy(intent, false))
}

/** Takes a run whose attempt was lost back to ready, or settles it when too many were. */
const resumeLost = (block: Block, row: SubmissionRow): void => {
  const { limits, options } = block.thread
  const result = progressed(block.sql, row.sequence, row.epoch)
  const vanished = result ? 1 : row.vanished // R2
  const lost = result ? 1 : lostInARow(block, row) // R3
  const retries = retriesOf(row)
  interrupted(block, row, vanished, lost)
  if (vanished >= limits.attemptsLost && row.vanishedVersion === options.codeVersion)
    // R2
    return void settle(block, row, {
      outcome: "failed",
      failure: systemFailure(
        "AttemptsLost",
        `${vanished} attempts in a row were lost with their object`,
      ),
    })
  const curve = { baseMillis: limits.lostBackoffMillis, maxMillis: limits.lostBackoffMaxMillis }
  release(block, row, {
    ended: result ? 0 : row.ended,
    vanished,
    dueAt: block.now + delayMillis(curve, lost),
    retries,
  })
}

/**
 * Lets a suspended run go on: what it waited for is there. An outcome that was found meanwhile is a result
 * of the run like any other. // R2
 */
const resumeSuspended = (block: Block, row: SubmissionRow): void => {
  const suspension = suspensionOf(row)
  if (suspension?.kind === "children") return settleAfterChildren(block, row)
  const result = progressed(block.sql, row.sequence, row.epoch)
  const ended = result ? 0 : row.ended
  if (ended >= block.thread.limits.attemptsExhausted)
    return void settle(block, row, exhausted(ended))
  const dueAt = suspension?.dueAt ?? null
  release(block, row, {
    ended,
    vanished: result ? 0 : row.vanished,
    dueAt: dueAt !== null && dueAt > block.now ? dueAt : null,
    retries: retriesOf(row),
  })
}

/** Parks a run of whose calls nobody knows whether they happened. */
const markUnknown = (block: Block, row: SubmissionRow): void => {
  if (row.state === "running") interrupted(block, row, row.vanished)
  park(block, row)
}

/** Open calls that are over, and whose tool this deployment lacks: nobody can be asked yet. */
const withoutTool = (calls: ReadonlyArray<OpenCall>, now: number): ReadonlyArray<OpenCall> =>
  calls.filter((call) => !call.declared && call.unknownAt === null && call.deadlineAt <= now)

/** A submission, and what recovery would do about it now. */
export interface Looked {
  readonly row: SubmissionRow
  readonly decided: Decided
  readonly calls: ReadonlyArray<OpenCall>
  /** The calls that a reconciler is to be asked about. */
  readonly asked: ReadonlyArray<Asked>
  readonly now: number
}

/** What is told of it. */
export const reportOf = ({ decided, row }: Looked): RecoveryReport => ({
  submissionId: row.id,
  ...decided,
})

/** Whether a block would change something. */
export const isRepair = ({ calls, decided, now }: Looked): boolean => {
  switch (decided.decision) {
    case "ResumeRun":
    case "SettleAborted":
    case "Resume":
    case "MarkUnknown":
      return true
    case "AwaitCall":
      return withoutTool(calls, now).length > 0
    default:
      return false
  }
}

export const look = (thread: Thread, row: SubmissionRow, now: number): Looked => {
  const evidence = evidenceOf(thread, row, now)
  const decided = decide(evidence)
  const { calls } = evidence
  const asked =
    decided.decision === "Reconcile" ? calls.filter((call) => isReconcilable(call, now)) : []
  return { row, decided, calls, asked: asked.map((call) => ({ row, call })), now }
}

/** Decides, and does what the decision says. // R1 */
export const repair = (block: Block, sequence: number): Looked | undefined => {
  const row = readRow(block.sql, sequence)
  if (row === undefined) return undefined
  const looked = look(block.thread, row, block.now)
  switch (looked.decided.decision) {
    case "ResumeRun":
      resumeLost(block, row)
      break
    case "SettleAborted":
      settleAborted(block, row)
      break
    case "Resume":
      if (row.state === "unknown") resume(block, row, retriesOf(row))
      else resumeSuspended(block, row)
      break
    case "MarkUnknown":
      markUnknown(block, row)
      break
    case "AwaitCall":
      for (const call of withoutTool(looked.calls, block.now)) lookLater(block, call)
      break
    default:
      break
  }
  return looked
}

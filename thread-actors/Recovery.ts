/**
 * Recovery: looks at every submission without a settlement and repairs what a lost attempt left. It
 * never runs a handler, and its cost does not grow with the thread's history.
 *
 * - K1 One recovery at a time; a second call joins it.
 * - K2 A repair is one block with the look that justifies it.
 * - K3 A restart alone is no failure: an attempt that recorded a result starts the count of the vanished
 *   anew, and so does another code version; the rest put the submission off, longer each time.
 */
import { Deferred, Effect, type Exit } from "effect"
import { delayMillis } from "../contracts/Backoff.ts"
import type { RecoveryReport } from "../contracts/Recovery.ts"
import { type Block, transact } from "./Block.ts"
import { decide } from "./Decision.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { systemFailure } from "./Failures.ts"
import { append, progressed } from "./Journal.ts"
import { abortOf, nonterminalRows, retriesOf, type SubmissionRow } from "./Ledger.ts"
import { abortedBy, release, settle } from "./Settle.ts"
import type { Thread } from "./Thread.ts"

/** Records that the attempt was lost with its object. */
const interrupted = (block: Block, row: SubmissionRow, vanished: number): void => {
  append(block, {
    submission: row.sequence,
    kind: "AttemptInterrupted",
    epoch: row.epoch,
    payload: JSON.stringify({ attempts: row.attempts, vanished }),
  })
}

/** Settles what was to be aborted when its attempt was lost. No handler is left to be fenced off. */
const settleAborted = (block: Block, row: SubmissionRow): void => {
  const intent = abortOf(row)
  if (intent === undefined) return
  if (row.state === "running") interrupted(block, row, row.vanished)
  settle(block, row, abortedBy(intent, false))
}

/** Takes a run whose attempt was lost back to ready, or settles it when too many were. */
const resume = (block: Block, row: SubmissionRow): void => {
  const { limits, options } = block.thread
  const result = progressed(block.sql, row.sequence, row.epoch)
  const vanished = result ? 1 : row.vanished // K3
  const retries = retriesOf(row)
  interrupted(block, row, vanished)
  if (vanished >= limits.attemptsLost && row.vanishedVersion === options.codeVersion)
    // K3
    return settle(block, row, {
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
    dueAt: block.now + delayMillis(curve, vanished),
    retries,
  })
}

const recoverIn = (block: Block): ReadonlyArray<RecoveryReport> =>
  nonterminalRows(block.sql, block.header.tail).map((row) => {
    const decided = decide({ row, live: block.thread.live, now: block.now })
    if (decided.decision === "ResumeRun") resume(block, row) // K2
    if (decided.decision === "SettleAborted") settleAborted(block, row) // K2
    return { submissionId: row.id, ...decided }
  })

type Recovered = Effect.Effect<ReadonlyArray<RecoveryReport>, ReadFailure>

/** Classifies and repairs; joins a recovery under way. */
export const recover = (thread: Thread): Recovered =>
  Effect.suspend(() => {
    if (!thread.hasTables) return Effect.succeed([])
    if (thread.recovering !== undefined) return Deferred.await(thread.recovering) // K1
    const recovering = Deferred.makeUnsafe<ReadonlyArray<RecoveryReport>, ReadFailure>()
    thread.recovering = recovering
    const told = (exit: Exit.Exit<ReadonlyArray<RecoveryReport>, ReadFailure>) => {
      thread.recovering = undefined
      return Deferred.done(recovering, exit)
    }
    return Effect.onExit(
      durable(thread, "recover", () => transact(thread, recoverIn)),
      told,
    )
  })

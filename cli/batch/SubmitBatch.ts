/**
 * Submits the lines of a batch, many in one call and some calls at a time.
 *
 * - S1 Lines of one thread are accepted in the order of the file: they are in one worker's hands, which
 *   sends nothing of a thread behind a line that it must send again.
 * - S2 A line is sent again only with its key, and only where that can help: the call was lost, something
 *   is overloaded or full. It gives up when nothing was accepted for `patienceMillis`.
 * - S3 A line that is refused for good is told, and the others go on. What refuses every line (no
 *   authorization, no deployment) ends the batch, and so does a note that cannot be written; no worker begins another
 *   call then.
 */
import { Clock, Effect } from "effect"
import { Unavailable } from "../../contracts/Errors.ts"
import type { OwnerId } from "../../contracts/Identifiers.ts"
import type { Receipt, ThreadSubmission } from "../../contracts/Submission.ts"
import type { SubmitOutcome } from "../../contracts/SubmitMany.ts"
import type { CallError } from "../Remedies.ts"
import { attempt, type Session } from "../Session.ts"
import type { Stopped } from "../Stopped.ts"
import type { BatchLine } from "./BatchFile.ts"
import type { Checkpoint } from "./Checkpoint.ts"

export type LineOutcome =
  | { readonly _tag: "Accepted"; readonly line: number; readonly receipt: Receipt }
  | { readonly _tag: "Refused"; readonly line: number; readonly error: CallError }

export interface BatchOptions {
  readonly session: Session
  readonly ownerId: OwnerId
  readonly lines: ReadonlyArray<BatchLine>
  readonly checkpoint: Checkpoint
  /** Calls at a time. */
  readonly concurrency: number
  /** Told of each line as it is decided. */
  readonly onOutcome: (outcome: LineOutcome) => Effect.Effect<void>
  /** Told when everything that is left has to wait. */
  readonly onPause: (error: CallError) => Effect.Effect<void>
}

/** Of one call; a body of the HTTP edge has 4 MiB. */
const linesPerCall = 100
const bytesPerCall = 2 * 1024 * 1024

const patienceMillis = 5 * 60_000
const firstPauseMillis = 500
const pauseMaxMillis = 15_000

/** What a worker shares with the others. */
interface Run extends BatchOptions {
  /** What ended the batch. */
  ended: CallError | Stopped | undefined
}

/** Limits that leave room again when queued work has settled. */
const fillingLimits: ReadonlySet<string> = new Set([
  "queuedPerThread",
  "nonterminalPerOwner",
  "mutationsPerLane",
  "mutationsPerOwner",
  "mutationBytesPerOwner",
])

/** Whether sending it again, later, with the same key, may be answered otherwise. */
const mayHelpLater = (error: CallError): boolean =>
  (error._tag === "Unavailable" && (error.retryable || error.overloaded)) ||
  error._tag === "StorageUnavailable" ||
  (error._tag === "AdmissionLimitExceeded" && fillingLimits.has(error.limit))

/** Whether a smaller call may be answered otherwise. */
const mayHelpSmaller = (error: CallError): boolean =>
  error._tag === "InvalidInput" || error._tag === "AdmissionLimitExceeded"

/** As many of the first lines as one call takes, at least one. */
const firstOf = (lines: ReadonlyArray<BatchLine>, linesMax: number): ReadonlyArray<BatchLine> => {
  let bytes = 0
  let count = 0
  for (const line of lines.slice(0, linesMax)) {
    bytes += line.bytes
    if (count > 0 && bytes > bytesPerCall) break
    count += 1
  }
  return lines.slice(0, count)
}

const withKey = (checkpoint: Checkpoint, { line, submission }: BatchLine): ThreadSubmission => ({
  ...submission,
  idempotencyKey: submission.idempotencyKey ?? checkpoint.keyOf(line),
})

/** A deployment tells of every line; one that does not may have accepted it. */
const missing = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "The answer tells nothing of some lines",
})

/** Notes a line that was accepted; where that cannot be, the batch ends. */
const note = (run: Run, line: BatchLine, receipt: Receipt) =>
  Effect.catch(
    attempt(() => run.checkpoint.note(line.line, receipt)),
    (stopped) =>
      Effect.sync(() => {
        run.ended ??= stopped // S3
      }),
  )

/** Notes what was decided; gives the lines to send again. */
const take = Effect.fnUntraced(function* (
  run: Run,
  sent: ReadonlyArray<BatchLine>,
  outcomes: ReadonlyArray<SubmitOutcome>,
) {
  const again: Array<BatchLine> = []
  let reason: CallError | undefined
  for (const [index, line] of sent.entries()) {
    const outcome = outcomes[index]
    if (outcome?._tag === "Accepted") {
      yield* note(run, line, outcome.receipt)
      yield* run.onOutcome({ _tag: "Accepted", line: line.line, receipt: outcome.receipt })
    } else if (outcome === undefined || mayHelpLater(outcome.error)) {
      again.push(line)
      reason = outcome?.error ?? missing
    } else {
      yield* run.onOutcome({ _tag: "Refused", line: line.line, error: outcome.error })
    }
  }
  return { again, reason, decided: sent.length - again.length }
})

/** One worker: the lines of its threads, one call after the other. */
const work = Effect.fnUntraced(function* (run: Run, mine: ReadonlyArray<BatchLine>) {
  let pending = mine
  let linesMax = linesPerCall
  let pauses = 0
  let movedAt = yield* Clock.currentTimeMillis

  const pauseFor = Effect.fnUntraced(function* (error: CallError) {
    const now = yield* Clock.currentTimeMillis
    if (now - movedAt > patienceMillis) {
      run.ended ??= error // S2
      return
    }
    yield* run.onPause(error)
    yield* Effect.sleep(Math.min(firstPauseMillis * 2 ** pauses, pauseMaxMillis))
    pauses += 1
  })

  while (pending.length > 0 && run.ended === undefined) {
    const sent = firstOf(pending, linesMax)
    const rest = pending.slice(sent.length)
    const submissions = sent.map((line) => withKey(run.checkpoint, line))
    const reply = yield* Effect.result(
      run.session.client.rpc.submitMany({ ownerId: run.ownerId, submissions }),
    )
    if (reply._tag === "Success") {
      const { again, decided, reason } = yield* take(run, sent, reply.success.outcomes)
      pending = [...again, ...rest] // S1
      if (decided > 0) {
        pauses = 0
        movedAt = yield* Clock.currentTimeMillis
      }
      if (reason !== undefined) yield* pauseFor(reason)
      continue
    }
    const error: CallError = reply.failure
    if (mayHelpLater(error)) yield* pauseFor(error)
    else if (!mayHelpSmaller(error)) run.ended ??= error // S3
    else if (sent.length > 1) linesMax = Math.ceil(sent.length / 2)
    else {
      const line = sent[0]?.line ?? 0
      yield* run.onOutcome({ _tag: "Refused", line, error }) // S3
      pending = rest
      linesMax = linesPerCall
    }
  }
})

/** Which worker has a thread: the same for all its lines. */
const workerOf = (threadId: string, workers: number): number => {
  let hash = 0
  for (let at = 0; at < threadId.length; at++) hash = (hash * 31 + threadId.charCodeAt(at)) >>> 0
  return hash % workers
}

/** Submits all lines that the checkpoint does not know; gives what ended it early. */
export const submitBatch = Effect.fnUntraced(function* (
  options: BatchOptions,
): Effect.fn.Return<CallError | Stopped | undefined> {
  const run: Run = { ...options, ended: undefined }
  const todo = options.lines.filter(({ line }) => !options.checkpoint.accepted.has(line))
  const shares = Array.from({ length: options.concurrency }, (): Array<BatchLine> => [])
  for (const line of todo) {
    shares[workerOf(line.submission.threadId, options.concurrency)]?.push(line) // S1
  }
  yield* Effect.forEach(shares, (mine) => work(run, mine), {
    concurrency: "unbounded",
    discard: true,
  })
  return run.ended
})

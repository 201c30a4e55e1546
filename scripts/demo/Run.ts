/**
 * Drives the plan: submits every revision in order, pulls the plug half-way, waits for all.
 *
 * - R1 A submission keeps its idempotency key through every retry; so does its place in its thread,
 *   because the next revision is not submitted before this one has its receipt.
 * - R2 The process is killed while submissions are accepted and not settled, and others are on their
 *   way: no call waits for the restart.
 */
import { Effect } from "effect"
import type { OwnerId, Receipt } from "../../contracts/index.ts"
import { describeFailure, isRefusalOfInput, throughOutage, type DemoClient } from "./Client.ts"
import type { Ledger } from "./Ledger.ts"
import { makeMoment, type Moment } from "./Moment.ts"
import type { PlannedSubmission, PlannedThread } from "./Plan.ts"

export interface RunOptions {
  readonly client: DemoClient
  readonly ownerId: OwnerId
  readonly plan: ReadonlyArray<PlannedThread>
  readonly ledger: Ledger
  /** Kills the server and starts it again; succeeds when it serves. */
  readonly restart: Effect.Effect<void>
}

/** Documents under way at one time: enough that a crash finds work in every state. */
const documentsAtOnce = 12

/** One wait; a settlement that takes longer is waited for again. */
const waitMillis = 20_000

interface Running extends RunOptions {
  readonly moment: Moment
}

const countRetry = ({ ledger }: Running): Effect.Effect<void> =>
  Effect.sync(() => {
    ledger.retries += 1
  })

/** The receipts of a thread's revisions; a refused one ends the list, its followers depend on it. */
const submitAll = Effect.fnUntraced(function* (running: Running, thread: PlannedThread) {
  const { client, ownerId, ledger } = running
  const receipts: Array<Receipt> = []
  const submit = (submission: PlannedSubmission) =>
    throughOutage(
      client.submit({ ownerId, threadId: thread.threadId }, submission), // R1
      countRetry(running),
    )
  for (const [before, submission] of thread.submissions.entries()) {
    const receipt = yield* submit(submission).pipe(
      Effect.catchIf(isRefusalOfInput, (failure) =>
        Effect.sync(() => {
          const reason = `was refused (${describeFailure(failure)})`
          ledger.refuse(thread.threadId, reason, thread.submissions.length - before)
          return undefined
        }),
      ),
    )
    if (receipt === undefined) {
      yield* running.moment.note
      break
    }
    ledger.accept(receipt)
    receipts.push(receipt)
    yield* running.moment.note
  }
  return receipts
})

const awaitSettled = Effect.fnUntraced(function* (running: Running, receipt: Receipt) {
  const { client, ownerId, ledger } = running
  const lane = { ownerId, threadId: receipt.threadId }
  const once = throughOutage(
    client.awaitSettlement(lane, receipt.submissionId, waitMillis),
    countRetry(running),
  )
  let reply = yield* once
  while (reply._tag === "Pending") reply = yield* once
  ledger.settle(receipt.threadId, reply.settlement)
  yield* running.moment.note
})

const processDocument = (running: Running) => (thread: PlannedThread) => {
  const settled = Effect.flatMap(submitAll(running, thread), (receipts) =>
    Effect.forEach(receipts, (receipt) => awaitSettled(running, receipt), {
      concurrency: "unbounded",
      discard: true,
    }),
  )
  const followed = Effect.andThen(running.moment.follow(thread), Effect.never)
  return Effect.raceFirst(settled, followed)
}

/** Succeeds when everything that was accepted has settled and the server was restarted once. */
export const run = Effect.fnUntraced(function* (options: RunOptions) {
  const moment = yield* makeMoment(options)
  const { ledger } = options
  const pullThePlug = Effect.gen(function* () {
    if ((yield* moment.await) === "never") return
    ledger.interruption = { settled: ledger.settled, accepted: ledger.accepted }
    yield* options.restart // R2
  })
  const work = Effect.forEach(options.plan, processDocument({ ...options, moment }), {
    concurrency: documentsAtOnce,
    discard: true,
  })
  // Where every file was refused there is no half-way.
  const workThenEnd = Effect.andThen(work, moment.close)
  yield* Effect.all([workThenEnd, pullThePlug], { concurrency: "unbounded", discard: true })
})

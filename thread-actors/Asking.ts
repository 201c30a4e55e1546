/**
 * Asking: has a submission's open calls reconciled beside the recovery that found them.
 *
 * - A1 A recovery waits for reconcilers no longer than a turn waits for a run: who looks for seconds holds no
 *   slot of the owner. What they find is written when they have told, and pushed as a report.
 * - A2 One asking per submission at a time; a second recovery joins it.
 * - A3 Calls of one run are asked about a few at a time: each may need a connection.
 */
import { Deferred, Effect, Option } from "effect"
import type { RecoveryReport } from "../contracts/Recovery.ts"
import { StorageUnavailable } from "../contracts/Errors.ts"
import { type Block, transact } from "./Block.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { flush } from "./Flush.ts"
import { readRow } from "./Ledger.ts"
import { openCalls } from "./OpenCalls.ts"
import { pushReport } from "./PushReport.ts"
import { apply, ask, type Asked, charge, type Found } from "./Reconcile.ts"
import { type Looked, repair, reportOf } from "./Repair.ts"
import { type Asking, clockOf, type Thread } from "./Thread.ts"
import { within } from "./Within.ts"

/** Reconcilers of one run that look at the same time. */
const concurrency = 8

interface Answered {
  readonly asked: Asked
  readonly found: Found
}

const here = (block: Block, before: Looked) => {
  const row = readRow(block.sql, before.row.sequence)
  return row === undefined
    ? undefined
    : { row, calls: openCalls(block.sql, block.thread.options.agents, row) }
}

/** Charges the tries; where nobody is left to be asked, what is decided then is done. */
const begin = (
  block: Block,
  before: Looked,
): { readonly asked: ReadonlyArray<Asked>; readonly report: RecoveryReport } => {
  const now = here(block, before)
  const asked = now === undefined ? [] : charge(block, before.asked, now)
  const after = asked.length > 0 ? undefined : repair(block, before.row.sequence)
  return { asked, report: reportOf(after ?? before) }
}

/** Takes the answers in, and does what is decided then, in one block. */
const takeIn = (block: Block, before: Looked, answers: ReadonlyArray<Answered>): RecoveryReport => {
  const now = here(block, before)
  if (now === undefined) return reportOf(before)
  const applied = answers.filter(({ asked, found }) => apply(block, asked, found, now))
  const after = repair(block, before.row.sequence)
  if (after === undefined) return reportOf(before)
  const goesOn = applied.length > 0 && after.decided.disposition === "repaired"
  return reportOf(goesOn ? before : after)
}

/** Asks about the calls of a submission, and takes the answers in. */
const reconcile = (thread: Thread, before: Looked): Effect.Effect<RecoveryReport, ReadFailure> =>
  Effect.gen(function* () {
    const { asked, report } = yield* durable(thread, "recover", () =>
      transact(thread, (block) => begin(block, before)),
    )
    if (asked.length === 0) return report
    if (!(yield* flush(thread))) return yield* new StorageUnavailable({ operation: "recover" })
    const answers = yield* Effect.forEach(
      asked,
      (one) => Effect.map(ask(thread, one), (found): Answered => ({ asked: one, found })),
      { concurrency }, // A3
    )
    return yield* durable(thread, "recover", () =>
      transact(thread, (block) => takeIn(block, before, answers)),
    )
  })

const start = (thread: Thread, before: Looked): Effect.Effect<Asking> =>
  Effect.suspend(() => {
    const { limits } = thread
    const { sequence } = before.row
    const asking: Asking = {
      untilAt: clockOf(thread) + limits.reconcileMillis + limits.coverMillis,
      done: Deferred.makeUnsafe(),
      outlived: false,
    }
    thread.asking.set(sequence, asking) // A2
    const told = Effect.onExit(reconcile(thread, before), (exit) => {
      thread.asking.delete(sequence)
      return Deferred.done(asking.done, exit)
    })
    const pushed = Effect.suspend(() =>
      asking.outlived && thread.identity !== undefined
        ? pushReport(thread, thread.identity)
        : Effect.void,
    )
    return Effect.map(
      Effect.forkDetach(
        Effect.annotateLogs(Effect.andThen(Effect.exit(told), pushed), {
          submissionId: before.row.id,
        }),
      ), // A1
      (fiber) => {
        const ended = new Promise<void>((resolve) => {
          fiber.addObserver(() => resolve())
        })
        thread.host.waitUntil(ended)
        return asking
      },
    )
  })

/** What became of it within the attention time; else that it is being asked about. */
export const askAbout = (
  thread: Thread,
  before: Looked,
): Effect.Effect<RecoveryReport, ReadFailure> =>
  Effect.gen(function* () {
    const asking = thread.asking.get(before.row.sequence) ?? (yield* start(thread, before))
    const told = yield* within(asking.done, thread.limits.attentionMillis)
    if (Option.isSome(told)) return told.value
    asking.outlived = true
    return { ...reportOf(before), disposition: "deferred" }
  })

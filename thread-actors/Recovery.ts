/**
 * Recovery: looks at every submission without a settlement and repairs what a lost attempt, or an open call,
 * left. It never runs a handler, and its cost does not grow with the thread's history.
 *
 * - K1 One recovery at a time; a second call joins it.
 * - K2 A repair is one block with the look that justifies it, one block per submission. What needs a reconciler
 *   is asked about beside it (Asking).
 * - K3 A row or record that does not decode fails the recovery: nothing goes on past what nobody can read. What
 *   is to be aborted is settled before that.
 */
import { Deferred, Effect, type Exit } from "effect"
import type { RecoveryReport } from "../contracts/Recovery.ts"
import { askAbout } from "./Asking.ts"
import { transact } from "./Block.ts"
import { durable, reading, type ReadFailure } from "./Durable.ts"
import { checkRecords } from "./Evidence.ts"
import { checkHeader, readHeader } from "./Header.ts"
import { nonterminalRows, sequenceOf, type SubmissionRow } from "./Ledger.ts"
import { isRepair, look, type Looked, repair, reportOf } from "./Repair.ts"
import { clockOf, type Thread } from "./Thread.ts"

/** The submissions without a settlement; those to be aborted first: what ends needs nothing to be readable. */
const openRows = (thread: Thread): ReadonlyArray<SubmissionRow> => {
  const { sql } = thread.host.storage
  const header = thread.header ?? readHeader(sql)
  checkHeader(header) // K3
  const rows = nonterminalRows(sql, header.tail)
  const isToEnd = (row: SubmissionRow): boolean => row.abort !== null
  return [...rows.filter(isToEnd), ...rows.filter((row) => !isToEnd(row))]
}

const lookAt = (thread: Thread, row: SubmissionRow): Looked => {
  if (row.abort === null) checkRecords(thread.host.storage.sql, row) // K3
  return look(thread, row, clockOf(thread))
}

const recoverOne = (
  thread: Thread,
  row: SubmissionRow,
): Effect.Effect<RecoveryReport, ReadFailure> =>
  Effect.flatMap(
    reading(thread, "recover", () => lookAt(thread, row)),
    (before) => {
      if (before.asked.length > 0) return askAbout(thread, before)
      if (!isRepair(before)) return Effect.succeed(reportOf(before))
      return durable(
        thread,
        "recover",
        () => transact(thread, (block) => reportOf(repair(block, row.sequence) ?? before)), // K2
      )
    },
  )

type Recovered = Effect.Effect<ReadonlyArray<RecoveryReport>, ReadFailure>

const inOrder = (reports: ReadonlyArray<RecoveryReport>): ReadonlyArray<RecoveryReport> =>
  reports.toSorted((one, other) => sequenceOf(one.submissionId) - sequenceOf(other.submissionId))

const recoverAll = (thread: Thread): Recovered =>
  Effect.flatMap(
    reading(thread, "recover", () => openRows(thread)),
    (rows) =>
      Effect.map(
        Effect.forEach(rows, (row) => recoverOne(thread, row)),
        inOrder,
      ),
  )

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
    return Effect.onExit(recoverAll(thread), told)
  })

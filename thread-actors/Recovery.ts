/**
 * Recovery: looks at every submission without a settlement and repairs what a lost attempt, or an open call,
 * left. It never runs a handler, and its cost does not grow with the thread's history.
 *
 * - K1 One recovery at a time; a second call joins it.
 * - K2 A repair is one block with the look that justifies it, one block per submission. One that had to wait
 *   for a reconciler looks again, and counts only for what was asked about.
 * - K3 A row or record that does not decode fails the whole recovery: nothing goes on past what nobody can
 *   read.
 */
import { Deferred, Effect, type Exit } from "effect"
import type { RecoveryReport } from "../contracts/Recovery.ts"
import { type Block, transact } from "./Block.ts"
import { durable, reading, type ReadFailure } from "./Durable.ts"
import { checkRecords } from "./Evidence.ts"
import { readHeader } from "./Header.ts"
import { nonterminalRows, readRow } from "./Ledger.ts"
import { openCalls } from "./OpenCalls.ts"
import { apply, ask, type Asked, type Found } from "./Reconcile.ts"
import { isRepair, look, type Looked, repair } from "./Repair.ts"
import { clockOf, type Thread } from "./Thread.ts"

const lookAtAll = (thread: Thread): ReadonlyArray<Looked> => {
  const { sql } = thread.host.storage
  const { tail } = thread.header ?? readHeader(sql)
  const now = clockOf(thread)
  return nonterminalRows(sql, tail).map((row) => {
    checkRecords(sql, row) // K3
    return look(thread, row, now)
  })
}

const reportOf = ({ decided, row }: Looked): RecoveryReport => ({
  submissionId: row.id,
  ...decided,
})

interface Answered {
  readonly asked: Asked
  readonly found: Found
}

/** Takes the answers in, and does what is decided then, in one block. */
const takeIn = (block: Block, before: Looked, answers: ReadonlyArray<Answered>): RecoveryReport => {
  const { sequence } = before.row
  const row = readRow(block.sql, sequence)
  if (row === undefined) return reportOf(before)
  const calls = openCalls(block.sql, block.thread.options.agents, row)
  const applied = answers.filter(({ asked, found }) => apply(block, asked, found, { row, calls }))
  const after = repair(block, sequence) // K2
  if (after === undefined) return reportOf(before)
  const goesOn = applied.length > 0 && after.decided.disposition === "repaired"
  return reportOf(goesOn ? before : after)
}

/** Asks about the calls of a submission, all at once, and takes the answers in. */
const reconcile = (thread: Thread, before: Looked): Effect.Effect<RecoveryReport, ReadFailure> =>
  Effect.flatMap(
    Effect.forEach(
      before.asked,
      (asked) => Effect.map(ask(thread, asked), (found): Answered => ({ asked, found })),
      { concurrency: "unbounded" },
    ),
    (answers) =>
      durable(thread, "recover", () => transact(thread, (block) => takeIn(block, before, answers))),
  )

const recoverOne = (thread: Thread, before: Looked): Effect.Effect<RecoveryReport, ReadFailure> => {
  if (before.asked.length > 0) return reconcile(thread, before)
  if (!isRepair(before)) return Effect.succeed(reportOf(before))
  return durable(
    thread,
    "recover",
    () => transact(thread, (block) => reportOf(repair(block, before.row.sequence) ?? before)), // K2
  )
}

type Recovered = Effect.Effect<ReadonlyArray<RecoveryReport>, ReadFailure>

const recoverAll = (thread: Thread): Recovered =>
  Effect.flatMap(
    reading(thread, "recover", () => lookAtAll(thread)),
    (all) => Effect.forEach(all, (before) => recoverOne(thread, before)),
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

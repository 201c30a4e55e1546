/**
 * Inputs that a run has taken: they settle with it, with its outcome, once.
 *
 * - J1 What joins is the unbroken line behind the run, or behind what it took last, of inputs that ask to join and are
 *   for its agent. What has settled, joined, waits for a word or for its time holds nobody.
 * - J2 A row beside the ledger names each that was taken, until its host's settlement settles it in the same block.
 * - J3 Its record names the host: the outcome is the host's, and stands there once. It counts as one of its own.
 */
import type { Outcome } from "../contracts/Submission.ts"
import { type Block, countOutcome, touch } from "./Block.ts"
import { noticeParent } from "./ChildNotice.ts"
import { append } from "./Journal.ts"
import { floorAfter, readRow, type SubmissionRow, waitingBehind } from "./Ledger.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { isCount } from "./StoredColumns.ts"
import { Unreadable } from "./Unreadable.ts"

const joinedBy = (sql: Sql, host: number): ReadonlyArray<number> =>
  sql
    .all<{ sequence: number }>("SELECT sequence FROM joined WHERE host = ? ORDER BY sequence", host)
    .map(({ sequence }) => {
      if (!isCount(sequence)) throw new Unreadable("joined")
      return sequence
    })

/** The last that this run has taken; the run itself before that. */
const lastTaken = (sql: Sql, host: number): number =>
  sql.all<{ sequence: number }>(
    "SELECT sequence FROM joined WHERE host = ? ORDER BY sequence DESC LIMIT 1",
    host,
  )[0]?.sequence ?? host

/** How many inputs of the thread have joined runs that go on. */
export const countJoined = (sql: Sql): number =>
  sql.all<{ count: number }>("SELECT count(*) AS count FROM joined")[0]?.count ?? 0

const joins = (row: SubmissionRow, host: SubmissionRow): boolean =>
  row.state === "ready" &&
  row.delivery === "join" &&
  row.agent === host.agent &&
  row.attempts === 0 &&
  row.abort === null

/** What may join now, in order. // J1 */
export const joinable = (
  sql: Sql,
  host: SubmissionRow,
  { max, now }: { readonly now: number; readonly max: number },
): ReadonlyArray<SubmissionRow> => {
  const behind = waitingBehind(sql, { after: lastTaken(sql, host.sequence), now, limit: max })
  const end = behind.findIndex((row) => !joins(row, host))
  return end < 0 ? behind : behind.slice(0, end)
}

/** Gives an input to a run. */
export const join = (block: Block, row: SubmissionRow, host: SubmissionRow): void => {
  block.sql.run(
    "UPDATE submissions SET state = 'joined', host = ?, dueAt = NULL WHERE sequence = ?",
    host.sequence,
    row.sequence,
  )
  if (row.notBefore !== null)
    block.sql.run(
      "DELETE FROM deferred WHERE notBefore = ? AND sequence = ?",
      row.notBefore,
      row.sequence,
    )
  block.sql.run("INSERT INTO joined (host, sequence) VALUES (?, ?)", host.sequence, row.sequence) // J2
  touch(block)
}

const settleOne = (block: Block, host: SubmissionRow, sequence: number, outcome: Outcome): void => {
  const row = readRow(block.sql, sequence)
  if (row === undefined || row.state !== "joined") throw new Unreadable("joined")
  const { tail } = block.header
  block.sql.run(
    `UPDATE submissions SET state = 'settled', epoch = ?, outcome = ?, settledSequence = ?
     WHERE sequence = ?`,
    row.epoch + 1,
    outcome,
    tail.sequence + 1,
    sequence,
  )
  const payload = JSON.stringify({ attempts: 0, hostSubmissionId: host.id, outcome }) // J3
  append(
    block,
    { submission: sequence, kind: "Settled", epoch: row.epoch, payload },
    {
      settled: tail.settled + 1,
      floor: floorAfter(block.sql, tail.floor, block.header.lastSequence),
    },
  )
  countOutcome(block, outcome) // J3
  block.settled.push(sequence)
  if (row.parent !== null) noticeParent(block, row)
}

/** Settles what a run has taken, in the block that settles the run. // J2 */
export const settleJoined = (block: Block, host: SubmissionRow, outcome: Outcome): void => {
  if (host.attempts === 0) return
  const taken = joinedBy(block.sql, host.sequence)
  if (taken.length === 0) return
  block.sql.run("DELETE FROM joined WHERE host = ?", host.sequence)
  for (const sequence of taken) settleOne(block, host, sequence, outcome)
}

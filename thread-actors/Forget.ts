/**
 * Forgetting a thread: one block that deletes all it holds and leaves a tombstone, or says what is owed.
 *
 * - O1 What is owed is decided in the block that deletes. A refusal is a fence: neither that call nor one sent
 *   before it, which nobody waits for any more, can delete anything later.
 * - O2 Told to abort, it first ends what is owed as an abort and recovery would. What still runs has its grace,
 *   and the caller comes again.
 * - O3 A submission that does not decode runs nowhere: told to abort, it holds nothing up. Nor does a header, whose
 *   fence then cannot refuse: only what runs in this object is waited for.
 * - O4 Every table is emptied but the one row that says whose thread this was. Nobody is told any more what
 *   it held: whoever waits is woken and gets `ThreadForgotten`.
 * - O5 What others have not taken yet is owed: messages, and the word of a child to its parent. What is parked is not.
 * - O6 What the sink of the deployment lacks is owed, as far as it can be read: what cannot be can never be published,
 *   and holds nothing up where all is to be given up.
 * - O7 What a run has taken settles with it, by no word of its own: it may have settled with one that was ended before it
 *   in this block.
 */
import { Effect, Result } from "effect"
import { WorkOwed } from "../contracts/Errors.ts"
import type { ThreadForgetRefusal, ThreadForgetReply } from "../contracts/Forget.ts"
import type { Generation, Principal, SubmissionId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { intend, tell } from "./Abort.ts"
import { type Block, transactAnyhow } from "./Block.ts"
import { isLive } from "./Decision.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { fenced, raiseFence } from "./Fence.ts"
import { emptyTail, nonterminalOf, revisionOf } from "./Header.ts"
import type { Identity } from "./Identity.ts"
import { type AbortIntent, abortOf, hostIsSettled, readRow, type SubmissionRow } from "./Ledger.ts"
import { hasOpenChildren } from "./ChildRows.ts"
import { countOwed } from "./Outbox.ts"
import { countUnpublished, unpublished } from "./Publication.ts"
import { settleAborted } from "./Repair.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"

export interface ForgetCommand extends Identity, AbortIntent {
  readonly abort: boolean
  readonly principal: Principal
  readonly generation: Generation
}

type Answer = Result.Result<typeof ThreadForgetReply.Type, ThreadForgetRefusal>

/** What the read gives, or nothing where what is stored does not decode. */
const decoded = <A>(read: () => A): A | undefined => {
  try {
    return read()
  } catch (error) {
    if (error instanceof Unreadable) return undefined // O3
    throw error
  }
}

/** Every submission without a settlement. A look at the whole ledger: it is about to be deleted. */
const openSequences = (sql: Sql): ReadonlyArray<number> =>
  sql
    .all<{ sequence: number }>(
      "SELECT sequence FROM submissions WHERE state <> 'settled' ORDER BY sequence",
    )
    .map((row) => row.sequence)

/** Whether the run that has taken this one goes on. One that does not decode does not. // O3 */
const holdsJoined = ({ sql }: Block, row: SubmissionRow): boolean =>
  decoded(() => hostIsSettled(sql, row)) === false

/** Aborts a submission as far as this block can. Gives it where somebody else must end it. */
const abort = (
  block: Block,
  sequence: number,
  command: ForgetCommand,
): SubmissionRow | undefined => {
  const row = decoded(() => readRow(block.sql, sequence))
  if (row === undefined || row.state === "settled") return undefined // O3 O7
  if (row.state === "joined") return holdsJoined(block, row) ? row : undefined // O7
  if (decoded(() => abortOf(row)) === undefined) intend(block, row, command) // O2
  if (row.state === "running" && isLive(row, block.thread.live)) return row
  const told = readRow(block.sql, sequence)
  if (told !== undefined) decoded(() => settleAborted(block, told)) // O2
  // One with open children settles with the last of them.
  return told !== undefined && hasOpenChildren(block.sql, sequence) ? told : undefined
}

/** What is owed in spite of all that could be done, and who is to be told to end. */
interface Owed {
  readonly count: number
  readonly running: ReadonlyArray<SubmissionId>
}

const nothingOwed: Owed = { count: 0, running: [] }

const owedIn = (block: Block, command: ForgetCommand): Owed => {
  const { live } = block.thread
  if (command.abort && block.header.unreadable !== undefined)
    return live === undefined ? nothingOwed : { count: 1, running: [live.row.id] } // O3
  const count = nonterminalOf(block.header)
  if (!command.abort || count === 0) return { count, running: [] }
  const left = openSequences(block.sql).flatMap((sequence) => abort(block, sequence, command) ?? [])
  return { count: left.length, running: left.map((row) => row.id) }
}

/** The platform's own tables are nobody's content. */
const isOurs = (table: string): boolean => !/^(sqlite|_cf)_/.test(table)

/** What a tombstone needs: the row of the thread, and the version of its tables. */
const kept: ReadonlyArray<string> = ["meta", "schemaVersions"]

const erase = (block: Block): void => {
  const tables = block.sql.all<{ name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table'",
  )
  for (const { name } of tables)
    if (isOurs(name) && !kept.includes(name)) block.sql.run(`DELETE FROM "${name}"`) // O4
  block.sql.run("UPDATE meta SET callbackKey = NULL") // O4
  const { unreadable: _gone, ...header } = block.header
  block.header = {
    ...header,
    touches: revisionOf(block.header) + 1,
    refused: [],
    parked: 0,
    paused: false,
    pause: null,
    pauseGeneration: null,
    title: null,
    published: 0,
    keysGoneTo: 0,
    failed: 0,
    aborted: 0,
    forgottenAt: block.now, // O4
    lastSequence: 0,
    tail: emptyTail,
  }
  block.touched = true
}

/** How many records the sink lacks that it can still be given. // O6 */
const recordsOwed = ({ header, sql, thread }: Block, { abort: all }: ForgetCommand): number => {
  const count = countUnpublished(thread, header)
  if (count === 0 || !all) return count
  const { publishBytes: bytes, publishRecords: limit } = thread.limits
  return decoded(() => unpublished(sql, header, { bytes, limit })) === undefined ? 0 : count
}

interface Done {
  readonly answer: Answer
  readonly running: Owed["running"]
}

const forgetIn = (block: Block, command: ForgetCommand): Done => {
  const mayBeLate = !command.abort || block.header.unreadable !== "meta" // O3
  const late = mayBeLate ? fenced(block, command.generation) : undefined
  if (late !== undefined) return { answer: Result.fail(late), running: [] }
  const { count, running } = owedIn(block, command)
  const outbox = block.header.unreadable === undefined ? countOwed(block.sql) : 0 // O5
  const records = recordsOwed(block, command)
  if (count > 0 || outbox > 0 || records > 0) {
    raiseFence(block, command.generation) // O1
    const owed = { nonterminal: count, outbox, ...(records > 0 ? { records } : {}) }
    return { answer: Result.fail(new WorkOwed(owed)), running }
  }
  erase(block) // O1
  return { answer: Result.succeed({ forgottenAt: block.now }), running }
}

/** Forgets the thread, or says what it owes. What still runs is told to end once that is durable. */
export const forget = (
  thread: Thread,
  command: ForgetCommand,
): Effect.Effect<Answer, ReadFailure> =>
  Effect.flatMap(
    durable(thread, "forget", () =>
      transactAnyhow(thread, command, (block) => forgetIn(block, command)),
    ),
    ({ answer, running }) =>
      Effect.as(
        Effect.forEach(running, (submissionId) => tell(thread, submissionId), { discard: true }),
        answer,
      ),
  )

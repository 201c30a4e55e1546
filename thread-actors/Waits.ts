/**
 * Waits: what runs have asked of somebody outside, or of time, a row each until it is answered.
 *
 * The request of a wait is part 0 of its name in the journal (a wait for a signal without a timeout has none), its
 * answer is part 1: a decision, a signal, a timer's firing, a child's settlement, or a withdrawal.
 *
 * - W1 A row stands exactly while its wait is open; it goes in the block that records the answer.
 * - W2 An answer makes a run that is suspended for its waits ready in the same block; one that has an attempt is told
 *   by whoever committed it.
 * - W3 What is due by the clock fires before any word about the same run is taken.
 */
import type { RecordKind } from "../contracts/JournalRecord.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Block } from "./Block.ts"
import { append } from "./Journal.ts"
import { retriesOf, type SubmissionRow } from "./Ledger.ts"
import { release } from "./Release.ts"
import { type Check, holds, isCount, isMillis, isName, maybe, oneOf } from "./StoredColumns.ts"
import { suspensionOf } from "./Suspension.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"

export const waitKinds = ["approval", "signal", "timer", "child"] as const
export type WaitKind = (typeof waitKinds)[number]

export interface StoredWait {
  readonly submission: number
  readonly name: string
  readonly kind: WaitKind
  readonly sinceAt: number
  /** When it fires or expires; none if it waits as long as it takes. */
  readonly dueAt: number | null
  /** The race that it decides alone for one of its branches, and that branch. */
  readonly race: string | null
  readonly branch: string | null
}

const checks: { readonly [K in keyof StoredWait]: Check } = {
  submission: isCount,
  name: isName,
  kind: oneOf(waitKinds),
  sinceAt: isMillis,
  dueAt: maybe(isMillis),
  race: maybe(isName),
  branch: maybe(isName),
}

type Raw = { readonly [K in keyof StoredWait]: string | number | null }

/** Whether a row decodes. */
export const isSoundWait = (row: Raw): boolean => holds(row, checks)

const decode = (row: Raw): StoredWait => {
  if (!isSoundWait(row)) throw new Unreadable("waits")
  return row as unknown as StoredWait
}

const columns = "submission, name, kind, sinceAt, dueAt, race, branch"

/** The part of the journal under which a wait is answered. */
export const answerPart = 1

/** An open wait of a run by its name. */
export const findWait = (sql: Sql, submission: number, name: string): StoredWait | undefined => {
  const [row] = sql.all<Raw>(
    `SELECT ${columns} FROM waits WHERE submission = ? AND name = ?`,
    submission,
    name,
  )
  return row === undefined ? undefined : decode(row)
}

/** The open waits of a run, by name. */
export const waitsOf = (sql: Sql, submission: number): ReadonlyArray<StoredWait> =>
  sql
    .all<Raw>(`SELECT ${columns} FROM waits WHERE submission = ? ORDER BY name`, submission)
    .map(decode)

/** The open waits of a run, the oldest first. */
export const oldestWaits = (
  sql: Sql,
  submission: number,
  limit: number,
): ReadonlyArray<StoredWait> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM waits WHERE submission = ? ORDER BY sinceAt, name LIMIT ?`,
      submission,
      limit,
    )
    .map(decode)

/** The first rows of the table, as they are. */
export const rawWaits = (sql: Sql, limit: number): ReadonlyArray<Raw> =>
  sql.all<Raw>(`SELECT ${columns} FROM waits ORDER BY submission, name LIMIT ?`, limit)

/** When the first of its waits fires or expires; none if none does. */
export const firstTimerAt = (sql: Sql, submission: number): number | undefined => {
  const [first] = sql.all<{ dueAt: number | null }>(
    "SELECT min(dueAt) AS dueAt FROM waits WHERE submission = ?",
    submission,
  )
  return first?.dueAt ?? undefined
}

/** Opens a wait. Writing it again changes nothing. // W1 */
export const openWait = (sql: Sql, wait: StoredWait): void =>
  sql.run(
    `INSERT OR IGNORE INTO waits (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)`,
    wait.submission,
    wait.name,
    wait.kind,
    wait.sinceAt,
    wait.dueAt,
    wait.race,
    wait.branch,
  )

const closeWait = (sql: Sql, submission: number, name: string): void =>
  sql.run("DELETE FROM waits WHERE submission = ? AND name = ?", submission, name)

/** All waits of a submission, when it settles. */
export const closeWaits = (sql: Sql, submission: number): void =>
  sql.run("DELETE FROM waits WHERE submission = ?", submission)

export interface Answer {
  readonly kind: Extract<
    RecordKind,
    "ApprovalDecided" | "SignalReceived" | "TimerFired" | "ChildSettled" | "WaitWithdrawn"
  >
  /** Canonical JSON. */
  readonly payload: string
}

/** Records the answer of a wait, and closes it. Gives the record's sequence. // W1 */
export const recordAnswer = (
  block: Block,
  row: Pick<SubmissionRow, "sequence" | "epoch">,
  name: string,
  answer: Answer,
): number => {
  const sequence = append(block, {
    submission: row.sequence,
    epoch: row.epoch,
    name,
    part: answerPart,
    ...answer,
  })
  closeWait(block.sql, row.sequence, name)
  return sequence
}

/** What a timer's record says. */
export const firedPayload = ({ dueAt }: Pick<StoredWait, "dueAt">): string =>
  JSON.stringify({ dueAt })

/** Fires what is due of a run. Gives the names, the earliest first. // W3 */
export const fireDue = (
  block: Block,
  row: Pick<SubmissionRow, "sequence" | "epoch">,
): ReadonlyArray<string> => {
  const due = block.sql
    .all<Raw>(
      `SELECT ${columns} FROM waits WHERE submission = ? AND dueAt <= ? ORDER BY dueAt, name`,
      row.sequence,
      block.now,
    )
    .map(decode)
  for (const wait of due)
    recordAnswer(block, row, wait.name, { kind: "TimerFired", payload: firedPayload(wait) })
  return due.map(({ name }) => name)
}

/** Lets a run go on that was suspended for its waits: one of them was answered in this block. // W2 */
export const resumeWaiting = (block: Block, row: SubmissionRow): void => {
  if (row.state !== "suspended" || suspensionOf(row)?.kind !== "wait") return
  release(block, row, { ended: 0, vanished: 0, dueAt: null, retries: retriesOf(row) })
}

/** Tells the attempt that runs here of answers to its waits, if there is one. // W2 */
export const tellAnswered = (
  thread: Thread,
  submission: number,
  names: ReadonlyArray<string>,
): void => {
  const { live } = thread
  if (live === undefined || live.sequence !== submission || names.length === 0) return
  live.progressed = true
  for (const name of names) live.waiting.get(name)?.()
}

/**
 * Waits: what runs have asked of somebody outside, or of time, from the answer on.
 *
 * The request of a wait is part 0 of its name in the journal (a wait for a signal without a timeout has none), its
 * answer is part 1: a decision, a signal, a timer's firing, a child's settlement, or a withdrawal.
 *
 * - W1 A row stands exactly while its wait is open; it goes in the block that records the answer.
 * - W2 An answer makes a run that is suspended for its waits ready in the same block; one that has an attempt is told
 *   once it is committed, whichever block it is: of what has not been recorded nobody is told.
 * - W3 What is due by the clock fires before any word about the same run is taken.
 * - W4 The answer of a wait that is all of a race's branch decides the race in the same block; what was withdrawn by it
 *   is answered no more.
 */
import type { RecordKind } from "../contracts/JournalRecord.ts"
import type { Block } from "./Block.ts"
import { append, bytesOf } from "./Journal.ts"
import { retriesOf, type SubmissionRow } from "./Ledger.ts"
import { decideBySole } from "./RaceEnd.ts"
import { release } from "./Release.ts"
import { suspensionOf } from "./Suspension.ts"
import { answerPart, closeWait, dueWaits, findWait, type StoredWait } from "./WaitRows.ts"

export interface Answer {
  readonly kind: Extract<
    RecordKind,
    "ApprovalDecided" | "SignalReceived" | "TimerFired" | "ChildSettled" | "WaitWithdrawn"
  >
  /** Canonical JSON. */
  readonly payload: string
}

/** What is needed of a run's row to answer one of its waits. */
export type Answered = Pick<SubmissionRow, "sequence" | "epoch" | "id" | "principal">

/** Records the answer of a wait, and closes it. Gives the record's sequence. // W1 */
export const recordAnswer = (block: Block, row: Answered, name: string, answer: Answer): number => {
  const wait = findWait(block.sql, row.sequence, name)
  const sequence = append(block, {
    submission: row.sequence,
    epoch: row.epoch,
    name,
    part: answerPart,
    races: wait?.races ?? null,
    ...answer,
  })
  closeWait(block.sql, row.sequence, name)
  block.answered.push({ submission: row.sequence, name, bytes: bytesOf(answer.payload) }) // W2
  if (wait !== undefined) decideBySole(block, row, wait) // W4
  return sequence
}

/** What a timer's record says. */
export const firedPayload = ({ dueAt }: Pick<StoredWait, "dueAt">): string =>
  JSON.stringify({ dueAt })

/** Fires what is due of a run. Gives the names, the earliest first. // W3 */
export const fireDue = (block: Block, row: Answered): ReadonlyArray<string> =>
  dueWaits(block.sql, row.sequence, block.now).flatMap((wait) => {
    if (findWait(block.sql, row.sequence, wait.name) === undefined) return [] // W4
    recordAnswer(block, row, wait.name, { kind: "TimerFired", payload: firedPayload(wait) })
    return [wait.name]
  })

/** Lets a run go on that was suspended for its waits: one of them was answered in this block. // W2 */
export const resumeWaiting = (block: Block, row: SubmissionRow): void => {
  if (row.state !== "suspended" || suspensionOf(row)?.kind !== "wait") return
  release(block, row, { ended: 0, vanished: 0, dueAt: null, retries: retriesOf(row) })
}

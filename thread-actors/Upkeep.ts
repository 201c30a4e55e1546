/**
 * Upkeep: what a thread does by itself before it looks at its head. Its schedules give it their inputs, and what has
 * settled long ago is pruned.
 *
 * - U1 An occurrence is accepted in the block that moves its schedule on: once, whatever is lost.
 * - U2 What is overdue together is one input, that of the last occurrence.
 * - U3 One that cannot be accepted now waits and is tried again, later each time; what comes due meanwhile joins it.
 * - U4 A paused thread gives itself nothing, and prunes nothing.
 */
import { Effect, Result } from "effect"
import { delayMillis } from "../contracts/Backoff.ts"
import type { IdempotencyKey } from "../contracts/Identifiers.ts"
import { sha256 } from "../platform/Digest.ts"
import { storedContent, type Submitted, take } from "./Admission.ts"
import { type Block, touch, transact } from "./Block.ts"
import { type Overdue, overdue } from "../platform/Cron.ts"
import { durable, reading, type ReadFailure } from "./Durable.ts"
import type { Header } from "./Header.ts"
import { bytesOf } from "./Journal.ts"
import { keepRetention, retentionAt } from "./Retention.ts"
import { dueSchedules, type ScheduleRow, schedulesAt, writeSchedule } from "./ScheduleRows.ts"
import { clockOf, type Thread } from "./Thread.ts"

/** When there is something to do. Where there is no schedule and all is kept, no row is read. */
export const upkeepAt = (thread: Thread): number | undefined => {
  const times = [schedulesAt(thread.host.storage.sql), retentionAt(thread)]
  const first = Math.min(...times.filter((time) => time !== undefined))
  return first === Infinity ? undefined : first
}

const submittedOf = (
  { ownerId, threadId }: Pick<Header, "ownerId" | "threadId">,
  { agent, name, principal, title }: ScheduleRow,
  occurrence: number,
): Submitted => ({
  ownerId,
  threadId,
  principal,
  agent,
  ...(title === null ? {} : { title }),
  // A function of the occurrence: it is accepted once. // U1
  idempotencyKey: sha256("schedule\n", name, "\n", String(occurrence)) as IdempotencyKey,
})

/** It moves on behind what has passed. */
const moved = (row: ScheduleRow, { nextAt }: Overdue): ScheduleRow => ({
  ...row,
  nextAt: nextAt ?? null,
  dueAt: nextAt ?? null,
  tries: 0,
  waitsFor: null,
})

const putOff = (block: Block, row: ScheduleRow, tag: string): ScheduleRow => {
  const { scheduleRetryMaxMillis, scheduleRetryMillis } = block.thread.limits
  const curve = { baseMillis: scheduleRetryMillis, maxMillis: scheduleRetryMaxMillis }
  const dueAt = block.now + delayMillis(curve, row.tries + 1)
  return { ...row, dueAt, tries: row.tries + 1, waitsFor: tag } // U3
}

/** What becomes of a schedule that is due. */
const kept = (block: Block, row: ScheduleRow): ScheduleRow => {
  const { now, thread } = block
  const passed = {
    firstAt: row.nextAt ?? now,
    now,
    countMax: thread.limits.occurrencesCounted,
  }
  const found = overdue(row, passed)
  // An expression that another version of the code could read, or a zone that the platform had.
  if (Result.isFailure(found)) return putOff(block, row, "InvalidInput")
  const { count, latestAt } = found.success
  const canonical = { text: row.input, bytes: bytesOf(row.input) }
  const submitted = submittedOf(block.header, row, latestAt)
  const answer = take(block, submitted, storedContent(row.agent, canonical)) // U2
  if (Result.isSuccess(answer))
    return {
      ...moved(row, found.success),
      lastAt: latestAt,
      lastSubmissionId: answer.success.submissionId,
      collapsed: row.collapsed + count - 1,
    }
  // Somebody has used its key for something else: it will never be free.
  if (answer.failure._tag === "IdempotencyConflict")
    return { ...moved(row, found.success), collapsed: row.collapsed + count }
  return putOff(block, row, answer.failure._tag)
}

const keepIn = (block: Block): void => {
  const { limits } = block.thread
  if (block.header.paused) return // U4
  for (const row of dueSchedules(block.sql, block.now, limits.schedulesPerThread)) {
    writeSchedule(block.sql, kept(block, row)) // U1
    touch(block)
  }
  keepRetention(block)
}

/** Does what is due, in one block; without anything due there is none. */
export const keepUp = (thread: Thread): Effect.Effect<void, ReadFailure> =>
  Effect.flatMap(
    reading(thread, "upkeep", () => (thread.hasTables ? upkeepAt(thread) : undefined)),
    (at) =>
      at === undefined || at > clockOf(thread)
        ? Effect.void
        : durable(thread, "upkeep", () => transact(thread, keepIn)),
  )

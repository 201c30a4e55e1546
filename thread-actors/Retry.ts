/**
 * The command `retry`: ends the rest that a submission takes between two attempts, and has its parked messages carried
 * again, in one block.
 *
 * - R1 Only rest is ended: a time that its caller has asked for, a call whose end is waited for and a word
 *   that is waited for stay.
 * - R2 What was changed is recorded with who said so; where nothing is, the state is told and nothing recorded.
 * - R3 Messages outlive their run: those of one that has settled are carried again, too.
 * - R4 An order is carried out once, whatever it came to: a replay of it by the platform would change a thread behind its
 *   owner's back.
 */
import { type Effect, Result } from "effect"
import { JoinedToHost, NotAwaiting, SettlementConflict } from "../contracts/Errors.ts"
import type { Generation, Principal, SubmissionId } from "../contracts/Identifiers.ts"
import type { RetryRefusal, RetryReply } from "../contracts/Retry.ts"
import type { Outcome } from "../contracts/Submission.ts"
import { type Block, transact } from "./Block.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { remember } from "./Fence.ts"
import { type Suspension, suspensionOf } from "./Suspension.ts"
import { readHead } from "./Head.ts"
import type { Identity } from "./Identity.ts"
import { append } from "./Journal.ts"
import { readHost, readRow, retriesOf, type StoredRetry, type SubmissionRow } from "./Ledger.ts"
import { storedCalls } from "./OpenCalls.ts"
import { carryAgain } from "./Outbox.ts"
import { submissionOf, whereKnown } from "./SubmissionCommand.ts"
import type { Thread } from "./Thread.ts"

export interface RetryOrder extends Identity {
  readonly submissionId: SubmissionId
  readonly author: string
  readonly reason: string
  readonly principal: Principal
  readonly generation: Generation
}

type Answer = Result.Result<RetryReply, RetryRefusal>

/** What a submission rests by: the columns of its row. */
export type Rest = Pick<SubmissionRow, "dueAt" | "retries" | "suspension">

/**
 * A suspension with the rest of its run over, if that is part of it: the rest after an attempt that left a call open,
 * or a step's before its next try beside what else is waited for. A timer's time stays. // R1
 */
const suspendedWithoutRest = (
  suspension: Suspension | undefined,
  rests: boolean,
  now: number,
): Suspension | undefined => {
  if (suspension?.kind === "call") return { ...suspension, dueAt: null }
  if (suspension?.kind !== "wait" || suspension.dueAt === null || !rests) return undefined
  return { ...suspension, dueAt: Math.min(suspension.dueAt, now) }
}

/** The same submission with its rest over; none if it does not rest. Pure. */
export const withoutRest = (row: SubmissionRow, now: number): Rest | undefined => {
  const retries = retriesOf(row)
  const suspension = suspensionOf(row)
  const isAhead = (dueAt: number | null) => dueAt !== null && dueAt > now
  const rests = [...retries.values()].map(dueAtOf).some(isAhead)
  const afterCall = suspension?.kind === "call" ? suspension.dueAt : null
  if (!rests && !isAhead(row.dueAt) && !isAhead(afterCall)) return undefined
  const rest = suspendedWithoutRest(suspension, rests, now)
  const due = [...retries].map(([name, retry]): [string, StoredRetry] => [
    name,
    { ...retry, dueAt: Math.min(retry.dueAt, now) },
  ])
  return {
    dueAt: null,
    retries: row.retries === null ? null : JSON.stringify(Object.fromEntries(due)),
    suspension: rest === undefined ? row.suspension : JSON.stringify(rest),
  }
}

const dueAtOf = (retry: StoredRetry): number => retry.dueAt

/** Records who had what was changed. // R2 */
const recordOrder = (block: Block, row: SubmissionRow, order: RetryOrder): void => {
  const { author, principal, reason } = order
  append(block, {
    submission: row.sequence,
    kind: "Recovered",
    epoch: row.epoch,
    payload: JSON.stringify({ author, command: "retry", principal, reason }),
  })
}

/** Ends its rest, if it takes one. */
const endRest = (block: Block, row: SubmissionRow, order: RetryOrder): void => {
  const rest = withoutRest(row, block.now)
  if (rest === undefined) return // R2
  block.sql.run(
    "UPDATE submissions SET dueAt = ?, retries = ?, suspension = ? WHERE sequence = ?", // R1
    rest.dueAt,
    rest.retries,
    rest.suspension,
    row.sequence,
  )
  recordOrder(block, row, order)
}

/** When it will be tried; none when something else than time is in its way. */
const triedAt = (block: Block, row: SubmissionRow): number | undefined => {
  if (row.state !== "ready" || block.header.paused) return undefined
  const at = Math.max(row.dueAt ?? 0, row.notBefore ?? 0, block.now)
  if (at > block.now) return at
  const { head } = readHead(block.sql, block.header, block.now)
  return head?.sequence === row.sequence ? at : undefined
}

const stateOf = (block: Block, sequence: number): RetryReply => {
  const row = readRow(block.sql, sequence)
  if (row === undefined) throw new Error("a submission went away inside a block")
  const dueAt = triedAt(block, row)
  return dueAt === undefined ? { state: row.state } : { state: row.state, dueAt }
}

/** What an undecided submission waits for, by the agent's name for it. */
const awaited = (block: Block, row: SubmissionRow): NotAwaiting => {
  const call = storedCalls(block.sql, row.sequence).find(({ unknownAt }) => unknownAt !== null)
  return new NotAwaiting({ submissionId: row.id, name: call?.name ?? "" })
}

const retryIn = (block: Block, order: RetryOrder): Answer => {
  const { submissionId } = order
  const found = submissionOf(block, order)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const row = found.success
  remember(block, order.generation) // R4
  const carried = carryAgain(block, row.sequence, block.thread.limits.messageDeadlineMillis)
  if (carried > 0) {
    recordOrder(block, row, order) // R3
    if (!["ready", "suspended"].includes(row.state))
      return Result.succeed(stateOf(block, row.sequence))
  }
  switch (row.state) {
    case "settled":
      return Result.fail(new SettlementConflict({ submissionId, outcome: row.outcome as Outcome }))
    case "joined":
      return Result.fail(
        new JoinedToHost({ submissionId, hostSubmissionId: readHost(block.sql, row) }),
      )
    case "unknown":
      return Result.fail(awaited(block, row)) // R1
    case "running":
      break
    case "ready":
    case "suspended":
      endRest(block, row, order)
  }
  return Result.succeed(stateOf(block, row.sequence))
}

/** Takes the command. A refusal is an answer; what kept the thread from looking is a failure. */
export const retry = (thread: Thread, order: RetryOrder): Effect.Effect<Answer, ReadFailure> =>
  whereKnown(thread, order, () =>
    durable(thread, "retry", () => transact(thread, (block) => retryIn(block, order))),
  )

/**
 * The command `resolveApproval`: one block that takes a decision, or says why not; then the live attempt is told.
 *
 * - P1 The first decision stands. The same words again get it; others are told it.
 * - P2 What has expired by the thread's clock is over, whoever asks first.
 * - P3 A decision makes a run that waits ready in its block; one that runs is told after it.
 */
import { type Effect, Result } from "effect"
import {
  JoinedToHost,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
} from "../contracts/Errors.ts"
import type { Generation, Principal, SubmissionId } from "../contracts/Identifiers.ts"
import type { ResolveApprovalRefusal, ResolveApprovalReply } from "../contracts/ResolveApproval.ts"
import type { Outcome } from "../contracts/Submission.ts"
import { type Block, transact } from "./Block.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import type { Identity } from "./Identity.ts"
import { findPart } from "./Journal.ts"
import { readHost, readRow, type SubmissionRow } from "./Ledger.ts"
import { recordIdOf } from "./OpenCalls.ts"
import { kept, submissionOf, whereKnown } from "./SubmissionCommand.ts"
import type { Thread } from "./Thread.ts"
import { parsed, Unreadable } from "./Unreadable.ts"
import { answerPart, findWait } from "./WaitRows.ts"
import { fireDue, recordAnswer, resumeWaiting } from "./Waits.ts"

export interface ApprovalCommand extends Identity {
  readonly submissionId: SubmissionId
  readonly name: string
  readonly approved: boolean
  readonly author: string
  readonly reason: string
  readonly principal: Principal
  readonly generation: Generation
}

type Answer = Result.Result<ResolveApprovalReply, ResolveApprovalRefusal>

/** A decision as its record holds it. */
interface Decision {
  readonly approved?: unknown
  readonly author?: unknown
  readonly reason?: unknown
}

const told = ({ approved, author, reason }: Decision): string =>
  `${String(author)}: ${String(reason)} (${approved === true ? "approved" : "denied"})`
    .slice(0, 256)
    .toWellFormed()

const isSame = (first: Decision, command: ApprovalCommand): boolean =>
  first.approved === command.approved &&
  first.author === command.author &&
  first.reason === command.reason

const replyOf = (block: Block, row: SubmissionRow, command: ApprovalCommand): Answer => {
  const { approved, name } = command
  const [record] = block.sql.all<{ recordedAt: number }>(
    "SELECT recordedAt FROM journal WHERE submission = ? AND name = ? AND part = ?",
    row.sequence,
    name,
    answerPart,
  )
  const now = readRow(block.sql, row.sequence)
  if (record === undefined || now === undefined) throw new Unreadable("journal")
  return Result.succeed({
    recordId: recordIdOf(row.id, { name, part: 0 }),
    approved,
    decidedAt: record.recordedAt,
    state: now.state,
  })
}

/** Why nothing waits for a decision. */
const notAwaiting = (block: Block, row: SubmissionRow, name: string): ResolveApprovalRefusal => {
  if (row.state === "settled")
    return new SettlementConflict({ submissionId: row.id, outcome: row.outcome as Outcome })
  if (row.state === "joined")
    return new JoinedToHost({
      submissionId: row.id,
      hostSubmissionId: readHost(block.sql, row),
    })
  return new NotAwaiting({ submissionId: row.id, name })
}

/** The decision that was recorded first, if there is one. // P1 */
const first = (block: Block, row: SubmissionRow, command: ApprovalCommand): Answer | undefined => {
  const { name } = command
  const answer = findPart(block.sql, row.sequence, { name, part: answerPart })
  if (answer?.kind !== "ApprovalDecided") return undefined
  const decision = (parsed(answer.payload, "journal") ?? {}) as Decision
  return isSame(decision, command)
    ? replyOf(block, row, command)
    : Result.fail(new ResolutionConflict({ first: told(decision) }))
}

const payloadOf = ({ approved, author, principal, reason }: ApprovalCommand): string =>
  JSON.stringify({ approved, author, principal, reason })

const decideIn = (block: Block, command: ApprovalCommand): Answer => {
  const found = submissionOf(block, command)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const row = found.success
  const before = first(block, row, command)
  if (before !== undefined) return before
  const { name } = command
  const fired = fireDue(block, row) // P2
  const waits = findWait(block.sql, row.sequence, name)?.kind === "approval"
  if (waits)
    recordAnswer(block, row, name, { kind: "ApprovalDecided", payload: payloadOf(command) })
  if (waits || fired.length > 0) resumeWaiting(block, row) // P3
  const answer = waits ? replyOf(block, row, command) : Result.fail(notAwaiting(block, row, name))
  return kept(block, command, answer)
}

/** Takes the command. A refusal is an answer; what kept the thread from looking is a failure. */
export const resolveApproval = (
  thread: Thread,
  command: ApprovalCommand,
): Effect.Effect<Answer, ReadFailure> =>
  whereKnown(thread, command, () =>
    durable(thread, "decide", () => transact(thread, (block) => decideIn(block, command))),
  )

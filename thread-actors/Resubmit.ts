/**
 * The command `resubmit`: admits the work of a submission that failed, or was aborted, once more, in one block.
 *
 * - U1 What completed, or is still open, is never done twice by it.
 * - U2 The new submission and its link to the old one are written together; its first record says who asked and why.
 * - U3 The old one's input is taken as it is stored, if it still is what was digested at its admission. A receipt that
 *   was given for it is told without reading it.
 * - U4 It goes on in the trace of the old one, which so shows how the work came to its end.
 */
import { type Effect, Result } from "effect"
import {
  IdempotencyConflict,
  InputPruned,
  JoinedToHost,
  NotSettled,
  SettlementConflict,
} from "../contracts/Errors.ts"
import type { IdempotencyKey, SubmissionId } from "../contracts/Identifiers.ts"
import { isTraceparent } from "../contracts/observability/TraceContext.ts"
import type { ResubmitRefusal } from "../contracts/Resubmit.ts"
import type { Outcome, Receipt } from "../contracts/Submission.ts"
import { sha256 } from "../platform/Digest.ts"
import {
  type Admission,
  type Admitted,
  cameAgain,
  type Content,
  contentOf,
  known,
  mayTurnOut,
  type Sent,
  take,
} from "./Admission.ts"
import { type Block, transact } from "./Block.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { remember } from "./Fence.ts"
import { append } from "./Journal.ts"
import { readHost, readInput, type SubmissionRow } from "./Ledger.ts"
import { pruned } from "./Retention.ts"
import { submissionOf, whereKnown } from "./SubmissionCommand.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"

export interface ResubmitOrder extends Admitted {
  readonly submissionId: SubmissionId
  readonly idempotencyKey: IdempotencyKey
  readonly author: string
  readonly reason: string
  /** Instead of the old one's; null is an input, too. */
  readonly input?: unknown
}

type Answer = Result.Result<Receipt, ResubmitRefusal>

/** Why the work of a submission is not to be done again. // U1 */
const refusalOf = (block: Block, row: SubmissionRow): ResubmitRefusal | undefined => {
  const { id: submissionId, state } = row
  if (state === "joined")
    return new JoinedToHost({ submissionId, hostSubmissionId: readHost(block.sql, row) })
  if (state !== "settled") return new NotSettled({ submissionId, state })
  const outcome = row.outcome as Outcome
  return outcome === "completed" ? new SettlementConflict({ submissionId, outcome }) : undefined
}

/** The old one's input, as it was accepted. // U3 */
const storedContent = (block: Block, row: SubmissionRow): Result.Result<Content, InputPruned> => {
  const text = readInput(block.sql, row.sequence)
  if (text === pruned) return Result.fail(new InputPruned({ submissionId: row.id }))
  if (sha256(row.agent, "\n", text) !== row.inputDigest) throw new Unreadable("submissions")
  return Result.succeed({
    canonical: { text, bytes: row.inputBytes },
    digest: row.inputDigest,
  })
}

const admissionOf = (order: ResubmitOrder, row: SubmissionRow): Admission => ({
  ownerId: order.ownerId,
  threadId: order.threadId,
  principal: order.principal,
  generation: order.generation,
  replayOnly: order.replayOnly,
  trace: isTraceparent(row.trace) ? row.trace : order.trace, // U4
  agent: row.agent,
  input: order.input,
  idempotencyKey: order.idempotencyKey,
  resubmissionOf: row.id,
})

/** Says of a new submission why it is there. */
const record = (block: Block, { sequence }: Receipt, order: ResubmitOrder): void => {
  const { author, principal, reason, submissionId } = order
  append(block, {
    submission: sequence,
    kind: "Resubmitted",
    epoch: 0,
    payload: JSON.stringify({ author, principal, reason, resubmissionOf: submissionId }), // U2
  })
}

const takeAgain = (block: Block, order: ResubmitOrder, row: SubmissionRow): Answer => {
  const refusal = refusalOf(block, row)
  if (refusal !== undefined) return Result.fail(refusal)
  const admission = admissionOf(order, row)
  const first =
    order.input === undefined ? known(block, admission, { digest: row.inputDigest }) : undefined
  if (first instanceof IdempotencyConflict) return Result.fail(first)
  if (first !== undefined) return Result.succeed(first) // U3
  const content: Result.Result<Content, ResubmitRefusal> =
    order.input === undefined ? storedContent(block, row) : contentOf(block.thread, admission)
  if (Result.isFailure(content)) return Result.fail(content.failure)
  const answer = take(block, admission, content.success)
  if (Result.isSuccess(answer) && !answer.success.duplicate) record(block, answer.success, order)
  return answer
}

const resubmitIn = (block: Block, order: Sent<ResubmitOrder>): Answer => {
  const found = submissionOf(block, order)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const late = cameAgain(block, order.now)
  if (late !== undefined) return Result.fail(late)
  const answer = takeAgain(block, order, found.success)
  if (mayTurnOut(block, answer)) remember(block, order.generation)
  return answer
}

/** Takes the command. A refusal is an answer; what kept the thread from looking is a failure. */
export const resubmit = (
  thread: Thread,
  order: Sent<ResubmitOrder>,
): Effect.Effect<Answer, ReadFailure> =>
  whereKnown(thread, order, () =>
    durable(thread, "resubmit", () => transact(thread, (block) => resubmitIn(block, order))),
  )

/**
 * The settlement of a child, as its parent's thread takes it: once, whatever the parent does meanwhile.
 *
 * - S1 It is recorded as the answer of the child's wait, unless that was answered or withdrawn before.
 * - S2 A parent whose end waited for its children settles with the last of them, in the same block.
 * - S3 A late, doubled or unknown one changes nothing, and is taken all the same: nobody is to send it for ever.
 * - S4 What is due by the clock fires first: a time that has come wins against a child that settled later.
 */
import { type Effect, Result } from "effect"
import type { ThreadUnreadable, Unavailable } from "../contracts/Errors.ts"
import type { Generation, MessageId, SubmissionId } from "../contracts/Identifiers.ts"
import type { Settlement } from "../contracts/Settlement.ts"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import { type Block, transactFirst } from "./Block.ts"
import { closeChild, hasOpenChildren } from "./ChildRows.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { fenced } from "./Fence.ts"
import type { Identity } from "./Identity.ts"
import { findPart } from "./Journal.ts"
import { findRow, readRow } from "./Ledger.ts"
import { settleAfterChildren } from "./Settle.ts"
import type { Thread } from "./Thread.ts"
import { parsed, Unreadable } from "./Unreadable.ts"
import { answerPart } from "./WaitRows.ts"
import { fireDue, recordAnswer, resumeWaiting } from "./Waits.ts"

/** What a parent keeps of a child's settlement. */
export type ChildEnd = Pick<Settlement, "outcome" | "output" | "failure" | "abort">

interface ChildSettled {
  readonly name: string
  readonly childId: MessageId
  readonly settlement: ChildEnd
}

export interface SettleChild extends Identity {
  readonly submissionId: SubmissionId
  readonly name: string
  readonly childId: MessageId
  readonly settlement: Settlement
  readonly generation: Generation
}

const payloadOf = ({ childId, settlement }: ChildSettled): string => {
  const { abort, failure, outcome, output } = settlement
  const end = {
    childId,
    outcome,
    ...(abort === undefined ? {} : { abort }),
    ...(failure === undefined ? {} : { failure }),
    ...(output === undefined ? {} : { output }),
  }
  const text = canonicalJson(end, { maxBytes: 4_194_304, maxNesting: 128 })
  if (Result.isFailure(text)) throw new Unreadable("outbox")
  return text.success.text
}

/** The child that a run has asked for under a name, and whether it waits for it. */
export const requestedChild = (block: Block, submission: number, name: string) => {
  const asked = findPart(block.sql, submission, { name, part: 0 })
  if (asked?.kind !== "ChildRequested") return undefined
  const { childId, detached } = parsed(asked.payload, "journal") as Readonly<
    Record<string, unknown>
  >
  return { childId, isDetached: detached === true }
}

/** Whether this run has asked for that child, and waits for it. */
const isAwaited = (block: Block, submission: number, { childId, name }: ChildSettled): boolean => {
  const asked = requestedChild(block, submission, name)
  return asked !== undefined && asked.childId === childId && !asked.isDetached
}

/** Takes it in a block. */
export const takeChildSettled = (block: Block, submission: number, child: ChildSettled): void => {
  const { name } = child
  const row = readRow(block.sql, submission)
  if (row === undefined || row.state === "settled" || !isAwaited(block, submission, child)) return // S3
  closeChild(block.sql, submission, name)
  const fired = fireDue(block, row) // S4
  const isAnswer = findPart(block.sql, submission, { name, part: answerPart }) === undefined
  if (isAnswer) recordAnswer(block, row, name, { kind: "ChildSettled", payload: payloadOf(child) }) // S1
  if (isAnswer || fired.length > 0) resumeWaiting(block, row)
  if (!hasOpenChildren(block.sql, submission))
    settleAfterChildren(block, readRow(block.sql, submission) ?? row) // S2
}

const settleIn = (block: Block, call: SettleChild): Result.Result<void, Unavailable> => {
  const late = fenced(block, call.generation)
  if (late !== undefined) return Result.fail(late)
  const row = findRow(block.sql, call.submissionId)
  if (row !== undefined) takeChildSettled(block, row.sequence, call)
  return Result.succeed(undefined)
}

/** Takes the notice of a child. */
export const settleChild = (
  thread: Thread,
  call: SettleChild,
): Effect.Effect<Result.Result<void, Unavailable | ThreadUnreadable>, ReadFailure> =>
  durable(thread, "settleChild", () =>
    transactFirst(thread, call, (block) => settleIn(block, call)),
  )

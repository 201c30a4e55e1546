/**
 * What became of entries that were carried: one block that takes what their targets have said.
 *
 * - A1 What is no longer here was acknowledged before; a late word changes nothing.
 * - A2 What may pass is tried again later, longer each time, until its deadline. A child's notice has none: it comes
 *   hourly in the end.
 * - A3 What is refused for good ends there: a message is parked, so that somebody sees it, and so is a child that nobody
 *   waits for; another that nobody takes is a child that has failed, and its parent is told in the same block.
 * - A4 A child that cannot be told to end, for its thread was forgotten or does not know it, has ended: nobody else
 *   will ever say so. One that was asked after has failed.
 * - A6 Where the journal takes no record, the end of a child stays here until it does; all else is carried on.
 * - A5 A word about what may stand here again under its id is taken once: a replay of it by the platform would be about
 *   what was queued since.
 */
import { type Effect, Result } from "effect"
import { delayMillis } from "../contracts/Backoff.ts"
import type { Unavailable } from "../contracts/Errors.ts"
import type { Generation, MessageId } from "../contracts/Identifiers.ts"
import type { OutboxResult } from "../contracts/Outbox.ts"
import { type Block, transactAnyhow } from "./Block.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { fenced, remember } from "./Fence.ts"
import type { Identity } from "./Identity.ts"
import { delayEntry, findEntry, parkEntry, removeEntry, type StoredEntry } from "./Outbox.ts"
import { requestedChild, takeChildSettled } from "./SettleChild.ts"
import type { Thread } from "./Thread.ts"
import { parsed } from "./Unreadable.ts"

export interface Acknowledgement extends Identity {
  readonly results: ReadonlyArray<OutboxResult>
  readonly generation: Generation
}

const day = 24 * 60 * 60 * 1_000

/** When an entry that could not be taken is tried again. // A2 */
const nextTryAt = (block: Block, entry: StoredEntry): number => {
  const { messageRetryMaxMillis, messageRetryMillis, noticeSlowMillis } = block.thread.limits
  const curve = { baseMillis: messageRetryMillis, maxMillis: messageRetryMaxMillis }
  const isSlow = entry.kind !== "Message" && block.now - entry.queuedAt >= day
  const at = block.now + (isSlow ? noticeSlowMillis : delayMillis(curve, entry.tries + 1))
  return entry.deadlineAt === null ? at : Math.min(at, entry.deadlineAt)
}

const delayed = (block: Block, entry: StoredEntry, tag: string): void => {
  if (entry.deadlineAt !== null && entry.deadlineAt <= block.now) parkEntry(block, entry, tag)
  else delayEntry(block, entry, nextTryAt(block, entry))
}

interface Refusal {
  readonly tag: string
  readonly message: string
}

/** A child that nobody takes, or that is not where it was taken, has failed. // A3 A4 */
const failedChild = (
  block: Block,
  { name, submission }: StoredEntry,
  { childId, message, tag }: Refusal & { readonly childId: MessageId },
): void => {
  const settlement = { outcome: "failed", failure: { tag, message } } as const
  takeChildSettled(block, submission, { name, childId, settlement })
}

/** The child that was asked after. */
const askedAfter = (entry: StoredEntry): MessageId =>
  (parsed(entry.payload, "outbox") as { readonly childId: MessageId }).childId

/** A child that cannot be told to end any more is over. // A4 */
const lostChild = (block: Block, entry: StoredEntry): void => {
  const said = parsed(entry.payload, "outbox") as {
    readonly author: string
    readonly childId: MessageId
    readonly reason: string
  }
  const { author, childId, reason } = said
  const { name, submission } = entry
  takeChildSettled(block, submission, {
    name,
    childId,
    settlement: { outcome: "aborted", abort: { author, reason, forced: true } },
  })
}

/** What is refused for good. // A3 A4 */
const refused = (
  block: Block,
  entry: StoredEntry,
  result: Extract<OutboxResult["result"], { readonly _tag: "Refused" }>,
): void => {
  const { kind, name, submission } = entry
  const isAlone = kind === "Child" && requestedChild(block, submission, name)?.isDetached === true
  if (kind === "Message" || isAlone) return parkEntry(block, entry, result.tag)
  if (block.header.unreadable !== undefined && kind !== "ChildNotice")
    return delayed(block, entry, result.tag) // A6
  removeEntry(block, entry)
  switch (kind) {
    case "Child":
      return failedChild(block, entry, { ...result, childId: entry.id })
    case "ChildAsk":
      return failedChild(block, entry, { ...result, childId: askedAfter(entry) })
    case "ChildAbort":
      return lostChild(block, entry)
    case "ChildNotice":
      return
  }
}

/** Whether it may be queued again: what is parked, when somebody says so; what is told and asked, when it is asked again. */
const mayComeBack = ({ kind }: StoredEntry, { _tag }: OutboxResult["result"]): boolean =>
  _tag === "Refused" || (_tag === "Taken" && kind !== "Message" && kind !== "Child")

const acknowledgeOne = (
  block: Block,
  generation: Generation,
  { id, result }: OutboxResult,
): void => {
  const entry = findEntry(block.sql, id)
  if (entry === undefined) return // A1
  if (mayComeBack(entry, result)) remember(block, generation) // A5
  switch (result._tag) {
    case "Taken":
      return removeEntry(block, entry)
    case "Refused":
      return refused(block, entry, result)
    case "Delayed":
      return delayed(block, entry, result.tag)
    default:
      return delayed(block, entry, "Unrecognized")
  }
}

const acknowledgeIn = (
  block: Block,
  { generation, results }: Acknowledgement,
): Result.Result<void, Unavailable> => {
  const late = fenced(block, generation)
  if (late !== undefined) return Result.fail(late)
  for (const result of results) acknowledgeOne(block, generation, result)
  return Result.succeed(undefined)
}

/** Takes what became of entries. */
export const acknowledgeOutbox = (
  thread: Thread,
  call: Acknowledgement,
): Effect.Effect<Result.Result<void, Unavailable>, ReadFailure> =>
  durable(thread, "acknowledge", () =>
    transactAnyhow(thread, call, (block) => acknowledgeIn(block, call)),
  )

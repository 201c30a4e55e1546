/**
 * What a parent says to its child: that it is to end, or asks how it is.
 *
 * - A1 A child that runs is told once the intent is durable; one that does not settles in the block.
 * - A2 A word that comes before its child leaves a mark, by which the late admission settles at once.
 * - A3 A child that has settled tells its parent once more: a parent that was restored may not have heard of it.
 * - A4 Its word comes after its admission was taken. So a child that is not here was lost, and so is the end of one that
 *   was pruned. The parent is told, and the mark keeps what it was told true: that child never runs again.
 * - A5 A word is taken once: a replay of it by the platform would have a notice carried of which the owner knows nothing.
 */
import { Effect, Result } from "effect"
import { ChildLost } from "../contracts/CarriedRpc.ts"
import type { ThreadUnreadable, Unavailable } from "../contracts/Errors.ts"
import type { Generation, MessageId, Principal, SubmissionId } from "../contracts/Identifiers.ts"
import { intend, tell } from "./Abort.ts"
import { type Block, transactFirst } from "./Block.ts"
import { noticeParent } from "./ChildNotice.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { fenced, remember } from "./Fence.ts"
import type { Identity } from "./Identity.ts"
import { type AbortIntent, findKey, readInput, readRow, type SubmissionRow } from "./Ledger.ts"
import { carriedKey } from "./Parent.ts"
import { pruned } from "./Retention.ts"
import { abortedBy, settle } from "./Settle.ts"
import { isText } from "./StoredColumns.ts"
import type { Thread } from "./Thread.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

export interface AskChild extends Identity {
  readonly childId: MessageId
  readonly principal: Principal
  readonly generation: Generation
}

export interface AbortChild extends AskChild {
  readonly author: string
  readonly reason: string
}

const leaveMark = (
  block: Block,
  { author, childId, principal, reason }: Omit<AbortChild, keyof Identity>,
): void =>
  block.sql.run(
    "INSERT OR IGNORE INTO abortMarks (childId, abort) VALUES (?, ?)", // A2
    childId,
    JSON.stringify({ author, principal, reason }),
  )

/** The word that came before this child, once. // A2 */
export const takeMark = (block: Block, childId: string): AbortIntent | undefined => {
  const [mark] = block.sql.all<{ abort: string }>(
    "SELECT abort FROM abortMarks WHERE childId = ?",
    childId,
  )
  if (mark === undefined) return undefined
  const said = parsed(mark.abort, "submissions") as { readonly [field: string]: unknown }
  const { author, principal, reason } = said
  if (![author, principal, reason].every(isText)) throw new Unreadable("submissions")
  block.sql.run("DELETE FROM abortMarks WHERE childId = ?", childId)
  return { author, principal, reason } as AbortIntent
}

interface Done {
  readonly answer: Result.Result<void, Unavailable | ChildLost>
  readonly running: SubmissionId | undefined
}

const done: Done = { answer: Result.succeed(undefined), running: undefined }

const refused = (error: Unavailable | ChildLost): Done => ({
  answer: Result.fail(error),
  running: undefined,
})

/** What was pruned has nothing to tell any more; whoever heard it before takes it as it is. // A3 A4 */
const tellAgain = (block: Block, row: SubmissionRow, { childId }: AskChild): Done => {
  if (readInput(block.sql, row.sequence) === pruned) return refused(new ChildLost({ childId }))
  noticeParent(block, row)
  return done
}

/** The child that goes on, or what there is to answer where none does. */
const findChild = (block: Block, call: AskChild, words: AbortIntent): SubmissionRow | Done => {
  const late = fenced(block, call.generation)
  if (late !== undefined) return refused(late)
  remember(block, call.generation) // A5
  const known = findKey(block.sql, carriedKey(call.childId), call.principal)
  const row = known === undefined ? undefined : readRow(block.sql, known.sequence)
  if (row === undefined) {
    leaveMark(block, { ...call, ...words }) // A4
    return refused(new ChildLost({ childId: call.childId }))
  }
  return row.state === "settled" ? tellAgain(block, row, call) : row
}

const askIn = (block: Block, call: AskChild): Done["answer"] => {
  const { principal } = call
  const words = { author: "heddle", principal, reason: "its parent was told that it is lost" }
  const found = findChild(block, call, words)
  return "answer" in found ? found.answer : done.answer
}

const abortIn = (block: Block, call: AbortChild): Done => {
  const row = findChild(block, call, call)
  if ("answer" in row) return row
  if (row.state === "joined" || row.abort !== null) return done
  const intent = intend(block, row, call)
  if (row.state === "running") return { ...done, running: row.id }
  settle(block, row, abortedBy(intent, false)) // A1
  return done
}

type Answer = Result.Result<void, Unavailable | ThreadUnreadable | ChildLost>

/** Answers a parent that asks. What it leaves is what the word of an end leaves, and so is its failpoint. */
export const askChild = (thread: Thread, call: AskChild): Effect.Effect<Answer, ReadFailure> =>
  durable(thread, "abortChild", () => transactFirst(thread, call, (block) => askIn(block, call)))

/** Takes the word. */
export const abortChild = (thread: Thread, call: AbortChild): Effect.Effect<Answer, ReadFailure> =>
  Effect.flatMap(
    durable(thread, "abortChild", () =>
      transactFirst(thread, call, (block) => abortIn(block, call)),
    ),
    ({ answer, running }) =>
      running === undefined ? Effect.succeed(answer) : Effect.as(tell(thread, running), answer), // A1
  )

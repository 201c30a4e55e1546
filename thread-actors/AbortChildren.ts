/**
 * Telling children to end, each once: the word goes the way their admission went, and cannot overtake it.
 */
import type { Block } from "./Block.ts"
import { markAborted, openChildren, type StoredChild } from "./ChildRows.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { messageIdOf, queue } from "./Outbox.ts"

/** Why a child is told to end, in the words of its abort. */
export interface EndWords {
  readonly author: string
  readonly reason: string
}

/** Tells one child, unless it was told before. */
export const abortChild = (
  block: Block,
  row: Pick<SubmissionRow, "id" | "principal">,
  child: StoredChild,
  { author, reason }: EndWords,
): void => {
  if (child.aborted === 1) return
  const payload = JSON.stringify({
    author,
    childId: child.childId,
    principal: row.principal,
    reason,
  })
  queue(block, {
    id: messageIdOf("ChildAbort", row.id, child.name),
    ownerId: block.header.ownerId,
    threadId: child.threadId,
    kind: "ChildAbort",
    submission: child.submission,
    name: child.name,
    deadlineAt: null,
    bytes: payload.length,
    payload,
  })
  markAborted(block.sql, child)
}

/** Tells all children of a run that have not settled. */
export const abortChildren = (block: Block, row: SubmissionRow, words: EndWords): void => {
  for (const child of openChildren(block.sql, row.sequence)) abortChild(block, row, child, words)
}

/**
 * Asking after the children that a thread waits for: what became of them may have been lost with a moment that it, or they,
 * went back behind.
 *
 * - Q1 It asks, and never asks for a child again: what a child has done outside is not undone by what was lost here.
 * - Q2 The question goes the way of the request, and cannot overtake one that is still to be carried.
 */
import type { Block } from "./Block.ts"
import { messageIdOf, queue } from "./Outbox.ts"
import { holds, isCount, isName, isSubmissionId, isText } from "./StoredColumns.ts"

type Open = {
  readonly [K in "id" | "principal" | "name" | "childId" | "threadId"]: string
} & { readonly submission: number }

const checks = {
  submission: isCount,
  id: isSubmissionId,
  principal: isName,
  name: isName,
  childId: isText,
  threadId: isText,
}

/** Queues a question for each open child. What does not decode is recovery's to tell. */
export const askAfterChildren = (block: Block): void => {
  const open = block.sql.all<Open>(
    `SELECT c.submission, c.name, c.childId, c.threadId, s.id, s.principal
     FROM children c JOIN submissions s ON s.sequence = c.submission WHERE s.state <> 'settled'`,
  )
  for (const child of open) {
    if (!holds(child, checks)) continue
    const { childId, id, name, principal, submission, threadId } = child
    const payload = JSON.stringify({ childId, principal })
    // Q2
    queue(block, {
      id: messageIdOf("ChildAsk", id, name),
      ownerId: block.header.ownerId,
      threadId: threadId as Parameters<typeof queue>[1]["threadId"],
      kind: "ChildAsk", // Q1
      submission,
      name,
      deadlineAt: null,
      bytes: payload.length,
      payload,
    })
  }
}

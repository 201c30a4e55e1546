/**
 * What a child tells its parent: that it has settled. Queued in the block that settles it, and never given up.
 */
import type { Block } from "./Block.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { messageIdOf, queue } from "./Outbox.ts"
import { parentOf } from "./Parent.ts"

/** Queues the notice of a child's settlement. It is read from the ledger when it is carried. */
export const noticeParent = (block: Block, row: SubmissionRow): void => {
  const parent = parentOf(row)
  if (parent === undefined) return
  queue(block, {
    id: messageIdOf("ChildNotice", row.id, ""),
    ownerId: block.header.ownerId,
    threadId: parent.threadId,
    kind: "ChildNotice",
    submission: row.sequence,
    name: "",
    deadlineAt: null,
    bytes: block.thread.limits.outputBytes,
    payload: "{}",
  })
}

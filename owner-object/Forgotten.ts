/**
 * The end of a forgetting: the lane of a thread that is no more, and those who wait to hear of it.
 *
 * Invariants
 * - Q1 The lane of a forgotten thread goes with its fault, whoever was told first: a lane that nobody
 *   can serve would be called for ever.
 * - Q2 Not while a mutation of it is under way, or a call whose end would bring the row back: the last
 *   of these is told the same, and removes it.
 * - Q3 Who waits is told what is committed, never before.
 */
import { Exit } from "effect"
import { ThreadForgotten } from "../contracts/Errors.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import { type Block, deleteLane, readLane } from "./Block.ts"
import * as RecoveryFaults from "./RecoveryFaults.ts"
import type { ForgetEnd } from "./Waiters.ts"

/** When the thread was forgotten, if that is what a call was told. */
export const forgottenAtOf = (error: unknown): number | undefined =>
  error instanceof ThreadForgotten ? error.forgottenAt : undefined

/** Tells those who wait for the end of a forgetting, once this block is committed. */
export const tellForgetEnd = (block: Block, threadId: ThreadId, end: ForgetEnd): void => {
  const { forgets } = block.life.waiters
  block.afterwards.push(() => {
    for (const tell of forgets.get(threadId) ?? []) tell(end)
  }) // Q3
}

/** Removes what the owner keeps of a thread that was forgotten, if it may. Tells whether it did. */
export const removeForgotten = (
  block: Block,
  threadId: ThreadId,
  facts: { readonly forgottenAt: number; readonly underWay: boolean },
): boolean => {
  const { forgottenAt, underWay } = facts
  tellForgetEnd(block, threadId, Exit.succeed({ _tag: "Forgotten", forgottenAt }))
  if (underWay || block.life.overlaps.has(threadId)) return false // Q2
  const lane = readLane(block, threadId)
  if (lane === undefined) return true
  RecoveryFaults.clearFault(block, lane)
  deleteLane(block, lane) // Q1
  return true
}

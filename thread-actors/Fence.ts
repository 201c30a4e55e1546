/**
 * The fence: which mutations of its owner a thread still takes.
 *
 * - F1 A generation at or below the fence, or one that was refused before, is refused whatever comes.
 * - F3 A visit asks after children once, and not behind a later one: it would queue questions of which the owner knows
 *   nothing.
 * - F4 What would be wrong behind a newer call is refused where one that was kept is newer. Its owner, if it waits, says it
 *   once more; one that was lost, and gives lower generations now, is told by the fence to go on above.
 * - F2 A refused generation is kept, so that a replay of the call by the platform cannot land behind the
 *   owner's back.
 */
import { Unavailable } from "../contracts/Errors.ts"
import { type Generation, incarnationOf } from "../contracts/Identifiers.ts"
import { askAfterChildren } from "./AskAfterChildren.ts"
import { type Block, patchHeader, touch, transactAnyhow } from "./Block.ts"
import { checkHeader } from "./Header.ts"
import type { Identity } from "./Identity.ts"
import type { Thread } from "./Thread.ts"

/** What a call hears that is older than the fence. */
export const behindFence = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "The call is older than the thread's fence",
})

/** The refusal of a call that comes too late; none if it may go on. Where that cannot be told, nothing may. */
export const fenced = (block: Block, generation: Generation): Unavailable | undefined => {
  if (block.header.unreadable === "meta") checkHeader(block.header)
  const { fence, refused } = block.header
  const late = (fence !== null && generation <= fence) || refused.includes(generation) // F1
  return late ? behindFence : undefined
}

/** Keeps a generation whose call was refused, or is not to be taken again. */
export const remember = (block: Block, generation: Generation): void => {
  if (block.header.refused.includes(generation)) return
  const refused = [...block.header.refused, generation] // F2
  patchHeader(block, { refused: refused.slice(-block.thread.limits.refusedGenerations) })
}

/** From now on mutations of this generation, or an older one, are refused. */
export const raiseFence = (block: Block, generation: Generation): void => {
  const { fence: old, unreadable } = block.header
  if (unreadable === "meta") return // It must not come to stand lower than it did.
  if (old !== null && old >= generation) return // F1
  patchHeader(block, { fence: generation })
  touch(block)
}

/** The refusal of a call that was sent before one that was kept; none if it was not. // F4 */
export const overtaken = (block: Block, generation: Generation): Unavailable | undefined => {
  const newer = block.header.refused.filter((one) => one > generation).toSorted()
  const newest = newer.at(-1) as Generation | undefined
  if (newest === undefined) return undefined
  raiseFence(block, newest)
  return behindFence
}

/** Whether an owner has sent it before what stands, as far as one of its lives tells: one that was lost may come back below. */
const isOlder = (generation: Generation, old: Generation | null): boolean =>
  old !== null && generation < old && incarnationOf(generation) === incarnationOf(old)

/** A fenced visit. One of an owner that knows nothing of the thread any more has it ask after what it waits for. */
export const fence = (
  thread: Thread,
  visit: Identity & { readonly generation: Generation; readonly anew?: boolean | undefined },
): void =>
  transactAnyhow(thread, visit, (block) => {
    const { fence: old, refused, unreadable } = block.header
    raiseFence(block, visit.generation)
    if (visit.anew !== true || unreadable !== undefined) return
    if (refused.includes(visit.generation) || isOlder(visit.generation, old)) return // F3
    remember(block, visit.generation)
    askAfterChildren(block)
  })

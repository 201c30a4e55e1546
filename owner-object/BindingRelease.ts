/**
 * After a deploy, waits for agents end at once: what was missing may be there now.
 *
 * A wait remembers the agents of the deployment that set it. Each life of an owner compares every wait
 * once, a bounded batch a pass; a deploy begins new lives. A wait that this deployment set itself is
 * left to its own time, so that threads still on old code cannot keep an owner busy.
 */
import { type Block, writeLane } from "./Block.ts"
import type { Lane } from "./Lane.ts"
import { type BindingCursor, bindingLanes } from "./LaneTable.ts"

/** Whether waits are left to compare. Memory only. */
export const bindingsLeft = (block: Block): boolean =>
  block.life.version > 0 && block.life.bindingsBehind !== undefined

/** Where the sweep goes on behind a batch: first over lanes in backoff, which leave it for the others, then over those. */
const behind = (
  { slow }: BindingCursor,
  batch: ReadonlyArray<Lane>,
  limit: number,
): BindingCursor | undefined => {
  const last = batch.length < limit ? undefined : batch.at(-1)
  if (last?.nextAt !== undefined) return { slow, ticket: last.nextAt, threadId: last.threadId }
  return slow ? { slow: false, ticket: 0, threadId: "" } : undefined
}

/** Ends the waits that another deployment set, the next batch of them. */
export const releaseBindings = (block: Block, agentsDigest: string): void => {
  const { life, limits, host } = block
  let limit = limits.promotionBatch
  while (life.version > 0 && life.bindingsBehind !== undefined && limit > 0) {
    const after = life.bindingsBehind
    const batch = bindingLanes(host.storage.sql, { after, limit })
    for (const lane of batch) {
      const { binding, ...marks } = lane.marks
      if (lane.damaged === true || binding === undefined || binding.agentsDigest === agentsDigest)
        continue
      writeLane(block, lane, { ...lane, marks }, { afterTurn: false })
    }
    life.bindingsBehind = behind(after, batch, limit)
    limit -= batch.length
  }
}

/**
 * After a deploy, waits for agents end at once: what was missing may be there now.
 *
 * A wait remembers the agents of the deployment that set it. Each life of an owner compares every wait
 * once, a bounded batch a pass; a deploy begins new lives. A wait that this deployment set itself is
 * left to its own time, so that threads still on old code cannot keep an owner busy.
 */
import { type Block, writeLane } from "./Block.ts"
import { bindingLanes } from "./LaneTable.ts"

/** Whether waits are left to compare. Memory only. */
export const bindingsLeft = (block: Block): boolean =>
  block.life.version > 0 && block.life.bindingsBehind !== undefined

/** Ends the waits that another deployment set, the next batch of them. */
export const releaseBindings = (block: Block, agentsDigest: string): void => {
  const { life, limits, host } = block
  const after = life.bindingsBehind
  if (after === undefined || life.version === 0) return
  const limit = limits.promotionBatch
  const batch = bindingLanes(host.storage.sql, { after, limit })
  for (const lane of batch) {
    const { binding, ...marks } = lane.marks
    if (lane.damaged === true || binding === undefined || binding.agentsDigest === agentsDigest)
      continue
    writeLane(block, lane, { ...lane, marks }, { afterTurn: false })
  }
  const last = batch.at(-1)
  life.bindingsBehind =
    last?.nextAt === undefined || batch.length < limit
      ? undefined
      : { ticket: last.nextAt, threadId: last.threadId }
}

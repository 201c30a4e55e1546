/**
 * After a deploy, waits for agents end at once: what was missing may be there now.
 *
 * A wait remembers the agents of the deployment that set it. Each life of an owner compares every wait
 * once, a bounded batch a pass; a deploy begins new lives. A wait that this deployment set itself is
 * left to its own time, so that threads still on old code cannot keep an owner busy.
 */
import { type Block, writeLane } from "./Block.ts"
import { bindingLanes } from "./LaneTable.ts"

/** Ends the waits that another deployment set, the next batch of them. */
export const releaseBindings = (block: Block, agentsDigest: string): void => {
  const { life, limits, host } = block
  if (life.bindingsComparedTo === Infinity || life.version === 0) return
  const batch = bindingLanes(host.storage.sql, {
    after: life.bindingsComparedTo,
    limit: limits.promotionBatch,
  })
  for (const lane of batch) {
    const { binding, ...marks } = lane.marks
    if (binding === undefined || binding.agentsDigest === agentsDigest) continue
    writeLane(block, lane, { ...lane, marks }, { afterTurn: false })
  }
  const last = batch.at(-1)?.nextAt
  life.bindingsComparedTo =
    batch.length < limits.promotionBatch || last === undefined ? Infinity : last
}

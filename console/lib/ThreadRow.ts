/**
 * A row of the list of threads, as its owner tells its lane. Pure.
 *
 * - R1 All of a row that the lane tells changes together: it says nothing of which one half is old.
 */
import type { LaneStatus, ThreadSummary } from "../../client/sdk/index.ts"
import { conditionOf } from "./Condition.ts"

/** What tells a turn from a word that only reached the lane. */
const workOf = ({ head, nonterminal }: Pick<LaneStatus, "head" | "nonterminal">): string =>
  JSON.stringify([nonterminal, head?.sequence, head?.state])

/** The row as it is told now. A lane that is no more owes nothing. */
export const toldOf = (row: ThreadSummary, lane: LaneStatus, at: number): ThreadSummary => {
  const { activeAt, head: _, parked, ...rest } = row
  const { head, nonterminal, paused } = lane
  const isSame = workOf(lane) === workOf(row)
  return {
    ...rest,
    ...(isSame && activeAt === undefined ? {} : { activeAt: isSame ? (activeAt ?? at) : at }),
    ...(head === undefined ? {} : { head }),
    state: lane.known ? conditionOf(lane) : "idle",
    nonterminal,
    paused,
    parked: Math.min(parked, nonterminal),
  } // R1
}

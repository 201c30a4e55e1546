/**
 * How the counters of the maintenance row move. Pure.
 */
import type { AgentId } from "../contracts/Identifiers.ts"
import type { Lane } from "./Lane.ts"
import type { MaintenanceRow } from "./Maintenance.ts"

/** A counter is derived: were it ever wrong, it must not make what shows it fail. */
export const moved = (counter: number, by: number): number => Math.max(0, counter + by)

/** The counts of agents with one attempt ended, and one started. An agent of which none runs has no count. */
export const movedAgents = (
  counts: MaintenanceRow["runningOf"],
  ended: AgentId | undefined,
  started: AgentId | undefined,
): MaintenanceRow["runningOf"] => {
  if (counts === undefined || ended === started) return counts
  const next = new Map(Object.entries(counts))
  if (started !== undefined) next.set(started, (next.get(started) ?? 0) + 1)
  if (ended !== undefined) next.set(ended, moved(next.get(ended) ?? 0, -1))
  if (ended !== undefined && next.get(ended) === 0) next.delete(ended)
  return Object.fromEntries(next)
}

/** The count of an agent, whatever its name is: an object has some names of its own. */
export const countOf = (counts: NonNullable<MaintenanceRow["runningOf"]>, agent: AgentId): number =>
  Object.hasOwn(counts, agent) ? (counts[agent] ?? 0) : 0

export const isFaulted = (lane: Lane | undefined): boolean => lane?.marks.faultRetryAt !== undefined

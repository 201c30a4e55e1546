/**
 * What an owner may believe of its agents with a limit: of how many threads it knows, or has to expect, that an attempt of
 * the agent runs. From its rows.
 *
 * - B1 A thread whose report says so, or that is to be visited, may be at work; one with a fault counts for nothing.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { Plan } from "../Plan.ts"

/** The agent whose limit holds a lane with this work. */
export const holderOf = (work: string | null): string | undefined =>
  work?.startsWith("held:") === true ? work.slice("held:".length) : undefined

/** The limit of an agent in a deployment. */
export const limitOf = ({ running }: Plan, version: string, agent: string): number =>
  running?.[version]?.[agent] ?? Infinity

/** The deployments that an owner of this plan may have. */
const versionsOf = ({ faults }: Plan): ReadonlyArray<string> =>
  faults.some(({ kind }) => kind === "deployment") ? ["v1", "v2"] : ["v2"]

/** The lowest in any deployment, and the highest. */
export const lowestOf = (plan: Plan, agent: string): number =>
  Math.min(...versionsOf(plan).map((version) => limitOf(plan, version, agent)))
export const highestOf = (plan: Plan, agent: string): number =>
  Math.max(...versionsOf(plan).map((version) => limitOf(plan, version, agent)))

const believed = `SELECT thread_id FROM lanes WHERE json_extract(report, '$.head.agent') = ?
  AND json_type(marks, '$.faultRetryAt') IS NULL
  AND (must_visit = 1 OR json_extract(report, '$.head.state') = 'running')`

/** Threads in which an attempt of an agent may be at work, as far as their owner can know. // B1 */
export const maybeAtWork = ({ state }: SimulatedObject, agent: string): ReadonlyArray<string> =>
  state.read<{ thread_id: string }>(believed, agent).map(({ thread_id }) => thread_id)

/** The lanes that limits of agents hold, the first of each agent. */
export const heldLanes = ({ state }: SimulatedObject) =>
  state.read<{ thread_id: string; work: string; next_at: number | null }>(
    "SELECT thread_id, work, MIN(IFNULL(next_at, 0)) AS next_at FROM lanes WHERE work LIKE 'held:%' GROUP BY work",
  )

/**
 * What an owner may believe of its agents with a limit: of how many threads it knows, or has to expect, that an attempt of
 * the agent runs. From its rows.
 *
 * - B1 A thread whose report says so, or that is to be visited, may be at work; one with a fault counts for nothing.
 * - B2 A lane that was deleted beside its owner counts on, as what it said, until it is reconciled.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { Plan } from "../Plan.ts"
import type { World } from "../World.ts"

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

/** The lanes that tell so, with the agent: a report that is asked for anew has left its own. // B1 */
const believed = `SELECT thread_id, agent FROM (
  SELECT thread_id, IFNULL(json_extract(report, '$.head.agent'), json_extract(marks, '$.mayRun')) AS agent FROM lanes
  WHERE json_type(marks, '$.faultRetryAt') IS NULL
    AND (report IS NULL OR must_visit = 1 OR json_extract(report, '$.head.state') = 'running'))`

/** Threads in which an attempt of an agent may be at work, as far as their owner can know. // B1 */
export const maybeAtWork = ({ state }: SimulatedObject, agent: string): ReadonlyArray<string> =>
  state
    .read<{ thread_id: string }>(`${believed} WHERE agent = ?`, agent)
    .map(({ thread_id }) => thread_id)

/** The agents of which the lane of a thread tells so. // B2 */
export const agentsOf = ({ state }: SimulatedObject, threadId: string): ReadonlyArray<string> =>
  state
    .read<{ agent: string }>(`${believed} WHERE thread_id = ? AND agent IS NOT NULL`, threadId)
    .map(({ agent }) => agent)

/** Whether an owner may count runs of an agent whose lanes it has no more. // B2 */
export const mayMiscount = ({ lost }: World, owner: SimulatedObject, agent: string): boolean =>
  [...lost].some(
    ([name, { agents }]) => name.startsWith(`${owner.name}/`) && agents.includes(agent),
  )

/** The lanes that limits of agents hold, the first of each agent. */
export const heldLanes = ({ state }: SimulatedObject) =>
  state.read<{ thread_id: string; work: string; next_at: number | null }>(
    "SELECT thread_id, work, MIN(IFNULL(next_at, 0)) AS next_at FROM lanes WHERE work LIKE 'held:%' GROUP BY work",
  )

/**
 * Limits of agents: how many attempts of an agent may run at once in an owner, and who waits for the end of one.
 *
 * A lane that waits has the work `held:AGENT`, so that the one index over (work, slow, next_at) answers who is
 * first of that agent. Only the deployment knows the limits; what runs is counted in the maintenance row.
 *
 * Invariants
 * - K1 Whatever may run counts: a run as its thread reports it, what a pass is starting, and a turn that nobody
 *   has answered until its thread was visited. A faulted lane counts for nothing: it would hold up others for ever.
 * - K2 A limit that a deployment raised or took away holds nobody: the next pass looks.
 * - K3 Every question reads a row or two for each agent of which a lane is held, and none without one.
 */
import type { AgentId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { countOf } from "./Counters.ts"
import { firstHeld, type HeldAgent, heldAgents } from "./HeldTable.ts"
import { heldOf, type Work } from "./Lane.ts"
import type { Life } from "./Life.ts"
import { countAgents, type MaintenanceRow } from "./Maintenance.ts"

/** What a block knows that counts. */
export interface Counting {
  readonly host: { readonly storage: { readonly sql: Sql } }
  readonly life: Life
  maintenance: MaintenanceRow
}

/** How many attempts of an agent may run. Counted from the rows where the row of an older version tells nothing. // K1 */
const atWork = (counting: Counting, agent: AgentId): number => {
  const { sql } = counting.host.storage
  const runningOf = counting.maintenance.runningOf ?? countAgents(sql)
  if (counting.maintenance.runningOf === undefined) {
    counting.maintenance = { ...counting.maintenance, runningOf }
  }
  return countOf(runningOf, agent)
}

/** How many more attempts of an agent may run; without end for one that has no limit. // K2 */
export const roomOf = (counting: Counting, agent: AgentId | undefined): number => {
  const limit = agent === undefined ? undefined : counting.life.maxRunning.get(agent)
  return agent === undefined || limit === undefined ? Infinity : limit - atWork(counting, agent)
}

/** The agents that a turn must not start: those with a limit, besides the one it was counted for. */
export const notStartedBy = (life: Life, counted: AgentId | undefined): ReadonlyArray<AgentId> =>
  [...life.maxRunning.keys()].filter((agent) => agent !== counted)

/** Whether a lane of this agent is held. */
export const holds = ({ host, life }: Counting, agent: AgentId): boolean =>
  life.holdsAgents && firstHeld(host.storage.sql, heldOf(agent)) !== undefined

/** The held agents of which another attempt may run. */
const free = (counting: Counting): ReadonlyArray<HeldAgent> =>
  counting.life.holdsAgents && counting.life.version > 0
    ? heldAgents(counting.host.storage.sql).filter(({ agent }) => roomOf(counting, agent) > 0)
    : [] // K3

/** The kinds of held lanes that may be taken. */
export const freeWorks = (counting: Counting): ReadonlyArray<Work> =>
  free(counting).map(({ agent }) => heldOf(agent))

/** The first ticket of them; undefined without one. */
export const freeTicket = (counting: Counting): number | undefined => {
  const tickets = free(counting).map(({ ticket }) => ticket)
  return tickets.length === 0 ? undefined : Math.min(...tickets)
}

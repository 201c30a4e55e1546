/**
 * What the deployments of a world have beside their agents, as a plan says it: a sink, work of the application's own, a time
 * for which content is kept, a rule for messages of others, and limits of agents.
 */
import type { AgentId } from "../contracts/Identifiers.ts"
import { deployments, keepingDeployments } from "./Agents.ts"
import { type HostWork, type HostWorkOptions, makeHostWork } from "./HostWork.ts"
import type { Incarnation } from "./Incarnation.ts"
import type { Plan } from "./Plan.ts"
import { makeSink, type Sink, type SinkOptions } from "./Sink.ts"

export interface Beside {
  /** Where this deployment publishes, if it does. */
  readonly sink: Sink | undefined
  /** Work of the application's own, if there is any. */
  readonly hostWork: HostWork | undefined
}

export type BesideOptions = Omit<SinkOptions, "plan" | "poorly"> &
  Omit<HostWorkOptions, "lanes" | "owners">

const poorlyOf = ({ sink, threads }: Plan): ReadonlySet<string> | undefined =>
  sink?.of &&
  new Set(sink.of.map((place) => `${threads[place]?.ownerId}/${threads[place]?.threadId}`))

/** What a plan has of it. */
export const besideOf = (plan: Plan, options: BesideOptions): Beside => ({
  sink: plan.sink && makeSink({ ...options, plan: plan.sink, poorly: poorlyOf(plan) }),
  hostWork:
    plan.hostLanes && makeHostWork({ ...options, lanes: plan.hostLanes, owners: plan.owners }),
})

/** Whether a deployment publishes what its threads record. */
const publishes = ({ sink }: Plan, version: string): boolean =>
  sink !== undefined && (sink.newer !== true || version === "v2")

/** What owners have of a deployment. */
export const ownersOf = (
  { hostWork, plan, sink }: Beside & { readonly plan: Plan },
  incarnation: Incarnation,
) => ({
  sink: publishes(plan, incarnation.version) ? sink?.of(incarnation) : undefined,
  hostLanes: hostWork?.of(incarnation),
  maxRunning: new Map(
    Object.entries(plan.running?.[incarnation.version] ?? {}) as Array<[AgentId, number]>,
  ),
  searchesOutcomes: plan.lists === "outcomes",
  acceptMessages:
    plan.doors === undefined
      ? undefined
      : ({ threadId }: { readonly threadId: string }) =>
          plan.doors === "open" || /[02468]$/.test(threadId),
})

/** What threads have of it: its agents, how long it keeps what they have done, and whether that is published. */
export const threadsHave = (plan: Plan, version: string) => {
  const { keeps } = plan
  return {
    agents: (keeps?.second === true ? keepingDeployments : deployments)[version] as never,
    settledAfterMillis: version === "v1" ? keeps?.v1 : keeps?.v2,
    publishes: publishes(plan, version),
  }
}

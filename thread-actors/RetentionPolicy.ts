/**
 * How long what has settled is kept, as a deployment says it: for all its agents, and for those that say so themselves.
 * Pure.
 *
 * - P1 A policy is known by the agents that it is for. One for others begins at the start of the history, so that nothing
 *   is missed that settled while another one was for its agent. Another time for the same agents goes on where it was.
 * - P2 What is due is rounded up, so that a thread with steady work is not woken for each piece of it.
 */
import { sha256 } from "../platform/Digest.ts"
import type { Agents } from "./Agent.ts"
import { readPeriod } from "./RetentionPeriod.ts"

export interface RetentionPolicy {
  /** What it is known by. // P1 */
  readonly key: string
  readonly periodMillis: number
  readonly isFor: (agent: string) => boolean
}

const hour = 60 * 60 * 1_000

/** The periods of the agents that say one. */
const ownPeriods = (agents: Agents): ReadonlyMap<string, number> => {
  const periods = new Map<string, number>()
  for (const [name, { agent }] of agents) {
    const period = agent.retention === undefined ? undefined : readPeriod(agent.retention)
    if (period !== undefined) periods.set(name, period)
  }
  return periods
}

const policyOf = (
  periodMillis: number,
  words: string,
  isFor: RetentionPolicy["isFor"],
): RetentionPolicy => ({
  key: sha256("retention\n", words).slice(0, 16), // P1
  periodMillis: Math.ceil(periodMillis),
  isFor,
})

/** The policies by which something is ever pruned. */
export const retentionPolicies = (
  agents: Agents,
  settledAfterMillis: number = Infinity,
): ReadonlyArray<RetentionPolicy> => {
  const own = ownPeriods(agents)
  const policies: Array<RetentionPolicy> = []
  if (settledAfterMillis !== Infinity) {
    const except = [...own.keys()].toSorted().join(" ")
    policies.push(policyOf(settledAfterMillis, `all but ${except}`, (agent) => !own.has(agent)))
  }
  for (const period of new Set(own.values())) {
    if (period === Infinity) continue
    const names = [...own].filter(([, other]) => other === period).map(([name]) => name)
    const all = new Set(names)
    policies.push(policyOf(period, names.toSorted().join(" "), (agent) => all.has(agent)))
  }
  return policies
}

/** When what was recorded then is looked at. // P2 */
export const dueAtOf = ({ periodMillis }: RetentionPolicy, recordedAt: number): number => {
  const grain = Math.min(hour, Math.ceil(periodMillis / 16))
  return Math.ceil((recordedAt + periodMillis) / grain) * grain
}

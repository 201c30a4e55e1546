/**
 * Shrinking: from a plan that fails to the shortest one that still fails in the same way.
 *
 * - K1 A shorter plan counts only if the same invariant is violated.
 * - K2 The number of runs is bounded; the best so far is the answer.
 */
import type { Plan } from "./Plan.ts"
import { type Outcome, runPlan } from "./Simulation.ts"

export interface Shrunk {
  readonly plan: Plan
  readonly without: ReadonlySet<number>
  readonly outcome: Outcome
  readonly runs: number
}

/** How plans are run. */
export type RunPlan = typeof runPlan

interface Search {
  readonly run: RunPlan
  best: Shrunk
  readonly invariant: string
  runs: number
  readonly runsMax: number
}

const tryIt = async (
  search: Search,
  plan: Plan,
  without: ReadonlySet<number>,
): Promise<boolean> => {
  if (search.runs >= search.runsMax) return false // K2
  search.runs += 1
  const outcome = await search.run(plan, { without })
  if (!outcome.violations.some(({ invariant }) => invariant === search.invariant)) return false // K1
  search.best = { plan, without, outcome, runs: search.runs }
  return true
}

/** Drops parts of a list, in ever smaller pieces, for as long as the plan without them still fails. */
const dropParts = async <A>(
  search: Search,
  list: (best: Shrunk) => ReadonlyArray<A>,
  attempt: (kept: ReadonlyArray<A>) => Promise<boolean>,
): Promise<void> => {
  for (let size = Math.ceil(list(search.best).length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let from = 0; from < list(search.best).length;) {
      const all = list(search.best)
      const kept = [...all.slice(0, from), ...all.slice(from + size)]
      if (!(await attempt(kept))) from += size
      if (search.runs >= search.runsMax) return
    }
  }
}

/** Shortens a failing plan: its operations, its planned faults, then those that chance has made. */
export const shrink = async (
  plan: Plan,
  invariant: string,
  { run = runPlan, runsMax = 400 }: { readonly run?: RunPlan; readonly runsMax?: number } = {},
): Promise<Shrunk | undefined> => {
  const outcome = await run(plan)
  const best: Shrunk = { plan, without: new Set(), outcome, runs: 1 }
  if (!outcome.violations.some((violation) => violation.invariant === invariant)) return undefined
  const search: Search = { run, best, invariant, runs: 1, runsMax }
  const without = (): ReadonlySet<number> => search.best.without
  for (let round = 0; round < 2; round++) {
    await dropParts(
      search,
      (at) => at.plan.operations,
      (operations) => tryIt(search, { ...search.best.plan, operations }, without()),
    )
    await dropParts(
      search,
      (at) => at.plan.faults,
      (faults) => tryIt(search, { ...search.best.plan, faults }, without()),
    )
    await dropParts(
      search,
      (at) => at.outcome.happened.map(({ index }) => index),
      (kept) => {
        const dropped = search.best.outcome.happened
          .map(({ index }) => index)
          .filter((index) => !kept.includes(index))
        return tryIt(search, search.best.plan, new Set([...without(), ...dropped]))
      },
    )
  }
  return search.best
}

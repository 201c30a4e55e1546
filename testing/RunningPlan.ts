/**
 * Plans in which no more than so many attempts of an agent run at once in an owner, so that lanes wait for their agent: a
 * share of the seeds. As with what goes on beside, a generator of its own draws it.
 */
import type { Operation, Plan, RunningPlan } from "./Plan.ts"
import { spreadOf, step, withThreads } from "./PlanParts.ts"
import type { Random } from "./Random.ts"

const limitedShare = 0.15

/** So many threads of one owner that some wait while others run. */
const threadsLeast = 5

const drawLimits = (random: Random): RunningPlan[string] => ({
  first: random.pick([1, 1, 2, 3]),
  ...(random.chance(0.3) ? { second: random.pick([1, 2]) } : {}),
})

/** Mostly the same in both deployments; else one knows of none, or of others. */
const drawRunning = (random: Random): RunningPlan => {
  const v2 = drawLimits(random)
  return random.weighted<() => RunningPlan>([
    [6, () => ({ v1: v2, v2 })],
    [1, () => ({ v2 })],
    [1, () => ({ v1: drawLimits(random), v2 })],
    [1, () => ({ v1: v2, v2: {} })],
  ])()
}

/** Work that goes on for a while in many threads at once, and work of another agent beside it. */
const crowd = (random: Random, plan: Plan, spread: number): ReadonlyArray<Operation> => {
  const from = random.below(spread)
  const longest = random.pick([500, 5_000, 30_000])
  return Array.from({ length: random.between(4, 12) }, (_, index) => ({
    _tag: "Submit",
    at: from + random.below(longest),
    client: random.below(plan.clients),
    thread: random.below(plan.threads.length),
    key: `l${index}`,
    agent: random.pick(["first", "first", "first", "second"]),
    script: {
      ops: [step("s", random.below(longest)), step("t", random.pick([0, 0, longest]))],
      ends: "well",
    },
    afterMillis: undefined,
    waits: random.chance(0.3),
  }))
}

/** A plan whose agents have limits. */
export const withRunning = (random: Random, drawn: Plan): Plan => {
  if (!random.chance(limitedShare)) return drawn
  const plan = withThreads(drawn, threadsLeast)
  const spread = spreadOf(plan)
  const operations = [...plan.operations, ...crowd(random, plan, spread)]
  return {
    ...plan,
    running: drawRunning(random),
    operations: operations.toSorted((one, other) => one.at - other.at),
  }
}

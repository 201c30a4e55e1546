/**
 * What goes on beside the work of threads, in a share of the seeds: a sink to which they are published. As with what runs
 * say, a generator of its own draws it, so that the rest of a plan, and every other seed, is what it was.
 */
import type { OwnerFailpoint } from "../owner-object/Owner.ts"
import type { ThreadFailpoint } from "../thread-actors/ThreadFailpoints.ts"
import type { Plan } from "./Plan.ts"
import type { Random } from "./Random.ts"
import type { SinkIll, SinkPlan } from "./Sink.ts"
import type { Strike } from "./Strikes.ts"

/** How many of the seeds publish. */
const publishingShare = 0.15

/** Failpoints that other seeds know nothing of. */
export const asidePoints: {
  readonly owner: ReadonlyArray<OwnerFailpoint>
  readonly thread: ReadonlyArray<ThreadFailpoint>
} = {
  owner: ["publish", "host"],
  thread: ["publish"],
}

type Point = readonly [of: "owner" | "thread", name: string]

/** Crashes at these failpoints, in plans in which anything crashes. */
const strikes = (random: Random, plan: Plan, points: ReadonlyArray<Point>): Partial<Plan> => {
  if (plan.rates["crash at a failpoint"] === undefined) return {}
  const owners = plan.owners.length
  const all = Array.from({ length: random.between(0, 3) }, (): Strike => {
    const [of, name] = random.pick(points)
    return {
      _tag: "AtPoint",
      object: of === "owner" ? random.below(owners) : owners + random.below(plan.threads.length),
      nth: random.pick([1, 1, 2, 3, 6]),
      point: `${name}:${random.pick(["before", "after"])}`,
      does: random.chance(0.15) ? { _tag: "IsReplaced" } : { _tag: "Crashes" },
    }
  })
  return { strikes: [...(plan.strikes ?? []), ...all] }
}

const ills: ReadonlyArray<SinkIll> = ["refuses", "hangs", "is late", "answer lost"]

const drawSink = (random: Random, { threads }: Plan): SinkPlan => ({
  share: random.pick([0, 0.1, 0.4, 0.9]),
  ills: random.chance(0.5) ? ills : [random.pick(ills)],
  ...(random.chance(0.5)
    ? { of: threads.flatMap((_, at) => (random.chance(0.5) ? [at] : [])) }
    : {}),
  ...(random.chance(0.15) ? { newer: true } : {}),
})

const publishing = (random: Random, plan: Plan): Plan => {
  const sink = drawSink(random, plan)
  // So that a thread has several batches.
  const records = random.pick([256, 256, 1, 3])
  return {
    ...plan,
    sink,
    limits: { ...plan.limits, publishRecords: records },
    ...strikes(random, plan, [
      ["owner", "publish"],
      ["thread", "publish"],
    ]),
  }
}

/** A plan with what goes on beside its threads. */
export const withAsides = (random: Random, plan: Plan): Plan =>
  random.chance(publishingShare) ? publishing(random, plan) : plan

/**
 * What goes on beside the work of threads, in a share of the seeds: a sink to which they are published, and content that
 * is pruned after a time. As with what runs say, a generator of its own draws it, so that the rest of a plan, and every other seed, is what it was.
 */
import type { OwnerFailpoint } from "../owner-object/Owner.ts"
import type { ThreadFailpoint } from "../thread-actors/ThreadFailpoints.ts"
import type { Plan } from "./Plan.ts"
import type { Random } from "./Random.ts"
import type { SinkIll, SinkPlan } from "./Sink.ts"
import type { Strike } from "./Strikes.ts"

/** How many of the seeds publish, and how many prune what has settled. */
const publishingShare = 0.15
const keepingShare = 0.15

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

const second = 1_000

const replays = ["request late", "request replayed", "request doubled", "reply late"] as const

/**
 * So short that it happens while things go wrong: clients that come again later find their keys free. Where requests
 * are replayed it is longer than that takes, as a deployment must have it.
 */
const keeping = (random: Random, plan: Plan): Plan => {
  const replayed = replays.some((kind) => plan.rates[kind] !== undefined)
  const shortest = replayed ? 60 * second : 1
  const millis = () => Math.max(shortest, random.pick([1, second, 10 * second, 60 * second]))
  const [older, newer] = [millis(), millis()]
  return {
    ...plan,
    keeps: {
      v2: newer,
      ...(random.chance(0.6) ? { v1: random.chance(0.5) ? newer : older } : {}),
      ...(random.chance(0.4) ? { second: true } : {}),
    },
    limits: {
      ...plan.limits,
      retentionRecords: random.pick([256, 1, 4]),
      retentionRetryMillis: random.pick([second, 20 * second]),
    },
    ...strikes(random, plan, [["thread", "upkeep"]]),
  }
}

type Aside = readonly [share: number, of: (random: Random, plan: Plan) => Plan]

const asides: ReadonlyArray<Aside> = [
  [publishingShare, publishing],
  [keepingShare, keeping],
]

/** A plan with what goes on beside its threads. */
export const withAsides = (random: Random, plan: Plan): Plan =>
  asides.reduce((drawn, [share, of]) => (random.chance(share) ? of(random, drawn) : drawn), plan)

/**
 * What goes on beside the work of threads, in a share of the seeds: a sink to which they are published, content that is
 * pruned after a time, tokens that runs give away, and work of the application's own. As with what runs say, a generator
 * of its own draws it, so that the rest of a plan, and every other seed, is what it was.
 */
import type { OwnerFailpoint } from "../owner-object/Owner.ts"
import type { ThreadFailpoint } from "../thread-actors/ThreadFailpoints.ts"
import type { HostPiece } from "./HostWork.ts"
import type { Operation, Plan } from "./Plan.ts"
import { spreadOf, step } from "./PlanParts.ts"
import type { Random } from "./Random.ts"
import type { OneOp, Op, Script, TalkOp } from "./Script.ts"
import type { SinkIll, SinkPlan } from "./Sink.ts"
import type { Strike } from "./Strikes.ts"

/** How many of the seeds publish, and how many prune what has settled. */
const publishingShare = 0.15
const keepingShare = 0.15
/** How many do work of the application's own. */
const hostingShare = 0.1
/** Of those in which runs talk. */
const callbackShare = 0.33
const stragglingShare = 0.15

/** Failpoints that other seeds know nothing of. */
export const asidePoints: {
  readonly owner: ReadonlyArray<OwnerFailpoint>
  readonly thread: ReadonlyArray<ThreadFailpoint>
} = {
  owner: ["publish", "host"],
  thread: ["publish", "resubmit"],
}

type Point = readonly [of: "owner" | "thread", name: string]

/** Crashes at these failpoints, in plans in which anything crashes. */
export const strikesAt = (
  random: Random,
  plan: Plan,
  points: ReadonlyArray<Point>,
): Partial<Plan> => {
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
    ...strikesAt(random, plan, [
      ["owner", "publish"],
      ["thread", "publish"],
    ]),
  }
}

const second = 1_000

/** So short that it happens while things go wrong: clients that come again later find their keys free. */
const keeping = (random: Random, plan: Plan): Plan => {
  const millis = () => random.pick([1, second, 10 * second, 60 * second])
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
      // Each look at what cannot go yet is an alarm.
      retentionRetryMillis: random.pick([20 * second, 60 * second]),
    },
    ...strikesAt(random, plan, [["thread", "upkeep"]]),
  }
}

const withToken = (random: Random, op: OneOp): OneOp => {
  switch (op._tag) {
    case "Await":
      return random.chance(0.7) ? { ...op, callback: true } : op
    case "Race":
      return { ...op, branches: op.branches.map((one) => withToken(random, one)) }
    case "Child":
    case "Send":
      return { ...op, script: withTokens(random, op.script) }
    default:
      return op
  }
}

const withTokens = (random: Random, script: Script): Script => ({
  ...script,
  ops: script.ops.map((op) =>
    op._tag === "Parallel"
      ? { ...op, branches: op.branches.map((one) => withToken(random, one)) }
      : withToken(random, op),
  ),
})

/** Tokens are used before their waits begin and after they end, more than once, and by those who make them up. */
const callingBack = (random: Random, plan: Plan): Plan => {
  if (plan.talks !== true) return plan
  const spread = spreadOf(plan)
  const given = plan.operations.map((operation): Operation => {
    if (operation._tag !== "Submit") return operation
    const script = withTokens(random, operation.script)
    if (!random.chance(0.3)) return { ...operation, script }
    const own: Op = { _tag: "Await", name: "called", callback: true }
    const ops = script.ops.toSpliced(random.below(script.ops.length + 1), 0, own)
    return { ...operation, script: { ...script, ops } }
  })
  const used = Array.from({ length: random.between(3, 16) }, (_, index): Operation => ({
    _tag: "Callback",
    at: random.below(spread + 1),
    client: 0,
    nth: random.below(6),
    value: random.pick([7, 7, index]),
    forged: random.chance(0.15),
  }))
  return {
    ...plan,
    callbacks: true,
    operations: [...given, ...used].toSorted((one, other) => one.at - other.at),
    ...strikesAt(random, plan, [
      ["thread", "wait"],
      ["thread", "decide"],
    ]),
  }
}

const waits: ReadonlyArray<TalkOp> = [
  { _tag: "Approval", name: "late" },
  { _tag: "Await", name: "late" },
  { _tag: "Sleep", name: "late", millis: 3_600 * second },
  {
    _tag: "Child",
    name: "late",
    agent: "first",
    detached: false,
    script: { ops: [{ _tag: "Approval", name: "its" }], ends: "well" },
  },
]

/** Long enough that its run stands in the ledger. */
const works = step("works", 6_000)

/**
 * A run is lost as it begins to wait, and the platform delivers its recovery once more when it waits again: only so
 * does a recovery find a run that waits.
 */
const straggling = (random: Random, plan: Plan): Plan => {
  if (plan.talks !== true || plan.rates["crash at a failpoint"] === undefined) return plan
  const thread = random.below(plan.threads.length)
  const object = plan.owners.length + thread
  const op = random.pick(waits)
  const millis = random.pick([15_000, 30_000, 90_000])
  const submit: Operation = {
    _tag: "Submit",
    at: random.below(2_000),
    client: 0,
    thread,
    key: "straggler",
    agent: "first",
    script: { ops: [works, op], ends: "well" },
    afterMillis: undefined,
    waits: false,
  }
  const own: ReadonlyArray<Strike> = [
    {
      _tag: "AtPoint",
      object,
      nth: 1,
      point: op._tag === "Child" ? "step:after" : "wait:before",
      does: { _tag: "Crashes" },
    },
    { _tag: "OfRequest", object, tag: "recover", nth: 1, does: { _tag: "Replayed", millis } },
  ]
  return {
    ...plan,
    operations: [submit, ...plan.operations].toSorted((one, other) => one.at - other.at),
    strikes: [...(plan.strikes ?? []), ...own],
    healsAt: Math.max(plan.healsAt, 150_000),
  }
}

const drawPiece = (random: Random, plan: Plan): HostPiece => ({
  owner: random.below(plan.owners.length),
  at: random.below(plan.healsAt),
  takesMillis: random.pick([0, 20, 500]),
  ends: random.pick(["fails", "dies", "hangs", "clings", "kills"] as const),
  times: random.pick([0, 0, 1, 2]),
})

const hosting = (random: Random, plan: Plan): Plan => ({
  ...plan,
  hostLanes: Array.from({ length: random.between(1, 3) }, (_, index) => ({
    name: `h${index}`,
    allowanceMillis: random.pick([1_000, 10_000, 60_000]),
    silent: random.pick([0, 0, 0.1, 0.5]),
    pieces: Array.from({ length: random.between(1, 6) }, () => drawPiece(random, plan)),
  })),
  // A clock that stands still is no lane that computes.
  limits: { ...plan.limits, hostTurnMillis: 3_600 * second },
  ...strikesAt(random, plan, [["owner", "host"]]),
})

type Aside = readonly [share: number, of: (random: Random, plan: Plan) => Plan]

const asides: ReadonlyArray<Aside> = [
  [publishingShare, publishing],
  [keepingShare, keeping],
  [callbackShare, callingBack],
  [stragglingShare, straggling],
  [hostingShare, hosting],
]

/** A plan with what goes on beside its threads. */
export const withAsides = (random: Random, plan: Plan): Plan =>
  asides.reduce((drawn, [share, of]) => (random.chance(share) ? of(random, drawn) : drawn), plan)

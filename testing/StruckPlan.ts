/**
 * Plans in which one thread, or two, fare ill, and all others well: a share of the seeds. What happens to a thread has
 * an address there, so that whatever keeps a neighbour is the product's fault. As with what goes on beside, a generator of
 * its own draws it.
 */
import type { FaultKind } from "./Faults.ts"
import type { Operation, Plan, PlannedFault } from "./Plan.ts"
import { spreadOf, step, withThreads } from "./PlanParts.ts"
import type { Random } from "./Random.ts"
import type { Op } from "./Script.ts"
import type { RequestDoes, Strike } from "./Strikes.ts"

const struckShare = 0.08

const spreadMillis = 200_000

/** So many threads that somebody is due while others have the slots. */
const threadsLeast = 4

/** What leaves a fault behind, and what has a call hang. */
const blocking: ReadonlyArray<FaultKind> = ["start fails", "storage fails", "record corrupt"]
const others: ReadonlyArray<FaultKind> = ["object slow", "crash", "eviction", "start fails"]

/** Calls that hang: one that is lost is known to be at once. */
const struckRequest = (random: Random): RequestDoes => ({
  _tag: random.pick(["Late", "ReplyLate"]),
  millis: random.between(3_000, 29_000),
})

/** Several of its turns hang, one after another. */
const requests = (random: Random, object: number): ReadonlyArray<Strike> => {
  const first = random.between(1, 3)
  return Array.from({ length: random.between(2, 6) }, (_, index) => ({
    _tag: "OfRequest",
    object,
    tag: random.pick(["processHead", "processHead", "processHead", "inspect"]),
    nth: first + index,
    does: struckRequest(random),
  }))
}

/** It can not be recovered while it should be, mostly until the world heals. */
const faultsOf = (random: Random, object: number): ReadonlyArray<PlannedFault> => {
  const one = (kind: FaultKind, at: number): PlannedFault => ({
    at,
    kind,
    object,
    lastsMillis: random.pick([60_000, 200_000, 600_000]),
  })
  const at = random.between(2_000, 20_000)
  return [
    one(random.pick(blocking), at),
    one("crash", at + 1),
    ...Array.from({ length: random.below(3) }, () =>
      one(random.pick(others), random.below(spreadMillis)),
    ),
  ]
}

const submits = (key: string, at: number, thread: number, ops: ReadonlyArray<Op>): Operation => ({
  _tag: "Submit",
  at,
  client: 0,
  thread,
  key,
  agent: "first",
  script: { ops, ends: "well" },
  afterMillis: undefined,
  waits: false,
})

interface Struck {
  readonly blocked: number
  readonly hanging: number
  readonly threads: number
}

/** One is at work as it is struck; the other has many turns, and while one of them hangs somebody else is due. */
const theirWork = (
  random: Random,
  { blocked, hanging, threads }: Struck,
): ReadonlyArray<Operation> => [
  submits("blocked", 0, blocked, [step("s", 0), step("t", 250_000)]),
  ...Array.from({ length: 6 }, (_, index) => {
    const at = random.between(50_000, spreadMillis)
    return [
      submits(`hanging${index}`, at, hanging, [step("s", 0)]),
      submits(`beside${index}`, at + random.between(200, 2_000), random.below(threads), []),
    ]
  }).flat(),
]

/** More threads, and their work: what was sent to one of the first goes to others, too. */
const crowded = (random: Random, drawn: Plan): Plan => {
  const plan = withThreads(drawn, threadsLeast)
  if (plan.threads.length === drawn.threads.length) return drawn
  return {
    ...plan,
    operations: plan.operations.map((one) =>
      one._tag === "Submit" && random.chance(0.7)
        ? { ...one, thread: random.below(plan.threads.length) }
        : one,
    ),
  }
}

/** A plan whose faults all have an address. What is done in it is spread over a time in which they are felt. */
export const withStruck = (random: Random, drawn: Plan): Plan => {
  if (!random.chance(struckShare)) return drawn
  const { limits: _l, sink: _s, strikes: _t, hostLanes: _h, keeps: _k, ...rest } = drawn
  const plan = crowded(random, rest)
  const threads = plan.threads.length
  const struck = { blocked: random.below(threads), hanging: random.below(threads), threads }
  const longer = spreadMillis / spreadOf(plan)
  const operations = plan.operations.map((one) => ({ ...one, at: Math.round(one.at * longer) }))
  return {
    ...plan,
    operations: [...operations, ...theirWork(random, struck)].toSorted(
      (one, other) => one.at - other.at,
    ),
    rates: { "client sends twice": 0.1, "client vanishes": 0.1 },
    faults: faultsOf(random, plan.owners.length + struck.blocked),
    ...(random.chance(0.7)
      ? { strikes: requests(random, plan.owners.length + struck.hanging) }
      : {}),
    healsAt: Math.max(plan.healsAt, 2 * spreadMillis),
  }
}

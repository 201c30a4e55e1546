/**
 * What is done to children's threads, in a share of the seeds in which runs talk: faults of all kinds that strike one object,
 * and what clients and operators do there, each at a child's place in the order in which they come to be. There are runs
 * for it that have children: of all kinds, in children, and some that nobody waits for. As with what goes on beside, a
 * generator of its own draws it.
 */
import type { ThreadFailpoint } from "../thread-actors/ThreadFailpoints.ts"
import type { FaultKind } from "./Faults.ts"
import type { Operation, Plan, PlannedFault } from "./Plan.ts"
import { brokenCall, spreadOf, step } from "./PlanParts.ts"
import type { Random } from "./Random.ts"
import type { ChildOp, OneOp, Op, Script } from "./Script.ts"
import { firstChild, type PointDoes, type RequestDoes, type Strike } from "./Strikes.ts"

/** Of those in which runs talk. */
const childrenShare = 0.4

/** Something is done to one of the first so many. */
const childPlaces = 8

/** So long after it has come to be: before it is admitted, while it works, or once it has ended. */
const late = (random: Random): number => random.pick([0, 1, 5, 20, 500, 3_000, 20_000])

const works = (random: Random, name: string): OneOp => step(name, random.pick([0, 900, 20_000]))

/** What a child does, besides having children. */
const does = (random: Random, name: string): OneOp =>
  random.weighted<() => OneOp>([
    [5, () => works(random, name)],
    [2, () => ({ _tag: "Approval", name })],
    [1, () => ({ _tag: "Await", name })],
    [1, () => ({ _tag: "Sleep", name, millis: random.pick([5, 900, 30_000]) })],
    [1, () => brokenCall(name)],
  ])()

const child = (random: Random, name: string, deep: number): ChildOp => {
  const own = Array.from({ length: random.below(3) }, (_, index) => does(random, `d${index}`))
  const its = deep > 0 && random.chance(0.4) ? [child(random, "in", deep - 1)] : []
  const script: Script = {
    ops: random.chance(0.5) ? [...own, ...its] : [...its, ...own],
    ends: random.chance(0.15) ? random.pick(["fails", "dies"] as const) : "well",
  }
  return {
    _tag: "Child",
    name,
    agent: random.weighted([
      [10, "first"],
      [3, "second"],
      [1, "newer"],
    ]),
    detached: random.chance(0.2),
    script,
  }
}

/** What a parent does: it has one child after another, several at once, or one against the time. */
const parent = (random: Random): ReadonlyArray<Op> => {
  const one = (name: string) => child(random, name, 2)
  return random.weighted<() => ReadonlyArray<Op>>([
    [4, () => [one("c")]],
    [2, () => [one("c"), works(random, "s"), one("e")]],
    [3, () => [{ _tag: "Parallel", branches: [one("c"), one("e")] }]],
    [1, () => [{ _tag: "Parallel", branches: [one("c"), works(random, "s")] }]],
    [
      2,
      () => [
        {
          _tag: "Race",
          name: "r",
          branches: [
            { ...one("r.0"), detached: false },
            { _tag: "Sleep", name: "r.1", millis: random.pick([900, 30_000]) },
          ],
        },
      ],
    ],
  ])()
}

interface Drawing {
  readonly random: Random
  readonly plan: Plan
  readonly spreadMillis: number
}

const parents = ({ plan, random, spreadMillis }: Drawing): ReadonlyArray<Operation> =>
  Array.from({ length: random.between(2, 6) }, (_, index) => ({
    _tag: "Submit",
    at: random.below(spreadMillis + 1),
    client: random.below(plan.clients),
    thread: random.below(plan.threads.length),
    key: `parent${index}`,
    agent: "first",
    script: { ops: parent(random), ends: "well" },
    afterMillis: undefined,
    waits: random.chance(0.4),
  }))

/** What becomes of parents meanwhile: they are to wait for what was done to their children all the same. */
const toParents = (
  { plan, random, spreadMillis }: Drawing,
  own: ReadonlyArray<Operation>,
): ReadonlyArray<Operation> =>
  own.flatMap((one): ReadonlyArray<Operation> => {
    if (one._tag !== "Submit" || !random.chance(0.2)) return []
    const about = { at: one.at + random.below(spreadMillis), client: random.below(plan.clients) }
    return [
      random.chance(0.7)
        ? { ...about, _tag: "Abort", key: one.key }
        : { ...about, _tag: "Forget", thread: one.thread, abort: true },
    ]
  })

const toChildren = ({ plan, random, spreadMillis }: Drawing): ReadonlyArray<Operation> =>
  Array.from({ length: random.between(3, 14) }, (): Operation => {
    const tag = random.weighted([
      [4, "Forget"],
      [4, "AbortOpen"],
      [2, "RetryOpen"],
      [3, "Pause"],
      [2, "Resume"],
      [1, "Wake"],
      [2, "Reconcile"],
      [1, "Resolve"],
      [2, "Attend"],
      [2, "Decide"],
      [1, "Observe"],
      [1, "Read"],
      [1, "Intrude"],
    ] as const)
    return {
      at: random.below(spreadMillis + 1),
      client: random.below(plan.clients),
      lateMillis: late(random),
      thread: plan.threads.length + random.below(childPlaces),
      _tag: tag,
      abort: random.chance(0.5),
      approved: random.chance(0.6),
      patient: random.chance(0.5),
    }
  })

const kinds: ReadonlyArray<FaultKind> = [
  "crash",
  "crash",
  "crash of several",
  "eviction",
  "replaced, the old one runs on",
  "storage fails",
  "storage is full",
  "flush fails",
  "start fails",
  "object slow",
  "record corrupt",
  "lane rows deleted",
  "fault rows deleted",
]

const faultsOf = ({ plan, random, spreadMillis }: Drawing): ReadonlyArray<PlannedFault> => {
  const first = firstChild(plan)
  return Array.from({ length: random.below(7) }, () => {
    const fault: PlannedFault = {
      at: random.below(spreadMillis + 1),
      kind: random.pick(kinds),
      object: first + random.below(childPlaces),
      lastsMillis: random.pick([5, 500, 10_000, 100_000]),
      lateMillis: late(random),
    }
    // A record that rots is found out once its object starts anew.
    return fault.kind === "record corrupt"
      ? [fault, { ...fault, kind: "crash" as const, lateMillis: (fault.lateMillis ?? 0) + 1 }]
      : [fault]
  }).flat()
}

const points: ReadonlyArray<ThreadFailpoint> = [
  "admit",
  "claim",
  "apply",
  "step",
  "wait",
  "suspend",
  "settle",
  "child",
  "settleChild",
  "abortChild",
  "acknowledge",
  "abort",
  "retry",
  "pause",
  "decide",
  "resolve",
  "fence",
  "recover",
  "forget",
  "report",
]

const requests = [
  "admit",
  "abortChild",
  "askChild",
  "settleChild",
  "claimOutbox",
  "acknowledgeOutbox",
  "abort",
  "forget",
  "pause",
  "resume",
  "inspect",
  "recover",
  "processHead",
]

const requestDoes = (random: Random): RequestDoes =>
  random.chance(0.4)
    ? { _tag: random.pick(["Lost", "ReplyLost"] as const) }
    : {
        _tag: random.pick(["Late", "ReplyLate", "Replayed", "Replayed"] as const),
        millis: random.pick([50, 3_000, 20_000]),
      }

/** Of them, or of those that wait for them. */
const strikesOf = ({ plan, random }: Drawing): ReadonlyArray<Strike> => {
  const first = firstChild(plan)
  return Array.from({ length: random.below(6) }, (): Strike => {
    const isTheirs = random.chance(0.75)
    const object = isTheirs
      ? first + random.below(childPlaces)
      : plan.owners.length + random.below(plan.threads.length)
    const nth = random.pick([1, 1, 1, 2, 3])
    if (random.chance(0.5))
      return {
        _tag: "OfRequest",
        object,
        nth,
        tag: random.pick(requests),
        does: requestDoes(random),
      }
    const dies = random.weighted<PointDoes>([
      [6, { _tag: "Crashes" }],
      [1, { _tag: "CrashesWith", others: [0] }],
      [1, { _tag: "IsReplaced" }],
    ])
    const point = `${random.pick(points)}:${random.pick(["before", "after"])}`
    return { _tag: "AtPoint", object, nth, point, does: dies }
  })
}

/** A plan in which children's threads have a life of their own. */
export const withChildren = (random: Random, plan: Plan): Plan => {
  if (plan.talks !== true || !random.chance(childrenShare)) return plan
  const spreadMillis = spreadOf(plan)
  const drawing: Drawing = { random, plan, spreadMillis }
  const own = parents(drawing)
  const done = [...own, ...toParents(drawing, own), ...toChildren(drawing)]
  const ill = random.chance(0.75)
  const strikes = ill ? strikesOf(drawing) : []
  return {
    ...plan,
    operations: [...plan.operations, ...done].toSorted((one, other) => one.at - other.at),
    faults: ill ? [...plan.faults, ...faultsOf(drawing)] : plan.faults,
    ...(strikes.length > 0 ? { strikes: [...(plan.strikes ?? []), ...strikes] } : {}),
    healsAt: Math.max(plan.healsAt, 2 * spreadMillis + 60_000),
  }
}

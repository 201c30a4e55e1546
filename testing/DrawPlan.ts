/**
 * Draws plans: a seed is a plan, and always the same.
 */
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import { ownerFailpoints } from "../owner-object/Owner.ts"
import { threadFailpoints } from "../thread-actors/ThreadFailpoints.ts"
import { asidePoints, withAsides } from "./AsidePlan.ts"
import { withChanges } from "./ChangePlan.ts"
import { withChildren } from "./ChildPlan.ts"
import { deadlyScript, drawScript, type Taste } from "./DrawScript.ts"
import type { FaultKind, FaultRates } from "./Faults.ts"
import { type Bait, lureOf } from "./Lures.ts"
import type { Operation, Plan, PlannedFault } from "./Plan.ts"
import { drawDenials } from "./Policy.ts"
import type { Pace } from "./Queue.ts"
import { makeRandom, type Random } from "./Random.ts"
import { withResubmits } from "./ResubmitPlan.ts"
import { withRunning } from "./RunningPlan.ts"
import { type PointDoes, type Strike, withLostAlarms } from "./Strikes.ts"
import { withStorage } from "./StoragePlan.ts"
import { withStruck } from "./StruckPlan.ts"
import { laterPoints, talkingShare, withTalk } from "./TalkPlan.ts"
import { tightLimits } from "./TightLimits.ts"

/** Failpoints of threads that no operation which is drawn can reach. */
export const undrawnPoints: ReadonlyArray<string> = ["admitMany"]

/** A plan of which no other generator makes more is drawn from these alone: seeds mean what they have always meant. */
const isFirst = (of: "owner" | "thread", name: string): boolean =>
  !laterPoints[of].some((one) => one === name) && !asidePoints[of].some((one) => one === name)
const drawnPoints = threadFailpoints.filter(
  (name) => !undrawnPoints.includes(name) && isFirst("thread", name),
)
const drawnOfOwners = ownerFailpoints.filter((name) => isFirst("owner", name))

type Weather = "calm" | "messages" | "crashes" | "storage" | "platform" | "all"

const rare = (random: Random): number => random.pick([0.002, 0.01, 0.03])
const often = (random: Random): number => random.pick([0.01, 0.05, 0.15])

const messageRates = (random: Random): FaultRates => ({
  "request lost": often(random),
  "reply lost": often(random),
  "request late": rare(random),
  "request doubled": often(random),
  "request replayed": rare(random),
  "reply late": rare(random),
  "client sends twice": 0.2,
  "client vanishes": 0.1,
})
const crashRates = (random: Random): FaultRates => ({
  "crash at a failpoint": random.pick([0.002, 0.01, 0.03]),
  "flush slow": random.pick([0, 0.05, 0.3]),
  "replaced, the old one runs on": random.pick([0, 0.001, 0.005]),
})
const platformRates = (random: Random): FaultRates => ({ "alarm late": random.pick([0.02, 0.2]) })

const ratesOf = (random: Random, weather: Weather): FaultRates => ({
  ...(weather === "messages" || weather === "all" ? messageRates(random) : {}),
  ...(weather === "crashes" || weather === "all" ? crashRates(random) : {}),
  ...(weather === "platform" || weather === "all" ? platformRates(random) : {}),
})

const plannedKinds: Readonly<Record<Weather, ReadonlyArray<FaultKind>>> = {
  calm: [],
  messages: [],
  crashes: ["crash", "crash", "crash of several", "replaced, the old one runs on", "eviction"],
  storage: [
    "storage fails",
    "storage is full",
    "flush fails",
    "record corrupt",
    "crash",
    "lane rows deleted",
    "fault rows deleted",
  ],
  platform: ["start fails", "deployment", "object slow", "eviction", "owner lost", "crash"],
  all: [
    "crash",
    "crash of several",
    "replaced, the old one runs on",
    "eviction",
    "storage fails",
    "storage is full",
    "flush fails",
    "record corrupt",
    "start fails",
    "deployment",
    "object slow",
    "owner lost",
    "lane rows deleted",
    "fault rows deleted",
  ],
}

const paceOf = (random: Random): Pace => ({
  preempts: random.pick([0, 0.1, 0.5]),
  shuffles: random.pick([0, 0, 0.1, 0.5]),
  bursts: random.pick([0.5, 0.9, 0.98]),
  yields: random.pick([0, 0, 0, 0.001, 0.01]),
  lags: random.pick([0, 0, 0.01, 0.1]),
})

const tasteOf = (random: Random): Taste => ({
  opsMax: random.pick([1, 3, 6]),
  slow: random.pick([0, 0.1, 0.3]),
  failing: random.pick([0, 0.1, 0.3]),
  hanging: random.pick([0, 0, 0.05]),
  ordinary: random.pick([0, 0.4, 0.8]),
  parallel: random.pick([0, 0.2]),
})

interface Drawing {
  readonly random: Random
  readonly plan: Pick<Plan, "owners" | "threads" | "clients">
  readonly spreadMillis: number
}

const submissions = ({ plan, random, spreadMillis }: Drawing): ReadonlyArray<Operation> => {
  const taste = tasteOf(random)
  const count = random.between(4, 36)
  const deadly = random.chance(0.1) ? random.below(count) : -1
  return Array.from({ length: count }, (_, index): Operation => ({
    _tag: "Submit",
    at: random.below(spreadMillis),
    client: random.below(plan.clients),
    thread: random.below(plan.threads.length),
    key: `k${index}`,
    agent: random.weighted([
      [10, "first"],
      [4, "second"],
      [1, "newer"],
    ]),
    script: index === deadly ? deadlyScript : drawScript(random, taste),
    afterMillis: random.chance(0.05) ? random.below(60_000) : undefined,
    waits: random.chance(0.4),
  }))
}

const operators = (
  { plan, random, spreadMillis }: Drawing,
  keys: number,
): ReadonlyArray<Operation> => {
  const count = random.weighted([
    [2, 0],
    [3, random.between(1, 4)],
    [2, random.between(5, 16)],
  ])
  return Array.from({ length: count }, (): Operation => {
    const about = {
      at: random.below(spreadMillis * 2),
      client: random.below(plan.clients),
      thread: random.below(plan.threads.length),
      owner: random.below(plan.owners.length),
      key: `k${random.below(keys)}`,
    }
    const tag = random.weighted([
      [4, "Abort"],
      [3, "Retry"],
      [2, "Pause"],
      [2, "Resume"],
      [1, "Wake"],
      [1, "Reconcile"],
      [2, "Resolve"],
      [1, "Attend"],
      [2, "Read"],
      [1, "Observe"],
      [1, "Intrude"],
      [1, "Forget"],
      [1, "Maintenance"],
      [0.5, "Cron"],
    ] as const)
    return { ...about, _tag: tag, abort: random.chance(0.5) }
  })
}

const faultsOf = (
  { plan, random, spreadMillis }: Drawing,
  weather: Weather,
): ReadonlyArray<PlannedFault> => {
  const kinds = plannedKinds[weather]
  if (kinds.length === 0) return []
  const one = (kind: FaultKind): PlannedFault => ({
    at: random.below(spreadMillis * 2),
    kind,
    object: random.below(plan.owners.length + plan.threads.length),
    lastsMillis: random.pick([5, 500, 10_000, 200_000]),
  })
  return Array.from({ length: random.below(8) }, () => one(random.pick(kinds))).flatMap((fault) =>
    // A deployment reaches objects one by one; a fault has its row only once a recovery has failed.
    fault.kind === "deployment"
      ? [fault, ...Array.from({ length: random.below(5) }, () => one("deployment"))]
      : fault.kind === "fault rows deleted"
        ? [{ ...one("record corrupt"), at: 0 }, one("crash"), one("record corrupt"), fault]
        : [fault],
  )
}

type Aimed = Pick<Plan, "operations" | "faults"> & {
  readonly strikes: ReadonlyArray<Strike>
  readonly lastsMillis: number
}

/** Where something is lured to. */
interface Place {
  readonly thread: number
  readonly name: string
  readonly index: number
}

const operationOf = (
  { plan, random, spreadMillis }: Drawing,
  bait: Exclude<Bait, { readonly _tag: "Fault" }>,
  { index, name, thread }: Place,
): Operation => {
  const about = { at: random.below(spreadMillis), client: random.below(plan.clients), thread }
  const key = `${name}.${index}`
  switch (bait._tag) {
    case "Submit":
      return { ...about, ...bait, key, afterMillis: undefined, waits: false }
    case "Abort":
    case "Retry":
      return { ...about, at: about.at + random.below(1_000), _tag: bait._tag, key: `${name}.0` }
    case "Forget":
      return { ...about, _tag: "Forget", abort: random.chance(0.7) }
    default:
      return { ...about, _tag: bait._tag }
  }
}

/** Draws crashes at failpoints, each as likely as any other, and what brings objects there. */
const aimed = (drawing: Drawing): Aimed => {
  const { plan, random, spreadMillis } = drawing
  const operations: Array<Operation> = []
  const faults: Array<PlannedFault> = []
  const strikes: Array<Strike> = []
  let lastsMillis = 0
  const points = [
    ...drawnOfOwners.map((name) => ["owner", name] as const),
    ...drawnPoints.map((name) => ["thread", name] as const),
  ]
  for (let count = random.between(1, 3); count > 0; count--) {
    const [of, name] = random.pick(points)
    const side = random.pick(["before", "after"] as const)
    const thread = random.below(plan.threads.length)
    const owner = plan.owners.indexOf(plan.threads[thread]?.ownerId as OwnerId)
    const places = { owner, thread: plan.owners.length + thread }
    const does = random.weighted<PointDoes>([
      [6, { _tag: "Crashes" }],
      [1, { _tag: "CrashesWith", others: [of === "owner" ? places.thread : owner] }],
      [1, { _tag: "IsReplaced" }],
    ])
    const nth = random.pick([1, 1, 1, 2, 3, 5])
    strikes.push({ _tag: "AtPoint", object: places[of], nth, point: `${name}:${side}`, does })
    const lure = lureOf(of, name, random)
    lastsMillis = Math.max(lastsMillis, lure.lastsMillis)
    for (const [index, bait] of lure.baits.entries()) {
      if (bait._tag !== "Fault")
        operations.push(
          operationOf(drawing, bait, { thread, name: `${of}.${name}${count}`, index }),
        )
      else {
        const at = random.below(spreadMillis * 2)
        faults.push({ at, kind: bait.kind, object: places[bait.of], lastsMillis: 10_000 })
      }
    }
  }
  return { operations, faults, strikes, lastsMillis }
}

const drawSilent = (seed: number): Plan => {
  const random = makeRandom(seed)
  const weather = random.weighted<Weather>([
    [1, "calm"],
    [3, "messages"],
    [4, "crashes"],
    [2, "storage"],
    [2, "platform"],
    [4, "all"],
  ])
  const owners = (random.chance(0.3) ? ["o1", "o2"] : ["o1"]).map((name) => name as OwnerId)
  const threads = Array.from({ length: random.between(1, 6) }, (_, index) => ({
    ownerId: owners[index % owners.length] as OwnerId,
    threadId: `t${index}` as ThreadId,
  }))
  const clients = random.between(1, 3)
  const spreadMillis = random.pick([50, 2_000, 20_000, 200_000])
  const drawing: Drawing = { random, plan: { owners, threads, clients }, spreadMillis }
  const submits = submissions(drawing)
  const aims = weather !== "calm" && random.chance(0.5) ? aimed(drawing) : undefined
  const limits = random.chance(0.3) ? tightLimits(random) : undefined
  const denials = random.chance(0.25) ? drawDenials(random, drawing.plan) : undefined
  const operations = [
    ...submits,
    ...operators(drawing, submits.length),
    ...(aims?.operations ?? []),
  ]
  const drawn: Plan = {
    seed,
    pace: paceOf(random),
    rates: {
      ...ratesOf(random, weather),
      ...(denials === undefined ? {} : { "policy fails": random.pick([0, 0.01, 0.05]) }),
    },
    latencyMillis: random.pick([1, 3, 30]),
    flushMillis: random.pick([0, 1, 10]),
    skewMillis: random.pick([0, 0, 20, 1_000]),
    owners,
    threads,
    clients,
    operations: operations.toSorted((one, other) => one.at - other.at),
    faults: [...faultsOf(drawing, weather), ...(aims?.faults ?? [])],
    ...(aims === undefined ? {} : { strikes: aims.strikes }),
    ...(limits === undefined ? {} : { limits }),
    ...(denials === undefined ? {} : { denials }),
    healsAt:
      spreadMillis * 2 + Math.max(aims?.lastsMillis ?? 0, random.pick([1_000, 30_000, 200_000])),
  }
  return weather === "platform" || weather === "all" ? withLostAlarms(random, drawn) : drawn
}

/** Draws the plan of a seed. */
export const drawPlan = (seed: number): Plan => {
  const silent = drawSilent(seed)
  const random = makeRandom(seed ^ 0x7a1c)
  const plan = random.chance(talkingShare) ? withTalk(random, silent) : silent
  const beside = withAsides(makeRandom(seed ^ 0x51de), plan)
  const stored = withStorage(makeRandom(seed ^ 0xb10c), beside)
  const struck = withStruck(makeRandom(seed ^ 0x90de), stored)
  const limited = withRunning(makeRandom(seed ^ 0x61a7), struck)
  const again = withResubmits(makeRandom(seed ^ 0x2eb5), limited)
  return withChildren(makeRandom(seed ^ 0xc41d), withChanges(makeRandom(seed ^ 0x57a7), again))
}

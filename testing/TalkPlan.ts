/**
 * Plans in which runs wait and talk: a share of the seeds. What such a seed draws besides is drawn by a generator of
 * its own, so that the rest of its plan, and every other seed, is what it was.
 */
import type { OwnerFailpoint } from "../owner-object/Owner.ts"
import type { ThreadFailpoint } from "../thread-actors/ThreadFailpoints.ts"
import type { Operation, Plan } from "./Plan.ts"
import { spreadOf, step } from "./PlanParts.ts"
import type { Random } from "./Random.ts"
import { drawScript, isDeadly, type Taste } from "./DrawScript.ts"
import type { OneOp, Op, Script, TalkOp } from "./Script.ts"
import type { Strike } from "./Strikes.ts"

/** How many of the seeds talk. */
export const talkingShare = 0.35

/** Failpoints that seeds in which nobody talks know nothing of: most are reached by talking alone. */
export const laterPoints: {
  readonly owner: ReadonlyArray<OwnerFailpoint>
  readonly thread: ReadonlyArray<ThreadFailpoint>
} = {
  owner: ["claim", "deliver", "acknowledge", "project"],
  thread: [
    "wait",
    "send",
    "child",
    "join",
    "decide",
    "settleChild",
    "abortChild",
    "acknowledge",
    "schedule",
    "upkeep",
  ],
}

const quiet: Taste = {
  opsMax: 2,
  slow: 0.1,
  failing: 0.1,
  hanging: 0,
  ordinary: 0.2,
  parallel: 0,
}

const hour = 3_600_000

interface Drawing {
  readonly random: Random
  readonly threads: number
  /** How much deeper what is sent may itself send. */
  readonly deep: number
}

const agentOf = (random: Random): string =>
  random.weighted([
    [10, "first"],
    [3, "second"],
    [1, "newer"],
  ])

const scriptSent = (drawing: Drawing): Script => {
  const { deep, random } = drawing
  const script = drawScript(random, quiet)
  if (deep === 0 || random.chance(0.6)) return script
  const one = drawTalk({ ...drawing, deep: deep - 1 }, "m")
  return { ...script, ops: [...script.ops, one] }
}

const expiry = (random: Random): number | undefined =>
  random.chance(0.35) ? random.pick([20, 2_000, 60_000]) : undefined

const approval = ({ random }: Drawing, name: string): TalkOp => {
  const expiresMillis = expiry(random)
  return { _tag: "Approval", name, ...(expiresMillis === undefined ? {} : { expiresMillis }) }
}

const awaits = ({ random }: Drawing, name: string): TalkOp => {
  const timeoutMillis = expiry(random)
  return { _tag: "Await", name, ...(timeoutMillis === undefined ? {} : { timeoutMillis }) }
}

const sleep = ({ random }: Drawing, name: string): TalkOp => ({
  _tag: "Sleep",
  name,
  millis: random.pick([5, 5, 900, 900, 30_000, 30_000, 10 * hour]),
})

const child = (drawing: Drawing, name: string): TalkOp => ({
  _tag: "Child",
  name,
  agent: agentOf(drawing.random),
  detached: drawing.random.chance(0.2),
  script: scriptSent(drawing),
})

const send = (drawing: Drawing, name: string): TalkOp => {
  const { random, threads } = drawing
  return {
    _tag: "Send",
    name,
    thread: random.below(threads),
    agent: agentOf(random),
    joins: random.chance(0.25),
    ...(random.chance(0.1) ? { afterMillis: random.below(60_000) } : {}),
    script: scriptSent(drawing),
  }
}

const branch = (drawing: Drawing, name: string): OneOp =>
  drawing.random.weighted<(drawing: Drawing, name: string) => OneOp>([
    [3, sleep],
    [2, approval],
    [2, awaits],
    [2, child],
    [2, work],
  ])(drawing, name)

const work = ({ random }: Drawing, name: string): OneOp => step(name, random.pick([0, 500, 20_000]))

const race = (drawing: Drawing, name: string): TalkOp => ({
  _tag: "Race",
  name,
  branches: Array.from({ length: drawing.random.between(2, 3) }, (_, index) =>
    branch(drawing, `${name}.${index}`),
  ),
})

const drawTalk = (drawing: Drawing, name: string): TalkOp => {
  const { random } = drawing
  return random.weighted<() => TalkOp>([
    [3, () => approval(drawing, name)],
    [2, () => sleep(drawing, name)],
    [3, () => awaits(drawing, name)],
    [2, () => race(drawing, name)],
    [3, () => ({ _tag: "Take", name, max: random.pick([1, 3, 32]) })],
    [4, () => child(drawing, name)],
    [4, () => send(drawing, name)],
    [0.3, () => ({ _tag: "Deep", name, left: random.between(1, 9) })],
    [1, () => ({ _tag: "Hop", name, left: random.between(1, 9) })],
  ])()
}

/** A script that also waits and talks. */
const talkative = (drawing: Drawing, script: Script): Script => {
  const { random } = drawing
  const ops: Array<Op> = [...script.ops]
  for (let count = random.between(1, 3); count > 0; count--) {
    const one = (): OneOp => drawTalk(drawing, `w${count}`)
    const at = random.below(ops.length + 1)
    if (!random.chance(0.25)) ops.splice(at, 0, one())
    else {
      // Several wait at once; or one waits beside another that works.
      const other = random.chance(0.5) ? work(drawing, `x${count}`) : drawTalk(drawing, `x${count}`)
      ops.splice(at, 0, { _tag: "Parallel", branches: [one(), other] })
    }
  }
  return { ...script, ops }
}

interface Asks {
  readonly name: string
  readonly of: "Await" | "Approval"
}

/** What a script asks for from outside. */
const asked = (ops: ReadonlyArray<Op>): ReadonlyArray<Asks> =>
  ops.flatMap((op) => {
    if ("branches" in op) return asked(op.branches)
    return op._tag === "Await" || op._tag === "Approval" ? [{ name: op.name, of: op._tag }] : []
  })

type Submit = Extract<Operation, { readonly _tag: "Submit" }>

const answers = (random: Random, plan: Plan, spread: number): ReadonlyArray<Operation> => {
  const waits = plan.operations.flatMap((one) =>
    one._tag === "Submit" ? asked(one.script.ops).map((wait) => ({ key: one.key, ...wait })) : [],
  )
  return Array.from({ length: random.between(2, 14) }, (_, value): Operation => {
    const at = random.below(2 * spread)
    const client = random.below(plan.clients)
    const about = { at, client }
    const wait = waits.length === 0 ? undefined : random.pick(waits)
    const choice = random.weighted([
      [5, "Decide"],
      [5, "Signal"],
      [1, "AbortSent"],
    ] as const)
    if (choice === "Signal" && wait !== undefined) {
      const { key, name } = wait
      return wait.of === "Await"
        ? { ...about, _tag: "Signal", key, name, value: random.pick([7, value]) }
        : { ...about, _tag: "Approve", key, name, approved: random.chance(0.6) }
    }
    if (choice === "AbortSent") return { ...about, _tag: "AbortSent", nth: random.below(20) }
    const thread = random.below(plan.threads.length)
    const [approved, patient] = [random.chance(0.6), random.chance(0.4)]
    return { ...about, _tag: "Decide", thread, approved, patient }
  })
}

/** Threads that give themselves inputs; in most plans none. */
const schedules = ({ random }: Drawing, plan: Plan, spread: number): ReadonlyArray<Operation> =>
  Array.from({ length: random.chance(0.3) ? random.between(1, 4) : 0 }, (_, index): Operation => {
    const at = random.below(Math.min(index === 0 ? spread : 2 * spread, plan.healsAt))
    const about = {
      at,
      client: random.below(plan.clients),
      thread: random.below(threadsMost(plan)),
    }
    const name = random.pick(["tick", "tock"])
    if (index > 0 && random.chance(0.3)) return { ...about, _tag: "Unschedule", name }
    const everySeconds = random.pick([20, 30])
    const { ends, ops } = drawScript(random, quiet)
    const own: Op = { _tag: "Small", name, what: "progress" } // So that its inputs are nobody else's.
    return { ...about, _tag: "Schedule", name, everySeconds, script: { ops: [own, ...ops], ends } }
  })

/** Few threads have schedules: what is left of them is much. */
const threadsMost = ({ threads }: Plan): number => Math.min(2, threads.length)

/** Crashes at the failpoints of what talks. */
const strikes = (random: Random, plan: Plan): ReadonlyArray<Strike> => {
  const points = [
    ...laterPoints.owner.map((name) => ["owner", name] as const),
    ...laterPoints.thread.map((name) => ["thread", name] as const),
  ]
  return Array.from({ length: random.between(1, 4) }, (): Strike => {
    const [of, name] = random.pick(points)
    const side = random.pick(["before", "after"])
    const owners = plan.owners.length
    const object =
      of === "owner" ? random.below(owners) : owners + random.below(plan.threads.length)
    const nth = random.pick([1, 1, 1, 2, 3, 6])
    const replaced = random.chance(0.15)
    const does = replaced ? ({ _tag: "IsReplaced" } as const) : ({ _tag: "Crashes" } as const)
    return { _tag: "AtPoint", object, nth, point: `${name}:${side}`, does }
  })
}

/** A plan whose runs wait and talk. */
export const withTalk = (random: Random, plan: Plan): Plan => {
  const drawing: Drawing = { random, threads: plan.threads.length, deep: 2 }
  const joining = random.pick([0, 0.2, 0.6])
  const spread = spreadOf(plan)
  const talkativeShare = random.pick([0.3, 0.7])
  const operations = plan.operations.map((operation): Operation => {
    if (operation._tag !== "Submit" || isDeadly(operation.script)) return operation
    const submit: Submit = random.chance(joining) ? { ...operation, joins: true } : operation
    return random.chance(talkativeShare)
      ? { ...submit, script: talkative(drawing, submit.script) }
      : submit
  })
  const talking: Plan = { ...plan, operations, talks: true }
  const said = answers(random, talking, spread)
  const calm = plan.rates["crash at a failpoint"] === undefined
  const doors = random.pick([undefined, "open", "open", "even"] as const)
  return {
    ...talking,
    ...(doors === undefined ? {} : { doors }),
    ...(calm ? {} : { strikes: [...(plan.strikes ?? []), ...strikes(random, plan)] }),
    operations: [...operations, ...said, ...schedules(drawing, talking, spread)].toSorted(
      (one, other) => one.at - other.at,
    ),
  }
}

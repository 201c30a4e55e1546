/**
 * Plans in which the work of submissions that failed, or were aborted, is done again: a share of the seeds. As with what
 * goes on beside, a generator of its own draws it.
 */
import { strikesAt } from "./AsidePlan.ts"
import type { Operation, Plan } from "./Plan.ts"
import { spreadOf, step } from "./PlanParts.ts"
import type { Denial } from "./Policy.ts"
import type { Random } from "./Random.ts"
import type { Script } from "./Script.ts"

const againShare = 0.2

const drawn = (random: Random, ends: Script["ends"]): Script => ({
  ops: Array.from({ length: random.below(3) }, (_, index) =>
    step(`s${index}`, random.pick([0, 50, 2_000])),
  ),
  ends,
})

interface Drawing {
  readonly random: Random
  readonly plan: Plan
  readonly spread: number
}

/** What fails for certain, unless somebody aborts it. */
const failing = ({ plan, random, spread }: Drawing): ReadonlyArray<Operation> =>
  Array.from({ length: random.between(1, 4) }, (_, index) => ({
    _tag: "Submit",
    at: random.below(spread),
    client: random.below(plan.clients),
    thread: random.below(plan.threads.length),
    key: `f${index}`,
    agent: random.pick(["first", "first", "second"]),
    script: drawn(random, random.pick(["fails", "fails", "dies"])),
    afterMillis: undefined,
    waits: random.chance(0.4),
  }))

type Resubmit = Extract<Operation, { readonly _tag: "Resubmit" }>

/** Of what fails, of any other, and of what is itself done again. */
const again = (
  { plan, random, spread }: Drawing,
  fails: ReadonlyArray<string>,
): ReadonlyArray<Resubmit> => {
  const others = plan.operations.flatMap((one) => (one._tag === "Submit" ? [one.key] : []))
  const aborted = plan.operations.flatMap((one) => (one._tag === "Abort" ? [one.key] : []))
  const keys: Array<string> = []
  return Array.from({ length: random.between(2, 9) }, (_, index) => {
    const of = random.pick([
      ...fails,
      ...fails,
      ...aborted,
      ...keys,
      random.pick([...others, ...fails]),
    ])
    const key = `r${index}`
    keys.push(key)
    return {
      _tag: "Resubmit",
      at: random.below(2 * spread),
      client: random.below(plan.clients),
      of,
      key,
      ...(random.chance(0.4) ? { script: drawn(random, random.pick(["well", "fails"])) } : {}),
      waits: random.chance(0.4),
      patient: random.chance(0.7),
    }
  })
}

const aborts = ({ plan, random, spread }: Drawing, keys: ReadonlyArray<string>) =>
  Array.from({ length: random.below(3) }, (): Operation => ({
    _tag: random.pick(["Abort", "Retry"]),
    at: random.below(2 * spread),
    client: random.below(plan.clients),
    key: random.pick(keys),
  }))

/** Now and then one of the clients may not do it. */
const denied = ({ plan, random }: Drawing): { readonly denials?: ReadonlyArray<Denial> } => {
  if (plan.denials === undefined || plan.clients < 2 || !random.chance(0.3)) return {}
  const client = random.between(1, plan.clients - 1)
  return {
    denials: [...plan.denials, { client, operations: ["resubmit"], thread: undefined }],
  }
}

/** A plan in which work is done again. */
export const withResubmits = (random: Random, plan: Plan): Plan => {
  if (!random.chance(againShare)) return plan
  const drawing = { plan, random, spread: spreadOf(plan) }
  const fails = failing(drawing)
  const resubmits = again(
    drawing,
    fails.flatMap((one) => ("key" in one ? [one.key] : [])),
  )
  const all = [
    ...plan.operations,
    ...fails,
    ...resubmits,
    ...aborts(
      drawing,
      resubmits.map(({ key }) => key),
    ),
  ]
  return {
    ...plan,
    operations: all.toSorted((one, other) => one.at - other.at),
    ...denied(drawing),
    ...strikesAt(random, plan, [["thread", "resubmit"]]),
  }
}

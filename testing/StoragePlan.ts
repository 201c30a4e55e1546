/**
 * Storage that fails in the middle of blocks, and lists that lose their tables, each in a share of the seeds. As with what
 * goes on beside, a generator of its own draws it, so that the rest of a plan, and every other seed, is what it was.
 */
import type { FaultRates } from "./Faults.ts"
import type { Operation, Plan, PlannedFault } from "./Plan.ts"
import { spreadOf } from "./PlanParts.ts"
import type { Random } from "./Random.ts"
import type { StatementDoes, Strike } from "./Strikes.ts"

const breakingShare = 0.12
const listingShare = 0.15

const drawDoes = (random: Random): StatementDoes =>
  random.chance(0.4)
    ? { _tag: "Errs" }
    : { _tag: "HasNoRoom", millis: random.pick([0, 0, 500, 10_000, 60_000]) }

/** The commit is as likely to fail as a few statements: what is written last, an alarm mostly, is before it alone. */
const drawStatement = (random: Random): number | "commit" =>
  random.chance(0.3) ? "commit" : random.pick([1, 2, 3, 4, 5, 6, 8, 10, 14, 20, 30])

const drawStrike = (random: Random, { owners, threads }: Plan): Strike => {
  const object = random.weighted([
    [5, random.below(owners.length)],
    [6, owners.length + random.below(threads.length)],
    // The registry.
    [1, owners.length + threads.length],
  ])
  return {
    _tag: "OfStatement",
    object,
    nth: random.pick([1, 1, 2, 3, 5, 8, 13, 30]),
    statement: drawStatement(random),
    does: drawDoes(random),
  }
}

/** Of thousands of statements. */
const drawRates = (random: Random): FaultRates => {
  const rate = () => random.pick([0.0002, 0.001, 0.004])
  return {
    ...(random.chance(0.5) ? { "statement fails": rate() } : {}),
    ...(random.chance(0.5) ? { "no room in a block": rate() } : {}),
  }
}

const breaking = (random: Random, plan: Plan): Plan => ({
  ...plan,
  strikes: [
    ...(plan.strikes ?? []),
    ...Array.from({ length: random.between(2, 8) }, () => drawStrike(random, plan)),
  ],
  rates: { ...plan.rates, ...(random.chance(0.5) ? drawRates(random) : {}) },
  ...(random.chance(0.5) ? { asksAfter: true } : {}),
})

const drawLoss = (random: Random, plan: Plan, spread: number): PlannedFault => ({
  at: random.below(2 * spread + 1_000),
  kind: "list tables lost",
  object: random.below(plan.owners.length),
  lastsMillis: 0,
})

/** Titles change, lists are looked at, lose their tables, and are built anew by whoever asks or because nobody does. */
const listing = (random: Random, plan: Plan): Plan => {
  const spread = spreadOf(plan)
  const titled = plan.operations.map((operation): Operation =>
    operation._tag === "Submit" && random.chance(0.6)
      ? { ...operation, title: `about ${operation.key}` }
      : operation,
  )
  const looks = Array.from({ length: random.between(0, 6) }, (): Operation => ({
    _tag: random.chance(0.3) ? "RebuildLists" : "List",
    at: random.below(2 * spread + 2_000),
    client: 0,
    owner: random.below(plan.owners.length),
  }))
  return {
    ...plan,
    lists: random.chance(0.6) ? "outcomes" : "titles",
    operations: [...titled, ...looks].toSorted((one, other) => one.at - other.at),
    faults: [
      ...plan.faults,
      ...Array.from({ length: random.between(0, 3) }, () => drawLoss(random, plan, spread)),
    ],
    // So few that a look at all lanes has several batches.
    limits: { ...plan.limits, projectionLanes: random.pick([256, 256, 1, 2]) },
  }
}

/** A plan whose storage fails in the middle of blocks, or whose lists lose their tables. */
export const withStorage = (random: Random, plan: Plan): Plan => {
  const listed = random.chance(listingShare) ? listing(random, plan) : plan
  return random.chance(breakingShare) ? breaking(random, listed) : listed
}

/**
 * Plans in which parallel steps of a run change the state of its thread at once: a share of the seeds. As with what goes
 * on beside, a generator of its own draws it.
 */
import { strikesAt } from "./AsidePlan.ts"
import { isDeadly } from "./DrawScript.ts"
import type { Operation, Plan } from "./Plan.ts"
import type { Random } from "./Random.ts"
import type { OneOp, Op, Script } from "./Script.ts"
import type { Strike } from "./Strikes.ts"

const changingShare = 0.2

const change = (random: Random, name: string): OneOp => ({
  _tag: "Small",
  name,
  what: random.pick(["update", "update", "update", "read"] as const),
})

/** Several that change it at once, and now and then one that looks at it afterwards. */
const changes = (random: Random, script: Script): Script => {
  const together: Op = {
    _tag: "Parallel",
    branches: Array.from({ length: random.between(2, 5) }, (_, branch) =>
      change(random, `both.${branch}`),
    ),
  }
  const after: ReadonlyArray<Op> = random.chance(0.5) ? [change(random, "then")] : []
  const at = random.below(script.ops.length + 1)
  return { ...script, ops: script.ops.toSpliced(at, 0, together, ...after) }
}

/** One that has computed its change waits before it is written: others come first. */
const waits = (random: Random, plan: Plan): ReadonlyArray<Strike> =>
  Array.from({ length: random.below(5) }, () => ({
    _tag: "AtPoint",
    object: plan.owners.length + random.below(plan.threads.length),
    nth: random.pick([1, 1, 2, 3, 5, 8]),
    point: `state:${random.pick(["before", "before", "after"])}`,
    does: { _tag: "Waits", millis: random.pick([5, 200, 3_000]) },
  }))

/** A plan with scripts whose parallel steps change the state. */
export const withChanges = (random: Random, plan: Plan): Plan => {
  if (!random.chance(changingShare)) return plan
  const operations = plan.operations.map((one): Operation =>
    one._tag === "Submit" && !isDeadly(one.script) && random.chance(0.5)
      ? { ...one, script: changes(random, one.script) }
      : one,
  )
  const { strikes = plan.strikes ?? [] } = strikesAt(random, plan, [["thread", "state"]])
  const all = [...strikes, ...waits(random, plan)]
  return { ...plan, operations, ...(all.length === 0 ? {} : { strikes: all }) }
}

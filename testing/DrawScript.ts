/** Draws scripts of what works; what waits and talks is put into them by `TalkPlan.ts`. */
import type { Random } from "./Random.ts"
import {
  type Behaviour,
  type CallOp,
  type OneOp,
  type Op,
  promiseMillis,
  type Script,
} from "./Script.ts"

/** What scripts of a run are like; drawn per seed. */
export interface Taste {
  readonly opsMax: number
  readonly slow: number
  readonly failing: number
  readonly hanging: number
  readonly ordinary: number
  readonly parallel: number
}

const takes = (random: Random, taste: Taste): number => {
  if (!random.chance(taste.slow)) return random.below(20)
  return random.weighted([
    [6, random.between(100, 2_000)],
    [3, random.between(2_000, 40_000)],
    [1, random.between(100_000, 900_000)],
  ])
}

const behaviour = (random: Random, taste: Taste): Behaviour => ({
  takesMillis: takes(random, taste),
  failures: random.chance(taste.failing) ? random.between(1, 3) : 0,
  ends: random.chance(taste.hanging)
    ? "hangs"
    : random.chance(taste.failing)
      ? random.pick(["refused", "breaks", "dies"] as const)
      : "well",
})

const call = (random: Random, taste: Taste, name: string): CallOp => {
  const tool = random.chance(taste.ordinary)
    ? random.pick(["pay", "pay", "wire"] as const)
    : random.pick(["look", "mark"] as const)
  const behaved = behaviour(random, taste)
  const lands = random.weighted([
    [6, "at once"],
    [2, "late"],
    [1, "never"],
  ] as const)
  if (lands === "never") return { _tag: "Call", name, tool, behaviour: behaved }
  const landsMillis = lands === "late" ? random.below(promiseMillis[tool]) : 0
  return { _tag: "Call", name, tool, behaviour: behaved, landsMillis }
}

const one = (random: Random, taste: Taste, name: string): OneOp =>
  random.weighted<() => OneOp>([
    [
      5,
      () => ({
        _tag: "Step",
        name,
        behaviour: behaviour(random, taste),
        retries: random.chance(0.4) ? random.between(1, 3) : 0,
        retryMillis: random.pick([10, 500, 3_000]),
        timeoutMillis: random.pick([300_000, 5_000]),
      }),
    ],
    [4, () => call(random, taste, name)],
    [
      3,
      () => ({
        _tag: "Small",
        name,
        what: random.pick(["update", "update", "read", "progress", "draw", "now", "emit"] as const),
      }),
    ],
    [
      1,
      () => ({ _tag: "Work", millis: takes(random, taste), uninterruptible: random.chance(0.3) }),
    ],
  ])()

/** A script that does nothing but kill its object. */
export const deadlyScript: Script = {
  ops: [
    {
      _tag: "Step",
      name: "kills",
      behaviour: { takesMillis: 0, failures: 0, ends: "kills" },
      retries: 0,
      retryMillis: 10,
      timeoutMillis: 5_000,
    },
  ],
  ends: "well",
}

/** Whether a script kills its object. */
export const isDeadly = ({ ops }: Script): boolean =>
  ops.some((op) => op._tag === "Step" && op.behaviour.ends === "kills")

/** Draws a script. */
export const drawScript = (random: Random, taste: Taste): Script => {
  const count = random.below(taste.opsMax + 1)
  const ops = Array.from({ length: count }, (_, index): Op => {
    if (!random.chance(taste.parallel)) return one(random, taste, `n${index}`)
    const branches = random.between(2, 3)
    return {
      _tag: "Parallel",
      branches: Array.from({ length: branches }, (_unused, branch) =>
        one(random, taste, `n${index}.${branch}`),
      ),
    }
  })
  const ends = random.chance(taste.failing)
    ? random.pick(["fails", "dies"] as const)
    : ("well" as const)
  return { ops, ends }
}

/**
 * Runs controls: each broken copy in its pinned world or from its pinned seeds on, and the pinned worlds with the
 * product itself.
 *
 * - R1 A control counts as caught only by the invariant that is named for it.
 * - R2 A pinned world must be clean with the product; else what it shows of a broken copy means nothing.
 */
import { drawPlan } from "../Plan.ts"
import { runPlan } from "../Simulation.ts"
import type { Control } from "./Control.ts"
import { loadBroken } from "./Load.ts"

export interface Seeds {
  readonly from: number
  readonly to: number
}

/** What came of one control. */
export interface Shown {
  readonly name: string
  /** The invariant that must catch it. */
  readonly invariant: string
  readonly caught: boolean
  /** The invariants that were violated there, the one that is named first if it is among them. */
  readonly foundBy: ReadonlyArray<string>
  /** The seed, or that its pinned world showed it. */
  readonly where: number | "pinned world" | undefined
  /** How many seeds were run, from the first of the search or the pin on. */
  readonly seeds: number
  /** What makes it count for nothing, in words. */
  readonly stale: string | undefined
}

const namesOf = (
  invariant: string,
  violations: ReadonlyArray<{ readonly invariant: string }>,
): ReadonlyArray<string> => {
  const names = [...new Set(violations.map((one) => one.invariant))]
  return names.includes(invariant)
    ? [invariant, ...names.filter((name) => name !== invariant)] // R1
    : names
}

const shown = (
  { invariant, name }: Control,
  found: Omit<Shown, "name" | "invariant" | "caught" | "stale"> & { readonly stale?: string },
): Shown => ({
  name,
  invariant,
  caught: found.foundBy[0] === invariant && found.stale === undefined, // R1
  stale: undefined,
  ...found,
})

/** Runs seeds of a broken copy, some first, until one shows it. */
const search = async (control: Control, first: ReadonlyArray<number>, { from, to }: Seeds) => {
  const run = await loadBroken(control)
  const others = new Set<string>()
  let seeds = 0
  const look = async (seed: number): Promise<Shown | undefined> => {
    seeds += 1
    const { violations } = await run(drawPlan(seed))
    const foundBy = namesOf(control.invariant, violations)
    for (const name of foundBy) others.add(name)
    return foundBy[0] === control.invariant
      ? shown(control, { foundBy, where: seed, seeds })
      : undefined
  }
  for (const seed of first) {
    const found = await look(seed)
    if (found !== undefined) return found
  }
  const stale = first.length === 0 ? {} : { stale: "its pinned seeds do not show it any more" }
  for (let seed = from; seed <= to; seed++) {
    const found = await look(seed)
    if (found !== undefined) return { ...found, ...stale, caught: first.length === 0 }
  }
  return shown(control, { foundBy: [...others], where: undefined, seeds, ...stale })
}

const inWorld = async (control: Control, plan: Parameters<typeof runPlan>[0]): Promise<Shown> => {
  const clean = (await runPlan(plan)).violations // R2
  const { violations } = await (await loadBroken(control))(plan)
  const foundBy = namesOf(control.invariant, violations)
  const told = clean.map(({ detail, invariant }) => `${invariant}: ${detail}`).join("; ")
  const stale =
    clean.length === 0 ? {} : { stale: `the product violates its pinned world: ${told}` }
  return shown(control, { foundBy, where: "pinned world", seeds: 0, ...stale })
}

/** Runs a control as it is pinned; without a world, on to the other seeds if there are any. */
export const runPinned = (control: Control, seeds: Seeds): Promise<Shown> =>
  control.pinned._tag === "World"
    ? inWorld(control, control.pinned.plan)
    : search(control, control.pinned.seeds, seeds)

/** Searches for it at random, whatever is pinned. */
export const searchFor = (control: Control, seeds: Seeds): Promise<Shown> =>
  search(control, [], seeds)

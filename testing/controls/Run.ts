/**
 * Runs controls: each broken copy in its pinned world, which is run with the product, too; or on drawn seeds.
 *
 * - R1 A control counts as caught only by the invariant that is named for it.
 * - R2 A pinned world must be clean with the product; else what it shows of a broken copy means nothing.
 */
import { drawPlan } from "../DrawPlan.ts"
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
  /** How many seeds a search has run. */
  readonly seeds: number
  /** What makes it count for nothing, in words. */
  readonly stale?: string
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

type Found = Pick<Shown, "foundBy" | "where" | "seeds"> & { readonly stale?: string }

const shown = ({ invariant, name }: Control, found: Found): Shown => ({
  name,
  invariant,
  caught: found.foundBy[0] === invariant && found.stale === undefined, // R1
  ...found,
})

/** Runs a control in its world. */
export const runPinned = async (control: Control): Promise<Shown> => {
  const plan = control.pinned
  const clean = (await runPlan(plan)).violations // R2
  const { violations } = await (await loadBroken(control))(plan)
  const found: Found = {
    foundBy: namesOf(control.invariant, violations),
    where: "pinned world",
    seeds: 0,
  }
  if (clean.length === 0) return shown(control, found)
  const told = clean.map(({ detail, invariant }) => `${invariant}: ${detail}`).join("; ")
  return shown(control, { ...found, stale: `the product violates its pinned world: ${told}` })
}

/** Runs drawn seeds of a broken copy until one shows it. */
export const searchFor = async (control: Control, { from, to }: Seeds): Promise<Shown> => {
  const run = await loadBroken(control)
  const others = new Set<string>()
  for (let seed = from; seed <= to; seed++) {
    const { violations } = await run(drawPlan(seed))
    const foundBy = namesOf(control.invariant, violations)
    if (foundBy[0] === control.invariant)
      return shown(control, { foundBy, where: seed, seeds: seed - from + 1 })
    for (const name of foundBy) others.add(name)
  }
  return shown(control, { foundBy: [...others], where: undefined, seeds: to - from + 1 })
}

/**
 * The branches of races: the one that code of a handler runs in, and how the row of a wait tells those it stands in.
 */
import { Context } from "effect"
import { parsed, Unreadable } from "./Unreadable.ts"

export interface RaceBranch {
  /** The name of the race. */
  readonly race: string
  readonly branch: string
  /** Whether the branch is one wait and nothing else: then the wait's answer is the branch's outcome. */
  readonly isSole: boolean
  /** The branch that the race itself runs in. */
  readonly outer: RaceBranch | undefined
  /** The names that operations of the branch have taken, those of races in it, too. */
  readonly names: Set<string>
  /** How much the names of all branches of the race would take in its record. */
  readonly taken: { bytes: number }
}

/** The innermost one; none outside of races. */
export const CurrentRaceBranch = Context.Reference<RaceBranch | undefined>(
  "heddle/thread-actors/CurrentRaceBranch",
  { defaultValue: () => undefined },
)

/** The effects that are one wait each, as `Run` gave them away. */
const waits = new WeakSet<object>()

/** Marks what `Run` gives for one wait. */
export const asWait = <W extends object>(wait: W): W => {
  waits.add(wait)
  return wait
}

/** Whether a branch is one wait and nothing else. */
export const isWait = (branch: object): boolean => waits.has(branch)

/** A branch of a race as rows hold it. */
export type StoredBranch = readonly [race: string, branch: string]

/** The branches that code stands in, outermost first; none outside of races. */
export const branchesAround = (scope: RaceBranch | undefined): ReadonlyArray<StoredBranch> => {
  const branches: Array<StoredBranch> = []
  for (let at = scope; at !== undefined; at = at.outer) branches.unshift([at.race, at.branch])
  return branches
}

/** The same, as rows hold it. */
export const branchesText = (branches: ReadonlyArray<StoredBranch>): string | null =>
  branches.length === 0 ? null : JSON.stringify(branches)

export const storedBranches = (scope: RaceBranch | undefined): string | null =>
  branchesText(branchesAround(scope))

const isBranch = (value: unknown): value is StoredBranch =>
  Array.isArray(value) && value.length === 2 && value.every((part) => typeof part === "string")

/** The same, read. */
export const branchesOf = (stored: string | null): ReadonlyArray<StoredBranch> => {
  if (stored === null) return []
  const value: unknown = parsed(stored, "waits")
  if (!Array.isArray(value) || !value.every(isBranch)) throw new Unreadable("waits")
  return value
}

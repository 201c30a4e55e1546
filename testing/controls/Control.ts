/**
 * A control: a broken copy of the product, and the invariant that must catch it.
 *
 * Each is a few edits of the product's text, made in memory as it is loaded; the product has no seam for them.
 */
import type { Plan } from "../Plan.ts"

/** One change of one file. `find` stands in it exactly once. */
export interface Edit {
  /** From the root of the repository. */
  readonly file: string
  readonly find: string
  readonly replace: string
}

export interface Control {
  /** As the design has it. */
  readonly name: string
  /** The invariant that must catch it. */
  readonly invariant: string
  readonly edits: ReadonlyArray<Edit>
  /** A small world, written by hand: the broken copy violates the invariant in it, and the product none. */
  readonly pinned: Plan
}

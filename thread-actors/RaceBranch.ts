/**
 * The branch of a race that code of a handler runs in, innermost; none outside of races.
 */
import { Context } from "effect"

export interface RaceBranch {
  /** The name of the race. */
  readonly race: string
  readonly branch: string
  /** Whether the branch is one wait and nothing else: then the wait's answer is the branch's outcome. */
  readonly isSole: boolean
}

export const CurrentRaceBranch = Context.Reference<RaceBranch | undefined>(
  "heddle/thread-actors/CurrentRaceBranch",
  { defaultValue: () => undefined },
)

/** Limits of a run in which lanes must wait for each other; a plan draws them now and then. */
import type { Limits } from "../contracts/Limits.ts"
import type { Random } from "./Random.ts"

/** So few slots that lanes must wait for each other. */
export const tightLimits = (random: Random): Partial<Limits> => ({
  dispatchSlots: random.pick([1, 2]),
  visitSlots: random.pick([1, 2]),
  recoverySlots: random.pick([1, 2]),
  forgetSlots: 1,
  headsPerTurn: random.pick([1, 2, 8]),
  passCalls: random.pick([800, 800, 12]),
  runningPerOwner: random.pick([1_000, 1_000, 1, 2]),
})

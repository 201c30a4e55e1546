/**
 * I16 Deleting lane rows or faults, or a whole owner, loses no accepted work: what had been accepted by a thread
 * whose owner forgot it settles once somebody has reconciled it; after rows of faults were deleted, unasked.
 */
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

export const accidentsLoseNothing = (world: World, violate: Violate): void => {
  for (const name of world.forgotten) {
    const { state } = world.platform.object("thread", name)
    if (!state.hasTable("submissions")) continue
    const open = state.read<{ sequence: number; state: string }>(
      "SELECT sequence, state FROM submissions WHERE state <> 'settled'",
    )
    for (const row of open)
      violate(
        "I16",
        `${name}: submission ${row.sequence} is ${row.state} for good after an accident`,
      )
  }
}

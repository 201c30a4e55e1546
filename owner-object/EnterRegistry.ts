/**
 * Entering the owner registry: one call in a pass, with a slot of its own beside those of the lanes.
 *
 * Invariants
 * - U1 Nothing waits for it but the end of its pass, and that no longer than `registryMillis`: a
 *   registry that is away delays no lane and no reply.
 * - U2 One try at a time; what the registry has answered is never asked again.
 */
import { Effect } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import type { Block } from "./Block.ts"
import { within } from "./Call.ts"
import * as Entry from "./Entry.ts"
import type { Life, RunningPass } from "./Life.ts"
import { inBlock, type Owner, type RegistryClient } from "./Owner.ts"

/** Whether this owner must be entered, as a block leaves it. */
export const entryIsDue = (block: Block): boolean =>
  Entry.isDue(block.maintenance.entry, block.life.registers, block.now)

/** Charges the next try, if one is due and none is under way. Tells whether it may be made. */
export const chargeEntry = (block: Block, pass: RunningPass): boolean => {
  if (pass.entering || !entryIsDue(block)) return false // U2
  const entry = Entry.charged(block.maintenance.entry, block.now, block.limits)
  block.maintenance = { ...block.maintenance, entry }
  return true
}

const acknowledge = (block: Block): void => {
  block.maintenance = { ...block.maintenance, entry: Entry.entered } // U2
}

/** An outage is told once; its backoff is in the row. */
const tellAway = (life: Life, cause: unknown) => {
  const { entry } = life.maintenance
  const line = `the owner registry did not answer; this owner enters it later: ${describeThrown(cause)}`
  return entry._tag === "Owed" && entry.tries === 1
    ? Effect.logWarning(line)
    : Effect.logDebug(line)
}

/** Makes the try that was charged. Fails only when the commit does. */
export const enterRegistry = (owner: Owner, life: Life, registry: RegistryClient) => {
  const owes = life.maintenance.nonterminal > 0 || life.mutations > 0
  const call = registry.enter({ ownerId: life.ownerId, owes })
  return Effect.matchCauseEffect(within(owner.limits.registryMillis, call), {
    onSuccess: () => inBlock(owner, life, "enter", acknowledge),
    onFailure: (cause) => tellAway(life, cause),
  }) // U1
}

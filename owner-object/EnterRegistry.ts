/**
 * Entering the owner registry: one call in a pass, with a slot of its own beside those of the lanes.
 *
 * Invariants
 * - U1 Nothing waits for it but the end of its pass, and that no longer than `registryMillis`: a
 *   registry that is away delays no lane and no reply.
 * - U2 One try at a time; what the registry has answered is never asked again.
 * - U3 An owner owes what its alarm is for: also a time of a schedule, an outbox or records, without any submission.
 */
import { Effect } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import type { Block } from "./Block.ts"
import { within } from "./Call.ts"
import * as Entry from "./Entry.ts"
import { hostsDueAt } from "./Hosts.ts"
import { lanesAt } from "./LanesAt.ts"
import type { Life } from "./Life.ts"
import { inBlock, type Owner, type RegistryClient } from "./Owner.ts"
import { tablesOf } from "./TicketIndex.ts"

/** Whether this owner must be entered, as a block leaves it. */
export const entryIsDue = (block: Block): boolean =>
  Entry.isDue(block.maintenance.entry, block.life.registers, block.now)

/** What the registry is told. */
export interface EntryTry {
  readonly owes: boolean
}

/** Whether there is anything to come back for. // U3 */
const owesAnything = ({ host, life, maintenance }: Block): boolean =>
  maintenance.nonterminal > 0 ||
  life.mutations > 0 ||
  lanesAt(tablesOf(host.storage.sql, life), true) !== undefined ||
  hostsDueAt(life, maintenance) !== undefined

/** Charges the next try, if one is due and none is under way. Gives it if it may be made. */
export const chargeEntry = (block: Block): EntryTry | undefined => {
  if (block.life.underWay.entering || !entryIsDue(block)) return undefined // U2
  const entry = Entry.charged(block.maintenance.entry, block.now, block.limits)
  block.maintenance = { ...block.maintenance, entry }
  return { owes: owesAnything(block) }
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
export const enterRegistry = (
  owner: Owner,
  life: Life,
  registry: RegistryClient,
  { owes }: EntryTry,
) => {
  const call = registry.enter({ ownerId: life.ownerId, owes })
  return Effect.matchCauseEffect(within(owner.limits.registryMillis, call), {
    onSuccess: () => inBlock(owner, life, "enter", acknowledge),
    onFailure: (cause) => tellAway(life, cause),
  }) // U1
}

/**
 * Publication in a pass: whose records go next, in slots of its own, and the block that commits the end of a turn.
 *
 * Invariants
 * - S1 Publication has slots of its own: a sink that fails or hangs delays no run, visit, recovery or carry.
 * - S2 Whose records have been due longest go first; those in backoff take at most half of the slots.
 * - S3 The records of a thread are published by one at a time, so that they go in order.
 * - S4 After its turn a thread whose records are still due goes behind all that wait.
 * - S5 A deployment without a sink publishes nothing: what its threads said before is asked again, at the same pace, so
 *   that their runs go on.
 */
import { Effect } from "effect"
import { idsIn, spanned, spans } from "../contracts/observability/Spans.ts"
import type { HeddleSink } from "../contracts/Publication.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { type Block, nextGeneration, readLane, writeLane } from "./Block.ts"
import type { Lane } from "./Lane.ts"
import { landAside } from "./LandAside.ts"
import type { Life, RunningPass } from "./Life.ts"
import { type Owner, quietBlock } from "./Owner.ts"
import { duePublications } from "./PublicationTable.ts"
import { afterPublishing, publicationAgain } from "./PublicationTurn.ts"
import { callsOfBatch, publish, type PublicationEnd, type PublicationPick } from "./Publish.ts"
import { dueBefore } from "./Rotation.ts"
import { tablesOf } from "./TicketIndex.ts"

const freeSlots = ({ limits }: Block, pass: RunningPass) => {
  const slots = pass.oneSlot ? 1 : limits.publishSlots // S1
  const slowUsed = [...pass.publications.values()].filter(({ slow }) => slow).length
  return {
    free: slots - pass.publications.size,
    slowFree: Math.max(1, Math.floor(slots / 2)) - slowUsed,
  }
}

/** The lanes whose records are due and that nobody publishes now, in their order. */
const dueOf = (block: Block, pass: RunningPass, limit: number) => {
  const { host, life, now } = block
  const tables = tablesOf(host.storage.sql, life)
  // Those under way keep their rows as they are, so they come first and are passed over.
  return duePublications(tables, { limit: limit + pass.publications.size, now }).filter(
    ({ threadId }) => !pass.publications.has(threadId), // S3
  )
}

/** The lane if it is due. One that was mended just now tells nothing before its visit. */
const readDue = (block: Block, threadId: Lane["threadId"]): Lane | undefined => {
  const lane = readLane(block, threadId)
  return lane?.publishTicket === undefined || lane.publishTicket >= dueBefore(block.now)
    ? undefined
    : lane
}

/** Gives free slots away, and charges their calls. */
export const selectPublications = (
  block: Block,
  pass: RunningPass,
): ReadonlyArray<PublicationPick> => {
  const { limits, now } = block
  const slots = freeSlots(block, pass)
  const picks: Array<PublicationPick> = []
  if (slots.free <= 0 || pass.calls >= limits.passCalls) return picks
  let { slowFree } = slots
  for (const due of dueOf(block, pass, slots.free)) {
    if (picks.length === slots.free || pass.calls >= limits.passCalls) break
    if (due.slow && slowFree <= 0) continue // S2
    const lane = readDue(block, due.threadId)
    if (lane === undefined) continue
    if (due.slow) slowFree -= 1
    pass.publications.set(due.threadId, { slow: due.slow, startedAt: now })
    pass.calls += callsOfBatch
    picks.push({ lane, slow: due.slow, generation: nextGeneration(block) })
  }
  return picks
}

/** Has the threads visited whose records were to be published by another version. // S5 */
export const askAgain = (block: Block, pass: RunningPass): void => {
  for (const { threadId } of dueOf(block, pass, block.limits.promotionBatch)) {
    const lane = readDue(block, threadId)
    if (lane === undefined) continue
    const asked = { ...publicationAgain(lane, block), mustVisit: true }
    writeLane(block, lane, asked, { afterTurn: false, afterPublishing: true })
  }
}

const commitEnd = (
  block: Block,
  pass: RunningPass,
  pick: PublicationPick,
  end: PublicationEnd,
): void => {
  const found = landAside(block, pass, pick, end)
  if (found === undefined) return
  const lane = afterPublishing(found.lane, end, block)
  writeLane(block, found.before, lane, { afterTurn: false, afterPublishing: true }) // S4
}

const broken: PublicationEnd = {
  claimed: undefined,
  refused: false,
  acknowledged: undefined,
  forgottenAt: undefined,
}

/** One turn from its first claim to its commit. Fails only when the commit does. */
export const flyPublication = (
  owner: Owner,
  life: Life,
  pass: RunningPass,
  { pick, sink }: { readonly pick: PublicationPick; readonly sink: HeddleSink },
) =>
  Effect.gen(function* () {
    const turn = spanned(
      () => ({ name: spans.publish, attributes: idsIn(pick.lane) }),
      publish({ owner, life, lane: pick.lane, sink }, pass, pick),
    )
    const end = yield* Effect.catchDefect(turn, (defect) =>
      Effect.as(
        Effect.logError(`records could not be published: ${describeThrown(defect)}`),
        broken,
      ),
    )
    yield* quietBlock(owner, life, "published", (block) => commitEnd(block, pass, pick, end))
  })

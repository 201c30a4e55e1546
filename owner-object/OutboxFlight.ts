/**
 * Outboxes in a pass: whose is carried next, in slots of its own, and the block that commits its end.
 *
 * Invariants
 * - S1 Carries have slots of their own: what runs, is visited or recovers takes none of them, and gives none.
 * - S2 The outbox that has been due longest goes first; those in backoff take at most half of the slots.
 * - S3 A carry that lasts leaves its slot: a peer that hangs costs the others a moment. How many there are at once is
 *   bounded all the same.
 * - S4 The outbox of a thread is carried by one at a time; other calls of its thread go on beside it.
 * - S5 After its turn an outbox that is still due goes behind all that wait.
 */
import { Effect } from "effect"
import { idsIn, spanned, spans } from "../contracts/observability/Spans.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { type Block, nextGeneration, readLane, writeLane } from "./Block.ts"
import { callsOfCarry, carry, type CarryEnd, type CarryPick } from "./Carry.ts"
import { landAside } from "./LandAside.ts"
import type { Life, RunningPass } from "./Life.ts"
import { dueOutboxes } from "./OutboxTable.ts"
import { afterCarry } from "./OutboxTurn.ts"
import { type Owner, quietBlock } from "./Owner.ts"
import { dueBefore } from "./Rotation.ts"
import { tablesOf } from "./TicketIndex.ts"

/** When the first of the carries that hold a slot leaves it by lasting; undefined when none holds one. */
export const slotFreeAt = (
  pass: RunningPass,
  now: number,
  patienceMillis: number,
): number | undefined => {
  let earliest: number | undefined
  for (const { startedAt } of pass.carries.values()) {
    const at = startedAt + patienceMillis
    if (at > now && (earliest === undefined || at < earliest)) earliest = at
  }
  return earliest
}

const freeSlots = ({ limits, now }: Block, pass: RunningPass) => {
  const slots = pass.oneSlot ? 1 : limits.outboxSlots // S1
  let used = 0
  let slowUsed = 0
  for (const { slow, startedAt } of pass.carries.values()) {
    if (now >= startedAt + limits.outboxPatienceMillis) continue // S3
    used += 1
    if (slow) slowUsed += 1
  }
  const most = pass.oneSlot ? 1 : limits.outboxCarries
  return {
    free: Math.min(slots - used, most - pass.carries.size),
    slowFree: Math.max(1, Math.floor(slots / 2)) - slowUsed,
  }
}

/** Gives free slots away, and charges their calls. */
export const selectCarries = (block: Block, pass: RunningPass): ReadonlyArray<CarryPick> => {
  const { host, life, limits, now } = block
  const slots = freeSlots(block, pass)
  const picks: Array<CarryPick> = []
  if (slots.free <= 0 || pass.calls >= limits.passCalls) return picks
  let { slowFree } = slots
  // Those that are carried now keep their rows as they are, so they come first and are passed over.
  const limit = slots.free + pass.carries.size
  const tables = tablesOf(host.storage.sql, life)
  for (const due of dueOutboxes(tables, { limit, now })) {
    if (picks.length === slots.free || pass.calls >= limits.passCalls) break
    if (pass.carries.has(due.threadId)) continue // S4
    if (due.slow && slowFree <= 0) continue // S2
    const lane = readLane(block, due.threadId)
    // One that was mended just now tells nothing before its visit.
    if (lane?.outboxTicket === undefined || lane.outboxTicket >= dueBefore(now)) continue
    if (due.slow) slowFree -= 1
    pass.carries.set(due.threadId, { slow: due.slow, startedAt: now })
    pass.calls += callsOfCarry
    picks.push({ lane, slow: due.slow, generation: nextGeneration(block) })
  }
  return picks
}

const commitEnd = (
  owner: Owner,
  block: Block,
  pass: RunningPass,
  pick: CarryPick,
  end: CarryEnd,
): void => {
  const found = landAside(block, pass, pick, end)
  if (found === undefined) return
  const { limits } = owner
  const moment = { limits, now: block.now, random: block.host.random() }
  const lane = afterCarry(found.lane, end, moment)
  writeLane(block, found.before, lane, { afterTurn: false, afterCarry: true }) // S5
}

const broken: CarryEnd = {
  claimed: undefined,
  unbegun: false,
  acknowledged: undefined,
  forgottenAt: undefined,
}

/** One carry from its claim to its commit. Fails only when the commit does. */
export const flyOutbox = (owner: Owner, life: Life, pass: RunningPass, pick: CarryPick) =>
  Effect.gen(function* () {
    const carried = spanned(
      () => ({ name: spans.carry, attributes: idsIn(pick.lane) }),
      carry(owner, life, pass, pick),
    )
    const end = yield* Effect.catchDefect(carried, (defect) =>
      Effect.as(
        Effect.logError(`an outbox could not be carried: ${describeThrown(defect)}`),
        broken,
      ),
    )
    yield* quietBlock(owner, life, "carried", (block) => commitEnd(owner, block, pass, pick, end))
  })

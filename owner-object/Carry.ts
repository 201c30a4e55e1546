/**
 * A carry: what is due in the outbox of one thread is claimed, delivered and acknowledged.
 *
 * There are no leases and no marks of what is under way. A claim changes nothing; a delivery is taken once by its id,
 * however often it comes; an acknowledgement names entries by their ids and says nothing of those that are gone. So a
 * crash at any point is followed by the same claim again, and leaves nothing to take back.
 *
 * Invariants
 * - C1 Entries for one target are delivered in their order, each after the one before was taken or refused for good;
 *   the first that is neither stops its target, for this carry. Targets do not wait for each other.
 * - C2 An entry is acknowledged after it was delivered, never before; what ends together in one call.
 * - C3 A carry is charged its claim, one delivery and one acknowledgement before it starts; a further delivery begins
 *   only while the time of the carry, that of the pass that began it and its budget of calls last.
 */
import { Effect, Exit, Latch } from "effect"
import type { Generation } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { OutboxEntry, OutboxResult } from "../contracts/Outbox.ts"
import { failureOf, within } from "./Call.ts"
import { carryEntry, ownerOf, peerOf, type Source } from "./CarryEntry.ts"
import { delayed, type EntryResult, type KnownEntry } from "./CarryResult.ts"
import { forgottenAtOf } from "./Forgotten.ts"
import type { Lane } from "./Lane.ts"
import type { Life, RunningPass } from "./Life.ts"
import { withMutation } from "./Mutation.ts"
import type { Carried } from "./OutboxTurn.ts"
import { addressOf, type Owner } from "./Owner.ts"
import type { PeerName } from "./Peer.ts"
import { inTurn } from "./Peers.ts"

/** Calls that a carry is charged before it starts. // C3 */
export const callsOfCarry = 3

/** A lane whose outbox was given a slot. */
export interface CarryPick {
  readonly lane: Lane
  readonly slow: boolean
  /** What the claim carries: a thread that was fenced since refuses it. */
  readonly generation: Generation
}

export interface CarryEnd extends Carried {
  /** Set when the thread said that it was forgotten. */
  readonly forgottenAt: number | undefined
}

interface Claimed {
  readonly report: LaneReport | undefined
  /** Undefined when the claim failed, or gave what this code does not know. */
  readonly entries: ReadonlyArray<KnownEntry> | undefined
  readonly forgottenAt: number | undefined
}

const isKnown = (entry: OutboxEntry): entry is KnownEntry => entry._tag !== "Unrecognized"

const claim = (owner: Owner, life: Life, { generation, lane }: CarryPick) =>
  Effect.gen(function* () {
    const { limits, threads } = owner
    yield* owner.failpoints.reach("claim:before")
    const call = threads.claimOutbox({
      ...addressOf(life, lane.threadId),
      limit: limits.outboxEntries,
      generation,
      now: owner.host.now(),
    })
    const exit = yield* Effect.exit(within(limits.claimMillis, call))
    yield* owner.failpoints.reach("claim:after")
    if (Exit.isFailure(exit)) {
      const forgottenAt = forgottenAtOf(failureOf(exit))
      return { report: undefined, entries: undefined, forgottenAt } satisfies Claimed
    }
    const { report, result } = exit.value
    const all = result._tag === "Success" ? result.value : undefined
    const entries = all?.every(isKnown) === true ? all : undefined
    return { report, entries, forgottenAt: undefined } satisfies Claimed
  })

/** What goes to one peer, in its order. */
interface Parcel {
  readonly name: PeerName
  readonly entries: Array<KnownEntry>
}

const parcelsOf = (entries: ReadonlyArray<KnownEntry>, life: Life): ReadonlyArray<Parcel> => {
  const parcels = new Map<string, Parcel>()
  for (const entry of entries) {
    const name = peerOf(entry, life)
    const parcel = parcels.get(name.key) ?? { name, entries: [] }
    parcel.entries.push(entry)
    parcels.set(name.key, parcel)
  }
  return [...parcels.values()]
}

interface Carrying {
  readonly source: Source
  readonly pass: RunningPass
  readonly startedAt: number
  /** Whether the delivery that was charged beforehand has begun. */
  spent: boolean
  /** Acknowledgements so far, of which one was charged. */
  acknowledgements: number
  results: Array<OutboxResult>
  done: boolean
  /** Opened by what there is to acknowledge, and by the end. */
  readonly heard: Latch.Latch
  readonly ended: Latch.Latch
}

/** Whether one more delivery may begin; it is charged. // C3 */
const begins = (carrying: Carrying): boolean => {
  const { pass, source, spent, startedAt } = carrying
  const { host, limits } = source.owner
  const now = host.now()
  if (now >= pass.yieldAt) return false
  if (!spent) {
    carrying.spent = true
    return true
  }
  if (now >= startedAt + limits.outboxSliceMillis || pass.calls >= limits.passCalls) return false
  pass.calls += 1
  return true
}

const unbegun = Symbol("unbegun")

/** Delivers what goes to one peer. // C1 */
const carryParcel = (carrying: Carrying, { entries, name }: Parcel) =>
  Effect.gen(function* () {
    const { source } = carrying
    const { life, owner } = source
    const stopped = new Set<string>()
    for (const entry of entries) {
      const target = `${ownerOf(entry, life)}/${entry.threadId}`
      if (stopped.has(target)) continue
      const came = yield* inTurn(owner, life, name, (peer) =>
        Effect.suspend((): Effect.Effect<EntryResult | typeof unbegun> =>
          begins(carrying) ? carryEntry(source, peer, entry) : Effect.succeed(unbegun),
        ),
      )
      if (came === unbegun) return
      const result = came ?? delayed("Unavailable")
      if (result._tag === "Delayed") stopped.add(target)
      carrying.results.push({ id: entry.id, result })
      carrying.heard.openUnsafe()
    }
  })

/** Tells the thread what became of entries. Gives its report, unless there was no answer. */
const acknowledge = (carrying: Carrying, results: ReadonlyArray<OutboxResult>) =>
  Effect.gen(function* () {
    const { life, owner, threadId } = carrying.source
    carrying.acknowledgements += 1
    if (carrying.acknowledgements > 1) carrying.pass.calls += 1
    let told: LaneReport | undefined
    yield* owner.failpoints.reach("acknowledge:before")
    const mutation = withMutation(owner, life, {
      threadId,
      bytes: JSON.stringify(results).length,
      endsOnly: true,
      acknowledges: true,
      call: (generation, now) =>
        Effect.tap(
          owner.threads.acknowledgeOutbox({
            ...addressOf(life, threadId),
            results,
            generation,
            now,
          }),
          ({ report }) => Effect.sync(() => void (told = report)),
        ),
    })
    const exit = yield* Effect.exit(Effect.uninterruptible(mutation))
    yield* owner.failpoints.reach("acknowledge:after")
    return Exit.isSuccess(exit) ? told : undefined
  })

/** Acknowledges what comes as it comes, what comes within a moment together. // C2 */
const acknowledging = (carrying: Carrying) =>
  Effect.gen(function* () {
    const { ended, heard, source } = carrying
    const moment = Effect.sleep(source.owner.limits.outboxGatherMillis)
    let last: LaneReport | undefined
    while (true) {
      yield* heard.await
      if (!carrying.done) yield* Effect.raceFirst(ended.await, moment)
      const { done } = carrying
      if (!done) heard.closeUnsafe()
      const results = carrying.results
      carrying.results = []
      if (results.length > 0) last = (yield* acknowledge(carrying, results)) ?? last
      if (done) return last
    }
  })

/** One carry from its claim to its last acknowledgement. Fails only with its fiber. */
export const carry = (
  owner: Owner,
  life: Life,
  pass: RunningPass,
  pick: CarryPick,
): Effect.Effect<CarryEnd> =>
  Effect.gen(function* () {
    const { threadId } = pick.lane
    const { entries, forgottenAt, report } = yield* claim(owner, life, pick)
    if (report === undefined || entries === undefined || entries.length === 0) {
      pass.calls -= callsOfCarry - 1
      const claimed = entries === undefined ? undefined : report
      return { claimed, unbegun: false, acknowledged: undefined, forgottenAt }
    }
    const carrying: Carrying = {
      source: { owner, life, threadId, agentsDigest: report.agentsDigest },
      pass,
      startedAt: owner.host.now(),
      spent: false,
      acknowledgements: 0,
      results: [],
      done: false,
      heard: Latch.makeUnsafe(false),
      ended: Latch.makeUnsafe(false),
    }
    const end = Effect.sync(() => {
      carrying.done = true
      carrying.heard.openUnsafe()
      carrying.ended.openUnsafe()
    })
    const parcels = parcelsOf(entries, life)
    yield* Effect.forkChild(
      Effect.forEach(parcels, (parcel) => carryParcel(carrying, parcel), {
        concurrency: "unbounded",
        discard: true,
      }).pipe(Effect.ensuring(end)),
    )
    const acknowledged = yield* acknowledging(carrying)
    const none = !carrying.spent && carrying.acknowledgements === 0
    return { claimed: report, unbegun: none, acknowledged, forgottenAt: undefined }
  })

/**
 * What a pass has begun: each call in a fiber of its own, which frees its slot when it ends.
 *
 * Invariants
 * - LA1 What ends wakes the pass that runs then, which need not be the one that began it.
 */
import { Effect } from "effect"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { HeddleSink } from "../contracts/Publication.ts"
import type { Block } from "./Block.ts"
import type { CarryPick } from "./Carry.ts"
import { enterRegistry, type EntryTry } from "./EnterRegistry.ts"
import { fly } from "./Flight.ts"
import type { HostLane } from "./HostLane.ts"
import { flyHost } from "./HostWave.ts"
import { isRunning } from "./Lane.ts"
import type { Life, RunningPass } from "./Life.ts"
import { flyOutbox } from "./OutboxFlight.ts"
import type { Owner, RegistryClient } from "./Owner.ts"
import { askAgain, flyPublication, selectPublications } from "./PublicationFlight.ts"
import type { PublicationPick } from "./Publish.ts"
import { readNext, type Unread } from "./ReadOutcomes.ts"
import type { Picked } from "./Select.ts"
import type { Flight } from "./UnderWay.ts"

const tellCall = (kind: string, threadId: ThreadId) =>
  Effect.annotateLogs(
    Effect.logInfo(`passes before this one did not finish; now comes a ${kind} of this thread`),
    { threadId },
  )

/** Wakes the pass that runs now, if any does. // LA1 */
const wakePass = ({ pass }: Life): void => pass?.wake()

/** Frees the slot of a call, unless it was let go: then its lane may be in flight again. */
const landed = (life: Life, threadId: ThreadId, flight: Flight): void => {
  const { flights, marked } = life.underWay
  if (flights.get(threadId) !== flight) return
  flights.delete(threadId)
  marked.delete(threadId)
  wakePass(life)
}

/** Has the picked lanes called, each in a fiber of its own. */
export const launch = (owner: Owner, life: Life, pass: RunningPass, pick: Picked) =>
  Effect.gen(function* () {
    const { threadId } = pick.lane
    const flight: Flight = {
      kind: pick.kind,
      slow: pick.slow,
      starts: pick.kind === "dispatch" && !isRunning(pick.lane),
      agent: pick.lane.report?.head?.agent,
    }
    pass.flights.set(threadId, flight)
    pass.calls += 1
    // If this call is what kills the object, its line is the last one.
    if (pass.oneSlot) yield* tellCall(pick.kind, threadId)
    flight.fiber = yield* fly(owner, life, pass, pick).pipe(
      Effect.onExit(() => Effect.sync(() => landed(life, threadId, flight))),
      Effect.forkDetach({ startImmediately: true }),
    )
  })

/** Has a picked outbox carried, in a fiber of its own. */
export const launchCarry = (owner: Owner, life: Life, pass: RunningPass, pick: CarryPick) =>
  Effect.when(tellCall("carry", pick.lane.threadId), Effect.succeed(pass.oneSlot)).pipe(
    Effect.andThen(flyOutbox(owner, life, pass, pick)),
    Effect.onExit(() =>
      Effect.sync(() => {
        pass.carries.delete(pick.lane.threadId)
        wakePass(life)
      }),
    ),
    Effect.forkDetach({ startImmediately: true }),
  )

/** Has a sink given the records of a thread, in a fiber of its own. */
export const launchPublication = (
  owner: Owner,
  life: Life,
  pass: RunningPass,
  given: { readonly pick: PublicationPick; readonly sink: HeddleSink },
) => {
  const { threadId } = given.pick.lane
  return Effect.when(tellCall("publication", threadId), Effect.succeed(pass.oneSlot)).pipe(
    Effect.andThen(flyPublication(owner, life, pass, given)),
    Effect.onExit(() =>
      Effect.sync(() => {
        pass.publications.delete(threadId)
        wakePass(life)
      }),
    ),
    Effect.forkDetach({ startImmediately: true }),
  )
}

/** Whose records go to the sink now, if there is one. */
export const published = (owner: Owner, block: Block, pass: RunningPass) => {
  const { sink } = owner
  if (sink !== undefined) return selectPublications(block, pass).map((pick) => ({ pick, sink }))
  askAgain(block, pass)
  return []
}

/** Has the outcomes of a thread read, in a fiber of its own. */
export const launchRead = (owner: Owner, life: Life, pass: RunningPass, unread: Unread) => {
  pass.reads.add(unread.threadId)
  pass.calls += 1
  return readNext(owner, life, unread).pipe(
    Effect.onExit(() =>
      Effect.sync(() => {
        pass.reads.delete(unread.threadId)
        wakePass(life)
      }),
    ),
    Effect.forkDetach({ startImmediately: true }),
  )
}

/** Has a wave of a host lane made, in a fiber of its own. */
export const launchHost = (owner: Owner, life: Life, pass: RunningPass, lane: HostLane<never>) => {
  pass.waves.add(lane.name)
  return flyHost(owner, life, pass, lane).pipe(
    Effect.onExit(() =>
      Effect.sync(() => {
        pass.waves.delete(lane.name)
        wakePass(life)
      }),
    ),
    Effect.forkDetach({ startImmediately: true }),
  )
}

/** Has this owner entered in the registry, in a fiber of its own. */
export const launchEntry = (
  owner: Owner,
  life: Life,
  pass: RunningPass,
  registry: RegistryClient,
  entry: EntryTry,
) => {
  life.underWay.entering = true
  pass.calls += 1
  return enterRegistry(owner, life, registry, entry).pipe(
    Effect.onExit(() =>
      Effect.sync(() => {
        life.underWay.entering = false
        wakePass(life)
      }),
    ),
    Effect.forkDetach({ startImmediately: true }),
  )
}

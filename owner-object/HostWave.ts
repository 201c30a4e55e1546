/**
 * Host lanes at work: waves beside all else of a pass, each in a fiber of its own.
 *
 * Invariants
 * - HW1 A wave holds no slot, and no thread waits for one: only the end of a pass that has nothing else to do does, as
 *   long as its allowance. It goes on when the pass ends that began it.
 * - HW2 One wave of a lane at a time in an object. One that goes on although it was interrupted keeps the next ones
 *   from starting, and each of them counts as a failure.
 * - HW3 A wave starts only if its allowance has ended when its pass lets go, a moment behind the yield time: one as long as
 *   the event may begin in it, since no event looks at its lanes in the very millisecond in which it starts. And not
 *   again in an event in which it failed.
 * - HW4 What the application throws, or does not answer, fails its wave and nothing else.
 * - HW5 An earlier answer never replaces what a wave that ended meanwhile has stored.
 * - HW6 Whoever asks during a question has it asked again, in the life that is the present one by then.
 */
import {
  type Cause,
  type Context,
  Deferred,
  Effect,
  Exit,
  Layer,
  Option,
  Scope,
  Semaphore,
} from "effect"
import type { Limits } from "../contracts/Limits.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { type Block, noteDeadline, openForWriting } from "./Block.ts"
import { within } from "./Call.ts"
import type { HostLane, HostLaneContext } from "./HostLane.ts"
import { afterWave, chargedHost, hostDueAt, type HostRow, wishing, wishOf } from "./HostRow.ts"
import { hostRowOf, hostsDueAt } from "./Hosts.ts"
import { measured } from "./HostTurns.ts"
import type { Life, RunningPass } from "./Life.ts"
import type { MaintenanceRow } from "./Maintenance.ts"
import { inBlock, type Owner, quietBlock } from "./Owner.ts"
import { toTicket } from "./Rotation.ts"

/** What tells whether a lane may start. */
interface Look {
  readonly limits: Limits
  readonly now: number
  readonly maintenance: MaintenanceRow
}

/** The lanes that this pass may start, with when they are due. // HW2 HW3 */
const startable = (
  { hosts, version }: Life,
  pass: RunningPass,
  { limits, maintenance, now }: Look,
) => {
  if (version === 0) return []
  return hosts.lanes.flatMap((lane) => {
    if (pass.waves.has(lane.name) || pass.hostsFailed.has(lane.name)) return []
    const at = hostDueAt(hostRowOf(maintenance, lane.name), hosts.codeVersion)
    if (at === undefined) return []
    const endsAt = Math.max(at, now) + lane.allowanceMillis
    return endsAt > pass.yieldAt + limits.letGoMillis ? [] : [{ lane, at }]
  })
}

/** Whether a wave is to be started. */
export const hostIsDue = (block: Block, pass: RunningPass): boolean =>
  startable(block.life, pass, block).some(({ at }) => at <= block.now)

/** When this pass may start the next wave; undefined without one. */
export const nextWaveAt = (
  life: Life,
  pass: RunningPass,
  { limits, now }: Pick<Look, "limits" | "now">,
): number | undefined => {
  const { maintenance } = life
  const times = startable(life, pass, { limits, maintenance, now }).map(({ at }) => at)
  return times.length === 0 ? undefined : Math.min(...times)
}

const writeHost = (block: Block, name: string, row: HostRow): void => {
  const { hosts } = block.life
  openForWriting(block)
  const kept = Object.entries(block.maintenance.hostLanes).filter(([of]) =>
    hosts.lanes.some((lane) => lane.name === of),
  )
  const hostLanes = { ...Object.fromEntries(kept), [name]: row }
  block.maintenance = { ...block.maintenance, hostLanes }
  const at = hostsDueAt(block.life, block.maintenance)
  if (at !== undefined) noteDeadline(block, toTicket(at))
}

/** Charges the waves that are due, and tells which may be made. */
export const selectHosts = (block: Block, pass: RunningPass): ReadonlyArray<HostLane<never>> => {
  const { limits, life, now } = block
  const due = startable(life, pass, block).filter(({ at }) => at <= now)
  return due.map(({ lane }) => {
    const row = hostRowOf(block.maintenance, lane.name)
    const { allowanceMillis } = lane
    writeHost(block, lane.name, chargedHost(row, { allowanceMillis, limits, now }))
    return lane
  })
}

const contextOf = ({ host }: Owner, life: Life, millis: number): HostLaneContext => ({
  ownerId: life.ownerId,
  now: host.now(),
  untilAt: host.now() + millis,
})

/** One at a time; only what was built is kept, and never closed: it lives as long as the object. */
const servicesOf = ({ hosts }: Owner): Effect.Effect<Context.Context<never>, unknown> =>
  Semaphore.withPermits(
    hosts.building,
    1,
  )(
    Effect.suspend(() =>
      hosts.context === undefined
        ? Effect.tap(
            Layer.buildWithScope(Layer.fresh(hosts.services), Scope.makeUnsafe()),
            (context) => Effect.sync(() => (hosts.context = context)),
          )
        : Effect.succeed(hosts.context),
    ),
  )

/** Code of the application, with what it needs, not begun before its fiber does. // HW4 */
const asked = <A>(owner: Owner, code: () => Effect.Effect<A, unknown>): Effect.Effect<A, unknown> =>
  Effect.flatMap(servicesOf(owner), (context) =>
    Effect.provideContext(Effect.suspend(code), context),
  )

/** When the application wants the next wave. What is no time fails. */
const askDeadline = (owner: Owner, life: Life, lane: HostLane<never>) => {
  const { hostReadMillis, hostTurnMillis } = owner.limits
  let offences = 0
  const read = asked(owner, () => lane.nextDeadline(contextOf(owner, life, hostReadMillis)))
  const offend = (): void => void (offences += 1)
  return Effect.flatMap(
    within(hostReadMillis, measured(owner.host, hostTurnMillis, offend, read)),
    (at) =>
      at === undefined || (typeof at === "number" && !Number.isNaN(at))
        ? Effect.succeed({ at: wishOf(at), offences })
        : Effect.fail(new TypeError("nextDeadline gave no time")),
  )
}

/** Why a wave failed, for the log. */
const allowanceSpent = "host lane allowance: it did not end in time"
const stillRunning = "its wave before this one was interrupted and goes on"
const holdsObject = "its turns hold the object for too long"

interface Wave {
  readonly failure: string | undefined
  readonly offences: number
}

const causeText = (cause: Cause.Cause<unknown>): string => describeThrown(cause)

/** Waits until the clock was read behind the turn that has just ended. */
const turnRead = ({ host }: Owner): Effect.Effect<void> =>
  Effect.callback<void>((resume) => host.macrotask(() => resume(Effect.void)))

/** One wave, to its end, its allowance, or as many offences as stop its lane. */
const wave = (owner: Owner, life: Life, lane: HostLane<never>): Effect.Effect<Wave> =>
  Effect.gen(function* () {
    const { hosts, limits } = owner
    const { allowanceMillis, name } = lane
    if (hosts.waves.has(name)) return { failure: stillRunning, offences: 0 } // HW2
    let offences = 0
    const spent = Deferred.makeUnsafe<Exit.Exit<unknown, unknown>>()
    const offend = (): void => {
      offences += 1
      if (offences >= limits.hostOffences)
        Deferred.doneUnsafe(spent, Effect.succeed(Exit.fail(holdsObject)))
    }
    const program = asked(owner, () => lane.run(contextOf(owner, life, allowanceMillis)))
    const code = measured(owner.host, limits.hostTurnMillis, offend, program)
    const fiber = yield* Effect.forkDetach(Effect.interruptible(code))
    hosts.waves.add(name)
    fiber.addObserver((exit) => {
      hosts.waves.delete(name)
      Deferred.doneUnsafe(spent, Effect.succeed(exit))
    })
    const end = yield* Effect.timeoutOption(Deferred.await(spent), allowanceMillis).pipe(
      Effect.ensuring(Effect.sync(() => fiber.interruptUnsafe())),
    )
    yield* turnRead(owner)
    if (Option.isNone(end)) return { failure: allowanceSpent, offences }
    const failure = Exit.isFailure(end.value) ? causeText(end.value.cause) : undefined
    return { failure, offences }
  })

const tell = (lane: HostLane<never>, row: HostRow, failure: string) => {
  const line = `a wave of the host lane "${lane.name}" failed: ${failure}`
  return row.failures === 1 ? Effect.logError(line) : Effect.logDebug(line)
}

const tellStopped = (lane: HostLane<never>) =>
  Effect.logError(
    `the host lane "${lane.name}" is stopped: ${holdsObject}; deploy a version that returns sooner`,
  )

/** A charged wave from its start to its commit. Fails only when the commit does. */
export const flyHost = (owner: Owner, life: Life, pass: RunningPass, lane: HostLane<never>) =>
  Effect.gen(function* () {
    const { hosts, limits } = owner
    const { codeVersion } = hosts
    const ran = yield* wave(owner, life, lane)
    const read = yield* Effect.exit(askDeadline(owner, life, lane))
    const offences = ran.offences + (Exit.isSuccess(read) ? read.value.offences : 0)
    const failure = ran.failure ?? (Exit.isFailure(read) ? causeText(read.cause) : undefined)
    if (failure !== undefined) (life.pass ?? pass).hostsFailed.add(lane.name) // HW3
    const row = yield* inBlock(owner, life, "host", (block) => {
      const stored = hostRowOf(block.maintenance, lane.name)
      const wished = Exit.isSuccess(read) ? wishing(stored, read.value.at) : stored
      const end = { succeeded: failure === undefined, offences }
      const after = afterWave(wished, end, { codeVersion, limits, now: block.now })
      writeHost(block, lane.name, after)
      return after
    })
    hosts.ends.set(lane.name, (hosts.ends.get(lane.name) ?? 0) + 1)
    if (failure !== undefined) yield* tell(lane, row, failure)
    if (row.stopped === codeVersion) yield* tellStopped(lane)
  })

/** A time that has come stands until its wave: one that is told from the clock would move ahead of it for ever. */
const wanted = (
  { nextAt }: HostRow,
  answered: number | undefined,
  now: number,
): number | undefined =>
  nextAt !== undefined && nextAt <= now && answered !== undefined && answered > nextAt
    ? nextAt
    : answered

/** Stores when a lane wants its next wave. Without an answer a wave finds out. // HW4 HW5 */
const readOne = (owner: Owner, life: Life, lane: HostLane<never>) =>
  Effect.gen(function* () {
    const { hosts } = owner
    const ends = hosts.ends.get(lane.name)
    const read = yield* Effect.exit(askDeadline(owner, life, lane))
    if (Exit.isFailure(read))
      yield* Effect.logDebug(`the host lane "${lane.name}" told no time: ${causeText(read.cause)}`)
    const stored = hostRowOf(life.maintenance, lane.name)
    if (hosts.waves.has(lane.name) || hosts.ends.get(lane.name) !== ends) return // HW5
    const now = owner.host.now()
    const at = Exit.isSuccess(read) ? wanted(stored, read.value.at, now) : (stored.nextAt ?? now)
    if (at === stored.nextAt) return
    yield* quietBlock(owner, life, "host", (block) =>
      writeHost(block, lane.name, wishing(hostRowOf(block.maintenance, lane.name), at)),
    )
  })

/** For which life all lanes are asked now; undefined when nobody wants it, and then nobody asks any more. // HW6 */
const takeQuestion = ({ hosts, life }: Owner): Life | undefined => {
  const isWanted = hosts.reading === "again" && life !== undefined && life.version > 0
  hosts.reading = isWanted ? "once" : "no"
  return isWanted ? life : undefined
}

/** Asks all lanes, one look at a time, for as long as somebody wants it. */
const readAll = (owner: Owner) =>
  Effect.gen(function* () {
    const { hosts } = owner
    for (let life = takeQuestion(owner); life !== undefined; life = takeQuestion(owner)) {
      const present = life
      // What keeps one from being read is a failed block, which was logged and has ended this life: the next one asks.
      yield* Effect.forEach(hosts.lanes, (lane) => Effect.ignore(readOne(owner, present, lane)), {
        concurrency: "unbounded",
        discard: true,
      })
    }
  }).pipe(Effect.onError(() => Effect.sync(() => void (owner.hosts.reading = "no"))))

/** Has the application asked for its deadlines, beside whatever else is done. // HW1 */
export const readDeadlines = (owner: Owner, life: Life): void => {
  const { hosts } = owner
  if (hosts.lanes.length === 0 || life.version === 0) return
  const isAsking = hosts.reading !== "no"
  hosts.reading = "again" // HW6
  if (!isAsking) owner.background(readAll(owner))
}

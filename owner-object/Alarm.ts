/**
 * `alarm()`: what an alarm delivery does.
 *
 * Invariants
 * - A1 It never returns, and never fails, with work owed and nothing armed: whoever skips the work
 *   arms first.
 * - A2 A second delivery while a pass runs joins that pass.
 * - A3 A pass that hangs beyond its ceiling is no pass: its life is dropped, and the rows decide.
 */
import { Effect } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import { jitteredMillis } from "../contracts/Backoff.ts"
import type { OwnerId } from "../contracts/Identifiers.ts"
import type { MaintenancePassReport } from "../contracts/Maintenance.ts"
import * as AlarmSlot from "./AlarmSlot.ts"
import type { Life } from "./Life.ts"
import { endLife, type Owner, quietBlock, started } from "./Owner.ts"
import { runPass } from "./Pass.ts"

/** Resolves with the report of the pass that ends next, in whichever life. */
export const nextPassEnd = ({ waiters }: Owner): Effect.Effect<MaintenancePassReport> =>
  Effect.callback<MaintenancePassReport>((resume) => {
    const tell = (report: MaintenancePassReport): void => resume(Effect.succeed(report))
    waiters.passes.add(tell)
    return Effect.sync(() => void waiters.passes.delete(tell))
  })

/** Arms for a pass at once, unless one runs. */
export const armNow = (owner: Owner, life: Life) =>
  Effect.suspend(() => {
    if (AlarmSlot.passRuns(life, owner.host.now(), owner.limits)) return Effect.void
    return quietBlock(owner, life, "arm", (block) =>
      AlarmSlot.armNow(owner.host.storage.alarm, life, block.now, owner.limits),
    )
  })

/** Arms well behind the pass that runs, so that its end is not all that stands behind the work. */
const armThenJoin = (owner: Owner, life: Life) =>
  Effect.gen(function* () {
    yield* quietBlock(owner, life, "arm", (block) =>
      AlarmSlot.armRetry(
        owner.host.storage.alarm,
        life,
        block.now + owner.limits.alarmFallbackMillis,
        block.now,
      ),
    ) // A1
    const { passCeilingMillis } = owner.limits
    if (life.pass !== undefined) yield* Effect.timeoutOption(nextPassEnd(owner), passCeilingMillis) // A2
  })

/** A failed event commits a jittered retry in the life that follows, and then how it ended. */
const armAfterFailure = (
  owner: Owner,
  ownerId: OwnerId,
  lastPass: MaintenancePassReport | undefined,
) =>
  Effect.gen(function* () {
    const life = yield* started(owner, ownerId)
    const { limits, host } = owner
    const curve = { baseMillis: limits.passRetryMillis, maxMillis: limits.passRetryMaxMillis }
    const wait = jitteredMillis(curve, life.maintenance.unfinished + 1, host.random())
    yield* quietBlock(owner, life, "arm", (block) =>
      AlarmSlot.armRetry(host.storage.alarm, life, block.now + wait, block.now),
    ) // A1
    if (lastPass === undefined || life.version === 0) return
    // By itself: a row that cannot be written must not take the retry with it.
    yield* Effect.ignore(
      quietBlock(owner, life, "arm", (block) => {
        block.maintenance = { ...block.maintenance, lastPass }
      }),
    )
  })

/** Whether the pass should have ended by itself: its event was cut off, or its promise hangs. */
const hangs = (owner: Owner, life: Life): boolean =>
  life.pass !== undefined && !AlarmSlot.passRuns(life, owner.host.now(), owner.limits)

/** The present life, without a pass that hangs. // A3 */
const aliveLife = (owner: Owner, ownerId: OwnerId) =>
  Effect.gen(function* () {
    const life = yield* started(owner, ownerId)
    if (!hangs(owner, life)) return life
    yield* Effect.logError("a maintenance pass hung beyond its ceiling")
    endLife(owner)
    return yield* started(owner, ownerId)
  })

/** One alarm delivery. Fails only when the storage does; its caller then arms the fallback. */
export const deliverAlarm = (owner: Owner, ownerId: OwnerId) => {
  let ended: MaintenancePassReport | undefined
  return Effect.gen(function* () {
    const life = yield* aliveLife(owner, ownerId)
    if (life.pass !== undefined) return yield* armThenJoin(owner, life)
    AlarmSlot.rang(life, owner.host.now(), owner.limits)
    yield* runPass(owner, life, (report) => (ended = report))
  }).pipe(
    Effect.catchCause((cause) =>
      Effect.logError(`a maintenance pass failed: ${describeThrown(cause)}`).pipe(
        Effect.andThen(Effect.suspend(() => armAfterFailure(owner, ownerId, ended))),
      ),
    ),
  )
}

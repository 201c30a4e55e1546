/**
 * Host lanes: work of the application's own is done in waves, one at a time, each within its allowance, until none is left;
 * and no thread waits for one, which is judged with all other turns (I19).
 *
 * - W1 One wave of a lane goes on at a time in an object, also where it goes on although it was interrupted.
 * - W2 A wave that can be interrupted is, when its allowance is spent; machines that stand still may be late with that.
 * - W3 In a quiet world an owner has done all its work, if anybody has ever written to it.
 */
import type { Wave } from "../HostWork.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

const name = "Host lanes"

const toldOf = ({ incarnation, lane }: Wave): string =>
  `${incarnation.object.name}: a wave of ${lane.name}`

/** A wave begins. // W1 */
export const oneAtATime = (wave: Wave, others: ReadonlyArray<Wave>, violate: Violate): void => {
  if (others.some(({ lane }) => lane === wave.lane))
    violate(name, `${toldOf(wave)} begins, and another goes on`)
}

/** How late an interruption may be: a clock that stands still, and a queue that lags. */
const lateMillis = 10_000

/** Machines on which nothing happens for a while. */
const isSlow = ({ plan }: World): boolean => plan.faults.some(({ kind }) => kind === "object slow")

/** It has ended. // W2 */
export const endsInTime = (world: World, wave: Wave, violate: Violate): void => {
  const took = world.queue.now() - wave.startedAt
  if (wave.clings || isSlow(world) || took <= wave.lane.allowanceMillis + lateMillis) return
  violate(name, `${toldOf(wave)} took ${took} ms, and may take ${wave.lane.allowanceMillis}`)
}

/** No work is left. // W3 */
export const allIsDone = ({ hostWork, lost, plan, platform }: World, violate: Violate): void => {
  if (hostWork === undefined) return
  for (const ownerId of plan.owners) {
    const { alarm, state } = platform.object("owner", ownerId)
    if (alarm.givenUp || lost.has(ownerId) || !state.hasTable("lanes")) continue
    const left = hostWork.left(ownerId)
    if (left.length > 0) violate(name, `${ownerId} leaves undone: ${left.join(", ")}`)
  }
}

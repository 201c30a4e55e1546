/**
 * I8 No enrolment is cleared that a report did not account for: a lane that needs nothing, and is not
 * enrolled, belongs to a thread that has nothing to run.
 *
 * - A1 Of a paused thread nothing runs; what is parked waits for somebody's word.
 * - A2 An owner that was lost knows nothing until it is rebuilt, and nothing of a lane that was deleted.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

interface StoredLane {
  readonly enrolled: string | null
  readonly must_visit: number
  readonly work: string | null
}

const runnable = `SELECT sequence, state FROM submissions
  WHERE state IN ('ready', 'running', 'suspended') ORDER BY sequence LIMIT 1`

const restful = `SELECT thread_id FROM lanes
  WHERE work IS NULL AND enrolled IS NULL AND must_visit = 0`

/** A thread that was found with nothing to run, and how often its rows had changed by then. */
const atRest = new WeakMap<SimulatedObject, number>()

/** Looks at a thread whose lane needs nothing; again only once its rows may have changed. */
const hasNothingToRun = (thread: SimulatedObject, violate: Violate): void => {
  const changes = thread.state.changes()
  if (atRest.get(thread) === changes) return
  const [row] = thread.state.read<{ sequence: number; state: string }>(runnable)
  if (row !== undefined) {
    const [meta] = thread.state.read<{ paused: number }>("SELECT paused FROM meta")
    // A1
    if (meta?.paused !== 1)
      return violate(
        "I8",
        `${thread.name}: submission ${row.sequence} is ${row.state}, and its lane needs nothing`,
      )
  }
  atRest.set(thread, changes)
}

/** Nobody knows what an owner that was lost, or was made to forget a thread, should know. // A2 */
const isUnknown = (world: World, owner: SimulatedObject, thread: SimulatedObject): boolean =>
  (world.lost.size > 0 && (world.lost.has(owner.name) || world.lost.has(thread.name))) ||
  !thread.state.hasTable("submissions")

/** Looks at every lane of an owner that needs nothing. */
export const lanesKnow = (world: World, owner: SimulatedObject, violate: Violate): void => {
  if (!owner.state.hasTable("lanes")) return
  for (const { thread_id } of owner.state.read<{ thread_id: string }>(restful)) {
    const thread = world.platform.object("thread", `${owner.name}/${thread_id}`)
    if (!isUnknown(world, owner, thread)) hasNothingToRun(thread, violate)
  }
}

export const laneKnows = (
  world: World,
  owner: SimulatedObject,
  thread: SimulatedObject,
  violate: Violate,
): void => {
  if (isUnknown(world, owner, thread)) return
  const [lane] = owner.state.hasTable("lanes")
    ? owner.state.read<{ [K in keyof StoredLane]: StoredLane[K] }>(
        "SELECT enrolled, must_visit, work FROM lanes WHERE thread_id = ?",
        thread.name.slice(owner.name.length + 1),
      )
    : []
  if (lane !== undefined && (lane.work !== null || lane.enrolled !== null || lane.must_visit === 1))
    return
  hasNothingToRun(thread, violate)
}

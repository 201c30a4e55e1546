/**
 * I8 No enrolment is cleared that a report did not account for: a lane that needs nothing, and is not
 * enrolled, belongs to a thread that has nothing to run.
 *
 * - A1 Of a paused thread nothing runs; what is parked waits for somebody's word.
 * - A3 A run that waits for somebody else, or for its children, wants nothing before their word; nor do those behind it.
 *   What it has for others wants to be carried all the same.
 * - A4 A thread whose records are to be published wants them published, whatever else is.
 * - A2 An owner that was lost knows nothing until it is rebuilt, and nothing of a lane that was deleted.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

interface StoredLane {
  readonly enrolled: string | null
  readonly must_visit: number
  readonly work: string | null
  readonly outbox_at: number | null
  readonly publish_at: number | null
}

const runnable = `SELECT sequence, state FROM submissions
  WHERE state IN ('ready', 'running', 'suspended') ORDER BY sequence LIMIT 1`

/** A run that waits, and for nothing that comes by itself. // A3 */
const waiting = `SELECT 1 FROM submissions WHERE state = 'suspended' AND abort IS NULL
  AND json_extract(suspension, '$.kind') IN ('wait', 'children')
  AND json_extract(suspension, '$.dueAt') IS NULL LIMIT 1`
/** One whose end waits for its children waits for them also where it is to be aborted. */
const ending = `SELECT 1 FROM submissions WHERE state = 'suspended'
  AND json_extract(suspension, '$.kind') = 'children' LIMIT 1`

const isWaiting = ({ state }: SimulatedObject): boolean =>
  state.read(waiting).length > 0 || state.read(ending).length > 0

/** A thread that was found with nothing to run, or to carry, and how often its rows had changed by then. */
const atRest = new WeakMap<SimulatedObject, number>()
const hasCarried = new WeakMap<SimulatedObject, number>()

/** What a thread has for others keeps its lane busy, whatever else is. // A3 */
const outboxIsEmpty = (thread: SimulatedObject, violate: Violate): void => {
  const changes = thread.state.changes()
  if (hasCarried.get(thread) === changes) return
  const [entry] = thread.state.read<{ kind: string; target: string }>(
    "SELECT kind, target FROM outbox WHERE nextAt IS NOT NULL LIMIT 1",
  )
  if (entry === undefined) hasCarried.set(thread, changes)
  else
    violate("I8", `${thread.name}: a ${entry.kind} for ${entry.target}, and its lane needs nothing`)
}

const restful = `SELECT thread_id, outbox_at, publish_at FROM lanes
  WHERE work IS NULL AND enrolled IS NULL AND must_visit = 0`

/** Looks at a thread whose lane needs nothing; again only once its rows may have changed. */
const hasNothingToRun = (thread: SimulatedObject, talks: boolean, violate: Violate): void => {
  const changes = thread.state.changes()
  if (atRest.get(thread) === changes) return
  const [row] = thread.state.read<{ sequence: number; state: string }>(runnable)
  if (row !== undefined) {
    const [meta] = thread.state.read<{ paused: number }>("SELECT paused FROM meta")
    const waits = talks && row.state !== "running" && isWaiting(thread) // A3
    // A1
    if (meta?.paused !== 1 && !waits)
      return violate(
        "I8",
        `${thread.name}: submission ${row.sequence} is ${row.state}, and its lane needs nothing`,
      )
  }
  atRest.set(thread, changes)
}

/** What a sink lacks keeps its thread's lane busy. // A4 */
const sinkHasAll = (thread: SimulatedObject, violate: Violate): void => {
  const [row] = thread.state.read<{ lacks: number }>(
    `SELECT COALESCE((SELECT MAX(sequence) FROM journal), 0)
       - COALESCE((SELECT passed FROM cursors WHERE name = 'publication'), 0) AS lacks`,
  )
  if ((row?.lacks ?? 0) > 0)
    violate(
      "I8",
      `${thread.name}: ${row?.lacks} records are unpublished, and its lane needs nothing`,
    )
}

/** A lane, as far as it tells of what its thread has for others. */
interface ForOthers {
  readonly outbox_at: number | null
  readonly publish_at: number | null
}

/** What is in the thread of a lane that needs nothing. */
const looksAt = (
  { plan }: World,
  thread: SimulatedObject,
  lane: ForOthers | undefined,
  violate: Violate,
): void => {
  const talks = plan.talks === true
  if (plan.sink !== undefined && plan.sink.newer !== true && (lane?.publish_at ?? null) === null)
    sinkHasAll(thread, violate)
  if (talks && (lane?.outbox_at ?? null) === null) outboxIsEmpty(thread, violate)
  // Its records are to be published before anything runs. // A4
  if ((lane?.publish_at ?? null) === null) hasNothingToRun(thread, talks, violate)
}

/** Nobody knows what an owner that was lost, or was made to forget a thread, should know. // A2 */
const isUnknown = (world: World, owner: SimulatedObject, thread: SimulatedObject): boolean =>
  (world.lost.size > 0 && (world.lost.has(owner.name) || world.lost.has(thread.name))) ||
  !thread.state.hasTable("submissions")

/** Looks at every lane of an owner that needs nothing. */
export const lanesKnow = (world: World, owner: SimulatedObject, violate: Violate): void => {
  if (!owner.state.hasTable("lanes")) return
  for (const lane of owner.state.read<{
    thread_id: string
    outbox_at: number | null
    publish_at: number | null
  }>(restful)) {
    const thread = world.platform.object("thread", `${owner.name}/${lane.thread_id}`)
    if (!isUnknown(world, owner, thread)) looksAt(world, thread, lane, violate)
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
        "SELECT enrolled, must_visit, work, outbox_at, publish_at FROM lanes WHERE thread_id = ?",
        thread.name.slice(owner.name.length + 1),
      )
    : []
  if (lane !== undefined && (lane.work !== null || lane.enrolled !== null || lane.must_visit === 1))
    return
  looksAt(world, thread, lane, violate)
}

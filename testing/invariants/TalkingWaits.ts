/**
 * I13, I14 and I20 where runs wait for somebody: what a quiet thread is held by.
 *
 * - W1 A run that waits, and everything behind it, is left because of it. It waits for people, for a signal or for a
 *   child; what somebody was told is decided or received holds nobody.
 * - W3 A message that is parked waits for somebody's word, whether its run is open or has settled.
 * - W2 A child that is waited for has not settled; what it waits for itself is judged in its own thread.
 */
import { ownerIdOf, type SimulatedObject, threadIdOf } from "../Incarnation.ts"
import { markOf } from "../Talk.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

interface Suspended {
  readonly [column: string]: string | number | null
  readonly sequence: number
  readonly id: string
  readonly suspension: string
}

interface Wait {
  readonly [column: string]: string | number | null
  readonly name: string
  readonly kind: string
  readonly dueAt: number | null
}

/** Whether the end of a run is known, and waits for its children. */
export const isEnding = ({ state }: SimulatedObject, sequence: number): boolean =>
  state.read(
    `SELECT 1 FROM submissions WHERE sequence = ? AND json_extract(suspension, '$.kind') = 'children'
     AND EXISTS (SELECT 1 FROM children WHERE submission = ?)`,
    sequence,
    sequence,
  ).length > 0

/** Whether the child is open, or is not there yet. // W2 */
const childIsOpen = ({ platform }: World, { name }: SimulatedObject, threadId: string): boolean => {
  const owner = ownerIdOf(name)
  const { state } = platform.object("thread", `${owner}/${threadId}`)
  return (
    state.hasTable("submissions") &&
    state.read("SELECT 1 FROM submissions WHERE state <> 'settled' LIMIT 1").length > 0
  )
}

const childrenAreOpen = (
  world: World,
  thread: SimulatedObject,
  sequence: number,
  violate: Violate,
): void => {
  const children = thread.state.read<{ threadId: string; name: string }>(
    "SELECT threadId, name FROM children WHERE submission = ?",
    sequence,
  )
  for (const { name, threadId } of children)
    if (!childIsOpen(world, thread, threadId))
      violate("I13", `${thread.name}: submission ${sequence} waits for ${name}, which has ended`) // W2
}

/** Whether somebody was told that this wait has its answer. // W1 */
const isAnswered = ({ told }: World, id: string, { kind, name }: Wait): boolean =>
  kind === "approval" ? told.decided.has(markOf(id, name)) : told.signalled.has(markOf(id, name))

/** What the open run waits for outside, in words; undefined where none is suspended for that. */
export const talkingWaits = (
  world: World,
  thread: SimulatedObject,
  violate: Violate,
): ReadonlyArray<string> | undefined => {
  const { state } = thread
  const [run] = state.read<Suspended>(
    `SELECT sequence, id, suspension FROM submissions WHERE state = 'suspended'
       AND json_extract(suspension, '$.kind') IN ('wait', 'children')`,
  )
  if (run === undefined) return undefined
  const { id, sequence, suspension } = run
  childrenAreOpen(world, thread, sequence, violate)
  const { kind } = JSON.parse(suspension) as { readonly kind: string }
  if (kind === "children") return []
  const waits = state.read<Wait>(
    "SELECT name, kind, dueAt FROM waits WHERE submission = ?",
    sequence,
  )
  const at = `${thread.name}: submission ${sequence}`
  if (waits.length === 0) violate("I20", `${at} waits for nothing, and is left`)
  const paused = state.read("SELECT 1 FROM meta WHERE paused = 1").length > 0
  for (const wait of waits) {
    if (isAnswered(world, id, wait))
      violate("I20", `${at} waits for ${wait.name}, which was answered`) // W1
    if (wait.dueAt !== null && !paused)
      violate("I20", `${at} waits until ${wait.dueAt}, and is left`)
  }
  const threadId = threadIdOf(thread.name)
  return waits.map(({ kind: of, name }) => `${threadId} ${of} ${id} ${name}`)
}

const parked = (state: SimulatedObject["state"]) =>
  state.hasTable("outbox")
    ? state.read<{ name: string; submission: string }>(
        `SELECT o.name, s.id AS submission FROM outbox o JOIN submissions s ON s.sequence = o.submission
         WHERE o.parkedAt IS NOT NULL`,
      )
    : []

/** The runs of a thread whose messages are parked. */
export const parkedRuns = (state: SimulatedObject["state"]): ReadonlyArray<string> => [
  ...new Set(parked(state).map(({ submission }) => submission)),
]

/** The parked messages of a thread, in words. // W3 */
export const parkedWaits = (thread: SimulatedObject): ReadonlyArray<string> => {
  const threadId = threadIdOf(thread.name)
  return parked(thread.state).map((one) => `${threadId} outbox ${one.submission} ${one.name}`)
}

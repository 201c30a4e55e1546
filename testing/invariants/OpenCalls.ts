/**
 * I6 (of open calls) A call that left for the outside is known to the end: no run settles as if it had not
 * happened, and no attempt is ended in the middle of one.
 *
 * Judged by what left and is under way, compared with the records.
 *
 * - C1 What nobody knows when a run is aborted is kept on record.
 * - C2 A storage that fails, records that rot, a deployment without the tool, and its ceiling end an attempt
 *   whatever is under way.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { OrdinaryCall } from "../Outside.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

/** The calls of a submission that have left. */
export const callsOf = ({ outside }: World, submissionId: string): ReadonlyArray<OrdinaryCall> =>
  [...(outside.ofSubmission.get(submissionId) ?? [])].filter(({ left }) => left.length > 0)

interface Kept {
  /** The run, in words. */
  readonly at: string
  readonly calls: ReadonlyArray<OrdinaryCall>
  readonly outcome: string | null
  /** Those of the run, in their order. */
  readonly records: ReadonlyArray<{ readonly kind: string; readonly name: string | null }>
}

const outcomes = new Set(["ToolSettled", "ToolResolved"])

/** The calls of a run that has settled. */
export const callsAreKnown = ({ at, calls, outcome, records }: Kept, violate: Violate): void => {
  if (outcome === null) return
  for (const { name } of calls) {
    const last = records.filter((record) => record.name === name).at(-1)?.kind ?? "nothing"
    const isKnown = outcomes.has(last) || (outcome === "aborted" && last === "ToolUnknown") // C1
    if (!isKnown) violate("I6", `${at} is ${outcome}, and of its call ${name} there is ${last}`)
  }
}

/** C2 */
const enders = [
  "storage fails",
  "storage is full",
  "no room in a block",
  "statement fails",
  "record corrupt",
  "deployment",
] as const
const ceilingMillis = 13 * 60_000

/** Looks at a thread in which ordinary calls are under way, at each commit. */
export const callsGoOn = (
  { faults, outside, queue }: World,
  { incarnation, state }: SimulatedObject,
  violate: Violate,
): void => {
  if (outside.underWay.size === 0) return
  for (const { at, attempt, incarnation: its, name, submissionId } of outside.underWay) {
    if (its !== incarnation || queue.now() - at > ceilingMillis) continue // C2
    const [row] = state.read<{ state: string; attempts: number }>(
      "SELECT state, attempts FROM submissions WHERE id = ?",
      submissionId,
    )
    if (row?.state !== "suspended" || row.attempts !== attempt) continue
    const counts = faults.counts()
    if (enders.some((kind) => counts[kind] !== undefined)) continue // C2
    violate("I6", `${submissionId} is suspended while its call ${name} is under way`)
  }
}

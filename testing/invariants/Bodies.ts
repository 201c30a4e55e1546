/**
 * I3 (of bodies) No body of a superseded or replaced attempt starts, and one run is open at a time.
 * I6 An ordinary body never starts twice without a reconcile or an operator's word; what it pays for is paid
 * once.
 *
 * Judged by what started and left, not by the journal.
 *
 * - B1 An instance that was replaced starts what it was about to start: at its next use of the storage, which
 *   every operation and every further try begins with, it learns of it.
 */
import type { OrdinaryCall, Started } from "../Outside.ts"
import type { Violate } from "./Violate.ts"

/** More than the steps of one operation take. */
const aboutToMillis = 1_500

interface Row {
  readonly sequence: number
  readonly state: string
  readonly attempts: number
}

export const mayStart = (started: Started, violate: Violate): void => {
  const { at, attempt, incarnation, kind, name, submissionId } = started
  const { object } = incarnation
  const told = `${kind} ${name} of attempt ${attempt} of ${submissionId}`
  if (incarnation.replacedAt !== undefined) {
    const late = at - incarnation.replacedAt > aboutToMillis
    if (late && incarnation.runner.stalledUntil === 0)
      violate("I3", `${told} starts in an instance that was replaced`) // B1
    return
  }
  if (object.state.fault() !== "none") return
  const [row] = object.state.read<{ [K in keyof Row]: Row[K] }>(
    "SELECT sequence, state, attempts FROM submissions WHERE id = ?",
    submissionId,
  )
  if (row === undefined) return violate("I3", `${told} starts, and its submission is not there`)
  if (row.state !== "running" || row.attempts !== attempt)
    return violate("I3", `${told} starts, and its run is ${row.state} in attempt ${row.attempts}`)
  const [other] = object.state.read<{ sequence: number }>(
    "SELECT sequence FROM submissions WHERE state IN ('running', 'suspended') AND sequence <> ? LIMIT 1",
    row.sequence,
  )
  if (other !== undefined)
    violate("I3", `${told} starts, and submission ${other.sequence} is open beside it`)
}

export const mayLeave = (
  { leaves, left, name, submissionId }: OrdinaryCall,
  violate: Violate,
): void => {
  if (left.length < 2) return
  const before = left.at(-2) as number
  if (leaves.some(({ order }) => order > before)) return
  violate("I6", `ordinary call ${name} of ${submissionId} left twice, and nobody gave leave`)
}

export const paidOnce = ({ done, name, submissionId }: OrdinaryCall, violate: Violate): void => {
  if (done.length > 1)
    violate("I6", `ordinary call ${name} of ${submissionId} was carried out ${done.length} times`)
}

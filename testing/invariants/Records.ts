/**
 * I1 One settlement per submission, by its thread's records. I3 Inputs are applied in their order.
 * I4 No write of a superseded epoch. I5 An outcome is recorded once, and what the handler saw is what is
 * recorded.
 *
 * - R1 A deferred input counts from its time, so it may be applied after later ones.
 * - R2 Epochs of one run never go down along its records; its settlement ends the last one: nothing of an attempt is
 *   recorded after it, and the row stands above it, so that it alone refuses what an attempt still wants to write.
 * - R4 What a record that was pruned said is not compared any more.
 * - R3 What may follow is somebody's word that parked messages are to be carried again, in the epoch of nobody.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { World } from "../World.ts"
import { callsAreKnown, callsOf } from "./OpenCalls.ts"
import type { Violate } from "./Violate.ts"

interface StoredRecord {
  readonly [column: string]: string | number | null
  readonly sequence: number
  readonly submission: number
  readonly kind: string
  readonly name: string | null
  readonly part: number
  readonly epoch: number
  readonly payload: string
}

interface StoredSubmission {
  readonly [column: string]: string | number | null
  readonly sequence: number
  readonly id: string
  readonly epoch: number
  readonly outcome: string | null
  readonly notBefore: number | null
  readonly state: string
}

/** Whether it is the record of a `retry`. // R3 */
const isWord = ({ kind, payload }: StoredRecord): boolean =>
  kind === "Recovered" && (JSON.parse(payload) as { readonly command?: string }).command === "retry"

const runHolds = (at: string, records: ReadonlyArray<StoredRecord>, violate: Violate): void => {
  let epoch = 0
  let settled = 0
  for (const record of records) {
    if (record.epoch < epoch)
      violate("I4", `${at} record ${record.sequence} has epoch ${record.epoch} after ${epoch}`) // R2
    epoch = Math.max(epoch, record.epoch)
    if (settled > 0 && !isWord(record)) violate("I4", `${at} has ${record.kind} after it settled`) // R2
    if (record.kind === "Settled") settled += 1
  }
}

const outcomes = new Set([
  "StepCompleted",
  "ToolSettled",
  "ValueDrawn",
  "StateChanged",
  "StateRead",
])

/** What the records say of an operation, as the handler would be given it. */
const recorded = (records: ReadonlyArray<StoredRecord>, name: string): unknown => {
  const last = records.filter((one) => one.name === name && outcomes.has(one.kind)).at(-1)
  if (last === undefined || last.payload === "") return undefined // R4
  const payload = JSON.parse(last.payload) as {
    readonly result?: unknown
    readonly value?: unknown
  }
  return payload.result ?? payload.value
}

const seenIsRecorded = (
  at: string,
  seen: ReadonlyMap<string, string>,
  records: ReadonlyArray<StoredRecord>,
  violate: Violate,
): void => {
  for (const [name, value] of seen) {
    if (value.startsWith("failed")) {
      if (!records.some((one) => one.name === name && one.kind !== "ToolPrepared"))
        violate("I5", `${at} saw a failure of ${name} that is not recorded`)
      continue
    }
    const kept = recorded(records, name)
    if (kept !== undefined && JSON.stringify(kept) !== value)
      violate("I5", `${at} saw ${value} for ${name}, and ${JSON.stringify(kept)} is recorded`)
  }
}

const threadHolds = (world: World, { name, state }: SimulatedObject, violate: Violate): void => {
  const submissions = state.read<StoredSubmission>(
    "SELECT sequence, id, epoch, outcome, notBefore, state FROM submissions ORDER BY sequence",
  )
  const records = state.read<StoredRecord>(
    "SELECT sequence, submission, kind, name, part, epoch, payload FROM journal ORDER BY sequence",
  )
  const deferred = new Set(
    submissions.filter((one) => one.notBefore !== null).map(({ sequence }) => sequence),
  )
  let applied = 0
  for (const [index, record] of records.entries()) {
    if (record.sequence !== index + 1) violate("I5", `${name} has a gap before ${record.sequence}`)
    if (record.kind !== "InputApplied" || deferred.has(record.submission)) continue // R1
    if (record.submission < applied)
      violate("I3", `${name} applied ${record.submission} after ${applied}`)
    applied = Math.max(applied, record.submission)
  }
  for (const [index, { epoch, id, outcome, sequence, state: stands }] of submissions.entries()) {
    if (sequence !== index + 1) violate("I1", `${name} has no submission ${index + 1}`)
    const own = records.filter((record) => record.submission === sequence)
    const at = `${name} submission ${sequence}`
    runHolds(at, own, violate)
    const settlements = own.filter(({ kind }) => kind === "Settled").length
    if (settlements !== (stands === "settled" ? 1 : 0))
      violate("I1", `${at} is ${stands} with ${settlements} settlements`)
    if (stands === "settled" && own.some((record) => record.epoch >= epoch && !isWord(record)))
      violate("I4", `${at} is settled in epoch ${epoch}, in which it was still written`) // R2
    callsAreKnown({ at, calls: callsOf(world, id), outcome, records: own }, violate)
    if (stands !== "settled" && settlements > 0)
      violate("I4", `${at} has settled, and is ${stands}: that epoch had ended`) // R2
    const seen = world.outside.seen.get(id)
    if (seen !== undefined) seenIsRecorded(at, seen, own, violate)
  }
}

/** The records of every thread hold together. */
export const recordsHold = (world: World, violate: Violate): void => {
  for (const object of world.platform.objects())
    if (object.kind === "thread" && object.state.hasTable("submissions"))
      threadHolds(world, object, violate)
}

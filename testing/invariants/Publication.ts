/**
 * Publication: a sink has every record of each thread, at least once and in order, before the thread goes on.
 *
 * Judged by what the sink was given and has taken; of the rows only where a run began, and where the records end.
 *
 * - P1 No batch begins behind a record that the sink lacks, also where it comes again, late, or from an owner that was
 *   replaced. What comes again is what came before, but for content that was pruned meanwhile.
 * - P2 When a body starts, the sink has all that its thread had recorded before the attempt.
 * - P3 In a quiet world the sink has all; a settlement of which anybody was told is there, also that of a thread that was
 *   forgotten since.
 * - P4 Where only the newer deployment publishes, threads that the older one left at rest owe nothing before they are called.
 * - P5 A record that rots and is deleted with its thread nobody could give away.
 */
import type { PublishedBatch } from "../../contracts/Publication.ts"
import { ownerIdOf, type SimulatedObject } from "../Incarnation.ts"
import type { Started } from "../Outside.ts"
import { type Published, threadOf } from "../Sink.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

const name = "Publication"

/** A batch on its way, or taken. // P1 */
export const batchFits = (batch: PublishedBatch, published: Published, violate: Violate): void => {
  if (batch.first > published.last + 1)
    violate(name, `${batch.id} of ${threadOf(batch)} comes behind ${published.last}`)
  for (const [index, record] of batch.records.entries())
    if (record.sequence !== batch.first + index)
      violate(name, `${batch.id} has record ${record.sequence} at ${index}`)
}

type Told = Readonly<Record<string, unknown>>

/** What was taken now, beside what was taken first. */
export const batchRepeats = (
  { plan }: World,
  batch: PublishedBatch,
  published: Published,
  violate: Violate,
): void => {
  for (const record of batch.records) {
    const first = published.records.get(record.sequence)
    const isPruned = "pruned" in record
    if (first === undefined) {
      if (isPruned && plan.sink?.newer !== true)
        violate(name, `record ${record.sequence} of ${threadOf(batch)} was pruned unpublished`)
      continue
    }
    const { payload, pruned: _p, ...rest } = record as Told
    const { payload: before, pruned: _q, ...known } = JSON.parse(first) as Told
    const same =
      JSON.stringify(rest) === JSON.stringify(known) &&
      (isPruned || JSON.stringify(payload) === JSON.stringify(before))
    if (!same)
      violate(
        name,
        `record ${record.sequence} of ${threadOf(batch)} was ${first}, and is ${JSON.stringify(record)}`,
      )
  }
}

const lastOf = ({ sink }: World, thread: SimulatedObject): number =>
  sink?.taken.get(thread.name)?.last ?? 0

/** The last record of its thread before its attempt was claimed. */
const beforeAttempt = ({ state }: SimulatedObject, submissionId: string): number => {
  const [row] = state.read<{ applied: number | null; older: number | null }>(
    `SELECT
       (SELECT j.sequence FROM journal j WHERE j.submission = s.sequence AND j.kind = 'InputApplied') AS applied,
       (SELECT MAX(j.sequence) FROM journal j WHERE j.submission = s.sequence AND j.epoch < s.epoch) AS older
     FROM submissions s WHERE s.id = ?`,
    submissionId,
  )
  return Math.max((row?.applied ?? 1) - 1, row?.older ?? 0)
}

/** A body starts. // P2 */
export const sinkIsAhead = (
  world: World,
  { incarnation, submissionId }: Started,
  violate: Violate,
): void => {
  const { plan } = world
  if (plan.sink === undefined || !incarnation.holdsStorage) return
  if (plan.sink.newer === true && incarnation.version === "v1") return
  const thread = incarnation.object
  const needed = beforeAttempt(thread, submissionId)
  if (lastOf(world, thread) < needed)
    violate(
      name,
      `${submissionId} of ${thread.name} runs, and the sink has ${lastOf(world, thread)} of ${needed}`,
    )
}

/** How many records a sink lacks of a thread. */
const unpublishedOf = (world: World, thread: SimulatedObject): number => {
  if (world.plan.sink === undefined || !thread.state.hasTable("journal")) return 0
  const [row] = thread.state.read<{ tail: number | null }>(
    "SELECT MAX(sequence) AS tail FROM journal",
  )
  return Math.max(0, (row?.tail ?? 0) - lastOf(world, thread))
}

/** An owner that knows its threads, and will be called. */
const isAwake = ({ lost, platform }: World, { name: thread }: SimulatedObject): boolean => {
  const owner = ownerIdOf(thread)
  return !lost.has(owner) && !lost.has(thread) && !platform.object("owner", owner).alarm.givenUp
}

/** Nothing is left to publish. // P3 */
export const allIsPublished = (world: World, violate: Violate): void => {
  if (world.plan.sink === undefined || world.plan.sink.newer === true) return // P4
  for (const thread of world.platform.objects()) {
    if (thread.kind !== "thread" || !isAwake(world, thread)) continue
    const lacks = unpublishedOf(world, thread)
    if (lacks > 0) violate(name, `the sink lacks ${lacks} records of ${thread.name} for good`)
  }
}

/** What clients were told, the sink was told. // P3 */
export const settlementsArePublished = (world: World, violate: Violate): void => {
  const { faults, plan, sink, told } = world
  if (sink === undefined || plan.sink?.newer === true) return // P4
  for (const { address, key, operation, settlements } of told.intents.values()) {
    if (told.forgotten.has(operation.thread) && faults.counts()["record corrupt"] !== undefined)
      continue // P5
    const settled = sink.taken.get(`${address.ownerId}/${address.threadId}`)?.settled
    for (const { outcome, submissionId } of settlements) {
      if (settled?.has(submissionId) !== true)
        violate(name, `${key} was told ${outcome}, and the sink has no settlement of it`)
      else if ((settled.get(submissionId) ?? outcome) !== outcome)
        violate(name, `${key} was told ${outcome}, and the sink ${settled.get(submissionId)}`)
    }
  }
}

/**
 * State: no change of a thread's state is lost unseen, also where parallel steps of a run change it at once: one that
 * another has overtaken is computed again on what that has left.
 *
 * The runs of the simulation count: each change gives one more than it found. Judged by what handlers were given, and by
 * which changes they have computed.
 *
 * - S1 No two changes of a thread were given the same count.
 * - S2 Its last count is no less than any that was given, than how many were given, and no more than how many were computed.
 * - S3 What a script does after something else finds what that has left, or more.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { OneOp, Op } from "../Script.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

const invariant = "State"

/** The count that a handler was given; none for a failure, or nothing. */
const givenFor = (world: World, submissionId: string, name: string): number | undefined => {
  const text = world.outside.seen.get(submissionId)?.get(name)
  return text === undefined || text.startsWith("failed") ? undefined : Number(text)
}

const countOf = ({ state }: SimulatedObject): number => {
  const [row] = state.read<{ value: string }>("SELECT value FROM threadState WHERE id = 1")
  return row === undefined ? 0 : Number(row.value)
}

const threadCounts = (world: World, thread: SimulatedObject, violate: Violate): void => {
  const { changed } = world.outside
  const given = new Map<number, string>()
  let computed = 0
  for (const { id } of thread.state.read<{ id: string }>("SELECT id FROM submissions"))
    for (const name of changed.get(id) ?? []) {
      computed += 1
      const count = givenFor(world, id, name)
      if (count === undefined) continue
      const told = `${name} of ${id}`
      const other = given.get(count)
      if (other !== undefined)
        violate(invariant, `${thread.name}: ${told} and ${other} have both changed it to ${count}`) // S1
      given.set(count, told)
    }
  const last = countOf(thread)
  const least = Math.max(given.size, ...given.keys())
  if (last < least || last > computed)
    violate(
      invariant,
      `${thread.name} counts ${last} changes; ${least} were told, and ${computed} computed`,
    ) // S2
}

type Small = Extract<OneOp, { readonly _tag: "Small" }>

const isOfState = (op: OneOp): op is Small =>
  op._tag === "Small" && (op.what === "update" || op.what === "read")

const together = (op: Op): ReadonlyArray<Small> =>
  (op._tag === "Parallel" ? op.branches : [op]).filter(isOfState)

/** One after another along a script. // S3 */
const scriptCounts = (
  world: World,
  submissionId: string,
  ops: ReadonlyArray<Op>,
  violate: Violate,
): void => {
  let before = 0
  for (const op of ops) {
    let highest = before
    for (const { name, what } of together(op)) {
      const count = givenFor(world, submissionId, name)
      if (count === undefined) continue
      if (count < (what === "update" ? before + 1 : before))
        violate(invariant, `${what} ${name} of ${submissionId} was given ${count}, after ${before}`)
      highest = Math.max(highest, count)
    }
    before = highest
  }
}

/** Looked at once all has settled. */
export const changesAreKept = (world: World, violate: Violate): void => {
  const { platform, told } = world
  for (const thread of platform.objects())
    if (thread.kind === "thread" && thread.state.hasTable("threadState"))
      threadCounts(world, thread, violate)
  for (const { operation, receipts } of told.intents.values())
    for (const { submissionId } of receipts)
      scriptCounts(world, submissionId, operation.script.ops, violate)
}

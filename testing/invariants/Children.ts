/**
 * I13 No parent settles before its attached children; a call has one child; what a parent was given is what its child
 * came to. I5 (of waits): a decision and a value are given as somebody was told that they stand.
 *
 * - C1 A child that begins when its parent has settled is one that the parent did not wait for, too.
 * - C3 A child whose end its parent was told begins nothing any more, but for what a replaced instance was about to.
 * - C2 A child counts from where it began; before that there is nothing to wait for but its request.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { Started } from "../Outside.ts"
import { markOf, outputOf } from "../Talk.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

interface Row {
  readonly [column: string]: string | number | null
  readonly state: string
  readonly outcome: string | null
}

const rowOf = ({ platform }: World, thread: string, id: string): Row | undefined => {
  const { state } = platform.object("thread", thread)
  return state.hasTable("submissions")
    ? state.read<Row>("SELECT state, outcome FROM submissions WHERE id = ?", id)[0]
    : undefined
}

/** Looks at each commit of a thread for parents that have settled by it. // C2 */
export const makeParents = (world: World, violate: Violate) => {
  const looked = new Map<string, number>()
  return ({ name, state }: SimulatedObject): void => {
    if (world.talk.children.size === 0 || !state.hasTable("submissions")) return
    const [tail] = state.read<{ at: number | null }>(
      "SELECT max(settledSequence) AS at FROM submissions",
    )
    const from = looked.get(name) ?? 0
    const at = tail?.at ?? 0
    looked.set(name, at)
    if (at <= from) return
    for (const { id } of state.read<{ id: string }>(
      "SELECT id FROM submissions WHERE settledSequence > ?",
      from,
    ))
      for (const child of world.talk.children.get(id) ?? []) {
        const row = rowOf(world, child.thread, child.submissionId)
        if (row !== undefined && row.state !== "settled")
          violate("I13", `${name}: ${id} settled, and its child in ${child.thread} is ${row.state}`)
      }
  }
}

/** Looks at a body that starts. // C1 */
export const childMayStart = (
  world: World,
  { incarnation, name, submissionId }: Started,
  violate: Violate,
): void => {
  const works = world.talk.works.get(submissionId)
  const asked = works === undefined ? undefined : world.talk.asked.get(works.mark)
  if (asked?.kind !== "child") return
  const parent = rowOf(world, asked.from, asked.submissionId)
  if (parent?.state === "settled")
    violate("I13", `${name} of ${submissionId} starts, and its parent has settled`)
  const heard = world.outside.seen.get(asked.submissionId)?.get(asked.name)
  if (heard !== undefined && incarnation.replacedAt === undefined)
    violate("I13", `${name} of ${submissionId} starts, and its parent was told ${heard}`) // C3
}

/** What a parent was given for a child, compared with what that came to. */
const sawItsEnd = (world: World, mark: string, violate: Violate): void => {
  const asked = world.talk.asked.get(mark)
  const seen = asked && world.outside.seen.get(asked.submissionId)?.get(asked.name)
  const [child] = world.talk.entered.get(mark) ?? []
  if (asked?.kind !== "child" || seen === undefined || child === undefined) return
  const outcome = rowOf(world, child.thread, child.submissionId)?.outcome
  if (outcome === undefined) return
  const told = seen.startsWith("failed")
    ? (JSON.parse(seen.slice("failed ".length)) as { readonly outcome?: string }).outcome
    : "completed"
  if (told !== outcome) violate("I13", `${mark} is ${outcome}, and its parent was given ${seen}`)
  if (outcome === "completed" && seen !== String(outputOf(mark)))
    violate("I13", `the parent of ${mark} was given ${seen}, another's end`)
}

const answersWereGiven = ({ outside, told }: World, violate: Violate): void => {
  for (const [id, seen] of outside.seen) {
    for (const [name, value] of seen) {
      const decided = told.decided.get(markOf(id, name))
      const signalled = told.signalled.get(markOf(id, name))
      if (decided !== undefined) {
        const given = JSON.parse(value) as {
          readonly approved?: boolean
          readonly expired?: boolean
        }
        if (given.approved !== decided.approved || given.expired === true)
          violate("I5", `${id} was given ${value} for ${name}, and ${decided.approved} was decided`)
      }
      if (signalled !== undefined && value !== String(signalled))
        violate("I5", `${id} was given ${value} for ${name}, and ${signalled} was received`)
    }
  }
}

/** Looked at once all has settled. */
export const childrenWereHeard = (world: World, violate: Violate): void => {
  if (world.plan.talks !== true) return
  for (const mark of world.talk.asked.keys()) sawItsEnd(world, mark, violate)
  answersWereGiven(world, violate)
}

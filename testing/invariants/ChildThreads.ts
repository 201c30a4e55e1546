/**
 * I13, I1, I2, I9 and I20 of children's threads, which anybody may pause, abort and forget, and of which anything may fail.
 *
 * Judged by what parents were told, what handlers came to, and what anybody has asked for.
 *
 * - D1 What a parent was told of a child that stands nowhere any more is what its handler came to, or what somebody has
 *   asked for, or that it was never taken.
 * - D2 In a child's thread stands what its parent has asked for, once, and nothing else. It is paused, and forgotten, on
 *   somebody's word alone.
 * - D3 What somebody was told is aborted, or will be, has ended so.
 * - D4 A child has settled in the end, whoever waits for it.
 */
import type { ThreadId } from "../../contracts/Identifiers.ts"
import { messageIdOf } from "../../thread-actors/Outbox.ts"
import { placeOf } from "../Births.ts"
import { ownerIdOf, type SimulatedObject } from "../Incarnation.ts"
import { type Asked, markOf } from "../Talk.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

interface Row {
  readonly [column: string]: string | number | null
  readonly id: string
  readonly state: string
  readonly outcome: string | null
  readonly parent: string | null
}

const rowsOf = ({ state }: SimulatedObject): ReadonlyArray<Row> =>
  state.hasTable("submissions")
    ? state.read<Row>("SELECT id, state, outcome, parent FROM submissions")
    : []

/** Where a child works that a run has asked for. */
const threadOf = ({ from, name, submissionId }: Asked): string =>
  `${ownerIdOf(from)}/child:${messageIdOf("Child", submissionId, name)}`

const isForgotten = (world: World, thread: string): boolean =>
  world.told.forgotten.has(placeOf(world, thread))

/** What a parent is told of a child whose thread does not know it. */
const strange = new Set(["ThreadForgotten", "ChildLost"])

/** Whether that may have become of a child of which no row is left. // D1 */
const mayHaveBecome = (world: World, asked: Asked, seen: string): boolean => {
  const runs = world.talk.entered.get(asked.mark) ?? []
  const ends = runs.map(({ submissionId }) => world.ends.of(submissionId))
  if (!seen.startsWith("failed")) return ends.some(({ outputs }) => outputs.has(seen))
  const said = JSON.parse(seen.slice("failed ".length)) as { outcome?: string; tag?: string }
  if (said.outcome === "aborted" || strange.has(said.tag ?? ""))
    return isForgotten(world, threadOf(asked))
  return runs.length === 0 || ends.some((one) => one.failures + one.defects > 0 || one.entered > 1)
}

const endsWereTrue = (world: World, violate: Violate): void => {
  const { outside, platform, talk } = world
  for (const asked of talk.asked.values()) {
    const seen = outside.seen.get(asked.submissionId)?.get(asked.name)
    if (asked.kind !== "child" || seen === undefined) continue
    if (rowsOf(platform.object("thread", threadOf(asked))).length > 0) continue
    if (!mayHaveBecome(world, asked, seen))
      violate("I13", `the parent of ${asked.mark} was given ${seen}, which did not become of it`)
  }
}

/** Why a submission should not stand in this thread, if so. // D2 */
const isWrong = ({ talk }: World, thread: string, { parent }: Row): string | undefined => {
  const link = JSON.parse(parent ?? "{}") as {
    readonly threadId?: ThreadId
    readonly submissionId?: string
    readonly name?: string
  }
  const asked = talk.asked.get(markOf(link.submissionId ?? "", link.name ?? ""))
  if (asked === undefined || asked.kind === "message") return "no run has asked for it"
  if (threadOf(asked) !== thread) return `it was to be in ${threadOf(asked)}`
  return asked.from.endsWith(`/${link.threadId}`) ? undefined : `${asked.from} has asked for it`
}

const standsAsAsked = (world: World, thread: SimulatedObject, violate: Violate): void => {
  const { name, state } = thread
  const rows = rowsOf(thread)
  if (rows.length > 1) violate("I13", `${name} has ${rows.length} submissions`)
  for (const row of rows) {
    const wrong = isWrong(world, name, row)
    if (wrong !== undefined) violate("I9", `${name} has ${row.id}, and ${wrong}`)
    if (row.state !== "settled") violate("I20", `${name}: ${row.id} is ${row.state} for good`) // D4
  }
  const [meta] = state.hasTable("meta")
    ? state.read<{ paused: number; forgottenAt: number | null }>(
        "SELECT paused, forgottenAt FROM meta",
      )
    : []
  const place = placeOf(world, name)
  if (meta?.paused === 1 && !world.told.paused.has(place))
    violate("I9", `${name} is paused, and nobody asked for it`)
  if ((meta?.forgottenAt ?? null) !== null && !world.told.forgotten.has(place))
    violate("I2", `${name} was forgotten unasked`)
}

/** What somebody was told is aborted has ended so. */
const abortsHold = ({ platform, told }: World, violate: Violate): void => {
  for (const thread of platform.objects())
    for (const { id, outcome } of thread.kind === "thread" ? rowsOf(thread) : [])
      if (told.abortedSurely.has(id) && outcome !== "aborted")
        violate("I1", `${thread.name}: ${id} is ${outcome}, and its abort had been accepted`) // D3
}

/** Looked at once all has settled. */
export const childThreadsHold = (world: World, violate: Violate): void => {
  if (world.plan.talks !== true) return
  endsWereTrue(world, violate)
  for (const name of world.births.names)
    standsAsAsked(world, world.platform.object("thread", name), violate)
  abortsHold(world, violate)
}

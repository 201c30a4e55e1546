/**
 * I1 (of what it says): a settlement is what the run came to.
 *
 * Judged by how its handler has ended, and by what anybody has asked for.
 *
 * - E1 Completed is a run whose handler gave this output.
 * - E2 Failed is one whose handler has failed, with every try that its agent declares; or one that was entered, or lost
 *   with its object, as often as any may be. No other cause is drawn.
 * - E3 Aborted is what somebody asked to have aborted, or forgotten; and a child whose parent ended without it. A parent
 *   that was given the child's end had not ended by then.
 * - E4 What has joined a run ends as that does.
 * - E5 Of what was pruned only the outcome is left.
 */
import { placeOf } from "../Births.ts"
import type { HandlerEnds } from "../Ends.ts"
import { ownerIdOf, type SimulatedObject } from "../Incarnation.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

interface Row {
  readonly [column: string]: string | number | null
  readonly id: string
  readonly idempotencyKey: string
  readonly parent: string | null
  readonly acceptedAt: number
  readonly host: number | null
  readonly payload: string
}

/** What a settlement says, wherever it stands. */
interface Said {
  readonly outcome: string
  readonly output?: unknown
  readonly failure?: { readonly tag: string }
}

/** The tries that the agents of the simulation declare, with the first. */
const triesDeclared = 2

/** Whether a handler has ended in this kind of failure, as often as it is tried. // E2 */
const hasFailed = (ends: Readonly<HandlerEnds>, kind: "failures" | "defects"): boolean =>
  ends[kind] > 0 && ends.failures + ends.defects >= triesDeclared

const mayHaveFailed = (
  { limits, ends }: World,
  thread: SimulatedObject,
  id: string,
  tag: string | undefined,
): boolean => {
  const its = ends.of(id)
  const causes: Readonly<Record<string, () => boolean>> = {
    ScriptFailed: () => hasFailed(its, "failures"),
    Defect: () => hasFailed(its, "defects"),
    AttemptsExhausted: () => its.entered >= limits.attemptsExhausted,
    AttemptsLost: () => thread.lives >= limits.attemptsLost,
  }
  return tag === undefined
    ? Object.values(causes).some((may) => may()) // E5
    : causes[tag]?.() === true
}

/** Whether somebody has asked for its end. // E3 */
const wasAsked = (world: World, at: string, row: Row): boolean => {
  const { talk, told, outside } = world
  const place = placeOf(world, at)
  if (told.forgotten.has(place) || told.abortedIds.has(row.id)) return true
  const ownerId = ownerIdOf(at)
  if (told.isAborting(ownerId, row.acceptedAt)) return true
  if (row.parent === null) return told.abortWasAsked(row)
  const works = talk.works.get(row.id)
  if (works === undefined) return talk.asked.size > 0 // It never began: nobody knows whose it is.
  const asked = talk.asked.get(works.mark)
  return (
    asked?.kind === "child" && outside.seen.get(asked.submissionId)?.has(asked.name) !== true // E3
  )
}

const isTrue = (world: World, thread: SimulatedObject, row: Row, said: Said): boolean => {
  const { outcome, output, failure } = said
  switch (outcome) {
    case "completed": {
      const { outputs } = world.ends.of(row.id)
      return output === undefined ? outputs.size > 0 : outputs.has(JSON.stringify(output)) // E1 E5
    }
    case "failed":
      return mayHaveFailed(world, thread, row.id, failure?.tag) // E2
    default:
      return wasAsked(world, thread.name, row) // E3
  }
}

const judgeRow = (
  world: World,
  thread: SimulatedObject,
  row: Row,
  said: Said,
  violate: Violate,
): void => {
  if (row.host !== null || isTrue(world, thread, row, said)) return // E4
  const { defects, entered, failures, outputs } = world.ends.of(row.id)
  const seen = `was entered ${entered} times, gave ${[...outputs].join() || "nothing"}, failed ${failures} times, died ${defects} times`
  violate(
    "I1, of ends",
    `${thread.name}: ${row.id} settled as ${JSON.stringify(said)}; its handler ${seen}`,
  )
}

const saidOf = ({ outcome, payload }: Row): Said =>
  payload === "" ? { outcome: String(outcome) } : (JSON.parse(payload) as Said) // E5

/** Looked at once all has settled: what stands there, and what clients were told of it. */
export const endsAreTrue = (world: World, violate: Violate): void => {
  const rows = new Map<string, readonly [thread: SimulatedObject, row: Row]>()
  for (const thread of world.platform.objects()) {
    if (thread.kind !== "thread" || !thread.state.hasTable("submissions")) continue
    for (const row of thread.state.read<Row>(
      `SELECT s.id, s.idempotencyKey, s.parent, s.acceptedAt, s.host, s.outcome, j.payload
       FROM submissions s JOIN journal j ON j.sequence = s.settledSequence`,
    )) {
      rows.set(row.id, [thread, row])
      judgeRow(world, thread, row, saidOf(row), violate)
    }
  }
  for (const { settlements } of world.told.intents.values())
    for (const settlement of settlements) {
      const [thread, row] = rows.get(settlement.submissionId) ?? []
      if (thread !== undefined && row !== undefined)
        judgeRow(world, thread, row, settlement, violate)
    }
}

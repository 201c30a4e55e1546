/**
 * I11 Each message is processed once, in order for each pair of threads, and none is lost.
 * I13 (of its part that says one) A call has one child.
 * I12 An input that joins settles once, with one run, and nothing of its own runs.
 *
 * Judged by what runs were about to send, were told, and found in their inputs; the ledger of the target is asked only
 * what became of a message that no run has worked on.
 *
 * - M1 One message comes after another if its run was about to send it once the other was known to be sent.
 * - M2 One that waits for its time, or was parked, or joins, comes when it comes.
 * - M3 What is aborted before it has begun is worked on by nobody; so is what nobody can read.
 */
import { carriedKey } from "../../thread-actors/Parent.ts"
import type { Asked, Entered } from "../Talk.ts"
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

const isForgotten = ({ platform }: World, thread: string): boolean => {
  const { state } = platform.object("thread", thread)
  return (
    state.hasTable("meta") &&
    state.read("SELECT 1 FROM meta WHERE forgottenAt IS NOT NULL").length > 0
  )
}

interface Row {
  readonly [column: string]: string | number | null
  readonly id: string
  readonly state: string
  readonly outcome: string | null
  readonly attempts: number
}

/** What was admitted for a message, in its target. */
const rowsOf = ({ platform }: World, thread: string, id: string): ReadonlyArray<Row> => {
  const { state } = platform.object("thread", thread)
  return state.hasTable("submissions")
    ? state.read<Row>(
        "SELECT id, state, outcome, attempts FROM submissions WHERE idempotencyKey = ?",
        carriedKey(id),
      )
    : []
}

/** Whether it still waits for somebody's word. */
const isParked = ({ platform }: World, thread: string, id: string): boolean =>
  platform
    .object("thread", thread)
    .state.read("SELECT 1 FROM outbox WHERE id = ? AND parkedAt IS NOT NULL", id).length > 0

const arrives = (world: World, asked: Asked, violate: Violate): void => {
  const { from, id, mark, to } = asked
  if (asked.kind !== "message" || to === undefined || id === undefined) return
  if (isForgotten(world, from) || isForgotten(world, to) || isParked(world, from, id)) return
  const rows = rowsOf(world, to, id)
  if (rows.length !== 1) return violate("I11", `${mark} to ${to} stands there ${rows.length} times`)
  const [row] = rows as [Row]
  const worked = world.talk.entered.get(mark) ?? []
  if (row.outcome === "completed" && worked.length === 0)
    violate("I11", `${mark} to ${to} has settled, and no run has worked on it`) // M3
}

/** What was sent once is worked on by one run; so is a child that was asked for. */
const workedOnce = (
  { talk }: World,
  mark: string,
  all: ReadonlyArray<Entered>,
  violate: Violate,
): void => {
  if (all.length > 1) {
    const where = all.map(({ submissionId, thread }) => `${submissionId} of ${thread}`).join(", ")
    const invariant = talk.asked.get(mark)?.kind === "message" ? "I11" : "I13"
    violate(invariant, `${mark} was worked on by ${all.length} runs: ${where}`)
  }
}

/** Messages of a pair that must come in their order. // M2 */
const isOrdered = ({ talk }: World, { id, isDeferred, joins, kind }: Asked): boolean =>
  kind === "message" && !isDeferred && !joins && id !== undefined && !talk.parked.has(id)

const inOrder = (world: World, violate: Violate): void => {
  const { asked, entered } = world.talk
  const pairs = new Map<string, Array<Asked>>()
  for (const one of asked.values()) {
    if (!isOrdered(world, one)) continue
    const pair = `${one.from} to ${one.to}`
    pairs.set(pair, [...(pairs.get(pair) ?? []), one])
  }
  for (const [pair, all] of pairs)
    for (const one of all)
      for (const later of all) {
        if (one.toldAt >= later.askedAt) continue // M1
        const [first] = entered.get(one.mark) ?? []
        const [second] = entered.get(later.mark) ?? []
        if (first === undefined || second === undefined || first.order < second.order) continue
        violate("I11", `${pair}: ${later.mark} was worked on before ${one.mark}`)
      }
}

const joinedOnce = (world: World, violate: Violate): void => {
  const { outside, platform, talk } = world
  const bodies = new Set(outside.started.map(({ submissionId }) => submissionId))
  const rows = new Map<string, { outcome: string | null; host: number | null; thread: string }>()
  const hosts = new Map<string, string | null>()
  for (const { kind, name, state } of platform.objects()) {
    if (kind !== "thread" || !state.hasTable("submissions")) continue
    for (const { host, id, outcome, sequence } of state.read<{
      id: string
      outcome: string | null
      host: number | null
      sequence: number
    }>("SELECT id, outcome, host, sequence FROM submissions")) {
      rows.set(id, { outcome, host, thread: name })
      hosts.set(`${name} ${sequence}`, id)
    }
  }
  for (const [id, by] of talk.taken) {
    if (by.size > 1) violate("I12", `${id} was taken by ${by.size} runs`)
    if (bodies.has(id)) violate("I12", `${id} was taken by another run, and runs itself`)
    const [host] = by
    const [row, its] = [rows.get(id), rows.get(host ?? "")]
    if (row === undefined || its === undefined) continue // Its thread was forgotten.
    if (hosts.get(`${row.thread} ${row.host}`) !== host)
      violate("I12", `${id} was taken by ${host}, and stands with ${row.host}`)
    if (row.outcome !== its.outcome)
      violate("I12", `${id} is ${row.outcome}, and its host ${host} ${its.outcome}`)
  }
}

/** Looked at once all has settled. */
export const messagesArrive = (world: World, violate: Violate): void => {
  if (world.plan.talks !== true) return
  for (const asked of world.talk.asked.values()) arrives(world, asked, violate)
  for (const [mark, all] of world.talk.entered) workedOnce(world, mark, all, violate)
  inOrder(world, violate)
  joinedOnce(world, violate)
}

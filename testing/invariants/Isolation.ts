/**
 * I9 Fault isolation: what happens to thread A never changes the records of thread B, and never keeps it.
 *
 * - P1 All that stands in a thread was sent to it by somebody: each submission, each abort, each pause.
 * - P2 A thread to which nothing was done, of an owner to which nothing was done, has work that is due and waits
 *   no longer than slots and backoffs explain, whatever is done to its neighbours; and no fault.
 * - P4 A thread whose sink fares ill waits until it has heard that all was taken; no other does.
 * - P5 Whose a submission was that has been pruned its row does not tell any more.
 * - P3 While as many attempts run as may, as long as they hang, the rest are held: that is the owner's limit.
 *   So it is with the limit of an agent.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { Plan } from "../Plan.ts"
import { principalOf } from "../Policy.ts"
import { startsAt, type World } from "../World.ts"
import { holderOf, lowestOf, maybeAtWork } from "./AgentRoom.ts"
import type { Violate } from "./Violate.ts"

interface Row {
  readonly [column: string]: string | number | null
  readonly id: string
  readonly principal: string
  readonly idempotencyKey: string
  readonly agent: string
  readonly abort: string | null
  readonly parent: string | null
  readonly input: string
}

/** What a run has sent, by the mark in it. // P1 */
const wasSaid = ({ talk }: World, thread: string, { input }: Row): string | undefined => {
  const { mark } = JSON.parse(input) as { readonly mark?: string }
  const asked = mark === undefined ? undefined : talk.asked.get(mark)
  if (asked === undefined) return "no run sent it"
  return asked.to === thread ? undefined : `it was sent to ${asked.to}`
}

/** An input of a schedule that somebody has asked for. */
const wasScheduled = ({ told }: World, thread: string, { input }: Row): boolean =>
  [...told.scheduled].some(([key, { inputs }]) => key.startsWith(`${thread} `) && inputs.has(input))

const wasSent = (world: World, place: number, row: Row): string | undefined => {
  if (row.parent !== null) {
    const { ownerId, threadId } = world.plan.threads[place] ?? {}
    return wasSaid(world, `${ownerId}/${threadId}`, row)
  }
  const intent = world.told.intents.get(row.idempotencyKey)
  if (intent === undefined) {
    const { ownerId, threadId } = world.plan.threads[place] ?? {}
    return wasScheduled(world, `${ownerId}/${threadId}`, row) ? undefined : "nobody made it"
  }
  if (intent.operation.thread !== place) return "it was sent to another thread"
  if (principalOf(intent.client) !== row.principal) return `it is told to be of ${row.principal}`
  if (intent.operation.agent !== row.agent) return `it was sent for ${intent.operation.agent}`
  if (row.abort !== null && !intent.abortAsked && !world.told.forgotten.has(place))
    return "nobody asked to have it aborted"
  return undefined
}

/** Nothing stands in a thread that nobody sent to it. // P1 */
export const threadsKeepApart = (world: World, violate: Violate): void => {
  for (const [place, { ownerId, threadId }] of world.plan.threads.entries()) {
    const { name, state } = world.platform.object("thread", `${ownerId}/${threadId}`)
    if (!state.hasTable("submissions")) continue
    for (const row of state.read<Row>(
      "SELECT id, principal, idempotencyKey, agent, abort, parent, input FROM submissions",
    )) {
      if (world.plan.keeps !== undefined && row.input === "") continue // P5
      const wrong = wasSent(world, place, row)
      if (wrong !== undefined) violate("I9", `${name} has ${row.idempotencyKey}, and ${wrong}`)
    }
    const [meta] = state.read<{ ownerId: string; threadId: string; paused: number }>(
      "SELECT ownerId, threadId, paused FROM meta",
    )
    if (meta === undefined) continue
    if (meta.ownerId !== ownerId || meta.threadId !== threadId)
      violate("I9", `${name} calls itself ${meta.ownerId}/${meta.threadId}`)
    if (meta.paused === 1 && !world.told.paused.has(place))
      violate("I9", `${name} is paused, and nobody asked for it`)
  }
}

/** Kinds of faults that are done to one object alone. */
const ofOne = new Set([
  "crash",
  "replaced, the old one runs on",
  "eviction",
  "record corrupt",
  "start fails",
  "storage fails",
  "storage is full",
  "flush fails",
  "object slow",
])

const harmless = new Set(["client sends twice", "client vanishes", "policy fails", "alarm late"])

/** Whether every fault of the plan that can keep anybody has an address. */
const hasAddresses = ({ faults, rates }: Plan): boolean =>
  Object.entries(rates).every(([kind, rate]) => harmless.has(kind) || rate === 0) &&
  faults.every(({ kind }) => ofOne.has(kind))

/** Places of the objects to which something is done. */
const touched = ({ faults, strikes }: Plan): ReadonlySet<number> => {
  const all = new Set([...faults, ...(strikes ?? [])].map(({ object }) => object))
  for (const strike of strikes ?? [])
    if (strike._tag === "AtPoint" && strike.does._tag === "CrashesWith")
      for (const other of strike.does.others) all.add(other)
  return all
}

/** The longest that slots of others, its own backoffs and a late alarm may keep a lane. */
const keptMillis = 60_000
const lateMillis = 200_000

const keptMost = ({ rates }: Plan): number =>
  rates["alarm late"] === undefined ? keptMillis : keptMillis + lateMillis

interface Waiting {
  readonly [column: string]: string | number | null
  readonly sequence: number
  readonly state: string
  readonly since: number
}

const isKept = ({ state }: SimulatedObject, now: number, most: number): Waiting | undefined => {
  if (state.read("SELECT 1 FROM meta WHERE paused = 1").length > 0) return undefined
  const open = state.read<Waiting>(
    `SELECT sequence, state, MAX(acceptedAt, COALESCE(notBefore, 0), COALESCE(dueAt, 0)) AS since
     FROM submissions WHERE state IN ('ready', 'running', 'suspended') ORDER BY sequence`,
  )
  if (open.some((row) => row.state !== "ready")) return undefined
  const [last] = state.read<{ at: number | null }>("SELECT MAX(recordedAt) AS at FROM journal")
  const head = open.find(({ since }) => since <= now)
  if (head === undefined) return undefined
  return now - Math.max(head.since, last?.at ?? 0) > most ? head : undefined
}

/** Whether its owner holds it until another's attempt has ended. // P3 */
const isHeld = (plan: Plan, owner: SimulatedObject, threadId: string): boolean => {
  if (!owner.state.hasTable("lanes")) return false
  const [lane] = owner.state.read<{ work: string }>(
    "SELECT work FROM lanes WHERE thread_id = ? AND work LIKE 'held%'",
    threadId,
  )
  const agent = holderOf(lane?.work ?? null)
  if (agent === undefined) return lane !== undefined
  return maybeAtWork(owner, agent).length >= lowestOf(plan, agent)
}

/** Whether a sink that fares ill keeps a thread, by its place. // P4 */
const waitsForSink = (
  { sink, threads }: Plan,
  { state }: SimulatedObject,
  place: number,
): boolean =>
  sink !== undefined &&
  sink.share > 0 &&
  (sink.of?.includes(place) ?? true) &&
  state.hasTable("lanes") &&
  state.read(
    "SELECT 1 FROM lanes WHERE thread_id = ? AND publish_at IS NOT NULL",
    threads[place]?.threadId ?? "",
  ).length > 0

/** Whether something that was sent to a thread has killed its object: that was done to it, too. */
const isDeadly = ({ killed }: World, { state }: SimulatedObject): boolean =>
  [...killed.keys()].some(
    (id) => state.read("SELECT 1 FROM submissions WHERE id = ?", id).length > 0,
  )

/** Looked at just before the world heals. // P2 */
export const neighboursGoOn = (world: World, violate: Violate): void => {
  const { plan, platform, queue } = world
  if (!hasAddresses(plan)) return
  const done = touched(plan)
  for (const [place, { ownerId, threadId }] of plan.threads.entries()) {
    if (done.has(place + plan.owners.length) || done.has(plan.owners.indexOf(ownerId))) continue
    const thread = platform.object("thread", `${ownerId}/${threadId}`)
    if (!thread.state.hasTable("submissions")) continue
    const owner = platform.object("owner", ownerId)
    if (isDeadly(world, thread) || waitsForSink(plan, owner, place)) continue // P4
    const kept = isKept(thread, queue.now(), keptMost(plan))
    if (kept !== undefined && !isHeld(plan, owner, threadId))
      violate(
        "I9",
        `${thread.name}: submission ${kept.sequence} is ready since ${kept.since - startsAt} ms, and nothing was done to its thread`,
      )
    if (!owner.state.hasTable("recovery_faults")) continue
    const faults = owner.state.read("SELECT 1 FROM recovery_faults WHERE thread_id = ?", threadId)
    if (faults.length > 0) violate("I9", `${thread.name} has a fault, and nothing was done to it`)
  }
}

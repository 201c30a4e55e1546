/**
 * The faults of a plan, done to the world at their times, and the healing that ends them.
 *
 * - M1 A record that rots is put back as it was when the world heals, unless it was pruned meanwhile.
 * - M3 In a world that has healed, what cannot be pruned yet is looked at again once all has been judged.
 * - M2 An owner that is lost is rebuilt by somebody who knows its threads' ids; so are lanes whose rows were
 *   deleted. Whoever deletes the rows of faults need do nothing.
 * - M4 A machine that does nothing goes on when the world heals, at the latest.
 */
import type { OwnerId } from "../contracts/Identifiers.ts"
import { onceThere, threadsOf } from "./Births.ts"
import { perform } from "./Client.ts"
import type { Doing } from "./Doing.ts"
import { agentsOf } from "./invariants/AgentRoom.ts"
import { find, lose } from "./Lost.ts"
import { persist } from "./Persist.ts"
import { ownerIdOf, type SimulatedObject } from "./Incarnation.ts"
import type { PlannedFault } from "./Plan.ts"
import { firstChild } from "./Strikes.ts"
import { objectAt, startsAt, type World } from "./World.ts"

/** Records that were spoilt, and what they were. */
const spoilt = new WeakMap<World, Array<() => void>>()

const rotten = `{"rot`

const spoil = (world: World, { kind, state }: SimulatedObject): void => {
  if (kind !== "thread" || !state.hasTable("journal")) return
  const [row] = state.read<{ sequence: number; payload: string }>(
    `SELECT sequence, payload FROM journal WHERE name IS NOT NULL AND submission IN
       (SELECT sequence FROM submissions WHERE state <> 'settled') ORDER BY sequence LIMIT 1`,
  )
  if (row === undefined) return
  const write = (payload: string, instead: string) =>
    state.tamper(
      "UPDATE journal SET payload = ? WHERE sequence = ? AND payload = ?",
      payload,
      row.sequence,
      instead,
    )
  write(rotten, row.payload)
  const all = spoilt.get(world) ?? []
  spoilt.set(world, all)
  all.push(() => {
    if (state.hasTable("journal")) write(row.payload, rotten) // M1
  })
}

/** Loses an owner's storage, and has it rebuilt. // M2 */
const loseOwner = (world: World, doing: Doing, object: SimulatedObject): void => {
  const owner = world.plan.owners.findIndex((name) => name === object.name)
  const [client] = world.clients
  if (owner < 0 || client === undefined) return
  world.platform.crash(object)
  object.state.wipe()
  lose(world.lost, object.name, [])
  for (const { ownerId, threadId } of threadsOf(world))
    if (ownerId === object.name) world.forgotten.add(`${ownerId}/${threadId}`)
  world.queue.at(world.queue.now() + 500, client.runner, "rebuild", () =>
    client.run(perform(client, { _tag: "Rebuild", at: 0, client: 0, owner }, doing), () =>
      find(world.lost, object.name),
    ),
  )
}

/** The owner of an object. */
const ownerOf = ({ platform }: World, { kind, name }: SimulatedObject): SimulatedObject =>
  platform.object("owner", kind === "thread" ? ownerIdOf(name) : name)

/** Deletes lanes beside their owner: of a thread its own, of an owner some. They are reconciled. // M2 */
const deleteLanes = (world: World, object: SimulatedObject): void => {
  const { kind, name } = object
  const [client] = world.clients
  const owner = ownerOf(world, object)
  if (client === undefined || !owner.state.hasTable("lanes")) return
  const ownerId = owner.name as OwnerId
  const ofOwner = (kind === "thread" ? threadsOf(world) : world.plan.threads).filter(
    (address) => address.ownerId === ownerId,
  )
  const threadIds = ofOwner
    .map(({ threadId }) => threadId)
    .filter((threadId) =>
      kind === "thread" ? name === `${ownerId}/${threadId}` : world.queue.random.chance(0.6),
    )
  for (const threadId of threadIds) {
    lose(world.lost, `${ownerId}/${threadId}`, agentsOf(owner, threadId))
    owner.state.tamper("DELETE FROM lanes WHERE thread_id = ?", threadId)
    world.forgotten.add(`${ownerId}/${threadId}`)
  }
  world.queue.at(world.queue.now() + 500, client.runner, "reconcile", () =>
    client.run(
      persist(client.rpcs.owner.reconcile({ ownerId, threadIds }), () => false),
      () => {
        for (const threadId of threadIds) find(world.lost, `${ownerId}/${threadId}`)
      },
    ),
  )
}

const deleteFaults = (world: World, object: SimulatedObject): void => {
  const { name, state } = ownerOf(world, object)
  if (!state.hasTable("recovery_faults")) return
  for (const { thread_id } of state.read<{ thread_id: string }>(
    "SELECT thread_id FROM recovery_faults",
  ))
    world.forgotten.add(`${name}/${thread_id}`)
  state.tamper("DELETE FROM recovery_faults")
}

/** Deletes tables of the lists beside their owner: the next who uses them notices, or has them built anew anyhow. */
const loseLists = (world: World, object: SimulatedObject): void => {
  const { state } = ownerOf(world, object)
  const { random } = world.queue
  const tables = ["directory", "search_entries", "search_text"]
  const lost = random.chance(0.5) ? tables : [random.pick(tables)]
  for (const table of lost) state.tamper(`DROP TABLE IF EXISTS ${table}`)
}

const failStorage = (
  world: World,
  { state }: SimulatedObject,
  how: "failing" | "full",
  millis: number,
): void => {
  state.setFault(how)
  world.queue.at(world.queue.now() + millis, undefined, "storage works", () =>
    state.setFault("none"),
  )
}

const strike = (world: World, doing: Doing, fault: PlannedFault): void => {
  const { faults, platform, queue } = world
  const object = objectAt(world, fault.object)
  if (!faults.planned(fault.kind, object.name)) return
  switch (fault.kind) {
    case "crash":
      return platform.crash(object)
    case "crash of several":
      for (const one of platform.objects())
        if (one === object || queue.random.chance(0.5)) platform.crash(one)
      return undefined
    case "replaced, the old one runs on":
      return platform.replace(object)
    case "eviction":
      platform.evict(object)
      return undefined
    case "storage fails":
      return failStorage(world, object, "failing", fault.lastsMillis)
    case "storage is full":
      return failStorage(world, object, "full", fault.lastsMillis)
    case "flush fails":
      if (!object.state.isFlushed()) platform.crash(object)
      return undefined
    case "record corrupt":
      return spoil(world, object)
    case "start fails":
      object.startsFailUntil = queue.now() + fault.lastsMillis
      return platform.crash(object)
    case "deployment":
      world.versions = ["v1", "v2"]
      return platform.crash(object)
    case "object slow":
      if (object.incarnation !== undefined) {
        const heals = startsAt + world.plan.healsAt - queue.now() // M4
        queue.stall(object.incarnation.runner, Math.min(fault.lastsMillis, heals))
      }
      return undefined
    case "owner lost":
      return loseOwner(world, doing, object)
    case "lane rows deleted":
      return deleteLanes(world, object)
    case "fault rows deleted":
      return deleteFaults(world, object)
    case "list tables lost":
      return loseLists(world, object)
    default:
      return undefined
  }
}

/** Puts the faults of the plan into the queue. */
export const planFaults = (world: World, doing: Doing): void => {
  for (const fault of world.plan.faults) {
    const nth = fault.object - firstChild(world.plan)
    const { lateMillis } = fault
    world.queue.at(startsAt + fault.at, undefined, `fault ${fault.kind}`, () =>
      onceThere(world, { nth, lateMillis, runner: undefined }, () => strike(world, doing, fault)),
    )
  }
}

/** Notes which lanes have a fault, or are stalled: their next try may be many minutes away. */
const noteResting = ({ platform, resting }: World): void => {
  for (const { kind, name, state } of platform.objects())
    if (kind === "owner" && state.hasTable("recovery_faults"))
      for (const { thread_id } of state.read<{ thread_id: string }>(
        `SELECT thread_id FROM recovery_faults
         UNION SELECT thread_id FROM lanes WHERE marks LIKE '%"stalledUntilAt"%'`,
      ))
        resting.add(`${name}/${thread_id}`)
}

/** Two months. */
const seldomMillis = 60 * 24 * 3_600_000

/** Ends everything that is wrong, and has every object on the newest deployment. */
export const heal = (world: World): void => {
  world.faults.heal()
  world.versions = ["v2"]
  if (world.plan.keeps !== undefined)
    Object.assign(world.limits, { retentionRetryMillis: seldomMillis }) // M3
  for (const restore of (spoilt.get(world) ?? []).toReversed()) restore() // M1
  for (const object of world.platform.objects()) {
    object.startsFailUntil = 0
    object.state.setFault("none")
    if (object.incarnation?.version === "v1") world.platform.crash(object)
  }
  for (const { alarm, name } of world.platform.objects()) if (alarm.givenUp) world.blind.add(name)
  for (const name of world.lost.keys()) world.blind.add(name)
  noteResting(world)
  world.queue.trace.note("healed", 0)
}

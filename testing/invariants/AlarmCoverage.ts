/**
 * I7 Alarm coverage, at every instant: whenever no pass runs and anything is enrolled or due, an alarm that
 * will really fire is set.
 *
 * - V1 An alarm that the platform has given up is nobody's fault until the next request, which repairs it: the
 *   first that comes a minute after it was due.
 * - V2 It rings no later than a minute after the earliest deadline: so long may the wait after a pass that did
 *   not end last, and so long does an alarm that is overdue count.
 * - V3 What is due is what threads have to run, whatever their lanes say.
 * - V4 A lane that its agent's limit holds is due once there is room by the lowest limit of any deployment: one that
 *   raised it holds nobody from the next pass on. Runs that lost rows told of count until the owner is told.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import type { Plan } from "../Plan.ts"
import type { World } from "../World.ts"
import { heldLanes, holderOf, lowestOf, maybeAtWork, mayMiscount } from "./AgentRoom.ts"
import { lanesKnow } from "./LaneAccounts.ts"
import type { Violate } from "./Violate.ts"

const graceMillis = 66_000

/** As many attempts as may always start in an owner of a simulation. */
const fewest = 100

interface Owed {
  readonly thread_id: string
  readonly work: string
  readonly next_at: number | null
}

/** What comes first of two. */
const first = (one: Owed | undefined, other: Owed | undefined): Owed | undefined =>
  one === undefined || (other?.next_at ?? Infinity) < (one.next_at ?? 0) ? other : one

interface StoredHost {
  readonly nextAt?: number
  readonly notBeforeAt?: number
}

/** The host lane that wants a wave first; in tickets, as the lanes of threads. */
const firstHost = ({ state }: SimulatedObject): Owed | undefined => {
  const [row] = state.read<{ hosts: string }>("SELECT host_lanes AS hosts FROM maintenance")
  return Object.entries(JSON.parse(row?.hosts ?? "{}") as Record<string, StoredHost>)
    .flatMap(([name, { nextAt, notBeforeAt = 0 }]): ReadonlyArray<Owed> =>
      nextAt === undefined
        ? []
        : [{ thread_id: name, work: "a wave", next_at: Math.max(nextAt, notBeforeAt) * 1_000 }],
    )
    .reduce(first, undefined)
}

/** The first lane that an agent's limit has held, and may go. // V4 */
const firstHeld = (owner: SimulatedObject, world: World): Owed | undefined =>
  heldLanes(owner)
    .filter(({ work }) => {
      const agent = holderOf(work) ?? ""
      const hasRoom = maybeAtWork(owner, agent).length < lowestOf(world.plan, agent)
      return hasRoom && !mayMiscount(world, owner, agent)
    })
    .reduce(first, undefined)

/** What needs something first. */
const earliest = (owner: SimulatedObject, world: World): Owed | undefined => {
  const { limits, plan } = world
  const lane = earliestLane(owner, plan)
  const host = plan.hostLanes === undefined ? lane : first(lane, firstHost(owner))
  // Who is held by an agent's limit may have to wait for the owner's own, too.
  return plan.running === undefined || limits.runningPerOwner < fewest
    ? host
    : first(host, firstHeld(owner, world))
}

/** The lane that needs something first, or has something for others. */
const earliestLane = ({ state }: SimulatedObject, { sink, talks }: Plan): Owed | undefined => {
  const [lane] = state.read<{ [K in keyof Owed]: Owed[K] }>(
    // The row of the smallest, without a sort: this is asked after every commit.
    `SELECT thread_id, work, MIN(IFNULL(next_at, 0)) AS next_at FROM lanes
     WHERE work IS NOT NULL AND work NOT LIKE 'held%' HAVING COUNT(*) > 0`,
  )
  const [record] =
    sink === undefined
      ? []
      : state.read<{ [K in keyof Owed]: Owed[K] }>(
          `SELECT thread_id, 'its records published' AS work, MIN(publish_at) AS next_at FROM lanes
     WHERE publish_at IS NOT NULL HAVING COUNT(*) > 0`,
        )
  if (talks !== true) return first(lane, record)
  const [outbox] = state.read<{ [K in keyof Owed]: Owed[K] }>(
    `SELECT thread_id, 'its outbox carried' AS work, MIN(outbox_at) AS next_at FROM lanes
     WHERE outbox_at IS NOT NULL HAVING COUNT(*) > 0`,
  )
  return first(first(lane, outbox), record)
}

/** Whether whoever comes now finds that it must be set anew. */
const mustBeRepaired = ({ alarm, landedAt, state }: SimulatedObject): boolean =>
  state.fault() === "none" && landedAt > alarm.dueAt + graceMillis

export const alarmCovers = (world: World, owner: SimulatedObject, violate: Violate): void => {
  const { alarm, state } = owner
  const { platform, queue } = world
  if (owner.kind !== "owner" || alarm.running !== undefined) return
  if (alarm.givenUp && !mustBeRepaired(owner)) return // V1
  if (!state.hasTable("lanes")) return
  const owed = earliest(owner, world)
  if (owed === undefined) {
    if (state.alarmAt() === null)
      lanesKnow(world, owner, (_, told) => violate("I7", `${told}, and no alarm is set`)) // V3
    return
  }
  const told = `${owner.name}: ${owed.thread_id} needs ${owed.work}`
  const at = state.alarmAt()
  if (at === null) {
    if (alarm.givenUp || !platform.willRing(owner)) violate("I7", `${told}, and no alarm is set`)
    return
  }
  const dueAt = Math.floor((owed.next_at ?? 0) / 1000)
  const latest = Math.max(dueAt, queue.now()) + graceMillis // V2
  if (at > latest) violate("I7", `${told} at ${dueAt}, and the alarm is set for ${at}`)
}

/**
 * What a test may do to the objects of the loom: have one die or wait at a failpoint, take an agent
 * out of the deployment, have a start fail. Tests and objects share this module's memory, which
 * outlives an object.
 *
 * A promise that an object waits for is made in that object, and must be resolved in it, too.
 */
import { Effect } from "effect"
import type { FailpointsOf, ObjectUnderTest } from "../../heddle.ts"

type Kind = ObjectUnderTest["kind"]

/** One thing to happen, once, where an object of this owner reaches a point (`name:before|after`). */
export interface Plan {
  readonly kind: Kind
  readonly ownerId: string
  /** The thread it happens to; any of the owner's without one. */
  readonly thread?: string
  readonly point: string
  readonly action: "die" | "hold" | "note"
  /** Whether it has happened. */
  reached: boolean
  /** Lets an object go on that is held; to be called inside it. */
  release: () => void
}

const plans: Array<Plan> = []

/** Threads (`owner/thread`) whose object dies before each step, until they are taken out. */
export const killers = new Set<string>()

/** Owners whose threads do not know the agent `guest`, from their next life on. */
export const withoutGuest = new Set<string>()

/** Owners whose database cannot be read, and owners whose agents' services do not start. */
export const brokenStorage = new Set<string>()
export const brokenServices = new Set<string>()

/** How many waves the host lane of an owner still wants, and how many it has made. */
export const wavesWanted = new Map<string, number>()
export const wavesMade = new Map<string, number>()

/** How often a start was refused by one of the two. */
export const refusedStarts = new Map<string, number>()

export const countIn = (counts: Map<string, number>, key: string): void =>
  void counts.set(key, (counts.get(key) ?? 0) + 1)

export const plan = (wanted: Omit<Plan, "reached" | "release">): Plan => {
  const made: Plan = { ...wanted, reached: false, release: () => undefined }
  plans.push(made)
  return made
}

/** The owner of an object by the object's name. */
export const ownerOfName = (name: string | undefined): string => name?.split("/")[0] ?? ""

const die = ({ state }: ObjectUnderTest): Promise<never> => {
  state.abort("the test has the object die here")
  return new Promise(() => undefined)
}

const happen = async (due: Plan, object: ObjectUnderTest): Promise<void> => {
  if (due.action === "note") {
    due.reached = true
    return
  }
  if (due.action === "hold") {
    const held = new Promise<void>((resolve) => (due.release = resolve))
    due.reached = true
    return held
  }
  // What comes after a block is after its commit: a death in the same turn would undo it.
  if (due.point.endsWith(":after")) await object.state.storage.sync()
  due.reached = true
  return die(object)
}

/** The failpoints of one object of the loom. */
export const failpointsOf: FailpointsOf = (object) => {
  const name = object.state.id.name
  const ownerId = ownerOfName(name)
  const isMeant = (one: Plan, point: string): boolean =>
    one.kind === object.kind &&
    one.ownerId === ownerId &&
    one.point === point &&
    (one.thread === undefined || name === `${ownerId}/${one.thread}`)
  return {
    reach: (point) =>
      Effect.suspend(() => {
        if (point === "step:before" && name !== undefined && killers.has(name))
          return Effect.promise(() => die(object))
        const at = plans.findIndex((one) => isMeant(one, point))
        const [due] = at < 0 ? [] : plans.splice(at, 1)
        return due === undefined ? Effect.void : Effect.promise(() => happen(due, object))
      }),
  }
}

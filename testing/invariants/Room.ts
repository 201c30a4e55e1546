/**
 * Whether there is room for a lane: then it is called as soon as it is due, whatever becomes of its neighbours.
 *
 * - R1 A lane whose own object is slow, or out of reach, waits for itself; so do all lanes of an owner that is.
 * - R2 Calls of what is slow take slots. There is room for certain where a kind has as many as there are lanes.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import { objectNameAt } from "../Births.ts"
import type { World } from "../World.ts"

export type Kind = "dispatch" | "visit" | "recover" | "forget"

/** Limits of what takes nobody's slot: the directory, what is published or pruned, and host lanes. */
const aside = new Set([
  "projectionMillis",
  "hostTurnMillis",
  "publishRecords",
  "retentionRecords",
  "retentionRetryMillis",
])

const slowFaults = new Set(["object slow", "storage fails", "storage is full", "start fails"])

export interface Room {
  /** Whether a lane that is due is called at once. */
  readonly isFor: (owner: SimulatedObject, lane: RoomFor, lanes: number) => boolean
  /** The invariant by which it is: neighbours are struck, or nobody is. */
  readonly named: (owner: SimulatedObject) => "I9" | "I19"
}

export interface RoomFor {
  readonly threadId: string
  readonly kind: Kind | undefined
}

export const makeRoom = (world: World): Room => {
  const { limits, plan } = world
  const isTight = Object.keys(plan.limits ?? {}).some((limit) => !aside.has(limit))
  const struck = plan.faults.filter(({ kind }) => slowFaults.has(kind) || kind === "record corrupt")
  const slow = struck.filter(({ kind }) => slowFaults.has(kind))
  const isSlowed = (name: string): boolean =>
    slow.some(({ object }) => objectNameAt(world, object) === name)
  const slots = {
    dispatch: limits.dispatchSlots,
    visit: limits.visitSlots,
    recover: limits.recoverySlots,
    forget: limits.forgetSlots,
  }
  return {
    isFor: ({ name }, { kind, threadId }, lanes) => {
      if (isTight || kind === undefined || isSlowed(name)) return false
      if (kind === "recover" && lanes > slots.recover) return false
      if (slow.length === 0) return true
      return !isSlowed(`${name}/${threadId}`) && lanes <= slots[kind] // R1 R2
    },
    named: ({ name }) =>
      struck.some(({ object }) => objectNameAt(world, object).startsWith(`${name}/`))
        ? "I9"
        : "I19",
  }
}

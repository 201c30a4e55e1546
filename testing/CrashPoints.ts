/**
 * Crash points: named places around durable blocks at which a test has an object die.
 *
 * - C1 A point strikes the first times that it is reached after it was set, as often as was asked; never again.
 * - C2 What was committed before the point is durable, and nothing of what would have come after it happens.
 */
import { Effect } from "effect"
import type { OwnerFailpoint } from "../owner-object/Owner.ts"
import type { Failpoints } from "../platform/Failpoint.ts"
import { type ThreadFailpoint, threadFailpoints } from "../thread-actors/ThreadFailpoints.ts"
import type { Incarnation } from "./Incarnation.ts"

/** A failpoint's name, and the side of its block: `settleTool:before`. */
export type CrashPoint = `${ThreadFailpoint | OwnerFailpoint}:${"before" | "after"}`

export interface CrashOptions {
  /** Only the object of this thread. */
  readonly threadId?: string
  /** Only objects of this owner. */
  readonly ownerId?: string
  /** Whose point it is, where threads and owners have one of that name; the threads' by default. */
  readonly object?: "thread" | "owner"
  /** How often it strikes; once by default. */
  readonly times?: number
}

/** A crash that came about. */
export interface Crash {
  readonly object: "thread" | "owner"
  /** Of an owner its id, of a thread `ownerId/threadId`. */
  readonly name: string
  readonly point: CrashPoint
  /** Epoch milliseconds of the test clock. */
  readonly at: number
}

interface Planned {
  readonly point: CrashPoint
  readonly object: "thread" | "owner"
  readonly options: CrashOptions
  left: number
}

export interface CrashPoints {
  readonly set: (point: CrashPoint, options: CrashOptions) => void
  readonly happened: ReadonlyArray<Crash>
  readonly of: (incarnation: Incarnation) => Failpoints
}

const isThreadPoint = (point: CrashPoint): boolean =>
  (threadFailpoints as ReadonlyArray<string>).includes(point.slice(0, point.indexOf(":")))

const isMeant = ({ options }: Planned, name: string): boolean => {
  const [ownerId, threadId] = name.split("/")
  return (
    (options.ownerId === undefined || options.ownerId === ownerId) &&
    (options.threadId === undefined || options.threadId === threadId)
  )
}

export interface CrashPointsOptions {
  readonly now: () => number
  readonly crash: (incarnation: Incarnation) => void
}

export const makeCrashPoints = ({ crash, now }: CrashPointsOptions): CrashPoints => {
  const planned: Array<Planned> = []
  const happened: Array<Crash> = []
  return {
    happened,
    set: (point, options) => {
      const object = options.object ?? (isThreadPoint(point) ? "thread" : "owner")
      planned.push({ point, object, options, left: options.times ?? 1 })
    },
    of: (incarnation) => ({
      reach: (point) =>
        Effect.suspend(() => {
          const { kind, name } = incarnation.object
          if (kind === "registry" || !incarnation.holdsStorage) return Effect.void
          const strikes = planned.find(
            (one) =>
              one.left > 0 && one.point === point && one.object === kind && isMeant(one, name),
          )
          if (strikes === undefined) return Effect.void
          strikes.left -= 1 // C1
          happened.push({ object: kind, name, point: strikes.point, at: now() })
          crash(incarnation)
          return Effect.never // C2
        }),
    }),
  }
}

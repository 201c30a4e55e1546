/**
 * A host lane: work of the application's own in an owner, in finite waves beside the work of its threads.
 *
 * Invariants
 * - HL1 What can never run is refused when a deployment is made: a name twice, an allowance that is no whole number
 *   of milliseconds, or one that does not fit between the start of an event and its yield time.
 */
import type { Effect } from "effect"
import type { OwnerId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"

/** What a wave, and the question for its time, are told. No storage: an application keeps its facts elsewhere. */
export interface HostLaneContext {
  readonly ownerId: OwnerId
  /** Epoch milliseconds when it began. */
  readonly now: number
  /** When it is interrupted at the latest; epoch milliseconds. */
  readonly untilAt: number
}

/** `R` are the services it needs; the deployment brings them. */
export interface HostLane<R = never> {
  /** Names it in logs and in `maintenanceStatus`; each name once, at most 64 characters. */
  readonly name: string
  /** How long one wave may take: 1 to 300,000 milliseconds. */
  readonly allowanceMillis: number
  /**
   * One finite wave. May be run again after a crash at any point, so what it does is done once by the
   * application's own means. It returns to the event loop every 50 ms.
   */
  readonly run: (context: HostLaneContext) => Effect.Effect<unknown, unknown, R>
  /**
   * When the next wave is wanted, in epoch milliseconds; undefined for none, like any time behind June 2255. A quick
   * read: asked when an owner starts, with each event, and after each wave.
   */
  readonly nextDeadline: (context: HostLaneContext) => Effect.Effect<number | undefined, unknown, R>
}

/** Throws a `TypeError` for lanes that cannot run. // HL1 */
export const checkHostLanes = (lanes: ReadonlyArray<HostLane<unknown>>, limits: Limits): void => {
  if (lanes.length > limits.hostLanes)
    throw new TypeError(`There are more than ${limits.hostLanes} host lanes`)
  const names = new Set<string>()
  for (const { allowanceMillis, name } of lanes) {
    if (name.length < 1 || name.length > 64)
      throw new TypeError("The name of a host lane has 1 to 64 characters")
    if (names.has(name))
      throw new TypeError(`Two host lanes are named "${name}"; give each a name of its own`)
    names.add(name)
    const most = limits.hostAllowanceMaxMillis
    if (!Number.isSafeInteger(allowanceMillis) || allowanceMillis < 1 || allowanceMillis > most)
      throw new TypeError(`host lane "${name}": allowanceMillis is no integer from 1 to ${most}`)
    if (allowanceMillis > limits.passYieldMillis)
      throw new TypeError(`host lane "${name}": allowanceMillis is longer than passYieldMillis`)
  }
}

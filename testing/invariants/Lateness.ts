/**
 * I20 (of times): in a world that is well, what may run goes on soon: inputs whose time has come, and all that was left
 * when the world healed, as soon as alarms, backoffs and their thread let them.
 *
 * Judged by the true time at which a handler was entered first.
 *
 * - L1 An input may run from when it was accepted, its own time has come, the world is well, and what its thread did
 *   before has been recorded: a thread does one after another.
 * - L2 What keeps a thread for longer is told of waits, too (`Times.ts`).
 * - L3 Of what was pruned nobody knows when it was applied.
 */
import type { SimulatedObject } from "../Incarnation.ts"
import { startsAt, type World } from "../World.ts"
import { clocksApart, fewMayRun, isKept, lateMost, wellSince } from "./Times.ts"
import type { Violate } from "./Violate.ts"

interface Row {
  readonly [column: string]: string | number | null
  readonly id: string
  readonly acceptedAt: number
  readonly notBefore: number | null
  /** When its thread did something before it was applied. */
  readonly lastAt: number | null
}

/** What was applied, and what its thread did last before. // L1 L3 */
const applied = ({ state }: SimulatedObject): ReadonlyArray<Row> =>
  state.read<Row>(
    `SELECT s.id, s.acceptedAt, s.notBefore,
       (SELECT recordedAt FROM journal b WHERE b.sequence < a.sequence ORDER BY b.sequence DESC LIMIT 1) AS lastAt
     FROM submissions s JOIN journal a ON a.submission = s.sequence AND a.kind = 'InputApplied'`,
  )

/** Looked at once all has settled. */
export const inputsGoOn = (world: World, violate: Violate): void => {
  if (fewMayRun(world)) return // L2
  const { plan, platform, times } = world
  const since = wellSince(world)
  for (const thread of platform.objects()) {
    if (thread.kind !== "thread" || !thread.state.hasTable("journal")) continue
    if (isKept(world, thread.name)) continue // L2
    for (const { acceptedAt, id, lastAt, notBefore } of applied(thread)) {
      const [entered = 0] = times.entered.get(id) ?? []
      const from = Math.max(since, acceptedAt, notBefore ?? 0, lastAt ?? 0) // L1
      const late = entered - from
      if (late > lateMost(world, thread.name) + clocksApart(plan))
        violate(
          "I20, of times",
          `${thread.name}: ${id} may run from ${from - startsAt} ms, and began ${late} ms later`,
        )
    }
  }
}

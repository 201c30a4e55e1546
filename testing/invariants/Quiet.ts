/**
 * I14 A quiet world has no alarm and no enrolment: only what waits for somebody outside is left.
 *
 * - Q1 An owner whose alarm the platform gave up is looked at by the cron, not by itself.
 * - Q2 One of whose threads something could not be pruned yet looks at it again later.
 */
import type { World } from "../World.ts"
import { ownerHoldsBack } from "./Retention.ts"
import type { Violate } from "./Violate.ts"

interface StoredLane {
  readonly thread_id: string
  readonly enrolled: string | null
  readonly work: string | null
  readonly publish_at: number | null
}

export const nothingIsArmed = (world: World, violate: Violate): void => {
  const { lost, platform } = world
  for (const { alarm, kind, name, state } of platform.objects()) {
    if (kind !== "owner" || alarm.givenUp || lost.has(name) || !state.hasTable("lanes")) continue // Q1
    if (ownerHoldsBack(world, name)) continue // Q2
    const at = state.alarmAt()
    if (at !== null) violate("I14", `${name} is quiet, and its alarm is set for ${at}`)
    const busy = state.read<{ [K in keyof StoredLane]: StoredLane[K] }>(
      `SELECT thread_id, enrolled, work, publish_at FROM lanes
       WHERE enrolled IS NOT NULL OR work IS NOT NULL OR publish_at IS NOT NULL`,
    )
    for (const lane of busy) {
      const needs = lane.work ?? (lane.enrolled === null ? "its records published" : "a visit")
      violate("I14", `${name} is quiet, and ${lane.thread_id} needs ${needs}`)
    }
  }
}

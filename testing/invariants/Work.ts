/**
 * I18 Bounded work: the alarms of a run are in proportion to what it was asked for, to what went wrong, and to how long
 * handlers work, as whoever works is looked at.
 *
 * - B1 An alarm rings by the platform's clock. An object whose clock is behind learns of it by a ring that came
 *   early, and sets the next ones later: no deadline is rung for over and over.
 * - B2 A submission that kills its object rests longer each time; somebody's `retry` starts its count anew,
 *   another deployment does not.
 * - B3 A run that goes on is looked at every two minutes at most: three alarms, with the re-arm of its pass and what it
 *   lets through.
 */
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

/** Several times what any of 20,000 seeds has needed. */
const perDemand = 12

/** The work of handlers that a demand more is allowed for: less than a third of it is needed. // B3 */
const workMillisPerDemand = 150_000

/** Within the longest drawn part: 1 s, doubling to five minutes. // B2 */
const killsMost = 13

const killsAreBounded = ({ killed, plan }: World, violate: Violate): void => {
  const again = plan.operations.filter(({ _tag }) => _tag === "Retry").length
  const most = killsMost + again // B2
  for (const [submissionId, times] of killed)
    if (times > most) violate("I18", `${submissionId} has killed its object ${times} times`)
}

export const workIsBounded = (world: World, violate: Violate): void => {
  killsAreBounded(world, violate)
  const { faults, killed, outside, plan, platform } = world
  const kills = [...killed.values()].reduce((sum, times) => sum + times, 0)
  const ills = (world.sink?.ills() ?? 0) + (world.hostWork?.ills() ?? 0)
  const pieces = plan.hostLanes?.flatMap((lane) => lane.pieces).length ?? 0
  const looks = Math.ceil(outside.workedMillis() / workMillisPerDemand) // B3
  const demands =
    pieces + 10 + plan.operations.length + faults.happened().length + kills + ills + looks
  const most = perDemand * demands // B1
  if (platform.alarms() > most)
    violate("I18", `${platform.alarms()} alarms rang, and ${most} would be many`)
}

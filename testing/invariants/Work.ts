/**
 * I18 Bounded work: the alarms of a run are in proportion to what it was asked for, and to what went wrong.
 *
 * - B1 An alarm rings by the platform's clock. An object whose clock is behind sets it again for the same
 *   time, until its own clock is there: so many deliveries more for each deadline.
 */
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

/** Several times what any of 20,000 seeds has needed. */
const perDemand = 12
const deliveryMillis = 8

export const workIsBounded = ({ faults, plan, platform }: World, violate: Violate): void => {
  const demands = 10 + plan.operations.length + faults.happened().length
  const early = 1 + (2 * plan.skewMillis) / deliveryMillis // B1
  const most = Math.ceil(perDemand * demands * early)
  if (platform.alarms() > most)
    violate("I18", `${platform.alarms()} alarms rang, and ${most} would be many`)
}

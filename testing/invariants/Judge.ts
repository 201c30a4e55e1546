/**
 * What is judged once a world is quiet, and at its end.
 *
 * - J1 The quiet invariants hold whenever nothing is left to run: also while operators are still awaited.
 * - J2 At the end everything that was accepted has settled, and the records hold together.
 */
import type { Doing } from "../Doing.ts"
import type { World } from "../World.ts"
import { accidentsLoseNothing } from "./Accidents.ts"
import { tokensAreKept } from "./Callbacks.ts"
import { childrenWereHeard } from "./Children.ts"
import { childThreadsHold } from "./ChildThreads.ts"
import { endsAreTrue } from "./Ends.ts"
import { nothingDeniedIsThere, strangersAreDenied } from "./Denied.ts"
import { allIsDone } from "./HostLanes.ts"
import { inputsGoOn } from "./Lateness.ts"
import { neighboursGoOn, threadsKeepApart } from "./Isolation.ts"
import { messagesArrive } from "./Messages.ts"
import { listsShowAll } from "./Lists.ts"
import { lanesAreTrue, obligationsAreTold } from "./Owed.ts"
import { allIsPublished, settlementsArePublished } from "./Publication.ts"
import { nothingIsArmed } from "./Quiet.ts"
import { readsWriteNothing } from "./Reads.ts"
import { recordsHold } from "./Records.ts"
import { workIsDoneAgain } from "./Resubmissions.ts"
import { allIsPruned, settlementsStay } from "./Retention.ts"
import { occurrencesComeOnce } from "./Schedules.ts"
import { promisesAreKept, receiptsSurvive } from "./Settlements.ts"
import { changesAreKept } from "./States.ts"
import { timesAreKept } from "./Times.ts"
import { workIsBounded } from "./Work.ts"
import type { Violate } from "./Violate.ts"

export const judge = {
  /** While everything may still go wrong. */
  beforeHealing: (world: World, violate: Violate): void => neighboursGoOn(world, violate),
  /** J1 */
  whenQuiet: (world: World, doing: Doing, violate: Violate, settle: () => boolean): void => {
    nothingIsArmed(world, violate) // J1
    lanesAreTrue(world, violate) // J1
    allIsPublished(world, violate) // J1
    allIsPruned(world, violate) // J1
    allIsDone(world, violate) // J1
    obligationsAreTold(world, doing, violate, settle) // J1
    if (world.plan.lists !== undefined) listsShowAll(world, violate, settle) // J1
  },
  /** `settle` runs the world to quiet again after something was asked of it. */
  atTheEnd: (world: World, doing: Doing, violate: Violate, settle: () => boolean): void => {
    promisesAreKept(world, violate) // J2
    endsAreTrue(world, violate) // J2
    timesAreKept(world, violate) // J2
    workIsDoneAgain(world, violate) // J2
    inputsGoOn(world, violate) // J2
    recordsHold(world, violate) // J2
    changesAreKept(world, violate) // J2
    settlementsArePublished(world, violate) // J2
    messagesArrive(world, violate) // J2
    childrenWereHeard(world, violate) // J2
    childThreadsHold(world, violate) // J2
    tokensAreKept(world, violate) // J2
    occurrencesComeOnce(world, violate) // J2
    threadsKeepApart(world, violate) // J2
    accidentsLoseNothing(world, violate) // J2
    nothingDeniedIsThere(world, violate)
    workIsBounded(world, violate)
    settlementsStay(world, doing, violate, settle)
    receiptsSurvive(world, doing, violate, settle)
    strangersAreDenied(world, violate, settle)
    // Before reads: who finds the tables of lists lost has them built anew.
    if (world.plan.lists !== undefined || world.plan.seed % 6 === 0)
      listsShowAll(world, violate, settle) // J2
    if (world.plan.seed % 3 === 0 || world.plan.keeps !== undefined)
      readsWriteNothing(world, doing, violate, settle)
  },
}

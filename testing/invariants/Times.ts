/**
 * I3 and I5 (of times) nothing that waits for its time goes on before it. I20 (of times): in a world that is well a run
 * whose time has come goes on soon.
 *
 * Judged by the true times at which runs asked and were told, and at which clients sent.
 *
 * - T1 Clocks are apart by their skew, and one stands still while its object computes, for three seconds at most.
 * - T2 A run has gone on once it was told what came of a wait, or was entered after its time.
 * - T4 A wait in a race that another branch has won is withdrawn: nothing goes on by it.
 * - T3 What keeps a run for longer is paused, has lost its alarm or its lane before the world has healed, or waits for a
 *   start while few may run, or few of its agent.
 * - T5 What has just healed may still wait for an alarm that was late, or for a backoff; a lane that had a fault by then, or
 *   was stalled, longer.
 */
import { placeOf } from "../Births.ts"
import { ownerIdOf } from "../Incarnation.ts"
import { startsAt, type World } from "../World.ts"
import type { Violate } from "./Violate.ts"
import type { TimedWait } from "../Times.ts"

const standsStillMillis = 3_000

/** How much earlier than its time something may come. // T1 */
export const clocksApart = ({ skewMillis }: World["plan"]): number =>
  2 * skewMillis + standsStillMillis

/** How long a run whose time has come is kept at most where nothing was ever wrong: ten times what 500 seeds have shown. */
const soonMillis = 15_000

/** In a world that has healed: an alarm that was late, a minute's backoff, and what a run rests that was lost. // T5 */
const healedMillis = 8 * 60_000

/** Far beyond the longest backoff of a lane whose recovery fails, and the stall of a short while. // T5 */
const restingMillis = 20 * 60_000

/** How late a run of a thread may go on, from when its time has come in a world that is well. */
export const lateMost = ({ plan, resting }: World, thread: string): number =>
  isWell(plan) ? soonMillis : resting.has(thread) ? restingMillis : healedMillis

/** When a run has gone on by its own time, if it has. // T2 */
const wentOnAt = ({ times }: World, wait: TimedWait, dueAt: number): number | undefined => {
  const entered = times.entered.get(wait.submissionId)?.find((at) => at >= dueAt)
  return Math.min(entered ?? Infinity, wait.endedAt ?? Infinity)
}

/** Whether a race was decided, and not by this wait. Its branches are called by the race's name. // T4 */
const isWithdrawn = ({ outside }: World, { name, overAt, submissionId }: TimedWait): boolean => {
  const branch = name.lastIndexOf(".")
  return (
    overAt === undefined &&
    branch > 0 &&
    outside.seen.get(submissionId)?.has(name.slice(0, branch)) === true
  )
}

/** Whether every fault is over from the start. */
export const isWell = ({ faults, rates, sink, strikes, hostLanes }: World["plan"]): boolean =>
  faults.length === 0 &&
  strikes === undefined &&
  sink === undefined &&
  hostLanes === undefined &&
  Object.values(rates).every((rate) => rate === 0)

/** From when everything is well. */
export const wellSince = ({ plan }: World): number =>
  isWell(plan) ? startsAt : startsAt + plan.healsAt

/** Fewer than there ever are lanes: a start may wait for another run's end. // T3 */
export const fewMayRun = ({ limits, plan }: World): boolean =>
  limits.runningPerOwner < 100 || plan.running !== undefined

export const isKept = (world: World, thread: string): boolean => {
  const { blind, told } = world
  const owner = ownerIdOf(thread)
  return blind.has(owner) || blind.has(thread) || told.paused.has(placeOf(world, thread))
}

/** Looked at once all has settled. */
export const timesAreKept = (world: World, violate: Violate): void => {
  const { plan, talk, times, told } = world
  const least = clocksApart(plan)
  const since = wellSince(world)
  const few = fewMayRun(world)
  for (const [mark, wait] of times.waits) {
    const dueAt = wait.askedAt + wait.millis
    const at = `${wait.thread}: ${mark}, over ${wait.millis} ms after ${wait.askedAt - startsAt}`
    if (wait.overAt !== undefined && wait.overAt < dueAt - least)
      violate("I5, of times", `${at}, was told so at ${wait.overAt - startsAt}`)
    if (few || isKept(world, wait.thread) || isWithdrawn(world, wait)) continue // T3
    const from = Math.max(wait.lastAskedAt + wait.millis, wait.cameToAt ?? 0, since)
    const late = (wentOnAt(world, wait, dueAt) ?? from) - from
    if (late > lateMost(world, wait.thread) && late < Infinity)
      violate("I20, of times", `${at}, and its run went on ${late} ms later`)
  }
  for (const { deferredTo, key, receipts } of told.intents.values())
    for (const { submissionId } of deferredTo === undefined ? [] : receipts)
      begunInTime(world, { what: key, submissionId, from: (deferredTo ?? 0) - least }, violate)
  for (const [mark, all] of talk.entered)
    for (const { submissionId } of all) {
      const { deferredTo } = talk.asked.get(mark) ?? {}
      if (deferredTo !== undefined)
        begunInTime(world, { what: mark, submissionId, from: deferredTo - least }, violate)
    }
}

/** Nothing of a deferred input runs before its time. */
const begunInTime = (
  { times }: World,
  { from, submissionId, what }: { what: string; submissionId: string; from: number },
  violate: Violate,
): void => {
  const [first] = times.entered.get(submissionId) ?? []
  if (first !== undefined && first < from)
    violate("I3, of times", `${what} is entered ${from - first} ms before its time`)
}

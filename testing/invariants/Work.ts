/**
 * I18 Bounded work: alarms, the calls of threads that owners make, and the rows that all objects read and write, are in
 * proportion to what was asked for, to what went wrong, and to how long handlers work, as whoever works is looked at.
 *
 * - B1 An alarm rings by the platform's clock. An object whose clock is behind learns of it by a ring that came
 *   early, and sets the next ones later: no deadline is rung for over and over.
 * - B2 A submission that kills its object rests longer each time; somebody's `retry` starts its count anew,
 *   another deployment does not.
 * - B3 A run that goes on is looked at every two minutes at most: three alarms, with the re-arm of its pass and what it
 *   lets through.
 * - B4 Asked for is what clients do and scripts say, what runs send and wait for, each once by its name, and what schedules
 *   come to by the clock: nothing that is done over again counts for more.
 * - B5 In a world in which nothing goes wrong it is less.
 */
import type { World } from "../World.ts"
import type { Violate } from "./Violate.ts"

/** What one demand takes at most: three times what any of a thousand seeds has needed. */
interface Most {
  readonly alarms: number
  readonly calls: number
  readonly read: number
  readonly written: number
}

/** Where nothing has gone wrong. // B5 */
const mostWhenWell: Most = { alarms: 1.5, calls: 4, read: 54, written: 24 }
const mostWhenIll: Most = { alarms: 5, calls: 9, read: 110, written: 36 }

/** The work of handlers that a demand more is allowed for: less than a third of it is needed. // B3 */
const workMillisPerDemand = 150_000

/** Beyond what anybody asks for: owners are entered in the registry, and operators look at what is left. */
const itself = 10

/** How long schedules go on in a world that has healed. */
export const schedulesRunMillis = 300_000

/** Within the longest drawn part: 1 s, doubling to five minutes. // B2 */
const killsMost = 13

const killsAreBounded = ({ killed, plan }: World, violate: Violate): void => {
  const again = plan.operations.filter(({ _tag }) => _tag === "Retry").length
  const most = killsMost + again // B2
  for (const [submissionId, times] of killed)
    if (times > most) violate("I18", `${submissionId} has killed its object ${times} times`)
}

/** How often something went wrong. */
const ills = ({ faults, hostWork, killed, sink }: World): number =>
  faults.happened().length +
  [...killed.values()].reduce((sum, times) => sum + times, 0) +
  (sink?.ills() ?? 0) +
  (hostWork?.ills() ?? 0)

/** Occurrences of schedules, as far as there can be any. // B4 */
const occurrences = ({ plan, told }: World): number =>
  [...told.scheduled.values()].reduce(
    (sum, { everySeconds }) =>
      sum + Math.ceil((plan.healsAt + schedulesRunMillis) / (1_000 * everySeconds)),
    0,
  )

/** All that is written in a plan to be done: by clients and in scripts, with the tries that may be needed. // B4 */
const partsOf = (part: unknown): number => {
  if (typeof part !== "object" || part === null) return 0
  const { _tag, retries } = part as { readonly _tag?: string; readonly retries?: number }
  const inner = Object.values(part).reduce((sum: number, one) => sum + partsOf(one), 0)
  return _tag === undefined ? inner : inner + 1 + (retries ?? 0)
}

/** What asks for something of all that its owner has open. */
const ofAll = ({ operations, threads }: World["plan"]): number =>
  threads.length *
  operations.filter(({ _tag }) => _tag === "RetryMany" || _tag === "AbortMany").length

/** What the world was asked for: by clients, by runs, and by time. // B4 */
const asked = (world: World): number => {
  const { outside, plan, talk, times } = world
  const pieces = plan.hostLanes?.flatMap((lane) => lane.pieces).length ?? 0
  const looks = Math.ceil(outside.workedMillis() / workMillisPerDemand) // B3
  const all =
    pieces +
    partsOf(plan.operations) +
    ofAll(plan) +
    talk.asked.size +
    times.waits.size +
    occurrences(world) +
    looks +
    itself
  // What was done is pruned, and published, too.
  return all * (1 + Number(plan.keeps !== undefined) + Number(plan.sink !== undefined))
}

const done = ({ calls, platform }: World): Most => {
  const rows = platform.objects().map(({ state }) => state.rows())
  return {
    alarms: platform.alarms(), // B1
    calls: calls.made,
    read: rows.reduce((sum, { read }) => sum + read, 0),
    written: rows.reduce((sum, { written }) => sum + written, 0),
  }
}

const words: Readonly<Record<keyof Most, string>> = {
  alarms: "alarms rang",
  calls: "calls of threads were made",
  read: "rows were read",
  written: "rows were written",
}

/** Looked at once all has settled. */
export const workIsBounded = (world: World, violate: Violate): void => {
  killsAreBounded(world, violate)
  const wrong = ills(world)
  const demands = asked(world) + wrong
  const perDemand = wrong === 0 ? mostWhenWell : mostWhenIll // B5
  const seen = done(world)
  for (const kind of ["alarms", "calls", "read", "written"] as const) {
    const most = perDemand[kind] * demands
    if (seen[kind] > most) violate("I18", `${seen[kind]} ${words[kind]}, and ${most} would be many`)
  }
}

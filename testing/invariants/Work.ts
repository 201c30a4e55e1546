/**
 * I18 Bounded work: alarms, the calls of threads that owners make, and the rows that all objects read and write, are in
 * proportion to what was asked for, to what went wrong, and to how long handlers work, as whoever works is looked at.
 *
 * - B1 An alarm rings by the platform's clock. An object whose clock is behind learns of it by a ring that came
 *   early, and sets the next ones later: no deadline is rung for over and over.
 * - B2 A submission that kills its object rests longer each time; somebody's `retry` ends one of the rests,
 *   another deployment does not. How long the world is ill says how many there can be.
 * - B3 A run that goes on is looked at every two minutes at most: three alarms, with the re-arm of its pass and what it
 *   lets through, and one that rings early. It is no less where nothing goes wrong.
 * - B4 Asked for is what clients do and scripts say, what runs send and wait for, each once by its name, and what schedules
 *   come to by the clock: nothing that is done over again counts for more.
 * - B5 In a world in which nothing goes wrong it is less.
 * - B6 What a client sends again because nobody could answer is one call of a thread more, and its owner's note that it
 *   is under way: no whole demand.
 */
import { delayMillis } from "../../contracts/Backoff.ts"
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

/** What a client sends again; a row is written before the call, and one after it. // B6 */
const mostOfAgain: Most = { alarms: 0, calls: 1, read: 3, written: 3 }

/** The work of handlers that a demand more is allowed for: four alarms for two minutes are five for it. // B3 */
const workMillisPerDemand = 150_000

/** Beyond what anybody asks for: owners are entered in the registry, and operators look at what is left. */
const itself = 10

/** How long schedules go on in a world that has healed. */
export const schedulesRunMillis = 300_000

/** Claims that are lost with their object, since nobody knew yet that it is deadly: its first one is not flushed. */
const unwritten = 3

/** What ends a rest of a submission, or of all. // B2 */
const retryOperations: ReadonlySet<string> = new Set(["Retry", "RetryMany", "RetryOpen"])

/** How many deaths there are within a time, each after a longer rest. // B2 */
const deathsWithin = (millis: number, { limits }: World): number => {
  const curve = { baseMillis: limits.lostBackoffMillis, maxMillis: limits.lostBackoffMaxMillis }
  let deaths = 0
  for (let at = 0; at <= millis; at += delayMillis(curve, deaths)) deaths += 1
  return deaths
}

const killsAreBounded = (world: World, violate: Violate): void => {
  const { killed, plan } = world
  const again = plan.operations.filter(({ _tag }) => retryOperations.has(_tag)).length
  const most = deathsWithin(plan.healsAt, world) + unwritten + again // B2
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

/** What asks for looks: the time in which handlers work. // B3 */
const looks = ({ outside }: World): number =>
  Math.ceil(outside.workedMillis() / workMillisPerDemand)

/** What the world was asked for: by clients, by runs, and by time. // B4 */
const asked = (world: World): number => {
  const { plan, talk, times } = world
  const pieces = plan.hostLanes?.flatMap((lane) => lane.pieces).length ?? 0
  const all =
    pieces +
    partsOf(plan.operations) +
    ofAll(plan) +
    talk.asked.size +
    times.waits.size +
    occurrences(world) +
    looks(world) +
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
  /** The alarms of a look are what they are where something goes wrong. // B3 */
  const looked = looks(world) * (mostWhenIll.alarms - perDemand.alarms)
  for (const kind of ["alarms", "calls", "read", "written"] as const) {
    const again = mostOfAgain[kind] * world.calls.again // B6
    const most = perDemand[kind] * demands + again + (kind === "alarms" ? looked : 0)
    if (seen[kind] > most) violate("I18", `${seen[kind]} ${words[kind]}, and ${most} would be many`)
  }
}

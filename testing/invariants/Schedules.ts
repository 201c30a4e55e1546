/**
 * I20 (of schedules): a world that has healed gives each thread what its schedules ask for. I1: each occurrence once,
 * and what was overdue together once.
 *
 * - S1 A paused thread gives itself nothing; one that cannot take its input says why.
 * - S3 A thread gives itself inputs in a turn of its own, which waits while as many attempts run as may.
 * - S4 A thread whose lane has a fault is looked at when that is tried again, which may be minutes after the world has healed.
 * - S5 An input is of an occurrence that has come by then, and since the one before: by the clock that gave it, and by the
 *   true time.
 * - S6 So long as nobody has replaced it: what a schedule has given, and what it tells of as joined to that, are all
 *   occurrences that there were, by the clock of its thread.
 * - S2 An owner that was lost knows its threads again when it is rebuilt; one whose alarm is lost, when somebody comes.
 */
import { startsAt, type World } from "../World.ts"
import type { SimulatedObject } from "../Incarnation.ts"
import type { Scheduled } from "../Told.ts"
import { clocksApart, fewMayRun } from "./Times.ts"
import type { Violate } from "./Violate.ts"

interface Row {
  readonly [column: string]: string | number | null
  readonly waitsFor: string | null
  readonly lastAt: number | null
  readonly createdAt: number
  readonly collapsed: number
}

/** How far a schedule may be behind: its period, slots, backoff, and clocks. */
const lagMillis = 150_000

const isPaused = ({ state }: SimulatedObject): boolean =>
  state.read("SELECT 1 FROM meta WHERE paused = 1 OR forgottenAt IS NOT NULL").length > 0

const isBlind = ({ lost, platform }: World, { ownerId, threadId }: Scheduled): boolean =>
  lost.has(ownerId) ||
  lost.has(`${ownerId}/${threadId}`) ||
  platform.object("owner", ownerId).alarm.givenUp

const isFaulted = ({ platform }: World, { ownerId, threadId }: Scheduled): boolean =>
  platform
    .object("owner", ownerId)
    .state.read<{ marks: string }>("SELECT marks FROM lanes WHERE thread_id = ?", threadId)
    .some(({ marks }) => marks.includes('"faultRetryAt"'))

/** Each schedule that is there has given its thread something not long ago. */
export const schedulesTick = (world: World, violate: Violate): void => {
  if (fewMayRun(world)) return // S3
  for (const one of world.told.scheduled.values()) {
    const thread = world.platform.object("thread", `${one.ownerId}/${one.threadId}`)
    if (!thread.state.hasTable("schedules") || isPaused(thread)) continue // S1
    if (isBlind(world, one) || isFaulted(world, one)) continue // S2, S4
    const [row] = thread.state.read<Row>(
      "SELECT waitsFor, lastAt, createdAt FROM schedules WHERE name = ?",
      one.name,
    )
    if (row === undefined || row.waitsFor !== null) continue // S1
    const behind = world.queue.now() - Math.max(row.lastAt ?? 0, row.createdAt)
    if (behind > lagMillis)
      violate("I20, of schedules", `${thread.name}: ${one.name} has given nothing for ${behind} ms`)
  }
}

/** Whether it stands as it was first asked for: nobody has replaced it, or may have removed it in between. */
const isFirst = ({ plan }: World, { asked, name, ownerId, threadId }: Scheduled): boolean =>
  asked === 1 &&
  !plan.operations.some(
    (one) =>
      one._tag === "Unschedule" &&
      one.name === name &&
      plan.threads[one.thread]?.ownerId === ownerId &&
      plan.threads[one.thread]?.threadId === threadId,
  )

/** Each occurrence up to the last that gave something was given, or is told as one that was not given alone. // S6 */
export const occurrencesAreCounted = (world: World, violate: Violate): void => {
  if (world.plan.keeps !== undefined) return
  for (const one of world.told.scheduled.values()) {
    const thread = world.platform.object("thread", `${one.ownerId}/${one.threadId}`)
    if (!isFirst(world, one) || !thread.state.hasTable("schedules")) continue
    const [row] = thread.state.read<Row>(
      "SELECT waitsFor, lastAt, createdAt, collapsed FROM schedules WHERE name = ?",
      one.name,
    )
    if (row === undefined || row.lastAt === null) continue
    const period = one.everySeconds * 1_000
    const passed = Math.floor(row.lastAt / period) - Math.floor(row.createdAt / period)
    if (passed > world.limits.occurrencesCounted) continue
    const given = inputsOf(thread, one).length
    if (given + row.collapsed !== passed)
      violate(
        "I1, of schedules",
        `${thread.name}: ${one.name} had ${passed} occurrences, has given ${given} inputs, and tells of ${row.collapsed} that it joined to others`,
      )
  }
}

/** What a schedule has given. */
const inputsOf = ({ state }: SimulatedObject, { inputs }: Scheduled) =>
  state
    .read<{ id: string; input: string; acceptedAt: number }>(
      "SELECT id, input, acceptedAt FROM submissions",
    )
    .filter(({ input }) => inputs.has(input))

/** Whether an instant of the schedule lies between. Its periods divide a minute. */
const hasInstant = ({ periods }: Scheduled, from: number, to: number): boolean =>
  [...periods].some((seconds) => {
    const period = seconds * 1_000
    return Math.floor(to / period) * period > from
  })

/** Each input has an occurrence of its own. // S5 */
const atInstants = (
  world: World,
  one: Scheduled,
  given: ReadonlyArray<{ readonly id: string; readonly acceptedAt: number }>,
  violate: Violate,
): void => {
  const apart = clocksApart(world.plan)
  let before = one.since
  for (const { acceptedAt, id } of given.toSorted((a, b) => a.acceptedAt - b.acceptedAt)) {
    const [entered = Infinity] = world.times.entered.get(id) ?? []
    const at = Math.min(acceptedAt, entered)
    if (!hasInstant(one, before - apart, at + apart))
      violate(
        "I1, of schedules",
        `${one.ownerId}/${one.threadId}: ${one.name} gave ${id} at ${at - startsAt} ms, and nothing was due since ${before - startsAt}`,
      )
    before = acceptedAt
  }
}

/** No more inputs than there were occurrences. Looked at once all has settled. */
export const occurrencesComeOnce = (world: World, violate: Violate): void => {
  for (const one of world.told.scheduled.values()) {
    const { asked, everySeconds, name, ownerId, threadId } = one
    const thread = world.platform.object("thread", `${ownerId}/${threadId}`)
    if (!thread.state.hasTable("submissions") || isPaused(thread)) continue
    const given = inputsOf(thread, one)
    atInstants(world, one, given, violate)
    const last = Math.max(startsAt, ...given.map(({ acceptedAt }) => acceptedAt))
    const most = (last - startsAt) / (everySeconds * 1_000) + asked + 1
    if (given.length > most)
      violate(
        "I1, of schedules",
        `${thread.name}: ${name} has given ${given.length} inputs, where ${most} were due`,
      )
  }
}

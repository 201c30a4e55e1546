/**
 * The times of a cron expression: which come, and which have passed. Pure; the one place that knows the library.
 *
 * - C1 An expression has five fields, or six with seconds first; a year, a nickname and a date are none.
 * - C2 An occurrence is strictly later than the time it is asked for.
 * - C3 What has passed is counted up to a bound, however long nobody looked: the last of it is found all the same.
 * - C4 An expression that names hours means times of day, however it names them: each comes once a day. What falls into
 *   the gap of clocks that are put forward comes at its end, once if it is several; put back, it comes the first time.
 * - C5 One for every hour (`*`) goes by the hours that pass, 23 or 25 of such a day.
 */
import { Cron } from "croner"
import { Result } from "effect"
import { type WallClock, wallClock } from "./WallClock.ts"

/** An expression, and the zone whose clocks it is about; UTC without one. */
export interface CronTimes {
  readonly cron: string
  readonly timeZone: string | null
}

/** What is wrong with one, and where: nothing of what was said. */
export interface CronMistake {
  readonly path: "cron" | "timeZone"
  readonly reason: string
}

const fieldNames = ["second", "minute", "hour", "day of the month", "month", "day of the week"]

const isZone = (timeZone: string): boolean => {
  try {
    const { timeZone: known } = new Intl.DateTimeFormat("en", { timeZone }).resolvedOptions()
    return /^[A-Za-z]/.test(timeZone) && known.length > 0 // An offset has no rules.
  } catch {
    return false
  }
}

const compile = (cron: string, timeZone: string): Cron | undefined => {
  try {
    return new Cron(cron, { timezone: timeZone, mode: "5-or-6-parts" })
  } catch {
    return undefined
  }
}

/** The fields, each by itself beside fields that always hold. */
const mistaken = (fields: ReadonlyArray<string>): string => {
  const names = fieldNames.slice(fieldNames.length - fields.length)
  const wrong = fields.findIndex(
    (field, at) =>
      compile(fields.map((_, other) => (other === at ? field : "*")).join(" "), "UTC") ===
      undefined,
  )
  return wrong < 0 ? "the fields mean nothing together" : `the ${names[wrong]} means nothing`
}

/** When an expression comes. */
interface Occurrences {
  /** The first that is later; none when none comes any more. // C2 */
  readonly after: (at: number) => number | undefined
  /** The last that has come. */
  readonly latest: (now: number) => number
}

/** The library throws at times that it cannot write. */
const timesOf = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

const next = (cron: Cron, at: number): number | undefined =>
  timesOf(() => cron.nextRun(new Date(at)))?.getTime()

const previous = (cron: Cron, now: number): number | undefined =>
  timesOf(() => cron.previousRuns(2, new Date(now + 1_000)))
    ?.find((run) => run.getTime() <= now)
    ?.getTime()

/** The library's own way with zones. // C5 */
const byHours = (cron: Cron): Occurrences => ({
  after: (at) => next(cron, at),
  latest: (now) => previous(cron, now) ?? 0,
})

/** Times of day, of an expression that is read without a zone. // C4 */
const ofDay = (cron: Cron, { reached, timeOf }: WallClock): Occurrences => ({
  after: (at) => {
    let wall = next(cron, reached(at))
    while (wall !== undefined && timeOf(wall) <= at) wall = next(cron, wall)
    return wall === undefined ? undefined : timeOf(wall)
  },
  latest: (now) => {
    const wall = previous(cron, reached(now))
    return wall === undefined ? 0 : timeOf(wall)
  },
})

const read = ({ cron, timeZone }: CronTimes): Result.Result<Occurrences, CronMistake> => {
  if (timeZone !== null && !isZone(timeZone))
    return Result.fail({ path: "timeZone", reason: "not an IANA time zone" })
  const fields = cron.trim().split(/[ \t]+/)
  if (fields.length !== 5 && fields.length !== 6)
    return Result.fail({ path: "cron", reason: "not five or six fields" }) // C1
  const text = fields.join(" ")
  const isOfDay = fields.at(-4) !== "*" && timeZone !== null
  const compiled = compile(text, isOfDay ? "UTC" : (timeZone ?? "UTC"))
  if (compiled === undefined) return Result.fail({ path: "cron", reason: mistaken(fields) })
  return Result.succeed(isOfDay ? ofDay(compiled, wallClock(timeZone)) : byHours(compiled))
}

/** The first occurrence after a time; none when none comes any more. // C2 */
export const nextOccurrence = (
  times: CronTimes,
  at: number,
): Result.Result<number | undefined, CronMistake> =>
  Result.map(read(times), ({ after }) => after(at))

/** What has passed since a schedule was looked at, and what comes next. */
export interface Overdue {
  /** The last occurrence that has passed. */
  readonly latestAt: number
  /** How many have passed, as far as they are counted. */
  readonly count: number
  readonly nextAt: number | undefined
}

/** What has passed from the occurrence `firstAt` to `now`. // C3 */
export const overdue = (
  times: CronTimes,
  passed: { readonly firstAt: number; readonly now: number; readonly countMax: number },
): Result.Result<Overdue, CronMistake> =>
  Result.map(read(times), ({ after, latest }) => {
    const { countMax, firstAt, now } = passed
    let latestAt = firstAt
    let count = 1
    let nextAt = after(firstAt)
    while (nextAt !== undefined && nextAt <= now && count < countMax) {
      latestAt = nextAt
      count += 1
      nextAt = after(nextAt)
    }
    if (nextAt === undefined || nextAt > now) return { latestAt, count, nextAt }
    return { latestAt: Math.max(latestAt, latest(now)), count, nextAt: after(now) } // C3
  })

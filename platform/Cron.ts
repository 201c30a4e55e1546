/**
 * The times of a cron expression: which come, and which have passed. Pure; the one place that knows the library.
 *
 * - C1 An expression has five fields, or six with seconds first; a year, a nickname and a date are none.
 * - C2 An occurrence is strictly later than the time it is asked for. A single time of day that falls into the gap of
 *   clocks that are put forward comes behind it; put back, it comes once. Lists, ranges and steps go by the clocks.
 * - C3 What has passed is counted up to a bound, however long nobody looked: the last of it is found all the same.
 */
import { Cron } from "croner"
import { Result } from "effect"

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

const read = ({ cron, timeZone }: CronTimes): Result.Result<Cron, CronMistake> => {
  if (timeZone !== null && !isZone(timeZone))
    return Result.fail({ path: "timeZone", reason: "not an IANA time zone" })
  const fields = cron.trim().split(/[ \t]+/)
  if (fields.length !== 5 && fields.length !== 6)
    return Result.fail({ path: "cron", reason: "not five or six fields" }) // C1
  const compiled = compile(fields.join(" "), timeZone ?? "UTC")
  return compiled === undefined
    ? Result.fail({ path: "cron", reason: mistaken(fields) })
    : Result.succeed(compiled)
}

/** The library throws at times that it cannot write. */
const timesOf = <A>(look: () => A): A | undefined => {
  try {
    return look()
  } catch {
    return undefined
  }
}

const after = (cron: Cron, at: number): number | undefined =>
  timesOf(() => cron.nextRun(new Date(at)))?.getTime()

/** The first occurrence after a time; none when none comes any more. // C2 */
export const nextOccurrence = (
  times: CronTimes,
  at: number,
): Result.Result<number | undefined, CronMistake> =>
  Result.map(read(times), (cron) => after(cron, at))

/** What has passed since a schedule was looked at, and what comes next. */
export interface Overdue {
  /** The last occurrence that has passed. */
  readonly latestAt: number
  /** How many have passed, as far as they are counted. */
  readonly count: number
  readonly nextAt: number | undefined
}

const latest = (cron: Cron, now: number): number =>
  timesOf(() => cron.previousRuns(2, new Date(now + 1_000)))
    ?.find((run) => run.getTime() <= now)
    ?.getTime() ?? 0

/** What has passed from the occurrence `firstAt` to `now`. // C3 */
export const overdue = (
  times: CronTimes,
  passed: { readonly firstAt: number; readonly now: number; readonly countMax: number },
): Result.Result<Overdue, CronMistake> =>
  Result.map(read(times), (cron) => {
    const { countMax, firstAt, now } = passed
    let latestAt = firstAt
    let count = 1
    let nextAt = after(cron, firstAt)
    while (nextAt !== undefined && nextAt <= now && count < countMax) {
      latestAt = nextAt
      count += 1
      nextAt = after(cron, nextAt)
    }
    if (nextAt === undefined || nextAt > now) return { latestAt, count, nextAt }
    return { latestAt: Math.max(latestAt, latest(cron, now)), count, nextAt: after(cron, now) } // C3
  })

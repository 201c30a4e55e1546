/**
 * What clocks in a zone show, and when: times of day as milliseconds that pay no heed to the zone ("walls"), as
 * `Date.UTC` would give them.
 *
 * - C1 A wall that clocks show twice is meant the first time; one that they skip is at the end of what they skip. So a
 *   later wall is never at an earlier time.
 */
const day = 24 * 3_600_000

export interface WallClock {
  /** The time that a wall means. // C1 */
  readonly timeOf: (wall: number) => number
  /** The last wall whose time has come. Where clocks show an hour for the second time, that is its end. */
  readonly reached: (time: number) => number
}

const offsets = (timeZone: string): ((time: number) => number) => {
  const format = new Intl.DateTimeFormat("en", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  })
  return (time) => {
    const shown: Record<string, number> = {}
    for (const { type, value } of format.formatToParts(time)) shown[type] = Number(value)
    const { day: date = 1, hour = 0, minute = 0, month = 1, second = 0, year = 1970 } = shown
    const seconds = Math.floor(time / 1_000) * 1_000
    return Date.UTC(year, month - 1, date, hour, minute, second) - seconds
  }
}

/** The first time at which the offset is no longer that of `from`. */
const changeIn = (offsetAt: (time: number) => number, from: number, to: number): number => {
  const before = offsetAt(from)
  let [low, high] = [from, to]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (offsetAt(middle) === before) low = middle
    else high = middle
  }
  return high
}

/** The clocks of a zone that the platform knows. */
export const wallClock = (timeZone: string): WallClock => {
  const offsetAt = offsets(timeZone)
  const timeOf = (wall: number): number => {
    const before = offsetAt(wall - day)
    const after = offsetAt(wall + day)
    const first = wall - before
    if (before === after || offsetAt(first) === before) return first // C1
    const second = wall - after
    return offsetAt(second) === after ? second : changeIn(offsetAt, second, first) // C1
  }
  const reached = (time: number): number => {
    const wall = time + offsetAt(time)
    const first = timeOf(wall)
    if (first >= time) return wall
    return changeIn(offsetAt, first, time) + offsetAt(first) - 1
  }
  return { timeOf, reached }
}

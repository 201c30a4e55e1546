/** Moments and durations as people write and read them. Pure. */

const unitMillis = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const

/** Milliseconds of a duration such as `500ms`, `90s`, `15m`, `1h` or `7d`; throws with what to write. */
export const millisOf = (text: string): number => {
  const [, amount, unit] = /^(\d{1,9})(ms|s|m|h|d)$/.exec(text.trim()) ?? []
  if (amount === undefined) throw new Error("a duration such as 500ms, 90s, 15m, 1h or 7d")
  return Number(amount) * unitMillis[unit as keyof typeof unitMillis]
}

/** Whether its day is one of its month: `Date.parse` takes the 30th of February for a day in March. */
const isDay = (text: string): boolean => {
  const [year = 0, month = 0, day = 0] = text.slice(0, 10).split("-").map(Number)
  return new Date(Date.UTC(year, month - 1, day)).getUTCDate() === day
}

/** Epoch milliseconds of a moment: as ISO 8601 with its offset, or as that number itself. */
export const momentOf = (text: string): number => {
  const isNumber = /^\d{12,14}$/.test(text)
  const isIso = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/.test(text)
  const millis = isNumber ? Number(text) : isIso && isDay(text) ? Date.parse(text) : Number.NaN
  if (Number.isFinite(millis)) return millis
  throw new Error("a moment such as 2026-11-29T22:30:00Z, or epoch milliseconds")
}

/** ISO 8601 in UTC. */
export const isoOf = (millis: number): string => new Date(millis).toISOString()

const steps = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const

/** The two largest units of a duration: `3h 12m`, `4s`, `0s`. */
export const durationOf = (millis: number): string => {
  const first = steps.findIndex(([, unit]) => millis >= unit)
  if (first < 0) return "0s"
  let rest = millis
  return steps
    .slice(first, first + 2)
    .map(([name, unit]) => {
      const count = Math.floor(rest / unit)
      rest -= count * unit
      return count === 0 ? "" : `${count}${name}`
    })
    .filter((part) => part !== "")
    .join(" ")
}

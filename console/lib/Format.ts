/**
 * Numbers, times and values as people read them. Pure.
 *
 * - F1 A text is bounded: what an agent recorded may be as long as a record, and a row is one line.
 * - F2 What strangers have written turns no text around.
 */

const second = 1_000
const minute = 60 * second
const hour = 60 * minute
const day = 24 * hour

/** The largest two units of a length of time. */
export const durationOf = (millis: number): string => {
  const length = Math.max(0, millis)
  if (length < second) return `${Math.round(length)} ms`
  if (length < 10 * second) return `${(Math.floor(length / 100) / 10).toFixed(1)} s`
  if (length < minute) return `${Math.floor(length / second)} s`
  const two = (large: number, small: number, names: readonly [string, string]): string => {
    const rest = Math.floor((length % large) / small)
    const first = `${Math.floor(length / large)} ${names[0]}`
    return rest === 0 ? first : `${first} ${rest} ${names[1]}`
  }
  if (length < hour) return two(minute, second, ["min", "s"])
  if (length < day) return two(hour, minute, ["h", "min"])
  return two(day, hour, ["d", "h"])
}

/** How far a time is from now, as a whole: for what is looked at again and again. */
export const agoOf = (at: number, now: number): string => {
  const apart = now - at
  if (Math.abs(apart) < second) return "now"
  const whole = durationOf(Math.floor(Math.abs(apart) / second) * second).replace(".0 s", " s")
  return apart > 0 ? `${whole} ago` : `in ${whole}`
}

const two = (value: number): string => String(value).padStart(2, "0")

/** The time of day, in the reader's own zone. */
export const clockOf = (at: number): string => {
  const date = new Date(at)
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`
}

/** Day and time, in the reader's own zone. */
export const stampOf = (at: number): string => {
  const date = new Date(at)
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${clockOf(at)}`
}

/** With thin spaces between thousands. */
export const countOf = (count: number): string =>
  String(count).replaceAll(/\B(?=(\d{3})+(?!\d))/g, "\u2009")

/** `1 thread`, `2 threads`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${countOf(count)} ${count === 1 ? one : many}`

/** The end of an id, which is what tells two of one owner apart. */
export const shortId = (id: string): string => (id.length <= 10 ? id : `…${id.slice(-8)}`)

/** What turns the direction of the text behind it. */
const turning = /[\u202a-\u202e\u2066-\u2069]/g

/** Text that turns none around, least of all ours beside it: such marks are shown, as the terminal shows them. // F2 */
export const straight = (text: string): string =>
  text.replace(turning, (mark) => `\\u${mark.charCodeAt(0).toString(16)}`)

/** At most so many characters, and a sign where there were more. // F1 */
export const clip = (text: string, max: number): string =>
  straight(text.length <= max ? text : `${text.slice(0, max - 1).toWellFormed()}…`)

const previewCharacters = 160

/** A value as one line. // F1 */
export const previewOf = (value: unknown, max = previewCharacters): string => {
  if (value === undefined) return ""
  const text = typeof value === "string" ? value : JSON.stringify(value)
  return clip(text.slice(0, max * 4).replaceAll(/\s+/g, " "), max)
}

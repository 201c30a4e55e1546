/**
 * The trace: everything that happened in a run, in order, as one hash; and as lines for those who look.
 *
 * Two runs of one seed that differ anywhere differ in the hash from there on.
 */
export interface Trace {
  /** Notes what happened. */
  readonly note: (what: string, about: string | number, detail?: string | number) => void
  readonly hash: () => string
  /** The last lines, oldest first; none unless they were asked for. */
  readonly lines: () => ReadonlyArray<string>
}

export interface TraceOptions {
  /** How many lines are kept; 0 none. */
  readonly lines: number
  readonly now: () => number
}

export const makeTrace = ({ lines: linesMax, now }: TraceOptions): Trace => {
  let first = 0x811c9dc5
  let second = 0x1234567
  const kept: Array<string> = []
  const number = (value: number): void => {
    first = Math.imul(first ^ (value | 0), 0x01000193)
    second = (Math.imul(second ^ (first >>> 7), 0x85ebca6b) + (value | 0)) | 0
  }
  const text = (value: string): void => {
    for (let index = 0; index < value.length; index++) number(value.charCodeAt(index))
    number(-1)
  }
  const part = (value: string | number): void =>
    typeof value === "number" ? number(value) : text(value)
  return {
    note: (what, about, detail) => {
      part(what)
      part(about)
      if (detail !== undefined) part(detail)
      number(now() % 0x7fffffff)
      if (linesMax === 0) return
      kept.push(`${now()} ${what} ${about}${detail === undefined ? "" : ` ${detail}`}`)
      if (kept.length > 2 * linesMax) kept.splice(0, kept.length - linesMax)
    },
    hash: () =>
      (first >>> 0).toString(16).padStart(8, "0") + (second >>> 0).toString(16).padStart(8, "0"),
    lines: () => kept.slice(-linesMax),
  }
}

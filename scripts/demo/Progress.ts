/**
 * Shows how far the work is: one line that is written over at a terminal, now and then a plain line
 * elsewhere (a log, a pipe).
 */
import { Effect, Schedule } from "effect"
import type { Ledger } from "./Ledger.ts"

/** Where lines go. */
export interface Output {
  readonly isTTY: boolean
  readonly columns: number
  readonly write: (text: string) => void
}

const terminalEvery = "100 millis"
const plainEvery = "2 seconds"

/** The state of a run in one line. */
export const progressLine = (ledger: Ledger): string =>
  [
    `${ledger.settled} of ${ledger.planned} settled`,
    `${ledger.accepted - ledger.settled} under way`,
    ...(ledger.retries > 0 ? [`${ledger.retries} calls repeated`] : []),
  ].join(" · ")

const clearLine = "\r\u001B[2K"

/** Removes the line that is written over, so that another can be printed. */
export const clearProgress = (output: Output): Effect.Effect<void> =>
  Effect.sync(() => {
    if (output.isTTY) output.write(clearLine)
  })

/** What to show: a line that changes, and news, each of which is taken and shown once. */
export interface Shown {
  readonly line: () => string
  readonly news: Array<string>
}

/** Shows the news and the line while `work` runs. A line is not repeated while nothing changes. */
export const withProgress = <A, E, R>(
  work: Effect.Effect<A, E, R>,
  output: Output,
  { line, news }: Shown,
): Effect.Effect<A, E, R> => {
  let last = ""
  const show = Effect.sync(() => {
    const text = `  ${line()}`
    const told = news.splice(0).map((one) => `  ${one}\n`)
    if (told.length > 0) output.write((output.isTTY ? clearLine : "") + told.join(""))
    if (text === last && told.length === 0) return
    last = text
    output.write(output.isTTY ? clearLine + text.slice(0, output.columns - 1) : `${text}\n`)
  })
  const shown = Effect.repeat(show, Schedule.spaced(output.isTTY ? terminalEvery : plainEvery))
  return Effect.raceFirst(work, Effect.andThen(shown, Effect.never)).pipe(
    Effect.ensuring(Effect.andThen(show, clearProgress(output))),
  )
}

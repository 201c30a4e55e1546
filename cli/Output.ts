/**
 * What a command says: results on standard output, everything else on standard error.
 *
 * - O1 A result waits until the pipe has taken it: a slow reader slows the command, nothing piles up.
 * - O2 Progress is shown on a terminal only, on one line that is gone before anything else is said.
 */
import { Context, Effect, Layer } from "effect"
import { plainLines } from "./Plain.ts"

/** A stream of the process, as far as it is used. */
interface Sink {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly write: (text: string, written: (error?: Error | null) => void) => boolean
}

export class Output extends Context.Service<
  Output,
  {
    /** Text for standard output, a line or several. It holds nothing harmful already. */
    readonly print: (text: string) => Effect.Effect<void>
    /** A remark for standard error. */
    readonly note: (text: string) => Effect.Effect<void>
    /** Replaces the line of progress. Nothing unless standard error is a terminal. */
    readonly progress: (text: string) => Effect.Effect<void>
    /** Takes the line of progress away. */
    readonly progressEnds: Effect.Effect<void>
    /** Whether a person watches the progress. */
    readonly watched: boolean
    /** Characters of a line, where results go to a terminal. */
    readonly columns: number | undefined
  }
>()("heddle/cli/Output") {
  static readonly layer = (streams: {
    readonly stdout: Sink
    readonly stderr: Sink
  }): Layer.Layer<Output> => Layer.sync(Output, () => makeOutput(streams))
}

const write = (sink: Sink, text: string): Effect.Effect<void> =>
  Effect.callback<void>((resume) => {
    // One that fails has lost its reader; the process hears of that from the stream itself.
    sink.write(text, () => resume(Effect.void)) // O1
  })

/** Where a terminal does not tell its width, or tells 0. */
const columnsDefault = 80

const clearLine = "\r\u001b[K"

const makeOutput = (streams: { readonly stdout: Sink; readonly stderr: Sink }) => {
  const { stderr, stdout } = streams
  const watched = stderr.isTTY === true
  let showing = false
  const progressEnds = Effect.suspend(() => {
    if (!showing) return Effect.void
    showing = false
    return write(stderr, clearLine)
  }) // O2
  return Output.of({
    watched,
    columns: stdout.isTTY === true ? stdout.columns || columnsDefault : undefined,
    print: (text) => Effect.andThen(progressEnds, write(stdout, `${text}\n`)),
    note: (text) => Effect.andThen(progressEnds, write(stderr, `${plainLines(text)}\n`)),
    progress: (text) =>
      Effect.suspend(() => {
        if (!watched) return Effect.void // O2
        showing = true
        const room = Math.max((stderr.columns || columnsDefault) - 1, 10)
        return write(stderr, `${clearLine}${plainLines(text).slice(0, room)}`)
      }),
    progressEnds,
  })
}

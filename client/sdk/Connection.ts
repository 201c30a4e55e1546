/**
 * The values of one stream call, as an async generator over one try.
 *
 * - N1 A push is taken when its reader asks for more than it held: that is the backpressure.
 * - N2 A reader that leaves (it aborts the signal first) ends the call, and every later push is refused.
 */
import type { WireSink } from "../../contracts/transport/Wire.ts"
import { type Calling, callOnce } from "./Call.ts"

interface Pushed {
  readonly values: ReadonlyArray<unknown>
  readonly taken: () => void
  readonly refused: () => void
}

/** Between the sink and the reader: what is pushed, and who waits for it. */
interface Line {
  readonly pushed: Array<Pushed>
  wake: () => void
  /** How the call ended, once it has. */
  end: { readonly error?: unknown } | undefined
  closed: boolean
}

const readerGone = (): Error => new Error("the reader of the stream has gone")

const sinkOf =
  (line: Line): WireSink =>
  (values) => {
    if (line.closed) return Promise.reject(readerGone()) // N2
    if (!Array.isArray(values) || values.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      line.pushed.push({ values, taken: resolve, refused: () => reject(readerGone()) })
      line.wake()
    })
  }

/** Waits for a push or the end. */
const event = (line: Line): Promise<void> =>
  new Promise((resolve) => {
    line.wake = resolve
    if (line.pushed.length > 0 || line.end !== undefined) resolve()
  })

/** Refuses what nobody took, and all that comes. */
const close = (line: Line): void => {
  line.closed = true
  for (const push of line.pushed.splice(0)) push.refused() // N2
}

/** Opens the stream at the first `next`, and ends with the call. */
export async function* connection(calling: Calling): AsyncGenerator<unknown, void, undefined> {
  const { signal } = calling
  const leaving = new AbortController()
  const line: Line = { pushed: [], wake: () => undefined, end: undefined, closed: false }
  const leave = () => {
    close(line)
    leaving.abort(signal?.reason)
  }
  signal?.addEventListener("abort", leave, { once: true })
  if (signal?.aborted === true) leave()
  const ended = (end: Line["end"]) => {
    line.end = end
    line.wake()
  }
  callOnce({ ...calling, signal: leaving.signal }, sinkOf(line)).then(
    () => ended({}),
    (error: unknown) => ended({ error }),
  )
  try {
    for (;;) {
      await event(line)
      leaving.signal.throwIfAborted()
      const [next] = line.pushed
      if (next !== undefined) {
        yield* next.values
        line.pushed.shift()
        next.taken() // N1
      } else if (line.end !== undefined) {
        if ("error" in line.end) throw line.end.error
        return
      }
    }
  } finally {
    close(line)
    signal?.removeEventListener("abort", leave)
  }
}

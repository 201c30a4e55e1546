/**
 * Streams as callers see them: async iterators that outlive their connections.
 *
 * - S1 Every record reaches the reader once and in order, whatever is lost between two connections.
 * - S2 Failures in a row without progress between them are bounded; then the last one is thrown. A connection that
 *   stood for a while is progress, too: a thread may have nothing to say.
 * - S3 `return` ends the stream at once, also while a `next` waits.
 * - S4 A connection that ended soon is not followed by another one at once, whatever it ended with.
 * - S5 A stream of records ends by itself only for a reader who has said so, and only once there was nothing to tell: what is
 *   lost is opened again for them, too.
 */
import { type Calling } from "./Call.ts"
import { connection } from "./Connection.ts"
import { canRepeat, HeddleError } from "./HeddleError.ts"
import { pause, type Repetition } from "./Repeat.ts"

/** Of one stream. It is iterated once. */
export interface HeddleStream<Value> extends AsyncIterableIterator<Value, void, undefined> {
  /** Leaves the stream: what serves it is told, and a `next` that waits is done. */
  readonly return: () => Promise<IteratorResult<Value, void>>
  [Symbol.asyncIterator](): HeddleStream<Value>
}

export interface StreamOptions {
  readonly calling: (signal: AbortSignal) => Calling
  readonly read: (value: unknown) => unknown
  readonly repetition: Repetition
  readonly signal: AbortSignal | undefined
}

/** What a stream of records does when there was nothing to tell for long. */
export type WhenQuiet = "goOn" | "end"

export interface RecordsOptions extends StreamOptions {
  readonly whenQuiet: WhenQuiet
}

/** One lost connection after another, until a value comes; what is lost later is the caller's to know. */
async function* untilFirst(
  { calling, read, repetition }: StreamOptions,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  for (let nth = 1; ; nth++) {
    let delivered = false
    try {
      for await (const frame of connection(calling(signal))) {
        delivered = true
        yield read(frame)
      }
      return
    } catch (error) {
      if (delivered || !canRepeat(error) || nth > repetition.times) throw error
      await pause(repetition.curve, nth, signal)
    }
  }
}

interface Frame {
  readonly _tag?: unknown
  readonly after?: unknown
  readonly record?: { readonly sequence?: unknown }
}

/** The sequence of a record, or the one that a cursor goes on from. */
const sequenceOf = (frame: Frame): number | undefined => {
  const sequence = frame._tag === "Record" ? frame.record?.sequence : frame.after
  return (frame._tag === "Record" || frame._tag === "Cursor") && typeof sequence === "number"
    ? sequence
    : undefined
}

/** One reader: where it is, and how its connections fare. */
interface Reading {
  readonly whenQuiet: WhenQuiet
  after: number | undefined
  failures: number
  /** Whether the present connection has shown anything. */
  delivered: boolean
  /** Whether another connection follows the present one. */
  goesOn: boolean
}

/** Whether the reader is shown the frame; moves its position. */
const pass = (reading: Reading, value: unknown): boolean => {
  const frame: Frame = typeof value === "object" && value !== null ? value : {}
  reading.delivered = true
  const sequence = sequenceOf(frame)
  if (sequence === undefined) return frame._tag !== "Cursor"
  const seen = reading.after !== undefined && sequence <= reading.after
  if (frame._tag === "Cursor") {
    reading.goesOn = reading.whenQuiet === "goOn" // S5
    if (seen) return false
    reading.failures = 0
    reading.after = sequence
    return false
  }
  if (seen) return false // S1
  reading.after = sequence
  reading.failures = 0
  return true
}

/** A connection that has shown something and stood so long was none that fails at once. */
const steadyMillis = 5_000

/** Whether another connection may do better. A token that ended with its stream may have been renewed. */
const mayGoOn = (reading: Reading, error: unknown): boolean =>
  canRepeat(error) ||
  (reading.delivered && error instanceof HeddleError && error.tag === "Unauthenticated")

/** Opens connection after connection, each from where the last one ended. */
async function* resuming(
  { calling, read, repetition, whenQuiet }: RecordsOptions,
  signal: AbortSignal,
): AsyncGenerator<unknown, void, undefined> {
  const first = calling(signal)
  const payload = (first.payload ?? {}) as { readonly after?: number }
  const { after } = payload
  const reading: Reading = { whenQuiet, after, failures: 0, delivered: false, goesOn: true }
  while (reading.goesOn) {
    reading.goesOn = false
    reading.delivered = false
    const from = reading.after === undefined ? payload : { ...payload, after: reading.after }
    const openedAt = performance.now()
    try {
      for await (const frame of connection({ ...first, payload: from })) {
        if (pass(reading, frame)) yield read(frame)
      }
      const stood = performance.now() - openedAt >= steadyMillis
      if (stood) reading.failures = 0 // S2
      else if (reading.goesOn) await pause(repetition.curve, 1, signal) // S4
    } catch (error) {
      const stood = reading.delivered && performance.now() - openedAt >= steadyMillis
      if (stood) reading.failures = 0 // S2
      if (!mayGoOn(reading, error) || reading.failures >= repetition.times) throw error // S2
      reading.failures++
      reading.goesOn = true
      await pause(repetition.curve, reading.failures, signal)
    }
  }
}

const iterate = (
  open: (signal: AbortSignal) => AsyncGenerator<unknown, void, undefined>,
  signal: AbortSignal | undefined,
): HeddleStream<unknown> => {
  const done: IteratorResult<unknown, void> = { done: true, value: undefined }
  const leaving = new AbortController()
  const frames = open(leaving.signal)
  let left = false
  const abort = () => leaving.abort(signal?.reason)
  const over = () => signal?.removeEventListener("abort", abort)
  signal?.addEventListener("abort", abort, { once: true })
  if (signal?.aborted === true) abort()
  const stream: HeddleStream<unknown> = {
    [Symbol.asyncIterator]: () => stream,
    next: async () => {
      try {
        const result = left ? done : await frames.next()
        if (result.done === true) over()
        return result
      } catch (error) {
        over()
        if (left) return done // S3
        throw error
      }
    },
    return: async () => {
      left = true
      over()
      leaving.abort() // S3
      await frames.return()
      return done
    },
  }
  return stream
}

/** A stream that fails at its first `next`: its call cannot be sent. */
export const failedStream = (error: HeddleError): HeddleStream<unknown> =>
  iterate(async function* () {
    await Promise.reject(error)
    yield* []
  }, undefined)

/** A stream that is opened again only before its first value. */
export const plainStream = (options: StreamOptions): HeddleStream<unknown> =>
  iterate((signal) => untilFirst(options, signal), options.signal)

/** A stream of records by their sequence, which goes on after a lost connection and, unless it is to end then, after a cursor. */
export const resumingStream = (options: RecordsOptions): HeddleStream<unknown> =>
  iterate((signal) => resuming(options, signal), options.signal)

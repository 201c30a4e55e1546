/**
 * A stream that outlives its connection: opened again from the last sequence its reader has seen.
 *
 * - R1 Every record reaches the reader once and in order, whatever is lost between two connections.
 * - R2 Only what can be repeated is: a failure marked `retryable` and not `overloaded`. Failures in a
 *   row without progress between them are bounded; then the last one is the stream's failure. A connection that stood
 *   for a while is progress, too: a thread may have nothing to say.
 * - R3 A connection that ends with the token of its reader has said so behind a cursor: with a renewed token the stream
 *   goes on from there, and with the same one the next connection fails.
 * - R4 A connection that ended soon is not followed by another one at once, whatever it ended with.
 */
import { Clock, Effect, Random, Stream } from "effect"
import { type Curve, jitteredMillis } from "../Backoff.ts"
import { Unauthenticated, Unavailable } from "../Errors.ts"

/** What a frame says about where the reader is. */
export type Position =
  /** A numbered record: not shown twice. */
  | { readonly _tag: "Record"; readonly sequence: number }
  /** The wait ended, and nothing is wrong: the stream goes on from here. */
  | { readonly _tag: "Cursor"; readonly after: number }

export interface ReconnectOptions<Frame, E, R> {
  /** Opens a connection that shows what follows `after`; from the beginning without it. */
  readonly open: (after: number | undefined) => Stream.Stream<Frame, E, R>
  /** Frames without a position pass as they come, and may be seen again after a reconnection. */
  readonly positionOf: (frame: Frame) => Position | undefined
  /** Where the reader starts: after this sequence. */
  readonly after?: number | undefined
  /** `reopen` (default) goes on after a cursor and hides it; `end` shows it, and ends there. */
  readonly onCursor?: "reopen" | "end"
  /** Failures in a row without progress before the stream fails. Default 20, as of waits. */
  readonly failuresMax?: number
  /** Waits between them. Default 100 ms doubling to 5 s, jittered. */
  readonly curve?: Curve
}

/** A connection that has shown something and stood so long was none that fails at once. */
const steadyMillis = 5_000

const defaultCurve: Curve = { baseMillis: 100, maxMillis: 5_000 }

/** One reader: where it is, and how its connections fare. */
interface Reading {
  after: number | undefined
  failures: number
  /** When the present connection was opened, and whether it has shown anything. */
  openedAt: number
  shown: boolean
  /** Whether it ended with a cursor, and the next one may have to wait. */
  rests: boolean
  /** Whether another connection follows the present one. */
  next: "open" | "end"
}

/** Whether a call that failed so may be repeated: it went away, and is not overloaded. */
export const canRepeat = (error: unknown): boolean =>
  error instanceof Unavailable && error.retryable && !error.overloaded

/** Whether the reader is shown the frame; moves its position. */
const pass = (reading: Reading, position: Position | undefined, shown: boolean): boolean => {
  if (position === undefined) return true
  if (position._tag === "Cursor") {
    if (position.after > (reading.after ?? 0)) reading.failures = 0
    reading.after = Math.max(reading.after ?? 0, position.after)
    reading.rests = true
    reading.next = shown ? "end" : "open"
    return shown
  }
  if (reading.after !== undefined && position.sequence <= reading.after) return false // R1
  reading.failures = 0
  reading.after = position.sequence
  return true
}

/** The stream of `open`, over as many connections as it takes. */
export const reconnecting = <Frame, E, R>(
  options: ReconnectOptions<Frame, E, R>,
): Stream.Stream<Frame, E, R> => {
  const curve = options.curve ?? defaultCurve
  const failuresMax = options.failuresMax ?? 20
  const showCursor = options.onCursor === "end"

  const lost = Effect.fnUntraced(function* (reading: Reading, error: E) {
    if (reading.next === "open" && error instanceof Unauthenticated) return // R3
    const stoodMillis = (yield* Clock.currentTimeMillis) - reading.openedAt
    if (reading.shown && stoodMillis >= steadyMillis) reading.failures = 0 // R2
    if (!canRepeat(error) || reading.failures >= failuresMax) return yield* Effect.fail(error) // R2
    reading.failures++
    reading.rests = false
    reading.next = "open"
    yield* Effect.sleep(jitteredMillis(curve, reading.failures, yield* Random.next)) // R4
  })

  const open = Effect.fnUntraced(function* (reading: Reading) {
    if (reading.rests) {
      const stoodMillis = (yield* Clock.currentTimeMillis) - reading.openedAt
      if (stoodMillis >= steadyMillis) reading.failures = 0 // R2
      else yield* Effect.sleep(jitteredMillis(curve, 1, yield* Random.next)) // R4
    }
    reading.rests = false
    reading.openedAt = yield* Clock.currentTimeMillis
    reading.shown = false
    return options.open(reading.after)
  })

  const connection = (reading: Reading): Stream.Stream<Frame, E, R> =>
    Stream.unwrap(open(reading)).pipe(
      Stream.filter((frame) => {
        reading.shown = true
        return pass(reading, options.positionOf(frame), showCursor)
      }),
      Stream.catch((error) => Stream.drain(Stream.fromEffect(lost(reading, error)))),
    )

  return Stream.suspend(() => {
    const reading: Reading = {
      after: options.after,
      failures: 0,
      openedAt: 0,
      shown: false,
      rests: false,
      next: "open",
    }
    return Stream.unfold(undefined, () =>
      Effect.sync(() => {
        if (reading.next === "end") return undefined
        reading.next = "end"
        return [undefined, undefined] as const
      }),
    ).pipe(Stream.flatMap(() => connection(reading)))
  })
}

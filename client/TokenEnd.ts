/**
 * When a token ends, and what its streams and waits do then.
 *
 * - D1 A stream shows nothing of what comes after the end of its reader's token, and fails with a type of its own.
 * - D2 Where the reader can go on from is said first, and every record up to there was shown.
 * - D3 A wait is no longer than the token: it is answered then, as one that has lasted long enough.
 */
import { Clock, Effect, Stream } from "effect"
import { Unauthenticated } from "../contracts/Errors.ts"

/** Longer than any stream stays open, and below what a timer can count. */
const longestMillis = 24 * 60 * 60 * 1000

const expired = new Unauthenticated({ reason: "The token has expired" })

/** Each public call may fail so: the guard of an edge declares it for all of them, and not their own errors. */
const failExpired = Stream.fail(expired as never)

/** Waits until a time. */
const until = (atMillis: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.sleep(Math.min(Math.max(atMillis - now, 0), longestMillis)),
  )

/** Waits until so many milliseconds after the end, and fails. */
export const tokenEnd = (
  expiresAt: number,
  graceMillis: number,
): Effect.Effect<never, Unauthenticated> => Effect.andThen(until(expiresAt + graceMillis), expired)

/** The stream until the token of its reader ends; `cursorOf` makes the last frame from the one that was shown last. */
export const untilTokenEnds = <Frame, E, R>(
  frames: Stream.Stream<Frame, E, R>,
  expiresAt: number | undefined,
  cursorOf: () => ReadonlyArray<Frame>,
): Stream.Stream<Frame, E, R> => {
  if (expiresAt === undefined) return frames
  return Stream.suspend(() => {
    let over = false
    const ending = Effect.map(until(expiresAt), () => {
      over = true
    })
    const last = Stream.suspend(() =>
      over
        ? Stream.concat(Stream.fromIterable(cursorOf()), failExpired) // D2
        : Stream.empty,
    )
    return frames.pipe(Stream.interruptWhen(ending), Stream.concat(last)) // D1
  })
}

/** The same wait, at most until the token of its caller ends. // D3 */
export const waitUntilTokenEnds = <P extends { readonly timeoutMillis?: number }>(
  payload: P,
  expiresAt: number | undefined,
): Effect.Effect<P> =>
  expiresAt === undefined
    ? Effect.succeed(payload)
    : Effect.map(Clock.currentTimeMillis, (now) => {
        const leftMillis = Math.min(Math.max(Math.ceil(expiresAt - now), 0), longestMillis)
        return {
          ...payload,
          timeoutMillis: Math.min(payload.timeoutMillis ?? leftMillis, leftMillis),
        }
      })

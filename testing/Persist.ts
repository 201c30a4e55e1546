/**
 * How clients of the simulation go on where nobody could answer.
 *
 * - P1 A client that got no definite answer tries again with the same key, until it gets one or gives up.
 */
import { Effect } from "effect"

export const tagOf = (error: unknown): string =>
  String((error as { readonly _tag?: unknown } | undefined)?._tag ?? error)

/** Answers after which the same call may still succeed. */
const passing = new Set([
  "Unavailable",
  "StorageUnavailable",
  "StorageFull",
  "InternalDefect",
  "AgentNotRegistered",
])

/** Whether the same call may still be answered otherwise. */
export const passes = (error: unknown): boolean => passing.has(tagOf(error))

/** The wait before a call is repeated. */
export const rest = (tries: number): Effect.Effect<void> =>
  Effect.sleep(Math.min(10_000, 100 * 2 ** Math.min(tries, 10)))

export const triesMax = 200

/** Repeats a call until it is answered for good. // P1 */
export const persist = <A, E>(
  call: Effect.Effect<A, E>,
  giveUp: () => boolean,
  tries = 0,
): Effect.Effect<A, E> =>
  Effect.catch(call, (error) =>
    !passes(error) || giveUp() || tries > triesMax
      ? Effect.fail(error)
      : Effect.andThen(
          rest(tries),
          Effect.suspend(() => persist(call, giveUp, tries + 1)),
        ),
  )

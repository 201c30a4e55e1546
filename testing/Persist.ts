/**
 * How clients of the simulation go on where nobody could answer.
 *
 * - P1 A client that got no definite answer tries again with the same key, until it gets one or gives up.
 * - P2 What is sent again is counted: the world asks for it, and not the product.
 */
import { Context, Effect } from "effect"

/** How often the clients of a world have sent something again. */
export const Again = Context.Reference<{ again: number }>("heddle/testing/Again", {
  defaultValue: () => ({ again: 0 }),
})

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

/** Sends again what has so many submissions in it. */
export const sendAgain = <A, E>(
  send: () => Effect.Effect<A, E>,
  submissions = 1,
): Effect.Effect<A, E> =>
  Effect.withFiber(({ context }) => {
    Context.get(context, Again).again += submissions // P2
    return send()
  })

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
          sendAgain(() => persist(call, giveUp, tries + 1)),
        ),
  )

/**
 * A stream that outlives its token: a deployment ends it when the token does, and it is opened again with the
 * token of the moment.
 *
 * - R1 It is opened again only with another token, and only if the one before has shown something: a
 *   source of tokens that are all refused is no endless loop.
 */
import { Effect, Stream } from "effect"
import type { CallError } from "./Remedies.ts"
import type { Session } from "./Session.ts"

/** The stream of `open`, which is asked anew for where it goes on. */
export const renewing = <Frame>(
  session: Session,
  open: () => Stream.Stream<Frame, CallError>,
): Stream.Stream<Frame, CallError> =>
  Stream.suspend(() => {
    let shown = false
    const frames = Stream.tap(open(), () =>
      Effect.sync(() => {
        shown = true
      }),
    )
    return Stream.catch(frames, (error) =>
      error._tag !== "Unauthenticated" || !shown
        ? Stream.fail(error) // R1
        : Stream.unwrap(
            Effect.map(session.renewToken, (isAnother) =>
              isAnother ? renewing(session, open) : Stream.fail(error),
            ),
          ),
    )
  })

/** Waiting with an end, also where the waiting fiber cannot be interrupted. */
import { Deferred, Effect, Exit, Option } from "effect"

/** The value if it comes within so many milliseconds. Leaves no timer behind. */
export const within = <A, E>(
  deferred: Deferred.Deferred<A, E>,
  millis: number,
): Effect.Effect<Option.Option<A>, E> =>
  Effect.suspend(() => {
    if (Deferred.isDoneUnsafe(deferred)) return Effect.asSome(Deferred.await(deferred))
    const result = Deferred.makeUnsafe<Option.Option<A>, E>()
    const timer = Effect.andThen(Effect.sleep(millis), Deferred.succeed(result, Option.none()))
    const value = Effect.onExit(Deferred.await(deferred), (exit) =>
      Deferred.done(result, Exit.map(exit, Option.some)),
    )
    return Effect.gen(function* () {
      const fibers = [yield* Effect.forkDetach(timer), yield* Effect.forkDetach(value)]
      return yield* Effect.ensuring(
        Deferred.await(result),
        Effect.sync(() => {
          for (const fiber of fibers) fiber.interruptUnsafe()
        }),
      )
    })
  })

/** What the agents need from their deployment: built once per incarnation, before its first use. */
import { Effect, Layer, Scope } from "effect"
import { Unavailable } from "../contracts/Errors.ts"
import type { Thread } from "./Thread.ts"

const servicesFailed = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "The services of the agents could not start",
})

/** Builds what the agents need, once; a failure is this turn's, and the next builds afresh. */
export const ensureServices = (thread: Thread): Effect.Effect<void, Unavailable> =>
  Effect.suspend(() => {
    if (thread.services !== undefined) return Effect.void
    // Never closed: the services live as long as the object.
    const build = Layer.buildWithScope(Layer.fresh(thread.options.services), Scope.makeUnsafe())
    return build.pipe(
      Effect.interruptible,
      Effect.timeout(thread.limits.mutationMillis),
      Effect.flatMap((services) =>
        Effect.sync(() => {
          thread.services = services
        }),
      ),
      Effect.catchCause((cause) =>
        Effect.andThen(
          Effect.logError("The services of the agents could not start", cause),
          Effect.fail(servicesFailed),
        ),
      ),
    )
  })

/**
 * The caller of a test deployment: the product's client over the product's edge, in memory.
 *
 * - A1 A call ends by what happens in the queue; time moves only as far as its answer needs.
 */
import { Cause, Context, Effect, Exit, Layer, Scope } from "effect"
import { HeddleClient } from "../client/HeddleClient.ts"
import { makeEdge } from "../client/Edge.ts"
import type { Principal } from "../contracts/Identifiers.ts"
import { CurrentLimits, type Limits } from "../contracts/Limits.ts"
import type { Sender } from "./Network.ts"
import { NoAnswer, type TestClock } from "./TestClock.ts"
import type { TestObjects } from "./TestObjects.ts"
import type { Turning } from "./Turning.ts"

export interface CallerOptions {
  readonly objects: TestObjects
  readonly clock: TestClock
  readonly limits: Limits
  readonly principal: Principal
}

export interface Caller {
  /** Runs an effect to its end. Throws what it fails with. // A1 */
  readonly run: <A, E>(effect: Effect.Effect<A, E, HeddleClient>) => Turning<A>
}

export const makeCaller = (options: CallerOptions): Caller => {
  const { clock, limits, objects, principal } = options
  const runner = objects.queue.runner("caller")
  const sender: Sender = { runner, leave: (send) => send() }
  const grants = { principal, owners: ["*"] }
  const context = objects
    .contextOf(runner)
    .pipe(Context.add(CurrentLimits, limits), Context.add(Scope.Scope, Scope.makeUnsafe()))
  const client = makeEdge({
    identity: { _tag: "Verified", grants, expiresAt: undefined },
    targets: objects.reach(sender),
  }).pipe(Effect.flatMap((edge) => Layer.build(HeddleClient.layerTarget(edge))))
  const run = Effect.runForkWith(
    Context.merge(context, Effect.runSync(Effect.provideContext(client, context))),
  )
  return {
    run: function* (effect) {
      const fiber = run(effect)
      yield* clock.until(() => fiber.pollUnsafe() !== undefined)
      const exit = fiber.pollUnsafe()
      if (exit === undefined) {
        fiber.interruptUnsafe()
        throw new NoAnswer({ message: "The call waits, and nothing is left to do" })
      }
      if (Exit.isSuccess(exit)) return exit.value
      throw Cause.squash(exit.cause)
    },
  }
}

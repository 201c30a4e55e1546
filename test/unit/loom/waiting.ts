/** An agent whose one step waits until the test lets it end. */
import { Deferred, Effect, Schema } from "effect"
import * as Agent from "../../../thread-actors/Agent.ts"

export const definition = Agent.make("agent", { input: Schema.Json, output: Schema.Json })

/** Gives its input back at once. */
export const echo = definition.handler((input) => Effect.succeed(input))

export const waiting = () => {
  const open = Deferred.makeUnsafe<void>()
  let bodies = 0
  const body = Effect.suspend(() => {
    bodies += 1
    return Effect.as(Deferred.await(open), 1)
  })
  const live = definition.handler((input, run) =>
    Effect.as(run.step("wait", Schema.Int, body), input),
  )
  return {
    live,
    end: () => Deferred.doneUnsafe(open, Effect.void),
    /** How often the body of the step has started, over all attempts. */
    bodies: () => bodies,
  }
}

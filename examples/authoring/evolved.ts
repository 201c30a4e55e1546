/** An agent that was changed while runs of it were under way. */
import { Effect, Schema } from "effect"
import * as Agent from "../../thread-actors/Agent.ts"

// Your systems go here.
const charge = (order: string): Effect.Effect<string> => Effect.succeed(`charged ${order}`)
const reserve = (order: string): Effect.Effect<string> => Effect.succeed(`reserved ${order}`)

export const Ship = Agent.make("ship", { input: Schema.String, output: Schema.String })

export const ShipLive = Ship.handler(
  Effect.fn("Ship")(function* (order, run) {
    const way = yield* run.version("reserve-first", 1)
    if (way >= 1) yield* run.step("reserve", Schema.String, reserve(order))
    const charged = yield* run.step("charge", Schema.String, charge(order))
    yield* run.approval("ship", { summary: `Ship ${order}?` })
    return charged
  }),
)

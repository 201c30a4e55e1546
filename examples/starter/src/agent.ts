/** An agent: what it takes, what it gives, and what it does with one input. */
import { Effect, Option, Schema } from "effect"
import * as Agent from "heddle/agent"

const Visitor = Schema.Struct({ name: Schema.NonEmptyString })
const Welcome = Schema.Struct({ greeting: Schema.String, visits: Schema.Int })

// Your call to a model, a database or another service goes here.
const compose = (name: string) => Effect.succeed(`Welcome, ${name}`)

export const Greet = Agent.make("greet", { input: Visitor, output: Welcome, state: Schema.Int })

export const GreetLive = Greet.handler(
  Effect.fn("Greet")(function* ({ name }, run) {
    // Its outcome is recorded once: after a crash it is answered from the record.
    const greeting = yield* run.step("compose", Schema.String, compose(name))
    yield* run.progress("composed", { greeting })
    // Each thread has a state of its own.
    const visits = yield* run.state.update("visits", (n) => Option.getOrElse(n, () => 0) + 1)
    return { greeting, visits }
  }),
)

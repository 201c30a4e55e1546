/** A Worker with an agent of two steps, for tests that kill the whole process under it. */
import { Effect, Option, Schema } from "effect"
import { Agent, Heddle, otlp } from "../../heddle.ts"

/** Counts the thread's submissions in its state; the second step takes a moment. */
const tally = Agent.make("tally", {
  input: Schema.Struct({ workMillis: Schema.Number }),
  output: Schema.Struct({ count: Schema.Number }),
  state: Schema.Number,
}).handler(
  Effect.fnUntraced(function* ({ workMillis }, run) {
    const count = yield* run.state.update("count", (state) => Option.getOrElse(state, () => 0) + 1)
    yield* run.step("work", Schema.Null, Effect.as(Effect.sleep(workMillis), null))
    return { count }
  }),
)

const noop = Agent.make("noop", { input: Schema.Json, output: Schema.Null }).handler(() =>
  Effect.succeed(null),
)

/** Asks people, and waits for somebody with credentials and for somebody with a token alone. */
const desk = Agent.make("desk", { input: Schema.Json, output: Schema.Json }).handler(
  Effect.fnUntraced(function* (_input, run) {
    yield* run.progress("asked", { token: yield* run.callback("payment") })
    const { approved } = yield* run.approval("refund", { summary: "Refund it?" })
    const carrier = yield* run.waitFor("carrier", Schema.Json)
    const payment = yield* run.waitFor("payment", Schema.Json)
    return { approved, carrier, payment }
  }),
)

const heddle = Heddle.make({
  agents: [tally, noop, desk],
  // Tells nobody where its environment names no collector.
  observability: { otlp: otlp() },
  limits: {
    lostBackoffMillis: 50,
    // Many kills in a row look like a pass, and a run, that kills its own object.
    lostBackoffMaxMillis: 200,
    passRetryMaxMillis: 200,
    unfinishedPassesBeforeOneSlot: 100,
    transportBackoffMaxMillis: 1_000,
    // What a lost process was doing is found at the end of these.
    coverMillis: 500,
    watchMillis: 300,
    watchMaxMillis: 600,
  },
})

export class Owner extends heddle.OwnerObject {}
export class Thread extends heddle.ThreadActor {}

export default { fetch: heddle.fetch }

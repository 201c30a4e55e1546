/** Conversations, as the guide shows them: an answer that a word cuts short, and a host that stays open for more. */
import { Effect, Schema } from "effect"
import * as Agent from "../../thread-actors/Agent.ts"

// Your model goes here: it takes its time.
const answerTo = (heard: ReadonlyArray<string>): Effect.Effect<string> =>
  Effect.delay(Effect.succeed(`to ${heard.join(" and ")}`), "20 seconds")

export const Stoppable = Agent.make("stoppable", { input: Schema.String, output: Schema.String })

export const StoppableLive = Stoppable.handler(
  Effect.fn("Stoppable")(function* (first, run) {
    const said: Array<string> = []
    let heard: ReadonlyArray<string> = [first]
    for (let turn = 1; heard.length > 0; turn++) {
      const asked = heard
      const reply = yield* run.race(`reply-${turn}`, {
        answer: run.step(`answer-${turn}`, Schema.String, answerTo(asked)),
        stop: run.waitFor(`stop-${turn}`, Schema.Null),
      })
      said.push(reply.branch === "answer" ? reply.value : "(stopped)")
      heard = (yield* run.takeInputs(`more-${turn}`)).map(({ input }) => input)
    }
    return said.join(", ")
  }),
)

export const Patient = Agent.make("patient", {
  input: Schema.String,
  output: Schema.Array(Schema.String),
})

export const PatientLive = Patient.handler(
  Effect.fn("Patient")(function* (first, run) {
    const heard = [first]
    for (let round = 1; ; round++) {
      const more = yield* run.takeInputs(`more-${round}`)
      heard.push(...more.map(({ input }) => input))
      const came = yield* run.race(`round-${round}`, {
        written: run.waitFor(`written-${round}`, Schema.Null),
        quiet: run.sleep(`quiet-${round}`, "10 minutes"),
      })
      if (came.branch === "quiet") return heard
    }
  }),
)

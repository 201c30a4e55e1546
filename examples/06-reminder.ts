/**
 * A reminder that comes back until somebody says that it is done: each round waits for the word or for the time,
 * whichever comes first. A run that waits holds nothing but the alarm of its next round.
 */
import { Effect, Schema } from "effect"
import { Agent } from "../heddle.ts"

const Reminder = Schema.Struct({
  text: Schema.String,
  everySeconds: Schema.Number,
  times: Schema.Int,
})

export const Remind = Agent.make("remind", {
  input: Reminder,
  output: Schema.Struct({ done: Schema.Boolean, reminded: Schema.Int }),
})

// Your mail goes here.
const sendMail = (text: string): Effect.Effect<string> => Effect.succeed(`mailed: ${text}`)

export const RemindLive = Remind.handler(
  Effect.fn("Remind")(function* ({ everySeconds, text, times }, run) {
    for (let round = 1; round <= times; round++) {
      const first = yield* run.race(`round-${round}`, {
        done: run.waitFor(`done-${round}`, Schema.String),
        later: run.sleep(`later-${round}`, `${everySeconds} seconds`),
      })
      if (first.branch === "done") return { done: true, reminded: round - 1 }
      yield* run.step(`mail-${round}`, Schema.String, sendMail(text))
    }
    return { done: false, reminded: times }
  }),
)

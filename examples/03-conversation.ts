/**
 * A conversation: what is written while an answer is made joins the run that makes it, and the words of an answer are
 * streamed as they come. Submit with `delivery: "join"`.
 */
import { Effect, Option, Schema } from "effect"
import { Agent } from "../heddle.ts"

const Said = Schema.Struct({ text: Schema.String })

/** What the thread remembers from run to run: the last lines. */
const Memory = Schema.Array(Schema.Struct({ by: Schema.String, text: Schema.String }))
type Memory = typeof Memory.Type

const rememberedMax = 20

const remember = (memory: Memory, lines: Memory): Memory =>
  [...memory, ...lines].slice(-rememberedMax)

export const Conversation = Agent.make("conversation", {
  input: Said,
  output: Schema.Struct({ answers: Schema.Int, heard: Schema.Int }),
  state: Memory,
})

// Your model goes here: it is given what was said, and what was said before.
const wordsOf = (heard: ReadonlyArray<string>, memory: Memory): ReadonlyArray<string> =>
  `You said ${heard.map((text) => `“${text}”`).join(" and ")}, after ${memory.length} lines.`.split(
    " ",
  )

export const ConversationLive = Conversation.handler(
  Effect.fn("Conversation")(function* (first, run) {
    let heard: ReadonlyArray<string> = [first.text]
    let total = 0
    for (let turn = 1; ; turn++) {
      const said = heard
      const memory = Option.getOrElse(yield* run.state.read(`memory-${turn}`), (): Memory => [])

      // An answer that is cut short by a crash is made anew: only whole ones are recorded.
      const answer = yield* run.step(
        `answer-${turn}`,
        Schema.String,
        Effect.gen(function* () {
          const words = wordsOf(said, memory)
          for (const word of words) yield* run.emit({ turn, word })
          return words.join(" ")
        }),
      )
      yield* run.state.update(`remember-${turn}`, (state) =>
        remember(
          Option.getOrElse(state, (): Memory => []),
          [...said.map((text) => ({ by: "visitor", text })), { by: "agent", text: answer }],
        ),
      )
      yield* run.progress(`said-${turn}`, { answer })
      total += said.length

      const more = yield* run.takeInputs(`more-${turn}`, { max: 8 })
      if (more.length === 0) return { answers: turn, heard: total }
      heard = more.map(({ input }) => input.text)
    }
  }),
)

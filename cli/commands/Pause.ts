/** `heddle pause` and `heddle resume`: holding a thread back, and letting it go on. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { ThreadId } from "../../contracts/Identifiers.ts"
import type { PauseReply } from "../../contracts/Pause.ts"
import { author, reason, thread } from "../Parameters.ts"
import { type Session, withSession } from "../Session.ts"
import { fields } from "../Table.ts"
import { isoOf } from "../Times.ts"

const show = (session: Session, reply: PauseReply) =>
  session.show(reply, () =>
    fields({
      paused: reply.paused,
      by: reply.pause?.author,
      reason: reply.pause?.reason,
      since: reply.pause === undefined ? undefined : isoOf(reply.pause.sinceAt),
    }),
  )

interface Given {
  readonly thread: ThreadId
  readonly reason: string
  readonly author: Option.Option<string>
}

const having =
  (operation: "pauseThread" | "resumeThread") =>
  ({ author: by, reason: why, thread: threadId }: Given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const reply = yield* session.client.rpc[operation]({
          ownerId: yield* session.ownerId,
          threadId,
          author: Option.getOrElse(by, () => session.author),
          reason: why,
        })
        yield* show(session, reply)
      }),
      threadId,
    )

export const pause = Command.make("pause", { thread, reason, author }, having("pauseThread")).pipe(
  Command.withDescription(
    "Hold a thread back: it accepts input and commands, and starts nothing. What runs goes on to its end.",
  ),
  Command.withShortDescription("Hold a thread back"),
  Command.withExamples([{ command: 'heddle pause order-12 -m "the provider is looking"' }]),
)

export const resume = Command.make(
  "resume",
  { thread, reason: reason.pipe(Flag.withDefault("from the command line")), author },
  having("resumeThread"),
).pipe(
  Command.withDescription("Let a paused thread go on."),
  Command.withShortDescription("Let a paused thread go on"),
  Command.withExamples([{ command: "heddle resume order-12" }]),
)

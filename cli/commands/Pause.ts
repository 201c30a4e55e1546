/** `heddle pause` and `heddle resume`: holding a thread back, and letting it go on. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
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

export const pause = Command.make("pause", { thread, reason, author }, (given) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      const reply = yield* session.client.rpc.pauseThread({
        ownerId,
        threadId: given.thread,
        author: Option.getOrElse(given.author, () => session.author),
        reason: given.reason,
      })
      yield* show(session, reply)
    }),
    given.thread,
  ),
).pipe(
  Command.withDescription(
    "Hold a thread back: it accepts input and commands, and starts nothing. What runs goes on to its end.",
  ),
  Command.withShortDescription("Hold a thread back"),
  Command.withExamples([{ command: 'heddle pause order-12 -m "the provider is looking"' }]),
)

export const resume = Command.make(
  "resume",
  { thread, reason: reason.pipe(Flag.withDefault("from the command line")), author },
  (given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const reply = yield* session.client.rpc.resumeThread({
          ownerId,
          threadId: given.thread,
          author: Option.getOrElse(given.author, () => session.author),
          reason: given.reason,
        })
        yield* show(session, reply)
      }),
      given.thread,
    ),
).pipe(
  Command.withDescription("Let a paused thread go on."),
  Command.withShortDescription("Let a paused thread go on"),
  Command.withExamples([{ command: "heddle resume order-12" }]),
)

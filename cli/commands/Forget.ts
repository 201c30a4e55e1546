/** `heddle forget`: deletes all that a thread holds. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { confirm, yes } from "../Confirm.ts"
import { author, reason, thread } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { isoOf } from "../Times.ts"

export const forget = Command.make(
  "forget",
  {
    thread,
    reason,
    author,
    abort: Flag.Boolean("abort").pipe(
      Flag.withDescription("Abort what the thread owes first"),
      Flag.withDefault(false),
    ),
    yes,
  },
  (given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        yield* confirm(`Delete ${given.thread} of ${ownerId} for ever?`, given.yes)
        const reply = yield* session.client.rpc.forgetThread({
          ownerId,
          threadId: given.thread,
          author: Option.getOrElse(given.author, () => session.author),
          reason: given.reason,
          ...(given.abort ? { abort: true } : {}),
        })
        yield* session.show(reply, () =>
          reply._tag === "Forgotten"
            ? `Forgotten at ${isoOf(reply.forgottenAt)}.`
            : "Decided: it will be done by the alarm, within seconds. heddle obligations shows it until then.",
        )
      }),
      given.thread,
    ),
).pipe(
  Command.withDescription(
    "Delete all that a thread holds, for ever: its id, and the keys of its submissions, are used up. " +
      "A thread that owes work refuses, unless --abort ends that first.",
  ),
  Command.withShortDescription("Delete a thread"),
  Command.withExamples([
    { command: 'heddle forget order-12 -m "the customer asked for it" --yes' },
    { command: 'heddle forget order-12 -m "a test" --abort --yes' },
  ]),
)

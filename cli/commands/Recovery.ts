/** `heddle recovery`: the recorded fault of a thread. */
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { thread } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { fields } from "../Table.ts"
import { isoOf } from "../Times.ts"

export const recovery = Command.make("recovery", { thread }, ({ thread: threadId }) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      const found = Option.getOrNull(
        yield* session.client.rpc.recoveryStatus({ ownerId, threadId }),
      )
      yield* session.show(found, () =>
        found === null
          ? "No recorded fault (which is no proof of health: heddle explain)."
          : fields({
              thread: found.threadId,
              failure: found.failure.tag,
              message: found.failure.message,
              operation: found.failure.operation,
              reason: found.failure.reason,
              since: isoOf(found.firstFailedAt),
              last: isoOf(found.lastFailedAt),
              attempts: found.attempts,
              "tried again": isoOf(found.retryAt),
            }),
      )
    }),
    threadId,
  ),
).pipe(
  Command.withDescription(
    "Show the fault that blocks a thread's recovery, if its owner has recorded one.",
  ),
  Command.withShortDescription("Show a thread's fault"),
  Command.withExamples([{ command: "heddle recovery order-12" }]),
)

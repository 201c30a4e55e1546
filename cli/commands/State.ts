/** `heddle state`: the application's value of a thread. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { thread } from "../Parameters.ts"
import { jsonDocument } from "../Plain.ts"
import { withSession } from "../Session.ts"

export const state = Command.make("state", { thread }, ({ thread: threadId }) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      const found = yield* session.client.rpc.readState({ ownerId, threadId })
      if (session.json || found.value !== undefined) {
        yield* session.show(found, () => jsonDocument(found.value))
      }
      if (session.json) return
      yield* session.output.note(
        found.value === undefined ? "It has no state yet." : `version ${found.version}`,
      )
    }),
    threadId,
  ),
).pipe(
  Command.withDescription("Show the state that a thread's agents keep, and its version."),
  Command.withShortDescription("Show a thread's state"),
  Command.withExamples([{ command: "heddle state order-12" }]),
)

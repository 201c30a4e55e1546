/** `heddle rebuild`: has what lists and searches are answered from built anew. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { withSession } from "../Session.ts"
import { fields } from "../Table.ts"

export const rebuild = Command.make("rebuild", {}, () =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      const reply = yield* session.client.rpc.rebuildProjections({ ownerId })
      yield* session.show(reply, () => fields({ "to be looked at": `${reply.lanes} threads` }))
    }),
  ),
).pipe(
  Command.withDescription(
    "Empty what heddle threads and heddle search are answered from, and have it built anew from the threads, a batch " +
      "at a time. No work is touched; lists may miss threads until it is done.",
  ),
  Command.withShortDescription("Build the lists and the search anew"),
  Command.withExamples([{ command: "heddle rebuild" }]),
)

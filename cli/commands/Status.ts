/** `heddle status`: where one submission stands. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { submission, thread } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { settlementText } from "../Settled.ts"
import { fields } from "../Table.ts"

export const status = Command.make(
  "status",
  { thread, submission },
  ({ submission: submissionId, thread: threadId }) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const found = yield* session.client.rpc.status({ ownerId, threadId, submissionId })
        const { settlement } = found
        yield* session.show(found, () =>
          settlement === undefined
            ? fields({
                submission: found.submissionId,
                sequence: found.sequence,
                state: found.state,
                attempts: found.attempts,
              })
            : settlementText(settlement),
        )
      }),
      threadId,
    ),
).pipe(
  Command.withDescription("Show where a submission stands, and its settlement if it has settled."),
  Command.withShortDescription("Show where a submission stands"),
  Command.withExamples([
    { command: "heddle status order-12 01a2296d-d875-7000-acd4-19af00000001" },
    {
      command: "heddle status order-12 01a2296d-d875-7000-acd4-19af00000001 --json | jq -r .state",
      description: "Only its state",
    },
  ]),
)

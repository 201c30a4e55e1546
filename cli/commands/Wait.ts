/** `heddle wait`: until a submission has settled, and with its outcome as the exit code. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { submission, thread } from "../Parameters.ts"
import { durationFlag } from "../Root.ts"
import { withSession } from "../Session.ts"
import { endAs, settlementText } from "../Settled.ts"
import { waitFor } from "../Waiting.ts"

export const wait = Command.make(
  "wait",
  {
    thread,
    submission,
    timeout: durationFlag("timeout", "How long at most (default: as long as it takes)").pipe(
      Flag.optional,
    ),
  },
  ({ submission: submissionId, thread: threadId, timeout }) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const settlement = yield* waitFor(
          session,
          { ownerId, threadId, submissionId },
          Option.getOrUndefined(timeout),
        )
        yield* session.show(settlement, () => settlementText(settlement))
        yield* endAs(settlement)
      }),
      threadId,
    ),
).pipe(
  Command.withDescription(
    "Wait until a submission has settled, over lost connections and restarts of the deployment. " +
      "Ends with 0 when it completed, 6 when it failed or was aborted, 7 when the time was up.",
  ),
  Command.withShortDescription("Wait for a submission's settlement"),
  Command.withExamples([
    { command: "heddle wait order-12 01a2296d-d875-7000-acd4-19af00000001 --timeout 5m" },
  ]),
)

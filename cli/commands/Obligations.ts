/** `heddle obligations`: everything an owner still owes, and what is in its way. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { ThreadId } from "../../contracts/Identifiers.ts"
import { pageFlags, pageOf, showPages } from "../Pages.ts"
import { given } from "../Parameters.ts"
import { durationFlag } from "../Root.ts"
import { withSession } from "../Session.ts"
import { durationOf } from "../Times.ts"

export const obligations = Command.make(
  "obligations",
  {
    ...pageFlags,
    aged: durationFlag("aged", "Tell work that is merely ready or running from this age on").pipe(
      Flag.optional,
    ),
  },
  (flags) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        yield* showPages(session, flags, {
          name: "obligations",
          page: ({ after, limit }) =>
            session.client.rpc
              .obligations({
                ownerId,
                ...given("agedAfterMillis", flags.aged),
                ...(limit === undefined ? {} : { limit }),
                ...(after === undefined ? {} : { after: ThreadId.make(after) }),
              })
              .pipe(Effect.map((page) => pageOf(page.obligations, page.next))),
          headings: [
            "thread",
            "submission",
            "state",
            "blocker",
            "name",
            "record",
            "age",
            "severity",
          ],
          cells: (row) => [
            row.threadId,
            row.submissionId,
            row.state,
            row.blocker,
            row.name,
            row.recordId,
            durationOf(row.ageMillis),
            row.severity,
          ],
          empty: "Nothing is in anybody's way.",
        })
      }),
    ),
).pipe(
  Command.withDescription(
    "List everything an owner still owes with what is in its way: calls of unknown outcome, faults, pauses, missing agents, timers, and work that is old.",
  ),
  Command.withShortDescription("List what is owed, and what is in its way"),
  Command.withExamples([
    { command: "heddle obligations --all" },
    { command: "heddle obligations --aged 0s", description: "What is ready or running, too" },
  ]),
)

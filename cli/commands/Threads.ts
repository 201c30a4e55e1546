/** `heddle threads`: the threads of an owner. */
import { Effect } from "effect"
import { Command } from "effect/cli"
import { ThreadId } from "../../contracts/Identifiers.ts"
import { pageFlags, pageOf, showPages } from "../Pages.ts"
import { withSession } from "../Session.ts"

export const threads = Command.make("threads", pageFlags, (flags) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      yield* showPages(session, flags, {
        name: "threads",
        page: ({ after, limit }) =>
          session.client.rpc
            .listThreads({
              ownerId,
              ...(limit === undefined ? {} : { limit }),
              ...(after === undefined ? {} : { after: ThreadId.make(after) }),
            })
            .pipe(Effect.map((page) => pageOf(page.threads, page.next))),
        headings: ["thread", "title", "open", "unknown", "paused", "records", "head", "agent"],
        cells: (row) => [
          row.threadId,
          row.title,
          row.nonterminal,
          row.parked,
          row.paused,
          row.tailSequence,
          row.head?.state,
          row.head?.agent,
        ],
        empty: `The owner ${ownerId} knows no thread.`,
      })
    }),
  ),
).pipe(
  Command.withDescription("List the threads of an owner, by id."),
  Command.withShortDescription("List threads"),
  Command.withExamples([
    { command: "heddle threads" },
    {
      command:
        "heddle threads --all --json | jq -r '.threads[] | select(.nonterminal > 0).threadId'",
      description: "Those with open work",
    },
  ]),
)

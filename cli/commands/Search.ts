/** `heddle search`: threads by the words of their titles, and of what came out of them. */
import { Effect } from "effect"
import { Argument, Command } from "effect/cli"
import { markedPageFlags, pageOf, showPages } from "../Pages.ts"
import { paragraphs } from "../Root.ts"
import { withSession } from "../Session.ts"
import { isoOf } from "../Times.ts"

const query = Argument.String("query").pipe(
  Argument.withDescription("The words, as one argument"),
  Argument.filter(
    (text) => text !== "" && text.length <= 512,
    () => "1 to 512 characters",
  ),
)

export const search = Command.make("search", { query, ...markedPageFlags }, (flags) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      yield* showPages(session, flags, {
        name: "hits",
        page: (request) =>
          session.client.rpc
            .search({ ownerId, query: flags.query, ...request })
            .pipe(Effect.map((page) => pageOf(page.hits, page.next, page.behind))),
        headings: ["thread", "submission", "outcome", "at", "found"],
        cells: (row) => [
          row.threadId,
          row.submissionId,
          row.outcome,
          row.at === undefined ? undefined : isoOf(row.at),
          row.snippet,
        ],
        empty: "Nothing was found.",
        behind: "The index is behind: hits may be missing. Ask again later.",
      })
    }),
  ),
).pipe(
  Command.withDescription(
    paragraphs(`Find threads by the words of their titles and, where the deployment says so, of what their submissions came to;
the latest first. All words must occur, the last one may be the beginning of one; words in double quotes must occur
as they stand. What was found stands between [ and ].`),
  ),
  Command.withShortDescription("Find threads by words"),
  Command.withExamples([
    { command: "heddle search refund" },
    { command: "heddle search '\"partial refund\" ann' --all" },
  ]),
)

/** `heddle threads`: the threads of an owner, narrowed by what a person asks for. */
import { Effect } from "effect"
import { Command, Flag } from "effect/cli"
import { threadConditions, type ThreadSummary } from "../../contracts/ListThreads.ts"
import { markedPageFlags, pageOf, showPages } from "../Pages.ts"
import { given, moment } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { isoOf } from "../Times.ts"

const stateOf = ({ head, paused, state }: ThreadSummary) =>
  state ?? (paused ? "paused" : head?.state)

export const threads = Command.make(
  "threads",
  {
    ...markedPageFlags,
    state: Flag.Literals("state", threadConditions).pipe(
      Flag.withDescription("Only threads that stand so"),
      Flag.optional,
    ),
    text: Flag.String("text").pipe(
      Flag.filter(
        (text) => text !== "" && text.length <= 256,
        () => "1 to 256 characters",
      ),
      Flag.withDescription("Only threads whose title or id contains it"),
      Flag.optional,
    ),
    activeAfter: moment("active-after", "Only threads that were active later").pipe(Flag.optional),
    activeBefore: moment("active-before", "Only threads that were not active since").pipe(
      Flag.optional,
    ),
    order: Flag.Literals("order", ["thread", "activity"]).pipe(
      Flag.withDescription("By id (default), or the last active first"),
      Flag.optional,
    ),
  },
  (flags) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const filter = {
          ...given("state", flags.state),
          ...given("text", flags.text),
          ...given("activeAfter", flags.activeAfter),
          ...given("activeBefore", flags.activeBefore),
          ...given("order", flags.order),
        }
        const isAny = Object.keys(filter).every((name) => name === "order")
        yield* showPages(session, flags, {
          name: "threads",
          page: (request) =>
            session.client.rpc
              .listThreads({ ownerId, ...filter, ...request })
              .pipe(Effect.map((page) => pageOf(page.threads, page.next, page.behind))),
          headings: ["thread", "title", "state", "open", "unknown", "records", "active", "agent"],
          cells: (row) => [
            row.threadId,
            row.title,
            stateOf(row),
            row.nonterminal,
            row.parked,
            row.tailSequence,
            row.activeAt === undefined ? undefined : isoOf(row.activeAt),
            row.head?.agent,
          ],
          empty: isAny
            ? `The owner ${ownerId} knows no thread.`
            : `No thread of the owner ${ownerId} is like that.`,
          behind: "The list is being built anew: threads may be missing. Ask again later.",
        })
      }),
    ),
).pipe(
  Command.withDescription(
    "List the threads of an owner, by id or by their last activity. The state is the one that most wants somebody: " +
      "a thread that is paused and has a fault is told as faulted.",
  ),
  Command.withShortDescription("List threads"),
  Command.withExamples([
    { command: "heddle threads" },
    { command: "heddle threads --state unknown --all", description: "Where somebody must decide" },
    { command: "heddle threads --order activity --text refund" },
    {
      command:
        "heddle threads --all --json | jq -r '.threads[] | select(.nonterminal > 0).threadId'",
      description: "Those with open work",
    },
  ]),
)

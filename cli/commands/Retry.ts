/** `heddle retry`: has a submission, or all that a filter means, go on at once. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { commandLine } from "../../contracts/CommandLine.ts"
import { bulkFlags, filterOf, oneOf, runBulk } from "../Bulk.ts"
import { author, reason } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { fields } from "../Table.ts"
import { isoOf } from "../Times.ts"

const dueText = (dueAt: number | undefined): string => {
  if (dueAt === undefined) return "not by time"
  return dueAt === 0 ? "now" : isoOf(dueAt)
}

export const retry = Command.make(
  "retry",
  { ...bulkFlags, reason: reason.pipe(Flag.withDefault("from the command line")), author },
  (given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const words = {
          author: Option.getOrElse(given.author, () => session.author),
          reason: given.reason,
        }
        if (given.all) {
          const filter = yield* filterOf(given)
          const request = { ownerId, filter, dryRun: given.dryRun, ...words }
          return yield* runBulk(session, request, session.client.rpc.retryMany)
        }
        const place = yield* oneOf(given)
        const reply = yield* session.client.rpc.retry({ ownerId, ...place, ...words })
        yield* session.show(reply, () => fields({ state: reply.state, due: dueText(reply.dueAt) }))
        if (session.json || reply.dueAt !== undefined) return
        yield* session.output.note(
          `Something else than time is in its way: ${commandLine("explain", [place.threadId, place.submissionId])}`,
        )
      }),
      Option.getOrUndefined(given.thread),
    ),
).pipe(
  Command.withDescription(
    "Have a submission go on at once: ends the wait of its thread's fault, backoff, stall and missing " +
      "agent, and its own rest between two attempts. Makes no call again that may have happened. With --all: every open one that the flags mean.",
  ),
  Command.withShortDescription("Have submissions go on at once"),
  Command.withExamples([
    { command: "heddle retry order-12 01a2296d-d875-7000-acd4-19af00000001" },
    { command: "heddle retry --all --blocker fault --dry-run", description: "What that would do" },
  ]),
)

/** `heddle abort`: ends a submission, or all that a filter means, on somebody's word. */
import { Effect, Option } from "effect"
import { Command } from "effect/cli"
import { commandLine } from "../../contracts/CommandLine.ts"
import { bulkFlags, filterOf, oneOf, runBulk } from "../Bulk.ts"
import { confirm, yes } from "../Confirm.ts"
import { author, reason } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { settlementText } from "../Settled.ts"

export const abort = Command.make("abort", { ...bulkFlags, reason, author, yes }, (given) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const ownerId = yield* session.ownerId
      const words = {
        author: Option.getOrElse(given.author, () => session.author),
        reason: given.reason,
      }
      if (given.all) {
        const filter = yield* filterOf(given)
        const { dryRun } = given
        const what = JSON.stringify(filter) === "{}" ? "every open submission" : "all that is meant"
        yield* confirm(`Abort ${what} of ${ownerId}?`, given.yes || dryRun)
        const request = { ownerId, filter, dryRun, ...words }
        return yield* runBulk(session, request, session.client.rpc.abortMany)
      }
      const place = yield* oneOf(given)
      const reply = yield* session.client.rpc.abort({ ownerId, ...place, ...words })
      yield* session.show(reply, () =>
        reply._tag === "Settled"
          ? settlementText(reply.settlement)
          : `It is being aborted: it runs, and has a few seconds. ${commandLine("wait", [place.threadId, place.submissionId])}`,
      )
    }),
    Option.getOrUndefined(given.thread),
  ),
).pipe(
  Command.withDescription(
    "End a submission. What has not started settles aborted at once; a run is interrupted, and settles " +
      "within its grace. Safe to repeat with the same words. With --all: every open one that the flags mean.",
  ),
  Command.withShortDescription("End submissions"),
  Command.withExamples([
    { command: 'heddle abort order-12 01a2296d-d875-7000-acd4-19af00000001 -m "ordered twice"' },
    {
      command: 'heddle abort --all --agent refund --older-than 1d -m "provider closed" --dry-run',
      description: "What would be ended; without --dry-run and with --yes it is",
    },
  ]),
)

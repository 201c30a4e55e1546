/** `heddle resubmit`: does the work of a failed or aborted submission once more. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { makeIdempotencyKey } from "../../client/HeddleClient.ts"
import { IdempotencyKey } from "../../contracts/Identifiers.ts"
import { hasInput, inputFlags, readInput } from "../Input.ts"
import { author, key, reason, submission, thread } from "../Parameters.ts"
import { afterReceipt, tellingKey, timeoutOfWait } from "../Receipts.ts"
import { durationFlag } from "../Root.ts"
import { withSession } from "../Session.ts"

export const resubmit = Command.make(
  "resubmit",
  {
    thread,
    submission,
    ...inputFlags,
    key,
    reason: reason.pipe(Flag.withDefault("from the command line")),
    author,
    wait: Flag.Boolean("wait").pipe(
      Flag.withAlias("w"),
      Flag.withDescription("Wait for its settlement"),
      Flag.withDefault(false),
    ),
    timeout: durationFlag("timeout", "How long to wait at most").pipe(Flag.optional),
  },
  (given) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        yield* timeoutOfWait(given)
        const input = hasInput(given) ? { input: yield* readInput(given) } : {}
        const idempotencyKey = Option.isSome(given.key)
          ? IdempotencyKey.make(given.key.value)
          : yield* makeIdempotencyKey
        const call = session.client.rpc.resubmit({
          ownerId,
          threadId: given.thread,
          submissionId: given.submission,
          idempotencyKey,
          author: Option.getOrElse(given.author, () => session.author),
          reason: given.reason,
          ...input,
        })
        const receipt = yield* tellingKey(session, idempotencyKey, call)
        yield* afterReceipt(session, receipt, {
          key: idempotencyKey,
          wait: given.wait,
          timeout: given.timeout,
        })
      }),
      given.thread,
    ),
).pipe(
  Command.withDescription(
    "Do the work of a failed or aborted submission once more: a new submission at the end of its thread's queue, " +
      "linked to the old one, with the same agent, and the same input unless another is given.",
  ),
  Command.withShortDescription("Do a failed submission's work once more"),
  Command.withExamples([
    { command: "heddle resubmit order-12 01a2296d-d875-7000-acd4-19af00000001 --wait" },
  ]),
)

/** `heddle explain`: why does it not run? */
import { Effect, Option } from "effect"
import { Argument, Command } from "effect/cli"
import type { ExplainedWait, RecoveryExplanation } from "../../contracts/Explain.ts"
import { given, submission, thread } from "../Parameters.ts"
import { plain } from "../Plain.ts"
import { withSession } from "../Session.ts"
import { fields } from "../Table.ts"
import { isoOf } from "../Times.ts"

const waitLines = (title: string, wait: ExplainedWait): ReadonlyArray<string> => {
  const since = wait.sinceAt === undefined ? "" : ` since ${isoOf(wait.sinceAt)}`
  const until = wait.untilAt === undefined ? "" : ` until ${isoOf(wait.untilAt)}`
  const record = wait.recordId === undefined ? [] : [`    record ${wait.recordId}`]
  return [
    `${title} ${wait.blocker}${since}${until} (who can act: ${wait.whoCanAct})`,
    `    ${plain(wait.message)}`,
    ...record,
  ]
}

export const explanationText = (explanation: RecoveryExplanation): string =>
  [
    fields({
      submission: explanation.submissionId,
      sequence: explanation.sequence,
      agent: explanation.agent,
      state: explanation.state,
      accepted: isoOf(explanation.acceptedAt),
      attempts: explanation.attempts,
      decision: explanation.decision,
    }),
    ...explanation.evidence.map((line) => `  ${plain(line)}`),
    `  Would do: ${plain(explanation.wouldDo)}`,
    ...explanation.waits.flatMap((wait) => waitLines("  Waits for", wait)),
    ...explanation.heldBy.flatMap((wait) => waitLines("  Held by", wait)),
  ].join("\n")

export const explain = Command.make(
  "explain",
  { thread, submission: submission.pipe(Argument.optional) },
  ({ submission: submissionId, thread: threadId }) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        const ownerId = yield* session.ownerId
        const found = yield* session.client.rpc.explain({
          ownerId,
          threadId,
          ...given("submissionId", submissionId),
        })
        if (session.json || found.length > 0) {
          yield* session.show(found, () => found.map(explanationText).join("\n\n"))
        }
        if (found.length === 0 && !session.json) {
          const what = Option.isSome(submissionId) ? "It is not open" : "Nothing of it is open"
          yield* session.output.note(`${what}: there is nothing to explain.`)
        }
      }),
      threadId,
    ),
).pipe(
  Command.withDescription(
    "Tell why a thread's open submissions do not run: what each waits for, since when, on what evidence, " +
      "who can act, and what would happen. Writes nothing.",
  ),
  Command.withShortDescription("Tell why it does not run"),
  Command.withExamples([{ command: "heddle explain order-12" }]),
)

/** `heddle approve` and `heddle deny`: somebody's decision on what a run has asked for. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { StepName, SubmissionId, ThreadId } from "../../contracts/Identifiers.ts"
import { author, reason, stepName, submission, thread } from "../Parameters.ts"
import { withSession } from "../Session.ts"
import { fields } from "../Table.ts"
import { isoOf } from "../Times.ts"

const parameters = {
  thread,
  submission,
  name: stepName("The approval, as explain and obligations name it"),
  reason: reason.pipe(Flag.withDefault("from the command line")),
  author,
}

interface Given {
  readonly thread: ThreadId
  readonly submission: SubmissionId
  readonly name: StepName
  readonly reason: string
  readonly author: Option.Option<string>
}

const deciding = (approved: boolean) => (given: Given) =>
  withSession(
    Effect.fnUntraced(function* (session) {
      const reply = yield* session.client.rpc.resolveApproval({
        ownerId: yield* session.ownerId,
        threadId: given.thread,
        submissionId: given.submission,
        name: given.name,
        approved,
        author: Option.getOrElse(given.author, () => session.author),
        reason: given.reason,
      })
      yield* session.show(reply, () =>
        fields({
          decision: reply.approved ? "approved" : "denied",
          "decided at": isoOf(reply.decidedAt),
          state: reply.state,
        }),
      )
    }),
    given.thread,
  )

const firstDecides =
  "The first decision stands: the same again changes nothing, another is refused."

export const approve = Command.make("approve", parameters, deciding(true)).pipe(
  Command.withDescription(`Approve what a run has asked for, and let it go on. ${firstDecides}`),
  Command.withShortDescription("Approve what a run has asked for"),
  Command.withExamples([
    {
      command: "heddle approve order-12 01a2296d-d875-7000-acd4-19af00000001 refund",
      description: "The name is told by heddle obligations",
    },
  ]),
)

export const deny = Command.make("deny", parameters, deciding(false)).pipe(
  Command.withDescription(
    `Deny what a run has asked for: it goes on with the denial, and does what it does then. ${firstDecides}`,
  ),
  Command.withShortDescription("Deny what a run has asked for"),
  Command.withExamples([
    {
      command:
        'heddle deny order-12 01a2296d-d875-7000-acd4-19af00000001 refund -m "was delivered"',
    },
  ]),
)

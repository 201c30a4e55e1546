/**
 * `explain`: why does it not run? Per open submission what recovery would decide now, on what evidence, what
 * it waits for, since when, until when, and who can act; of one that has settled, its messages that nobody took.
 * Writes nothing.
 */
import { Schema } from "effect"
import { AgentId, Count, Millis, OwnerId, RecordId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { Blocker } from "./LaneReport.ts"
import { openLiterals } from "./Open.ts"
import { Disposition, RecoveryDecision } from "./Recovery.ts"
import { SubmissionState } from "./Submission.ts"

export const ExplainFields = {
  ownerId: OwnerId,
  threadId: ThreadId,
  submissionId: Schema.optionalKey(SubmissionId).annotateKey({
    description:
      "This one only; without it all that are open, and those that have settled and sent a message that nobody took.",
  }),
}

export const Actor = openLiterals(["nobody", "operator", "deployer", "caller"]).annotate({
  identifier: "Actor",
  description:
    "`nobody` it goes on by itself · `operator` a command · `deployer` a deployment · " +
    "`caller` a decision.",
})
export type Actor = typeof Actor.Type

export const ExplainedWait = Schema.Struct({
  blocker: Blocker,
  name: Schema.optionalKey(Schema.String).annotateKey({
    description: "The agent's name of the call or wait, or of the missing agent.",
  }),
  recordId: Schema.optionalKey(RecordId).annotateKey({
    description: "What a decision about it names.",
  }),
  sinceAt: Schema.optionalKey(Millis),
  untilAt: Schema.optionalKey(Millis),
  whoCanAct: Actor,
  message: Schema.String.check(Schema.isMaxLength(1_024)).annotateKey({
    description: "In words, at most 1,024 characters: what it is, and the command that ends it.",
  }),
}).annotate({
  identifier: "ExplainedWait",
  description: "Something that a submission waits for, or that holds its whole thread.",
})
export type ExplainedWait = typeof ExplainedWait.Type

export const RecoveryExplanation = Schema.Struct({
  submissionId: SubmissionId,
  sequence: Count,
  agent: AgentId,
  state: SubmissionState,
  acceptedAt: Millis,
  attempts: Count,
  decision: RecoveryDecision.annotateKey({ description: "What the classifier decides now." }),
  disposition: Disposition,
  evidence: Schema.Array(Schema.String.check(Schema.isMaxLength(1_024))).annotateKey({
    description: "What it decides by, in words.",
  }),
  wouldDo: Schema.String.check(Schema.isMaxLength(1_024)).annotateKey({
    description: "What would happen, in words.",
  }),
  waits: Schema.Array(ExplainedWait).annotateKey({
    description: "What it waits for itself; its place behind others is no wait of its own.",
  }),
  heldBy: Schema.Array(ExplainedWait).annotateKey({
    description:
      "What holds its thread: a pause; added by the edge from the owner: fault, missing " +
      "agent, stall.",
  }),
}).annotate({ identifier: "RecoveryExplanation" })
export type RecoveryExplanation = typeof RecoveryExplanation.Type

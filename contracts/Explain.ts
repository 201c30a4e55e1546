/**
 * `explain`: why does it not run? Per open submission what recovery would decide now, on what evidence, what
 * it waits for, since when, until when, and who can act. Writes nothing.
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
  /** This one only; all open ones without it. */
  submissionId: Schema.optionalKey(SubmissionId),
}

/** `nobody` it goes on by itself · `operator` a command · `deployer` a deployment · `caller` a decision. */
export const Actor = openLiterals(["nobody", "operator", "deployer", "caller"])
export type Actor = typeof Actor.Type

/** Something that a submission waits for, or that holds its whole thread. */
export const ExplainedWait = Schema.Struct({
  blocker: Blocker,
  /** The agent's name of the call or wait, or of the missing agent. */
  name: Schema.optionalKey(Schema.String),
  /** What a decision about it names. */
  recordId: Schema.optionalKey(RecordId),
  sinceAt: Schema.optionalKey(Millis),
  untilAt: Schema.optionalKey(Millis),
  whoCanAct: Actor,
  /** In words, at most 1,024 characters: what it is, and the command that ends it. */
  message: Schema.String.check(Schema.isMaxLength(1_024)),
})
export type ExplainedWait = typeof ExplainedWait.Type

export const RecoveryExplanation = Schema.Struct({
  submissionId: SubmissionId,
  sequence: Count,
  agent: AgentId,
  state: SubmissionState,
  acceptedAt: Millis,
  attempts: Count,
  /** What the classifier decides now. */
  decision: RecoveryDecision,
  disposition: Disposition,
  /** What it decides by, in words. */
  evidence: Schema.Array(Schema.String.check(Schema.isMaxLength(1_024))),
  /** What would happen, in words. */
  wouldDo: Schema.String.check(Schema.isMaxLength(1_024)),
  /** What it waits for itself; its place behind others is no wait of its own. */
  waits: Schema.Array(ExplainedWait),
  /** What holds its thread: a pause; added by the edge from the owner: fault, missing agent, stall. */
  heldBy: Schema.Array(ExplainedWait),
})
export type RecoveryExplanation = typeof RecoveryExplanation.Type

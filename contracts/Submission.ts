/**
 * A submission: one accepted input, and the states it passes on its way to its settlement.
 */
import { Schema } from "effect"
import {
  AdmissionLimitExceeded,
  AgentNotRegistered,
  IdempotencyConflict,
  InvalidInput,
  StorageFull,
  Unavailable,
} from "./Errors.ts"
import {
  AgentId,
  Count,
  IdempotencyKey,
  Millis,
  OwnerId,
  SubmissionId,
  ThreadId,
} from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"

export const SubmissionState = openLiterals([
  "ready",
  "running",
  "suspended",
  "unknown",
  "joined",
  "settled",
]).annotate({
  identifier: "SubmissionState",
  description:
    "`ready` waits for its turn · `running` has an attempt · `suspended` waits for " +
    "something outside · `unknown` an ordinary call may have happened, an operator " +
    "decides · `joined` was taken by another run and settles with it · `settled` is " +
    "final.",
})
export type SubmissionState = typeof SubmissionState.Type

export const Outcome = openLiterals(["completed", "failed", "aborted"]).annotate({
  identifier: "Outcome",
  description:
    "How it ended: `completed` with an output, `failed` with a failure, `aborted` on " +
    "somebody's word.",
})
export type Outcome = typeof Outcome.Type

export const Delivery = Schema.Literals(["queue", "join"]).annotate({
  identifier: "Delivery",
  description:
    "`queue` (default) waits for its turn; `join` is offered to the thread's open run first.",
})
export type Delivery = typeof Delivery.Type

/** Text for people and search, at most 256 characters. */
export const Title = Schema.String.check(Schema.isMaxLength(256))

const submissionFields = {
  threadId: ThreadId,
  agent: AgentId,
  input: Schema.Json.annotateKey({ description: "JSON as the agent's input schema encodes it." }),
  idempotencyKey: IdempotencyKey.annotateKey({
    description:
      "One per intent, made before the first try; a retry with the same key gets the same " +
      "receipt.",
  }),
  delivery: Schema.optionalKey(Delivery),
  title: Schema.optionalKey(Title),
  notBefore: Schema.optionalKey(Millis).annotateKey({
    description: "Keeps the submission out of the queue until then; it holds nobody meanwhile.",
  }),
}

/** What a caller says to have work done. The principal is not among it: the edge sets it. */
export const SubmitFields = { ownerId: OwnerId, ...submissionFields }

export const ThreadSubmission = Schema.Struct(submissionFields).annotate({
  identifier: "ThreadSubmission",
  description: "What `submit` takes, for one of the threads of an owner.",
})
export type ThreadSubmission = typeof ThreadSubmission.Type

export const Receipt = Schema.Struct({
  ownerId: OwnerId,
  threadId: ThreadId,
  submissionId: SubmissionId,
  sequence: Count.annotateKey({
    description: "Thread-local, from 1, without gaps. It alone defines the order.",
  }),
  acceptedAt: Millis,
  duplicate: Schema.Boolean.annotateKey({
    description: "Whether this key was accepted before; the rest is then the original receipt.",
  }),
  resubmissionOf: Schema.optionalKey(SubmissionId).annotateKey({
    description: "The submission whose work this one does again; only where `resubmit` made it.",
  }),
}).annotate({
  identifier: "Receipt",
  description:
    "The proof of acceptance: returned only once the submission is durable in its thread.",
})
export type Receipt = typeof Receipt.Type

/** What refuses an admission. `Unavailable` is the fence: send once more with a new generation. */
export const AdmissionRefusal = Schema.Union([
  InvalidInput,
  AgentNotRegistered,
  IdempotencyConflict,
  AdmissionLimitExceeded,
  StorageFull,
  Unavailable,
])
export type AdmissionRefusal = typeof AdmissionRefusal.Type

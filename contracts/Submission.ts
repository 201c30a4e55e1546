/**
 * A submission: one accepted input, and the states it passes on its way to its settlement.
 */
import { Schema } from "effect"
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

/**
 * `ready` waits for its turn · `running` has an attempt · `suspended` waits for something outside ·
 * `unknown` an ordinary call may have happened, an operator decides · `joined` was taken by another
 * run and settles with it · `settled` is final.
 */
export const SubmissionState = openLiterals([
  "ready",
  "running",
  "suspended",
  "unknown",
  "joined",
  "settled",
])
export type SubmissionState = typeof SubmissionState.Type

/** How it ended: `completed` with an output, `failed` with a failure, `aborted` on somebody's word. */
export const Outcome = openLiterals(["completed", "failed", "aborted"])
export type Outcome = typeof Outcome.Type

/** `queue` (default) waits for its turn; `join` is offered to the thread's open run first. */
export const Delivery = Schema.Literals(["queue", "join"])
export type Delivery = typeof Delivery.Type

/** Text for people and search, at most 256 characters. */
export const Title = Schema.String.check(Schema.isMaxLength(256))

/** What a caller says to have work done. The principal is not among it: the edge sets it. */
export const SubmitFields = {
  ownerId: OwnerId,
  threadId: ThreadId,
  agent: AgentId,
  /** JSON as the agent's input schema encodes it. */
  input: Schema.Json,
  /** One per intent, made before the first try; a retry with the same key gets the same receipt. */
  idempotencyKey: IdempotencyKey,
  delivery: Schema.optionalKey(Delivery),
  title: Schema.optionalKey(Title),
  /** Keeps the submission out of the queue until then; it holds nobody meanwhile. */
  notBefore: Schema.optionalKey(Millis),
}

/** The proof of acceptance: returned only once the submission is durable in its thread. */
export const Receipt = Schema.Struct({
  ownerId: OwnerId,
  threadId: ThreadId,
  submissionId: SubmissionId,
  /** Thread-local, from 1, without gaps. It alone defines the order. */
  sequence: Count,
  acceptedAt: Millis,
  /** Whether this key was accepted before; the rest is then the original receipt. */
  duplicate: Schema.Boolean,
})
export type Receipt = typeof Receipt.Type

/**
 * What the operations of a run raise besides what is declared. Each is recorded: a later attempt sees it again.
 */
import { Schema } from "effect"
import type { ChildLimitExceeded } from "../contracts/Errors.ts"

/** The body of a step failed and declared no error schema: what was recorded of it. */
export class StepFailed extends Schema.TaggedError<StepFailed>()("StepFailed", {
  step: Schema.String,
  /** The `_tag` of the failure, or `Error`. */
  tag: Schema.String,
  message: Schema.String,
}) {}

/** The body of a step did not end in time. Recorded: a later attempt sees it again. */
export class StepTimedOut extends Schema.TaggedError<StepTimedOut>()("StepTimedOut", {
  step: Schema.String,
  timeoutMillis: Schema.Number,
}) {}

/**
 * A `readonly` or `idempotent` call failed with what its tool does not declare: what was recorded of it. An
 * ordinary call never raises it: such a failure leaves open whether the call happened.
 */
export class ToolFailed extends Schema.TaggedError<ToolFailed>()("ToolFailed", {
  call: Schema.String,
  /** The `_tag` of the failure, or `Error`. */
  tag: Schema.String,
  message: Schema.String,
}) {}

/** A `readonly` or `idempotent` call did not end in time. Recorded: a later attempt sees it again. */
export class ToolTimedOut extends Schema.TaggedError<ToolTimedOut>()("ToolTimedOut", {
  call: Schema.String,
  timeoutMillis: Schema.Number,
}) {}

/** Nothing came in time. Recorded: a later attempt sees it again. */
export class WaitTimedOut extends Schema.TaggedError<WaitTimedOut>()("WaitTimedOut", {
  wait: Schema.String,
  timeoutMillis: Schema.Number,
}) {}

/** What came does not fit the schema of the wait; it is kept as it came. Recorded: a later attempt sees it again. */
export class SignalInvalid extends Schema.TaggedError<SignalInvalid>()("SignalInvalid", {
  wait: Schema.String,
  /** Where it does not fit, and what was expected; nothing of the value. */
  reason: Schema.String,
}) {}

/** A child did not complete: it failed, was aborted, or could not be admitted. Recorded: a later attempt sees it again. */
export class ChildFailed extends Schema.TaggedError<ChildFailed>()("ChildFailed", {
  child: Schema.String,
  outcome: Schema.Literals(["failed", "aborted"]),
  /** The tag of its failure; `Aborted` where it was aborted, the refusal's where it was not admitted. */
  tag: Schema.String,
  message: Schema.String,
  /** The encoded error of its agent's error schema, when that declared one. */
  error: Schema.optionalKey(Schema.Json),
}) {}

/** What the operations of a run raise besides what is declared. */
export type RunFailure =
  | StepFailed
  | StepTimedOut
  | ToolFailed
  | ToolTimedOut
  | WaitTimedOut
  | SignalInvalid
  | ChildFailed
  | ChildLimitExceeded

/**
 * `resolveUnknown`: somebody's word on an ordinary tool call of which nobody knows whether it happened.
 *
 * The command names the record it answers, so that a late duplicate can never decide a later question.
 * The first word decides: repeating it is safe, another one is told the first.
 */
import { Schema } from "effect"
import { SubmissionCommandFields } from "./Command.ts"
import {
  AgentNotRegistered,
  InvalidInput,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
  SubmissionNotFound,
  ThreadUnreadable,
  Unavailable,
} from "./Errors.ts"
import { Count, RecordId } from "./Identifiers.ts"
import { Settlement } from "./Settlement.ts"
import { SubmissionState } from "./Submission.ts"

export const Resolution = Schema.Union([
  Schema.TaggedStruct("CompletedWithResult", {
    result: Schema.Json,
    isFailure: Schema.optionalKey(Schema.Boolean),
  }),
  Schema.TaggedStruct("NeverHappened", {}),
  Schema.TaggedStruct("SafeToRetry", {}),
  Schema.TaggedStruct("AbortSubmission", {}),
]).annotate({
  identifier: "Resolution",
  description:
    "`CompletedWithResult`: it happened, and this is what it gave: a result, or with " +
    "`isFailure` a declared failure, as the tool's schema encodes it. `NeverHappened` and " +
    "`SafeToRetry`: the call may be made again. `AbortSubmission`: the submission ends " +
    "`aborted`; the record of the doubt stays.",
})
export type Resolution = typeof Resolution.Type

export const ResolveUnknownFields = {
  ...SubmissionCommandFields,
  recordId: RecordId.annotateKey({
    description:
      "Of the `ToolUnknown` record: told by `explain`, `obligations` and the record itself.",
  }),
  resolution: Resolution,
}

export const ResolveUnknownReply = Schema.Struct({
  state: SubmissionState,
  undecided: Count.annotateKey({ description: "Calls of it that still wait for a word." }),
  settlement: Schema.optionalKey(Settlement).annotateKey({
    description: "Exactly when it has settled.",
  }),
}).annotate({
  identifier: "ResolveUnknownReply",
  description: "Where the submission stands now: it goes on once no call of it is left undecided.",
})
export type ResolveUnknownReply = typeof ResolveUnknownReply.Type

/**
 * What refuses a resolution. `NotAwaiting`: no such record waits. `ResolutionConflict`: another word came
 * first. `InvalidInput`: the result does not fit the tool's schema. `AgentNotRegistered`: the agent whose
 * tool would read the result is not in this deployment. `Unavailable` is the fence: send once more.
 */
export const ResolveUnknownRefusal = Schema.Union([
  SubmissionNotFound,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
  InvalidInput,
  AgentNotRegistered,
  ThreadUnreadable,
  Unavailable,
])
export type ResolveUnknownRefusal = typeof ResolveUnknownRefusal.Type

/**
 * `retryMany` and `abortMany`: one command for every open submission that a filter means, a page at a time.
 *
 * Each effect is that of `retry` or `abort` with the same words, and told for itself. Who names threads is authorized
 * for each of them, or denied the call; who names none needs a grant for all threads of the owner.
 */
import { Schema } from "effect"
import { AbortErrors, AbortReply } from "./Abort.ts"
import { CommandWords } from "./Command.ts"
import { CommonErrors, ThreadUnreadable } from "./Errors.ts"
import { AgentId, Count, Millis, OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"
import { RetryErrors, RetryReply } from "./Retry.ts"
import { SubmissionState } from "./Submission.ts"

export const BulkFilter = Schema.Struct({
  threadIds: Schema.optionalKey(
    Schema.Array(ThreadId).check(Schema.isMinLength(1), Schema.isMaxLength(256)),
  ).annotateKey({ description: "These threads only." }),
  agent: Schema.optionalKey(AgentId),
  state: Schema.optionalKey(
    Schema.Literals(["ready", "running", "suspended", "unknown", "joined"]),
  ),
  acceptedBefore: Schema.optionalKey(Millis).annotateKey({
    description:
      "Accepted before this time, epoch milliseconds. By default the time of the call, of the first " +
      "one where pages go on, so that what is repeated later means nothing that came since.",
  }),
  blocker: Schema.optionalKey(
    Schema.Literals(["fault", "backoff", "stalled", "binding", "paused"]),
  ).annotateKey({
    description: "Of threads that are held by this as a whole, as `obligations` tells it.",
  }),
}).annotate({
  identifier: "BulkFilter",
  description:
    "What a submission must be to be meant: all of what is said. Nothing said means every open one.",
})
export type BulkFilter = typeof BulkFilter.Type

export const BulkCursor = Schema.Struct({
  threadId: ThreadId,
  sequence: Schema.optionalKey(Count),
  acceptedBefore: Schema.optionalKey(Millis).annotateKey({
    description:
      "What the page before meant by it: the next one means the same, unless its filter says another time.",
  }),
}).annotate({
  identifier: "BulkCursor",
  description:
    "Goes on behind this submission of the thread, in the order of the results, or without a sequence behind the " +
    "thread.",
})
export type BulkCursor = typeof BulkCursor.Type

export const BulkFields = {
  ownerId: OwnerId,
  filter: BulkFilter,
  ...CommandWords,
  dryRun: Schema.Boolean.annotateKey({
    description: "Tells what is meant, and what would be done. Writes nothing.",
  }),
  after: Schema.optionalKey(BulkCursor).annotateKey({
    description: "The `next` of the page before.",
  }),
  limit: Schema.optionalKey(Count).annotateKey({
    description: "Submissions of one page, at most `bulkSubmissions` (128).",
  }),
}

/** An open submission, as its thread tells it to its owner. */
export const OpenSubmission = Schema.Struct({
  submissionId: SubmissionId,
  sequence: Count,
  agent: AgentId,
  state: SubmissionState,
  acceptedAt: Millis,
})
export type OpenSubmission = typeof OpenSubmission.Type

/** What a thread is asked for: what a `BulkFilter` says of a submission. */
export const OpenFields = {
  agent: Schema.optionalKey(AgentId),
  state: Schema.optionalKey(SubmissionState),
  acceptedBefore: Schema.optionalKey(Millis),
  /** The highest sequences first. */
  falling: Schema.optionalKey(Schema.Boolean),
  /** Behind this sequence, in that order. */
  after: Schema.optionalKey(Count),
  limit: Count,
}

/** `more`: there are others behind the last one. */
export const OpenPage = Schema.Struct({
  submissions: Schema.Array(OpenSubmission),
  more: Schema.Boolean,
})
export type OpenPage = typeof OpenPage.Type

const resultOf = <Reply extends Schema.Top, Refusal extends Schema.Top>(
  reply: Reply,
  refusal: Refusal,
) =>
  Schema.Struct({
    threadId: ThreadId,
    ...OpenSubmission.fields,
    effect: Schema.Union([
      Schema.TaggedStruct("Planned", {
        would: openLiterals(["settle", "interrupt", "retry", "nothing", "refuse"]),
      }).annotate({
        description: "Of a dry run: what the command would do by the state it is in.",
      }),
      Schema.TaggedStruct("Done", { reply }),
      Schema.TaggedStruct("Refused", { error: refusal }),
    ]),
  })

const pageOf = <Result extends Schema.Top>(result: Result) =>
  Schema.Struct({
    results: Schema.Array(result).annotateKey({
      description:
        "By thread id; the submissions of a thread in the order of their commands: a retry begins with the first, " +
        "an abort with the last. The state is that of before the command.",
    }),
    unanswered: Schema.Array(
      Schema.Struct({
        threadId: ThreadId,
        error: Schema.Union([...CommonErrors, ThreadUnreadable]),
      }),
    ).annotateKey({
      description: "Threads that did not tell what is open: nothing was done there.",
    }),
    next: Schema.optionalKey(BulkCursor).annotateKey({
      description: "Goes on behind this page, which may be empty; absent at the end.",
    }),
  })

export const RetryManyReply = pageOf(
  resultOf(RetryReply, RetryErrors).annotate({ identifier: "RetryManyResult" }),
).annotate({ identifier: "RetryManyReply" })
export type RetryManyReply = typeof RetryManyReply.Type

export const AbortManyReply = pageOf(
  resultOf(AbortReply, AbortErrors).annotate({ identifier: "AbortManyResult" }),
).annotate({ identifier: "AbortManyReply" })
export type AbortManyReply = typeof AbortManyReply.Type

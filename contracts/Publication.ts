/**
 * Publication: the records of a thread on their way to a sink of the application's own, in batches.
 *
 * - At least once: a batch comes again until its sink has taken it, and may come again after that.
 * - In order: of one thread no batch is given before the one before it was taken.
 * - A thread whose sink lacks a record makes no run begin, or go on, before it was taken.
 */
import { Schema } from "effect"
import { Count, Millis, OwnerId, SubmissionId, ThreadId } from "./Identifiers.ts"

const RecordKey = {
  sequence: Count.annotateKey({ description: "Thread-wide, from 1, without gaps." }),
  submissionId: SubmissionId,
  // Text, not the kinds that this version knows: what newer code has recorded is passed on as it is.
  kind: Schema.String.check(Schema.isMaxLength(64)).annotateKey({
    description: "As in `history`; there may be kinds to come.",
  }),
  name: Schema.optionalKey(Schema.String),
  epoch: Count,
  recordedAt: Millis,
}

export const FullRecord = Schema.Struct({
  ...RecordKey,
  payload: Schema.Json,
  pruned: Schema.optionalKey(Schema.Boolean).annotateKey({
    description: "Its content was pruned before it was published: it was older than it is kept.",
  }),
}).annotate({
  identifier: "FullRecord",
  description: "A record as `history` gives it.",
})
export type FullRecord = typeof FullRecord.Type

export const OmittedRecord = Schema.Struct({
  ...RecordKey,
  omittedBytes: Count.annotateKey({ description: "The size of its payload, as JSON." }),
}).annotate({
  identifier: "OmittedRecord",
  description:
    "A record that is too large for a message: all but its payload. Read it with `history`, " +
    "`after` its sequence less one.",
})
export type OmittedRecord = typeof OmittedRecord.Type

export const PublishedRecord = Schema.Union([FullRecord, OmittedRecord])
export type PublishedRecord = typeof PublishedRecord.Type

export const PublishedBatch = Schema.Struct({
  id: Schema.String.annotateKey({
    description: "A function of whose records these are and of which: a repetition has the same.",
  }),
  ownerId: OwnerId,
  threadId: ThreadId,
  first: Count.annotateKey({ description: "The sequence of its first record." }),
  last: Count.annotateKey({ description: "The sequence of its last record." }),
  records: Schema.Array(PublishedRecord).annotateKey({
    description: "By sequence, without gaps. At least one.",
  }),
}).annotate({
  identifier: "PublishedBatch",
  description:
    "Records of one thread that follow one another. Who keeps the last sequence of each thread " +
    "knows a repetition by it.",
})
export type PublishedBatch = typeof PublishedBatch.Type

/** The batch of these records, of which there is at least one. */
export const makeBatch = (
  thread: Pick<PublishedBatch, "ownerId" | "threadId">,
  records: ReadonlyArray<PublishedRecord>,
): PublishedBatch => {
  const { ownerId, threadId } = thread
  const first = records[0]?.sequence ?? 0
  const last = records.at(-1)?.sequence ?? 0
  return { id: `${ownerId}/${threadId}/${first}-${last}`, ownerId, threadId, first, last, records }
}

/**
 * Where records are published. The method of a Worker that is bound as a service may be just this.
 *
 * It resolves once the batch is safe where it goes. When it rejects, or takes longer than `publishMillis`, the same
 * records come again, after 5 s, doubling to 60 s; its thread waits so long, and no other.
 */
export interface HeddleSink {
  readonly publish: (batch: PublishedBatch) => Promise<unknown>
}

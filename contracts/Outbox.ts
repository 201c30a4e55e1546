/**
 * The outbox of a thread: what it has recorded for others, and its owner carries until it has been taken.
 *
 * At least once on the way, and in order for each pair of source and target; taken once, by its id.
 */
import { Schema } from "effect"
import {
  AgentId,
  Count,
  MessageId,
  Millis,
  OwnerId,
  Principal,
  StepName,
  SubmissionId,
  ThreadId,
} from "./Identifiers.ts"
import { openUnion } from "./Open.ts"
import { Settlement } from "./Settlement.ts"
import { Delivery, Title } from "./Submission.ts"

export const Sender = Schema.Struct({
  ownerId: OwnerId,
  threadId: ThreadId,
  submissionId: SubmissionId,
}).annotate({ identifier: "Sender", description: "The run that sent a message." })
export type Sender = typeof Sender.Type

export const ParentLink = Schema.Struct({
  threadId: ThreadId,
  submissionId: SubmissionId,
  name: StepName,
  depth: Count.annotateKey({ description: "1 for the child of a run that has no parent." }),
}).annotate({
  identifier: "ParentLink",
  description: "The run whose child this is, and its name for it. Of the same owner.",
})
export type ParentLink = typeof ParentLink.Type

const work = {
  id: MessageId,
  agent: AgentId,
  input: Schema.Json,
  title: Schema.optionalKey(Title),
  /** For whom the work is done. */
  principal: Principal,
}

/** The message itself, as its target takes it. */
export const Message = Schema.Struct({
  ...work,
  delivery: Schema.optionalKey(Delivery),
  notBefore: Schema.optionalKey(Millis),
  from: Sender,
})
export type Message = typeof Message.Type

/** The trace that what is carried goes on in, as `traceparent` has it. */
const trace = Schema.optionalKey(Schema.String.check(Schema.isMaxLength(55)))

/** One entry; entries for one target come in the order in which they must be taken. */
export const OutboxEntry = openUnion([
  Schema.TaggedStruct("Message", {
    ...Message.fields,
    ownerId: OwnerId,
    threadId: ThreadId,
    trace,
  }),
  Schema.TaggedStruct("Child", { ...work, threadId: ThreadId, parent: ParentLink, trace }),
  /** Ends the child of this id, also one that has not been admitted yet. */
  Schema.TaggedStruct("ChildAbort", {
    id: MessageId,
    threadId: ThreadId,
    childId: MessageId,
    author: Schema.String.check(Schema.isMaxLength(256)),
    reason: Schema.String.check(Schema.isMaxLength(1024)),
    principal: Principal,
  }),
  /** Asks after a child whose end may have been lost. */
  Schema.TaggedStruct("ChildAsk", {
    id: MessageId,
    threadId: ThreadId,
    childId: MessageId,
    principal: Principal,
  }),
  /** The settlement of a child, for the thread of its parent. */
  Schema.TaggedStruct("ChildNotice", {
    id: MessageId,
    threadId: ThreadId,
    submissionId: SubmissionId,
    name: StepName,
    childId: MessageId,
    settlement: Settlement,
  }),
])
export type OutboxEntry = typeof OutboxEntry.Type

/** What became of one entry. */
export const OutboxResult = Schema.Struct({
  id: MessageId,
  result: openUnion([
    Schema.TaggedStruct("Taken", { submissionId: Schema.optionalKey(SubmissionId) }),
    /** The target's refusal is final: the entry ends. */
    Schema.TaggedStruct("Refused", {
      tag: Schema.String.check(Schema.isMaxLength(128)),
      message: Schema.String.check(Schema.isMaxLength(1024)),
    }),
    /** It may pass: the entry waits, and counts nothing but time. */
    Schema.TaggedStruct("Delayed", { tag: Schema.String.check(Schema.isMaxLength(128)) }),
  ]),
})
export type OutboxResult = typeof OutboxResult.Type

/**
 * The operations of `ThreadRpc` by which an owner carries what is between its threads: what an outbox has, what became
 * of it, and the words of parents and children; and what a sink of the deployment is to have.
 */
import { Schema } from "effect"
import { Rpc } from "effect/rpc"
import { AbortFields } from "./Abort.ts"
import { admits } from "./Authorization.ts"
import { CommonErrors, ThreadUnreadable, Unavailable } from "./Errors.ts"
import {
  Count,
  Generation,
  MessageId,
  Millis,
  OwnerId,
  Principal,
  StepName,
  SubmissionId,
  ThreadId,
} from "./Identifiers.ts"
import { OutboxEntry, OutboxResult } from "./Outbox.ts"
import { FullRecord } from "./Publication.ts"
import { Settlement } from "./Settlement.ts"
import { threadReply } from "./ThreadReply.ts"

const Address = { ownerId: OwnerId, threadId: ThreadId }
const Common = Schema.Union(CommonErrors)
const Commanded = { principal: Principal, generation: Generation, now: Millis }

/** What its outbox has for delivery now, in order for each target. Changes nothing. */
export const claimOutbox = Rpc.make("claimOutbox", {
  payload: {
    ...Address,
    /** Entries at most; a page of them holds at most 1 MiB, or one entry. */
    limit: Count,
    generation: Generation,
    now: Millis,
  },
  success: threadReply(Schema.Array(OutboxEntry), Unavailable),
  error: Common,
}).pipe(admits("Owner"))

/** What became of entries; of those that are no longer here, nothing is said. */
export const acknowledgeOutbox = Rpc.make("acknowledgeOutbox", {
  payload: {
    ...Address,
    results: Schema.Array(OutboxResult),
    generation: Generation,
    now: Millis,
  },
  success: threadReply(Schema.Void, Unavailable),
  error: Common,
}).pipe(admits("Owner"))

/** The settlement of a child, once, whatever its parent does meanwhile. */
export const settleChild = Rpc.make("settleChild", {
  payload: {
    ...Address,
    submissionId: SubmissionId,
    name: StepName,
    childId: MessageId,
    settlement: Settlement,
    generation: Generation,
    now: Millis,
  },
  success: threadReply(Schema.Void, Schema.Union([ThreadUnreadable, Unavailable])),
  error: Common,
}).pipe(admits("Owner"))

/** Nobody will ever tell the end of this child: its thread does not know it, or no longer knows how it ended. */
export class ChildLost extends Schema.TaggedError<ChildLost>()("ChildLost", {
  childId: MessageId,
}) {}

/** Ends the child of this id. One that is not here is lost; should it come yet, a mark that is left ends it. */
export const abortChild = Rpc.make("abortChild", {
  payload: {
    ...Address,
    childId: MessageId,
    author: AbortFields.author,
    reason: AbortFields.reason,
    ...Commanded,
  },
  success: threadReply(Schema.Void, Schema.Union([ThreadUnreadable, Unavailable, ChildLost])),
  error: Common,
}).pipe(admits("Owner"))

/** Asks after the child of this id: one that has settled tells it once more; one that is not here is lost, as above. */
export const askChild = Rpc.make("askChild", {
  payload: { ...Address, childId: MessageId, ...Commanded },
  success: threadReply(Schema.Void, Schema.Union([ThreadUnreadable, Unavailable, ChildLost])),
  error: Common,
}).pipe(admits("Owner"))

/** The first records that the sink has not taken, in their order. Changes nothing. */
export const claimPublication = Rpc.make("claimPublication", {
  payload: {
    ...Address,
    /** Records at most; all together `bytes` as JSON, or one record. */
    limit: Count,
    bytes: Count,
    generation: Generation,
    now: Millis,
  },
  success: threadReply(Schema.Array(FullRecord), Unavailable),
  error: Common,
}).pipe(admits("Owner"))

/** The sink has every record up to this one. One that is not further than the last says nothing. */
export const acknowledgePublication = Rpc.make("acknowledgePublication", {
  payload: { ...Address, through: Count, generation: Generation, now: Millis },
  success: threadReply(Schema.Void, Unavailable),
  error: Common,
}).pipe(admits("Owner"))

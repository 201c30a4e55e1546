/**
 * `verify`: whether a thread's history and ledger hold together. Reads one page of records at a time and
 * writes nothing.
 */
import { Schema } from "effect"
import { Count, OwnerId, ThreadId } from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"

/** In the order in which `verify` tells them. */
export const verifyChecks = [
  "recordIdentity",
  "contiguity",
  "digestChain",
  "schemaRoundTrip",
  "oneSettlement",
  "fifo",
  "ledger",
  "outbox",
  "children",
  "schedules",
] as const
export const VerifyCheckName = openLiterals(verifyChecks).annotate({
  identifier: "VerifyCheckName",
  description:
    "`recordIdentity` the same fact stands once · `contiguity` sequences have no gap · " +
    "`digestChain` every digest covers its record and the one before · `schemaRoundTrip` kinds " +
    "and payloads decode, and mean the same written again · `oneSettlement` each submission has " +
    "at most one, and exactly one once it is settled · `fifo` inputs were applied in order · " +
    "`ledger` the ledger, and the rows of calls, waits and callbacks, say what the journal says · " +
    "`outbox` each entry carries a fact of the run that sent it, in order for its target, and a " +
    "parked one says why (one that is missing cannot be told from one that was taken) · " +
    "`children` each request has its one child, and whatever is to be seen settled is waited for · " +
    "`schedules` each decodes, and has a time if it comes; looked at on the last page.",
})

export const VerifyFields = {
  ownerId: OwnerId,
  threadId: ThreadId,
  after: Schema.optionalKey(Count).annotateKey({
    description: "The last sequence of the page before; 0 or absent starts.",
  }),
  limit: Schema.optionalKey(Count).annotateKey({
    description: "Records of this page, at most `historyRecords`.",
  }),
}

export const VerifyCheck = Schema.Union([
  Schema.TaggedStruct("Passed", { check: VerifyCheckName }),
  Schema.TaggedStruct("Failed", {
    check: VerifyCheckName,
    detail: Schema.String.check(Schema.isMaxLength(1_024)),
    places: Count.annotateKey({
      description: "How many places of this page fail it; `detail` tells the first.",
    }),
  }),
  Schema.TaggedStruct("Skipped", {
    check: VerifyCheckName,
    why: Schema.String.check(Schema.isMaxLength(1_024)),
  }),
]).annotate({
  identifier: "VerifyCheck",
  description:
    "One check on one page. A detail names sequences and kinds, never what a payload holds.",
})
export type VerifyCheck = typeof VerifyCheck.Type

export const VerifyReply = Schema.Struct({
  checks: Schema.Array(VerifyCheck),
  records: Count.annotateKey({ description: "Records looked at." }),
  next: Schema.optionalKey(Count),
}).annotate({
  identifier: "VerifyReply",
  description:
    "Every check once, in the order of `verifyChecks`. Go on with `after: next` until " +
    "there is none.",
})
export type VerifyReply = typeof VerifyReply.Type

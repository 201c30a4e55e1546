/**
 * `verify`: whether a thread's history and ledger hold together. Reads one page of records at a time and
 * writes nothing.
 */
import { Schema } from "effect"
import { Count, OwnerId, ThreadId } from "./Identifiers.ts"
import { openLiterals } from "./Open.ts"

/**
 * `recordIdentity` the same fact stands once · `contiguity` sequences have no gap · `digestChain` every
 * digest covers its record and the one before · `schemaRoundTrip` kinds and payloads decode, and mean the
 * same written again · `oneSettlement` each submission has at most one, and exactly one once it is settled ·
 * `fifo` inputs were applied in order · `ledger` the ledger says what the journal says.
 */
export const verifyChecks = [
  "recordIdentity",
  "contiguity",
  "digestChain",
  "schemaRoundTrip",
  "oneSettlement",
  "fifo",
  "ledger",
] as const
export const VerifyCheckName = openLiterals(verifyChecks)

export const VerifyFields = {
  ownerId: OwnerId,
  threadId: ThreadId,
  /** The last sequence of the page before; 0 or absent starts. */
  after: Schema.optionalKey(Count),
  /** Records of this page, at most `historyRecords`. */
  limit: Schema.optionalKey(Count),
}

/** One check on one page. A detail names sequences and kinds, never what a payload holds. */
export const VerifyCheck = Schema.Union([
  Schema.TaggedStruct("Passed", { check: VerifyCheckName }),
  Schema.TaggedStruct("Failed", {
    check: VerifyCheckName,
    detail: Schema.String.check(Schema.isMaxLength(1_024)),
    /** How many places of this page fail it; `detail` tells the first. */
    places: Count,
  }),
  Schema.TaggedStruct("Skipped", {
    check: VerifyCheckName,
    why: Schema.String.check(Schema.isMaxLength(1_024)),
  }),
])
export type VerifyCheck = typeof VerifyCheck.Type

/** Every check once, in the order of `verifyChecks`. Go on with `after: next` until there is none. */
export const VerifyReply = Schema.Struct({
  checks: Schema.Array(VerifyCheck),
  /** Records looked at. */
  records: Count,
  next: Schema.optionalKey(Count),
})
export type VerifyReply = typeof VerifyReply.Type

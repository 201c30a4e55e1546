/**
 * Reads back what the threads hold, after all the work: whole histories, page by page, and the status
 * of every receipt. This, and not what the run remembers, is what the verdict is made of.
 */
import { Effect } from "effect"
import type { JournalRecord, OwnerId, ThreadId } from "../../contracts/index.ts"
import { throughOutage, type CallFailure, type DemoClient } from "./Client.ts"
import type { Ledger } from "./Ledger.ts"
import type { ThreadEvidence } from "./Verify.ts"

const threadsAtOnce = 16

const wholeHistory = Effect.fnUntraced(function* (
  client: DemoClient,
  lane: { readonly ownerId: OwnerId; readonly threadId: ThreadId },
) {
  const records: Array<JournalRecord> = []
  let after = 0
  for (;;) {
    const page = yield* throughOutage(client.history(lane, after))
    records.push(...page.records)
    // A cursor that does not move would page for ever; the gap it hides is the verdict's to find.
    if (page.next === undefined || page.next <= after) return records
    after = page.next
  }
})

/** The evidence of every thread of the plan. */
export const gatherEvidence = (options: {
  readonly client: DemoClient
  readonly ownerId: OwnerId
  readonly ledger: Ledger
}): Effect.Effect<ReadonlyArray<ThreadEvidence>, CallFailure> => {
  const { client, ownerId, ledger } = options
  return Effect.forEach(
    ledger.threads,
    Effect.fnUntraced(function* ([threadId, { name, receipts, settlements }]) {
      const lane = { ownerId, threadId }
      const statuses = yield* Effect.forEach(receipts, ({ submissionId }) =>
        throughOutage(client.status(lane, submissionId)),
      )
      return {
        threadId,
        name,
        receipts,
        settlements,
        statuses,
        records: yield* wholeHistory(client, lane),
      }
    }),
    { concurrency: threadsAtOnce },
  )
}

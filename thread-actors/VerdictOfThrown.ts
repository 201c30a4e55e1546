/** What it means for an attempt that a read or a block of ours threw. */
import { StorageFailure } from "../platform/ObjectStorage.ts"
import type { Verdict } from "./LiveAttempt.ts"
import { Unreadable } from "./Unreadable.ts"

/**
 * Only what the database threw is an outage, which is waited for without a bound. Anything else is a
 * mistake of ours: the attempt is counted, so that it ends.
 */
export const verdictOfThrown = (error: unknown): Verdict => {
  if (error instanceof Unreadable) return { _tag: "Unreadable", what: error.what }
  if (error instanceof StorageFailure) return { _tag: "StorageLost" }
  return { _tag: "WithoutResult" }
}

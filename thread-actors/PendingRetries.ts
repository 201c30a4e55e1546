/**
 * Declared retries that an attempt leaves to the next one, by step; the empty name is the run itself.
 *
 * - P1 Tries are used once: what is kept of them does not hang on what the attempt came to.
 */
import type { StoredRetry } from "./Ledger.ts"
import type { LiveAttempt } from "./LiveAttempt.ts"

export type Retries = ReadonlyMap<string, StoredRetry>

/** Whether the whole run is to be tried again: its handler has ended, whatever fiber of it still waits. */
export const isOfRun = (pending: Retries): boolean => pending.has("")

export const retryTimes = (pending: Retries): ReadonlyArray<number> =>
  [...pending.values()].map((retry) => retry.dueAt)

export const firstDueAt = (pending: Retries): number => Math.min(...retryTimes(pending))

/** What the row is to keep. */
export const retriesWith = (
  live: Pick<LiveAttempt, "retries" | "pending">,
  pending: Retries = live.pending,
): Retries => new Map([...live.retries, ...live.pending, ...pending]) // P1

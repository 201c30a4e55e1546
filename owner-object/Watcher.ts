/**
 * Somebody who watches the lanes of an owner: which ones changed since they last looked, in memory.
 *
 * Invariants
 * - K1 A lane that changes again before it was looked at is told once, in its newest state.
 * - K2 What a watcher holds is bounded; one that is too slow is told how many lanes it missed.
 */
import type { Deferred } from "effect"
import type { ThreadId } from "../contracts/Identifiers.ts"
import { makeBell } from "../platform/Bell.ts"

export interface Watcher {
  readonly changed: (threadIds: ReadonlySet<ThreadId>) => void
  /** Something is to be looked at, if only that the owner started again. */
  readonly wake: () => void
  /** The changed lanes, and how many more there were; both start anew. */
  readonly take: () => { readonly threadIds: ReadonlyArray<ThreadId>; readonly dropped: number }
  /** Resolves with the next change; at once if there was one since the last look. */
  readonly bell: () => Deferred.Deferred<void>
}

export const makeWatcher = (lanesMax: number): Watcher => {
  const waiting = new Set<ThreadId>()
  let dropped = 0
  const bell = makeBell()
  return {
    wake: bell.ring,
    changed: (threadIds) => {
      for (const threadId of threadIds) {
        if (waiting.has(threadId) || waiting.size < lanesMax) waiting.add(threadId) // K1
        else dropped += 1 // K2
      }
      bell.ring()
    },
    take: () => {
      const taken = { threadIds: [...waiting], dropped }
      waiting.clear()
      dropped = 0
      return taken
    },
    bell: bell.next,
  }
}

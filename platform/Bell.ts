/**
 * A bell: how somebody who reads, then waits, misses nothing that happened in between.
 *
 * Take the next ring first, then look, then await it: it is rung already if something came since the
 * ring before it was taken.
 */
import { Deferred, Effect } from "effect"

export interface Bell {
  readonly ring: () => void
  /** Resolves with the next ring; at once if there was one since the last call. */
  readonly next: () => Deferred.Deferred<void>
}

export const makeBell = (): Bell => {
  let rung = false
  let waiting: Deferred.Deferred<void> | undefined
  return {
    ring: () => {
      rung = true
      if (waiting !== undefined) Deferred.doneUnsafe(waiting, Effect.void)
      waiting = undefined
    },
    next: () => {
      const next = Deferred.makeUnsafe<void>()
      if (rung) Deferred.doneUnsafe(next, Effect.void)
      else waiting = next
      rung = false
      return next
    },
  }
}

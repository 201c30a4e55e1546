/**
 * Waiting for a settlement: register first, read second, then park. No polling, no missed wake.
 */
import { Deferred, Effect } from "effect"
import { SubmissionNotFound } from "../contracts/Errors.ts"
import type { SubmissionId } from "../contracts/Identifiers.ts"
import type { AwaitSettlementReply } from "../contracts/Settlement.ts"
import { reading, type ReadFailure } from "./Durable.ts"
import { sequenceOf } from "./Ledger.ts"
import { readStatus } from "./Status.ts"
import type { Thread } from "./Thread.ts"
import { within } from "./Within.ts"

const register = (thread: Thread, sequence: number): Deferred.Deferred<void> => {
  const bell = Deferred.makeUnsafe<void>()
  const waiters = thread.waiters.get(sequence)
  if (waiters === undefined) thread.waiters.set(sequence, new Set([bell]))
  else waiters.add(bell)
  return bell
}

const unregister = (thread: Thread, sequence: number, bell: Deferred.Deferred<void>): void => {
  const waiters = thread.waiters.get(sequence)
  waiters?.delete(bell)
  if (waiters?.size === 0) thread.waiters.delete(sequence)
}

const look = (
  thread: Thread,
  id: SubmissionId,
): Effect.Effect<AwaitSettlementReply, ReadFailure | SubmissionNotFound> =>
  Effect.flatMap(
    reading(thread, "awaitSettlement", () => readStatus(thread, id)),
    (status) => {
      if (status === undefined) return Effect.fail(new SubmissionNotFound({ submissionId: id }))
      return Effect.succeed<AwaitSettlementReply>(
        status.settlement === undefined
          ? { _tag: "Pending" }
          : { _tag: "Settled", settlement: status.settlement },
      )
    },
  )

/** The settlement, or `Pending` after the time asked for, at most `limits.waitMillis`. */
export const awaitSettlement = (
  thread: Thread,
  request: { readonly submissionId: SubmissionId; readonly timeoutMillis?: number | undefined },
): Effect.Effect<AwaitSettlementReply, ReadFailure | SubmissionNotFound> => {
  const sequence = sequenceOf(request.submissionId)
  const { waitMillis } = thread.limits
  const millis = Math.min(request.timeoutMillis ?? waitMillis, waitMillis)
  return Effect.acquireUseRelease(
    Effect.sync(() => register(thread, sequence)),
    Effect.fnUntraced(function* (bell) {
      const first = yield* look(thread, request.submissionId)
      if (first._tag === "Settled" || millis <= 0) return first
      yield* within(bell, millis)
      return yield* look(thread, request.submissionId)
    }),
    (bell) => Effect.sync(() => unregister(thread, sequence, bell)),
  )
}

/**
 * Many submissions of one owner in one call, repeated as a submit is.
 *
 * - M1 Each has its key before the first try: whoever makes them, and however often, a repetition accepts none twice.
 * - M2 What is repeated is what nobody could answer, and nothing else: a call that was lost, or the submissions of it
 *   that were refused as `Unavailable`, retryable and not overloaded. A bounded number of times.
 * - M3 Once a call was answered, its outcomes are what the caller gets, whatever becomes of the repetitions.
 * - M4 An answer that does not have one outcome for each that was sent is none: nobody could tell whose they are.
 */
import { Effect } from "effect"
import type { IdempotencyKey, OwnerId } from "../contracts/Identifiers.ts"
import type { ThreadSubmission } from "../contracts/Submission.ts"
import { Unavailable } from "../contracts/Errors.ts"
import type { SubmitManyReply, SubmitOutcome } from "../contracts/SubmitMany.ts"
import { canRepeat } from "../contracts/transport/Reconnect.ts"

/** One of many, whose key is made unless the caller brings the one of its intent. */
export type BatchSubmission = Omit<ThreadSubmission, "idempotencyKey"> & {
  readonly idempotencyKey?: IdempotencyKey
}

/** What is submitted together. */
export interface Batch {
  readonly ownerId: OwnerId
  readonly submissions: ReadonlyArray<BatchSubmission>
}

interface Keyed {
  readonly ownerId: OwnerId
  readonly submissions: ReadonlyArray<ThreadSubmission>
}

export interface Repeating<E> {
  readonly once: (batch: Keyed) => Effect.Effect<SubmitManyReply, E>
  readonly makeKey: Effect.Effect<IdempotencyKey>
  /** The wait before the nth repetition. */
  readonly pause: (nth: number) => Effect.Effect<void>
  readonly repeatsMax: number
}

/** A submission in its place of the batch. */
interface Placed {
  readonly index: number
  readonly submission: ThreadSubmission
}

const keyed = (submission: BatchSubmission, makeKey: Effect.Effect<IdempotencyKey>) =>
  Effect.map(
    submission.idempotencyKey === undefined ? makeKey : Effect.succeed(submission.idempotencyKey),
    (idempotencyKey): ThreadSubmission => ({ ...submission, idempotencyKey }), // M1
  )

const notOneEach = new Unavailable({
  retryable: false,
  overloaded: false,
  reason: "The deployment did not answer each submission",
})

const isOpen = (outcome: SubmitOutcome | undefined): boolean =>
  outcome === undefined || (outcome._tag === "Refused" && canRepeat(outcome.error))

/** Submits what is open until nothing is, or it was repeated often enough. // M2 */
const submitting = <E>(
  repeating: Repeating<E>,
  ownerId: OwnerId,
  open: ReadonlyArray<Placed>,
  outcomes: Array<SubmitOutcome | undefined>,
): Effect.Effect<void, E | Unavailable> =>
  Effect.gen(function* () {
    let left = open
    for (let repeats = 0; ; repeats++) {
      const submissions = left.map(({ submission }) => submission)
      const answer = Effect.filterOrFail(
        repeating.once({ ownerId, submissions }),
        (reply) => reply.outcomes.length === submissions.length,
        () => notOneEach, // M4
      )
      const reply = yield* Effect.result(answer)
      const last = repeats >= repeating.repeatsMax
      if (reply._tag === "Failure") {
        const wasAnswered = left.every(({ index }) => outcomes[index] !== undefined)
        const ends = last || !canRepeat(reply.failure)
        if (ends && wasAnswered) return // M3
        if (ends) return yield* Effect.fail(reply.failure)
      } else {
        for (const [nth, { index }] of left.entries()) {
          outcomes[index] = reply.success.outcomes[nth]
        }
        left = left.filter(({ index }) => isOpen(outcomes[index]))
        if (left.length === 0 || last) return
      }
      yield* repeating.pause(repeats + 1)
    }
  })

/** Submits all, and gives what each came to, in their order. */
export const submitMany = Effect.fnUntraced(function* <E>(
  repeating: Repeating<E>,
  { ownerId, submissions }: Batch,
) {
  const placed = yield* Effect.forEach(submissions, (submission, index) =>
    Effect.map(keyed(submission, repeating.makeKey), (made): Placed => ({
      index,
      submission: made,
    })),
  )
  const outcomes: Array<SubmitOutcome | undefined> = placed.map(() => undefined)
  yield* submitting(repeating, ownerId, placed, outcomes)
  return { outcomes: outcomes.filter((outcome) => outcome !== undefined) } satisfies SubmitManyReply // M4
})

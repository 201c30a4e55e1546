/**
 * Many submissions in one call, repeated as a submit is.
 *
 * - M1 Each has its key before the first try, and what is sent again is what was sent: no repetition accepts it
 *   twice, or as something else because the caller has changed the object meanwhile.
 * - M2 What is repeated is what nobody could answer, and nothing else; a bounded number of times.
 * - M3 Once a call was answered, its outcomes are what the caller gets, whatever becomes of the repetitions.
 */
import type { Operations } from "../generated/operations.ts"
import type { SubmitManyPayload, SubmitOutcome } from "../generated/types.ts"
import { payloadOf } from "./Payload.ts"
import { pause, type Repetition } from "./Repeat.ts"

type SubmitMany = Operations["submitMany"]

const isOpen = (outcome: SubmitOutcome | undefined): boolean =>
  outcome?._tag === "Refused" &&
  outcome.error._tag === "Unavailable" &&
  outcome.error.retryable &&
  !outcome.error.overloaded

/** All of it as it is at the call, with keys; what JSON cannot say is left for the operation to refuse. */
const fixed = (payload: SubmitManyPayload): SubmitManyPayload => {
  try {
    return payloadOf(payload, [["submissions", "[]", "idempotencyKey"]]) as SubmitManyPayload // M1
  } catch {
    return payload
  }
}

/** The operation with repetitions of single submissions. */
export const submittingMany =
  (once: SubmitMany, { curve, times }: Repetition): SubmitMany =>
  async (given, options) => {
    const payload = fixed(given)
    const reply = await once(payload, options)
    const outcomes = [...reply.outcomes]
    for (let nth = 1; nth <= times; nth++) {
      const open = payload.submissions.flatMap((submission, index) =>
        isOpen(outcomes[index]) ? [{ submission, index }] : [],
      )
      if (open.length === 0) break
      await pause(curve, nth, options?.signal)
      try {
        const again = open.map(({ submission }) => submission)
        const next = await once({ ...payload, submissions: again }, options) // M2
        for (const [at, { index }] of open.entries()) {
          outcomes[index] = next.outcomes[at] ?? (outcomes[index] as SubmitOutcome)
        }
      } catch (error) {
        if (options?.signal?.aborted === true) throw error
        break // M3
      }
    }
    return { ...reply, outcomes }
  }

/**
 * Many submissions in one call, repeated as a submit is.
 *
 * - M1 Each has its key before the first try, and what is sent again is what was sent: no repetition accepts it
 *   twice, or as something else because the caller has changed the object meanwhile.
 * - M2 What is repeated is what nobody could answer, and nothing else; a bounded number of times.
 * - M3 Once a call was answered, its outcomes are what the caller gets, whatever becomes of the repetitions.
 * - M4 An answer that does not have one outcome for each that was sent is none: nobody could tell whose they are.
 */
import type { Operations } from "../generated/operations.ts"
import { errorOf } from "../generated/errors.ts"
import type { SubmitManyPayload, SubmitManyReply, SubmitOutcome } from "../generated/types.ts"
import { undecoded } from "./Call.ts"
import { canRepeat } from "./HeddleError.ts"
import { payloadOf } from "./Payload.ts"
import { pause, type Repetition } from "./Repeat.ts"

type SubmitMany = Operations["submitMany"]

const isOpen = (outcome: SubmitOutcome | undefined): boolean =>
  outcome?._tag === "Refused" &&
  outcome.error?._tag === "Unavailable" &&
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

/** The outcomes of an answer, one for each that was sent. */
const outcomesOf = (
  reply: SubmitManyReply | null,
  count: number,
): ReadonlyArray<SubmitOutcome | undefined> => {
  const outcomes: unknown = reply?.outcomes
  if (Array.isArray(outcomes) && outcomes.length === count) return outcomes as Array<SubmitOutcome>
  throw errorOf(undecoded) // M4
}

/** One submission, and its place in the batch. */
type Placed = readonly [index: number, submission: SubmitManyPayload["submissions"][number]]

/** The operation, which does not repeat by itself, with repetitions of all of it and of single submissions. */
export const submittingMany =
  (once: SubmitMany, { curve, times }: Repetition): SubmitMany =>
  async (given, options) => {
    const payload = fixed(given)
    const outcomes: Array<SubmitOutcome | undefined> = []
    let first: SubmitManyReply | undefined
    let open: ReadonlyArray<Placed> | undefined
    for (let nth = 1; ; nth++) {
      try {
        const submissions = open?.map(([, submission]) => submission)
        const sent = submissions === undefined ? payload : { ...payload, submissions }
        const reply = await once(sent, options)
        const answered = outcomesOf(reply, sent.submissions.length)
        first ??= reply
        open ??= [...payload.submissions.entries()]
        for (const [at, [index]] of open.entries()) outcomes[index] = answered[at]
        open = open.filter(([index]) => isOpen(outcomes[index])) // M2
        if (open.length === 0) break
      } catch (error) {
        if (options?.signal?.aborted === true) throw error
        const isOver = !canRepeat(error) || nth > times // M2
        if (isOver && first === undefined) throw error
        if (isOver) break // M3
      }
      if (nth > times) break
      await pause(curve, nth, options?.signal)
    }
    return { ...first, outcomes: outcomes as Array<SubmitOutcome> }
  }

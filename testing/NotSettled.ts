/** What a test is told when it waits for a settlement that cannot come by itself. */
import { Data } from "effect"
import type { RecoveryExplanation } from "../contracts/Explain.ts"
import type { Receipt } from "../contracts/Submission.ts"

/**
 * The submission has not settled, and nothing that is due will settle it. Remedy: do what `explained` says
 * (`resolve` an unknown outcome, `resume` a paused thread), then wait again.
 */
export class NotSettled extends Data.TaggedError("NotSettled")<{
  readonly message: string
  readonly explained: ReadonlyArray<RecoveryExplanation>
}> {}

/** Whether all that it waits for is somebody's to do, for as long as they like. */
const isStuck = ({ heldBy, state, waits }: RecoveryExplanation): boolean => {
  const all = [...waits, ...heldBy]
  if (state === "running" || all.length === 0) return false
  return all.every(({ untilAt, whoCanAct }) => untilAt === undefined && whoCanAct !== "nobody")
}

/** Whether anything of a thread's open work goes on by itself, at once or at a time. */
export const goesOn = (open: ReadonlyArray<RecoveryExplanation>): boolean =>
  open.some((one) => {
    const isBehind = open.some(
      (other) => other.sequence < one.sequence && other.state === "suspended" && isStuck(other),
    )
    // What has joined goes on with the run that it is of.
    return one.state !== "joined" && !isStuck(one) && !isBehind
  })

/** When the waits of open work end by themselves. */
export const timesOf = (explained: ReadonlyArray<RecoveryExplanation>): ReadonlyArray<number> =>
  explained.flatMap((one) => [...one.waits, ...one.heldBy].flatMap(({ untilAt = 0 }) => untilAt))

const realTime =
  "nothing is due. Code that waits for real timers or real I/O is not moved by the test clock"

export const notSettled = (
  { submissionId, threadId }: Pick<Receipt, "submissionId" | "threadId">,
  explained: ReadonlyArray<RecoveryExplanation>,
): NotSettled => {
  const waits = explained.flatMap((one) => [...one.waits, ...one.heldBy])
  const state = explained[0]?.state ?? "not open"
  const why = waits.length === 0 ? realTime : waits.map(({ message }) => message).join("; ")
  const message = `Submission ${submissionId} of thread ${threadId} is ${state}: ${why}`
  return new NotSettled({ message, explained })
}

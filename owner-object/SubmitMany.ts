/**
 * `submitMany`: the inputs of each thread pass the gate as one mutation, all threads with one enrolment.
 *
 * - Y1 Every submission is answered in its place: by its thread, or by what kept it from its thread.
 * - Y2 Those of one thread are sent in the order in which they were given.
 * - Y3 The room of an owner that is nearly full is given out in the order of the threads in the call, never twice.
 */
import { Effect, Result } from "effect"
import type { Rpc, RpcGroup } from "effect/rpc"
import { AdmissionLimitExceeded } from "../contracts/Errors.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { ThreadSubmission } from "../contracts/Submission.ts"
import type { SubmitErrors, SubmitOutcome } from "../contracts/SubmitMany.ts"
import type { AdmitOutcome } from "../contracts/ThreadRpc.ts"
import type { Caller } from "./Command.ts"
import type { Life } from "./Life.ts"
import { withMutations } from "./Mutations.ts"
import { measure, refusalOf, roomOf } from "./Submit.ts"

export type SubmitManyPayload = Rpc.Payload<
  Extract<RpcGroup.Rpcs<typeof OwnerRpc>, { readonly _tag: "submitMany" }>
>

/** A submission that can be stored as it was given. */
interface Measured {
  /** Its place in the call. */
  readonly index: number
  readonly submission: ThreadSubmission
  readonly bytes: number
}

/** What is for one thread, and how many new ones the owner has room for there. */
interface Group {
  readonly threadId: ThreadId
  readonly items: ReadonlyArray<Measured>
  readonly bytes: number
  readonly room: number
}

const refused = (error: SubmitErrors): SubmitOutcome => ({ _tag: "Refused", error })

const over = (
  limit: "submissionsPerCall" | "submissionBytesPerCall",
  actual: number,
  limits: Limits,
): AdmissionLimitExceeded => new AdmissionLimitExceeded({ limit, actual, maximum: limits[limit] })

/** Measures all: those that can be stored, and the refusals of the others in their places. */
const measureAll = ({ submissions }: SubmitManyPayload, limits: Limits) => {
  const outcomes: Array<SubmitOutcome | undefined> = []
  const measured: Array<Measured> = []
  for (const [index, submission] of submissions.entries()) {
    const size = measure(submission, limits)
    outcomes.push(Result.isFailure(size) ? refused(size.failure) : undefined)
    if (Result.isSuccess(size)) measured.push({ index, submission, bytes: size.success })
  }
  return { outcomes, measured }
}

const bytesOf = (items: ReadonlyArray<Measured>): number =>
  items.reduce((sum, { bytes }) => sum + bytes, 0)

/** By thread, in the order in which the call names them. Pure. */
export const groupsOf = (measured: ReadonlyArray<Measured>, room: number): ReadonlyArray<Group> => {
  const byThread = new Map<ThreadId, Array<Measured>>()
  for (const item of measured) {
    const { threadId } = item.submission
    byThread.set(threadId, [...(byThread.get(threadId) ?? []), item]) // Y2
  }
  let left = room
  return [...byThread].map(([threadId, items]) => {
    const own = Math.min(items.length, left)
    left -= own // Y3
    return { threadId, items, bytes: bytesOf(items), room: own }
  })
}

/** What a thread is told of an owner that has not room for all. */
const roomFor = ({ items, room }: Group, life: Life, limits: Limits) =>
  room === items.length ? {} : { room, replayOnly: refusalOf(life, limits) }

const isRefused = ({ _tag }: AdmitOutcome): boolean => _tag === "Refused"

const mutationOf = ({ life, owner, principal }: Caller, group: Group) => ({
  threadId: group.threadId,
  brings: group.room,
  bytes: group.bytes,
  refused: (outcomes: ReadonlyArray<AdmitOutcome>) => outcomes.every(isRefused),
  call: (generation: Parameters<typeof owner.threads.admitMany>[0]["generation"], now: number) =>
    owner.threads.admitMany({
      ownerId: life.ownerId,
      threadId: group.threadId,
      submissions: group.items.map(({ submission }) => submission),
      principal,
      generation,
      ...roomFor(group, life, owner.limits),
      now,
    }),
})

/** No thread answers more or less than it was asked. */
const missing = new Error("a thread answered another number of submissions than it was sent")

export const submitMany = (caller: Caller, payload: SubmitManyPayload) =>
  Effect.gen(function* () {
    const { life, owner } = caller
    const { limits } = owner
    const count = payload.submissions.length
    if (count > limits.submissionsPerCall) return yield* over("submissionsPerCall", count, limits)
    const { measured, outcomes } = measureAll(payload, limits)
    const bytes = bytesOf(measured)
    if (bytes > limits.submissionBytesPerCall)
      return yield* over("submissionBytesPerCall", bytes, limits)
    const groups = groupsOf(measured, Math.max(0, roomOf(life, limits)))
    const ends = yield* withMutations(
      owner,
      life,
      groups.map((group) => mutationOf(caller, group)),
    )
    for (const [place, end] of ends.entries())
      for (const [nth, { index }] of (groups[place]?.items ?? []).entries())
        outcomes[index] = Result.isSuccess(end) ? end.success[nth] : refused(end.failure) // Y1
    const answered = outcomes.filter((outcome) => outcome !== undefined)
    return answered.length === count ? { outcomes: answered } : yield* Effect.die(missing)
  })

/**
 * `forgetThread`: the lane is condemned first, durably; the pass has the thread delete what it holds.
 * Of a condemned lane only that is tried (Rotation), and the gate takes nothing new for it (Mutation).
 *
 * Invariants
 * - Z1 Whoever asks is told what is durable: that the thread is forgotten, that it owes work and its lane
 *   is as it was, or that the lane is condemned.
 * - Z2 Without the word to abort, the block that stores the refusal ends it, and a fenced visit follows: no
 *   call that was sent for it can be obeyed later.
 * - Z3 With that word it is tried until the thread owes nothing.
 * - Z4 Who was told that it is condemned, and no longer waits, finds in the log that it stays after all.
 */
import { Deferred, Effect, Exit, Option } from "effect"
import type { Rpc, RpcGroup } from "effect/rpc"
import { delayMillis } from "../contracts/Backoff.ts"
import type { WorkOwed } from "../contracts/Errors.ts"
import type { ForgetReply, ThreadForgetRefusal } from "../contracts/Forget.ts"
import type { Principal, ThreadId } from "../contracts/Identifiers.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { afterSilence, type Moment } from "./Answer.ts"
import { acceptReport } from "./AcceptReport.ts"
import { type Block, laneOrNew, nextGeneration, writeLane } from "./Block.ts"
import type { Caller } from "./Command.ts"
import { removeForgotten, tellForgetEnd } from "./Forgotten.ts"
import {
  type Condemned,
  type Lane,
  withoutCondemned,
  withoutUnheard,
  withoutUnseen,
} from "./Lane.ts"
import type { Life } from "./Life.ts"
import { overloaded, type ThreadAnswer } from "./Mutation.ts"
import { inBlock } from "./Owner.ts"
import type { Picked } from "./Select.ts"
import type { ForgetEnd } from "./Waiters.ts"

type ForgetPayload = Rpc.Payload<
  Extract<RpcGroup.Rpcs<typeof OwnerRpc>, { readonly _tag: "forgetThread" }>
>

/** The mark after one more word about it. The word to abort wins over none, whoever came first. Pure. */
export const condemnedBy = (
  known: Condemned | undefined,
  said: ForgetPayload & { readonly principal: Principal },
  now: number,
): Condemned => {
  const { author, principal, reason } = said
  const abort = said.abort === true
  const stands = known !== undefined && (known.abort || !abort)
  return {
    ...(stands ? known : { author, principal, reason, abort }),
    sinceAt: known?.sinceAt ?? now,
    refusals: 0,
    retryAt: now,
  }
}

/** Condemns the lane, also one that nobody has heard of: the thread may be there all the same. */
const condemn = (block: Block, payload: ForgetPayload, principal: Principal): void => {
  const { before, lane } = laneOrNew(block, payload.threadId)
  const condemned = condemnedBy(lane.marks.condemned, { ...payload, principal }, block.now)
  const marks = { ...lane.marks, condemned }
  writeLane(block, before, { ...lane, marks }, { afterTurn: false })
}

const register = (life: Life, threadId: ThreadId, tell: (end: ForgetEnd) => void): void => {
  const { forgets } = life.waiters
  forgets.set(threadId, (forgets.get(threadId) ?? new Set()).add(tell))
}

const unregister = (life: Life, threadId: ThreadId, tell: (end: ForgetEnd) => void): void => {
  const { forgets } = life.waiters
  const waiting = forgets.get(threadId)
  waiting?.delete(tell)
  if (waiting?.size === 0) forgets.delete(threadId)
}

/** Condemns, then waits a moment for the end. Who waits holds a timer, like any mutation under way. */
export const forgetThread = ({ life, owner, principal }: Caller, payload: ForgetPayload) =>
  Effect.suspend(() => {
    if (life.mutations >= owner.limits.mutationsPerOwner) return Effect.fail(overloaded)
    life.mutations += 1
    const ended = Deferred.makeUnsafe<ForgetReply, WorkOwed>()
    const tell = (end: ForgetEnd): void => void Deferred.doneUnsafe(ended, end)
    return Effect.gen(function* () {
      yield* inBlock(owner, life, "condemn", (block) => {
        condemn(block, payload, principal)
        // In the block: an end that was committed before it is another's.
        register(life, payload.threadId, tell)
      }) // Z1
      yield* Effect.logInfo("a thread is condemned: it will be forgotten")
      const { forgetWaitMillis } = owner.limits
      const end = yield* Effect.interruptible(
        Effect.timeoutOption(Deferred.await(ended), forgetWaitMillis),
      )
      return Option.getOrElse(end, (): ForgetReply => ({ _tag: "Condemned" }))
    }).pipe(
      Effect.ensuring(
        Effect.sync(() => {
          life.mutations -= 1
          unregister(life, payload.threadId, tell)
        }),
      ),
      Effect.annotateLogs({ threadId: payload.threadId }),
    )
  })

/** The mark of a thread that still owes work: when it is asked again. Pure. // Z3 */
export const askedAgain = (
  condemned: Condemned,
  sent: Condemned | undefined,
  { limits, now }: Pick<Moment, "limits" | "now">,
): Condemned => {
  // What was sent did not carry the word to abort, which came meanwhile.
  if (sent?.abort !== true) return { ...condemned, retryAt: now }
  const refusals = condemned.refusals + 1
  const curve = { baseMillis: limits.forgetRetryMillis, maxMillis: limits.forgetRetryMaxMillis }
  return { ...condemned, refusals, retryAt: now + delayMillis(curve, refusals) }
}

/** The thread owes work: the end of a mark without the word to abort, a wait of one with it. */
const commitOwed = (block: Block, pick: Picked, lane: Lane, refusal: WorkOwed): Lane => {
  const { condemned } = lane.marks
  if (condemned?.abort === true) {
    const again = askedAgain(condemned, pick.lane.marks.condemned, block)
    return { ...lane, marks: { ...lane.marks, condemned: again } }
  }
  if (!block.life.waiters.forgets.has(lane.threadId)) {
    const line = "a condemned thread still owes work, so it stays: nobody had said to abort that" // Z4
    block.notices.push({ level: "Warning", threadId: lane.threadId, line })
  }
  tellForgetEnd(block, lane.threadId, Exit.fail(refusal))
  return { ...lane, enrolled: nextGeneration(block), marks: withoutCondemned(lane.marks) } // Z2
}

/** The lane of a thread that has answered. */
const heard = (lane: Lane): Lane => ({
  ...lane,
  marks: withoutUnheard(withoutUnseen(lane.marks)),
})

/** What the end of a call to forget makes of its lane; none is left of a thread that is forgotten. */
export const commitForget = (
  block: Block,
  pick: Picked,
  answer: ThreadAnswer<{ readonly forgottenAt: number }, ThreadForgetRefusal>,
  moment: Moment,
): Lane | undefined => {
  const { threadId } = pick.lane
  const { before, lane } = laneOrNew(block, threadId)
  if (answer.result._tag === "Success") {
    const { forgottenAt } = answer.result.value
    if (removeForgotten(block, threadId, { forgottenAt, underWay: false })) return undefined
    return writeLane(block, before, afterSilence(lane, moment, false), { afterTurn: true })
  }
  const { error } = answer.result
  const accepted = acceptReport(block, heard(lane), answer.report, {
    fenced: false,
    sentUnder: pick.lane.report,
  }).lane
  const next =
    error._tag === "WorkOwed"
      ? commitOwed(block, pick, accepted, error)
      : afterSilence(accepted, moment, true)
  return writeLane(block, before, next, { afterTurn: true })
}

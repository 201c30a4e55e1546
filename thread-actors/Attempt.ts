/**
 * An attempt from its claim to its end. It belongs to the object, not to the call that claimed it.
 *
 * - M1 A strike that must survive the object is flushed before anything of the attempt runs.
 * - M2 An attempt ends by its first verdict, or by its ceiling; the block that ends it is written before
 *   the handler is interrupted, and nobody waits for the handler.
 * - M3 If our storage fails, nothing is settled and nobody is charged: the run is made ready again as soon
 *   as a block commits; if none does, the row says running, and recovery takes over. A mistake of ours is
 *   an attempt without a result.
 * - M4 The block that settles a head claims the next one only while a call waits and its slice lasts.
 * - M5 Whatever happens, the attempt stops being the live one, and those who wait are told.
 * - M6 No handler starts, or goes on untold, under an abort that came before its start.
 * - M7 An attempt is the live one from the turn of its claim's commit on: nobody finds its row running without it.
 * - M8 An attempt continues the trace that its submission came in, in whatever event it runs.
 */
import { Deferred, Effect, Option } from "effect"
import { annotate, idsIn, spanned, spannedUnder, spans } from "../contracts/observability/Spans.ts"
import { readTraceparent, traceparentIn } from "../contracts/observability/TraceContext.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { bracket } from "../platform/Failpoint.ts"
import { type Block, transact } from "./Block.ts"
import { type ClaimAnswer, claimNext } from "./Claim.ts"
import { attempt, type Tried } from "./Durable.ts"
import { logCause } from "./Failures.ts"
import { flush } from "./Flush.ts"
import { runHandler } from "./Handler.ts"
import {
  type AttemptEnd,
  type Claimed,
  interrupt,
  type LiveAttempt,
  makeLiveAttempt,
  type Verdict,
} from "./LiveAttempt.ts"
import { pushReport } from "./PushReport.ts"
import { conclude } from "./Settle.ts"
import { clockOf, type Thread } from "./Thread.ts"
import { verdictOfThrown } from "./VerdictOfThrown.ts"
import { within } from "./Within.ts"

const verdictOf = (thread: Thread, live: LiveAttempt): Effect.Effect<Verdict> =>
  Effect.gen(function* () {
    if (live.flushFirst) {
      if (!(yield* flush(thread))) return { _tag: "StorageLost" } // M1
      thread.begunEndedAt = undefined
    }
    const agent = thread.options.agents.get(live.row.agent)
    if (agent === undefined) return { _tag: "Mismatch", name: live.row.agent }
    yield* runHandler({ thread, live }, agent)
    if (live.aborting) interrupt(live) // M6
    const left = live.claimedAt + thread.limits.attemptCeilingMillis - clockOf(thread)
    const verdict = yield* within(live.verdict, Math.max(0, left))
    return Option.getOrElse(verdict, (): Verdict => ({ _tag: "OutOfTime" })) // M2
  })

/** The next claim of the same block, if the driving call still has room for it. */
const mayContinue = (thread: Thread, now: number): boolean => {
  const { turn } = thread
  return turn !== undefined && turn.headsLeft > 0 && now < turn.sliceEndAt // M4
}

const gone: AttemptEnd = { _tag: "Gone" }

/** The block that ends an attempt, and the claim of the next head in it. */
const endIn = (
  block: Block,
  live: LiveAttempt,
  verdict: Verdict,
): { readonly end: AttemptEnd; readonly next: ClaimAnswer | undefined } => {
  const end = conclude(block, live, verdict)
  const { turn } = block.thread
  const settled = end._tag === "Answered" && end.answer._tag === "Settled"
  if (!settled || turn === undefined) return { end, next: undefined }
  turn.headsLeft -= 1
  return {
    end,
    next: mayContinue(block.thread, block.now) ? claimNext(block, turn, live) : undefined,
  }
}

const suspends = ({ _tag }: Verdict): boolean => _tag === "CallOpen" || _tag === "Waiting"

const concluded = (
  thread: Thread,
  live: LiveAttempt,
  verdict: Verdict,
): Effect.Effect<Tried<AttemptEnd>> =>
  spanned(
    () => ({ name: spans.settle, attributes: { "heddle.verdict": verdict._tag } }),
    bracket(thread.options.failpoints, suspends(verdict) ? "suspend" : "settle", () =>
      attempt(() => {
        const { end, next } = transact(thread, (block) => endIn(block, live, verdict))
        if (live.row.attempts > 1) thread.begunEndedAt = clockOf(thread)
        if (next?._tag === "Claimed") live.next = own(thread, next.claimed) // M7
        return end
      }),
    ),
  )

/** Writes the end; if that fails, once more, as what its failure means. */
const endingOf = (thread: Thread, live: LiveAttempt, verdict: Verdict): Effect.Effect<AttemptEnd> =>
  Effect.gen(function* () {
    if (verdict._tag === "Superseded") return gone
    const first = yield* concluded(thread, live, verdict)
    if (first._tag === "Done") return first.value
    yield* Effect.logWarning(
      `The end of an attempt could not be written: ${describeThrown(first.error)}`,
    )
    const second = yield* concluded(thread, live, verdictOfThrown(first.error)) // M3
    return second._tag === "Done" ? second.value : gone // M3
  })

/** The effect's value, or this one: whatever goes wrong in our own code ends here. */
const otherwise = <A>(effect: Effect.Effect<A>, value: A): Effect.Effect<A> =>
  Effect.catchCause(effect, (cause) =>
    Effect.as(logCause("An attempt was ended by a mistake of ours", cause), value),
  )

/** How it ended, as its answer says. */
const endOf = (end: AttemptEnd): string => (end._tag === "Answered" ? end.answer._tag : end._tag)

const supervise = (thread: Thread, live: LiveAttempt): Effect.Effect<void> =>
  Effect.gen(function* () {
    const verdict = yield* otherwise(verdictOf(thread, live), { _tag: "WithoutResult" }) // M5
    const end = yield* otherwise(endingOf(thread, live, verdict), gone) // M5
    yield* annotate(() => ({ "heddle.end": endOf(end) }))
    live.ended = true
    if (thread.live === live) thread.live = undefined
    if (live.next !== undefined) yield* launch(thread, live.next)
    interrupt(live) // M2
    yield* Deferred.succeed(live.done, end)
    if (live.outlived && thread.turn === undefined) yield* pushReport(thread, live.identity)
  })

/** Has the attempt continue the trace of its submission. What claimed it is linked: a pass serves many. // M8 */
const traced = (thread: Thread, live: LiveAttempt, work: Effect.Effect<void>) => {
  const { epoch, identity, row } = live
  const known = Effect.withFiber<void>(({ context }) => {
    live.sendsUnder = traceparentIn(context)
    return work
  })
  return spannedUnder(
    readTraceparent(row.trace),
    () => ({
      name: spans.attempt,
      link: thread.turn?.span,
      attributes: {
        ...idsIn({ ...identity, submissionId: row.id }),
        "heddle.agent": row.agent,
        "heddle.sequence": row.sequence,
        "heddle.epoch": epoch,
        "heddle.attempt": row.attempts,
        "heddle.queued.millis": live.claimedAt - row.acceptedAt,
      },
    }),
    known,
  )
}

/** Each line of the log says whose run it is about. */
const supervised = (thread: Thread, live: LiveAttempt): Effect.Effect<void> => {
  const { ownerId, threadId } = live.identity
  const submissionId = live.row.id
  const logged = Effect.annotateLogs(supervise(thread, live), { ownerId, threadId, submissionId })
  return traced(thread, live, logged) // M8
}

/** Makes the attempt of a claim that has just committed the live one. // M7 */
export const own = (thread: Thread, claimed: Claimed): LiveAttempt => {
  const live = makeLiveAttempt(claimed, thread.limits.attemptYieldMillis)
  thread.live = live
  return live
}

/** Starts it beside whoever claimed it. */
export const launch = (thread: Thread, live: LiveAttempt): Effect.Effect<LiveAttempt> =>
  Effect.map(Effect.forkDetach(supervised(thread, live)), (fiber) => {
    const ended = new Promise<void>((resolve) => {
      fiber.addObserver(() => resolve())
    })
    thread.host.waitUntil(thread.telemetry.event(() => ended))
    return live
  })

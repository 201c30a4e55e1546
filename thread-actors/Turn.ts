/**
 * A turn: what one `processHead` does. It claims the head, waits for it a bounded time, and goes on
 * with the heads behind it while its slice lasts.
 *
 * - G1 One turn drives at a time; a second call joins the live attempt and claims nothing.
 * - G2 A turn waits for a head at most the attention time, and answers `Running`; the attempt goes on.
 * - G3 Only a settled head is followed by the next one.
 * - G4 Upkeep that is due comes first, whatever the head is, and without one.
 */
import { Effect, Option } from "effect"
import type { Unavailable } from "../contracts/Errors.ts"
import { ThreadUnreadable } from "../contracts/Errors.ts"
import type { AgentId } from "../contracts/Identifiers.ts"
import { spanIn } from "../contracts/observability/TraceContext.ts"
import type { HeadAnswer } from "../contracts/ThreadRpc.ts"
import { launch, own } from "./Attempt.ts"
import { transact } from "./Block.ts"
import { type ClaimAnswer, claimNext } from "./Claim.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import type { LiveAttempt } from "./LiveAttempt.ts"
import { ensureServices } from "./Services.ts"
import { clockOf, type Thread, type Turn } from "./Thread.ts"
import { keepUp } from "./Upkeep.ts"
import { within } from "./Within.ts"

export interface TurnRequest {
  readonly yieldAt: number
  readonly maxHeads: number
  readonly sliceMillis: number
  readonly attentionMillis: number
  readonly suspect: boolean
  readonly notAgents?: ReadonlyArray<AgentId>
}

type TurnFailure = ReadFailure | Unavailable

/** What one look at an attempt came to: its answer, or none when it no longer owns the run. */
const join = (
  live: LiveAttempt,
  attentionMillis: number,
): Effect.Effect<HeadAnswer | undefined, ThreadUnreadable> =>
  Effect.flatMap(within(live.done, attentionMillis), (end) => {
    if (Option.isNone(end)) {
      live.outlived = true
      return Effect.succeed<HeadAnswer>({ _tag: "Running", submissionId: live.row.id }) // G2
    }
    switch (end.value._tag) {
      case "Answered":
        return Effect.succeed(end.value.answer)
      case "Gone":
        return Effect.undefined
      case "Unreadable":
        return Effect.fail(
          new ThreadUnreadable({ threadId: live.identity.threadId, what: end.value.what }),
        )
    }
  })

/** An attempt that was claimed just now, or why there is none. */
type Claimed = LiveAttempt | Exclude<ClaimAnswer, { readonly _tag: "Claimed" }>

const claimIn = (thread: Thread, turn: Turn, behind: LiveAttempt | undefined): Claimed => {
  const answer = transact(thread, (block) => claimNext(block, turn, behind))
  return answer._tag === "Claimed" ? own(thread, answer.claimed) : answer
}

/** The claim, at both its failpoints: the first claim of a submission also applies its input. */
const claim = (
  thread: Thread,
  turn: Turn,
  behind: LiveAttempt | undefined,
): Effect.Effect<Claimed, TurnFailure> =>
  Effect.gen(function* () {
    if (!thread.hasTables) return { _tag: "Nothing" } as const
    const { failpoints } = thread.options
    yield* failpoints.reach("apply:before")
    const answer = yield* durable(thread, "claim", () => claimIn(thread, turn, behind))
    yield* failpoints.reach("apply:after")
    return answer
  }).pipe(
    // Whatever breaks before it is started leaves a lost attempt, for recovery.
    Effect.onError(() =>
      Effect.sync(() => {
        thread.live = undefined
      }),
    ),
  )

/** The live attempt, or that of a new claim; an answer when there is none to make. */
const firstAttempt = (
  thread: Thread,
  turn: Turn,
  behind: LiveAttempt | undefined,
): Effect.Effect<LiveAttempt | HeadAnswer | undefined, TurnFailure> =>
  Effect.gen(function* () {
    if (thread.live !== undefined) return thread.live
    const answer = yield* claim(thread, turn, behind)
    if (!("_tag" in answer)) return yield* launch(thread, answer)
    return answer._tag === "Refused" ? answer.answer : undefined
  })

const drive = (
  thread: Thread,
  turn: Turn,
  request: TurnRequest,
): Effect.Effect<ReadonlyArray<HeadAnswer>, TurnFailure> =>
  Effect.gen(function* () {
    yield* keepUp(thread) // G4
    yield* ensureServices(thread)
    const answers: Array<HeadAnswer> = []
    let live: LiveAttempt | undefined
    do {
      // An attempt that was claimed with a settlement is found behind it, however fast it was.
      const found: LiveAttempt | HeadAnswer | undefined =
        live?.next ?? (yield* firstAttempt(thread, turn, live))
      if (found === undefined) break
      if ("_tag" in found) {
        answers.push(found)
        break
      }
      live = found
      const answer = yield* join(live, request.attentionMillis)
      if (answer !== undefined) answers.push(answer)
      if (answer?._tag !== "Settled") break // G3
    } while (live.next !== undefined || (turn.headsLeft > 0 && clockOf(thread) < turn.sliceEndAt))
    return answers
  })

/** Runs the head, and while the slice lasts the ready heads behind it. */
export const processHead = (
  thread: Thread,
  request: TurnRequest,
): Effect.Effect<ReadonlyArray<HeadAnswer>, TurnFailure> =>
  Effect.withFiber(({ context }) => {
    const { live } = thread
    if (thread.turn !== undefined)
      return live === undefined // G1
        ? Effect.succeed([])
        : Effect.map(join(live, request.attentionMillis), (answer) =>
            answer === undefined ? [] : [answer],
          )
    const turn: Turn = {
      yieldAt: request.yieldAt,
      sliceEndAt: clockOf(thread) + request.sliceMillis,
      suspect: request.suspect,
      notAgents: request.notAgents ?? [],
      span: spanIn(context),
      headsLeft: Math.max(1, request.maxHeads),
    }
    thread.turn = turn
    return Effect.ensuring(
      drive(thread, turn, request),
      Effect.sync(() => {
        thread.turn = undefined
      }),
    )
  })

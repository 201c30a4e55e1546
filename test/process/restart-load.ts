/**
 * The restart test's load: many clients at once, over a process that is killed again and again.
 *
 * - L1 A client does what the contracts tell a caller: the same key again, and only after what is
 *   retryable.
 */
import { Unavailable } from "../../contracts/Errors.ts"
import { Data, Deferred, Effect, Fiber, Schedule } from "effect"
import type { HeddleClient } from "../../client/HeddleClient.ts"
import type { Receipt } from "../../contracts/Submission.ts"
import type { Settlement } from "../../contracts/Settlement.ts"
import type { Plan, PlannedSubmission } from "./restart-plan.ts"

type Client = HeddleClient["Service"]

/** What became of a planned submission. */
export interface End {
  /** One for each caller. */
  readonly receipts: ReadonlyArray<Receipt>
  readonly settlement: Settlement
}

/** How things stood when the process was killed. */
export interface Killed {
  readonly accepted: number
  readonly settled: number
}

/** The load did not end in time; the message says how far it came. */
class NotDone extends Data.TaggedError("NotDone")<{ readonly message: string }> {}

/** Three and more waiting in each thread, so that order means something. */
const clientsAtOnce = 180
const repeatsMax = 40
/** Half a minute is usual; a machine that is slow or busy may take longer. */
export const patienceMillis = 120_000

/** Counts what the clients see, and tells when so much of it was reached. */
const makeProgress = () => {
  const seen = { accepted: 0, settled: 0 }
  const waiting = new Map<Deferred.Deferred<void>, number>()
  const made = () => seen.accepted + seen.settled
  const note = (what: keyof typeof seen) =>
    Effect.sync(() => {
      seen[what] += 1
      for (const [deferred, progress] of waiting) {
        if (made() >= progress) Deferred.doneUnsafe(deferred, Effect.void)
      }
    })
  const reached = Effect.fnUntraced(function* (progress: number) {
    if (made() >= progress) return
    const deferred = Deferred.makeUnsafe<void>()
    waiting.set(deferred, progress)
    yield* Deferred.await(deferred)
    waiting.delete(deferred)
  })
  return { seen, made, note, reached }
}

/** Makes a call until it is answered, beyond what the client repeats by itself. // L1 */
const persistently = <A, E>(call: Effect.Effect<A, E>) =>
  Effect.retry(call, {
    while: (error) => error instanceof Unavailable && error.retryable && !error.overloaded,
    schedule: Schedule.jittered(Schedule.spaced("100 millis")),
    times: repeatsMax,
  })

interface Target {
  readonly client: Client
  readonly killAndStart: Effect.Effect<void>
}

/** Has the whole plan done, over all of its kills. */
export const runLoad = Effect.fnUntraced(function* (plan: Plan, { client, killAndStart }: Target) {
  const { seen, made, note, reached } = makeProgress()
  const killed: Array<Killed> = []
  let startedAt = 0
  const process = Effect.fnUntraced(function* (planned: PlannedSubmission) {
    const { callers, submit } = planned
    const each = Array.from({ length: callers }, () => persistently(client.submit(submit)))
    const receipts = yield* Effect.all(each, { concurrency: "unbounded" })
    yield* note("accepted")
    const [receipt] = receipts
    if (receipt === undefined) return yield* Effect.die("each submission has a caller")
    const settlement = yield* persistently(client.awaitSettled(receipt))
    yield* note("settled")
    return { receipts, settlement } satisfies End
  })
  const killing = Effect.gen(function* () {
    for (const { afterProgress, freshProgress, thenMillis } of plan.kills) {
      yield* reached(Math.max(afterProgress, startedAt + freshProgress))
      yield* Effect.sleep(thenMillis)
      killed.push({ ...seen })
      yield* killAndStart
      startedAt = made()
    }
  })
  const work = Effect.gen(function* () {
    const clients = yield* Effect.forkChild(
      Effect.forEach(plan.submissions, process, { concurrency: clientsAtOnce }),
      { startImmediately: true },
    )
    // A client that gives up ends the test, not its patience.
    yield* Effect.raceFirst(killing, Effect.andThen(Fiber.join(clients), Effect.never))
    return { ends: yield* Fiber.join(clients), killed }
  })
  return yield* Effect.timeoutOrElse(work, {
    duration: patienceMillis,
    orElse: () => {
      const { accepted, settled } = seen
      const message = `${killed.length} kills, ${accepted} accepted, ${settled} settled`
      return Effect.fail(new NotDone({ message }))
    },
  })
})

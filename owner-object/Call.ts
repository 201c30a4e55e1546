/**
 * A call with a deadline outside the awaited promise: a hung peer costs its caller the deadline and
 * nothing more. The call itself may go on; what it does there is the thread's to fence.
 *
 * Invariants
 * - W1 Who cannot be interrupted stays so while it waits: the call and its deadline have fibers of their own, and
 *   only they can be interrupted.
 */
import { Data, Effect, Exit } from "effect"

/** The deadline passed. Not the transport's failure: the peer may be busy with just this. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly millis: number }> {}

/** The call's end, or `NoAnswer` after `millis`. Never waits for the call to stop. */
export const within = <A, E>(
  millis: number,
  call: Effect.Effect<A, E>,
): Effect.Effect<A, E | NoAnswer> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkDetach(Effect.interruptible(call), { startImmediately: true })
    const deadline = yield* Effect.forkDetach(Effect.interruptible(Effect.sleep(millis)), {
      startImmediately: true,
    })
    const end = Effect.callback<Exit.Exit<A, E> | undefined>((resume) => {
      fiber.addObserver((exit) => resume(Effect.succeed(exit)))
      deadline.addObserver(() => resume(Effect.succeed(undefined)))
    })
    const exit = yield* Effect.ensuring(
      end, // W1
      Effect.sync(() => {
        fiber.interruptUnsafe()
        deadline.interruptUnsafe()
      }),
    )
    if (exit === undefined) return yield* new NoAnswer({ millis })
    return yield* Exit.isFailure(exit) ? Effect.failCause(exit.cause) : exit
  })

/** The typed failure of a call; undefined when it succeeded, died or was interrupted. */
export const failureOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
    : undefined

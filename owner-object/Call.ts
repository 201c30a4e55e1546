/**
 * A call with a deadline outside the awaited promise: a hung peer costs its caller the deadline and
 * nothing more. The call itself may go on; what it does there is the thread's to fence.
 */
import { Data, Effect, Exit, Fiber, Option } from "effect"

/** The deadline passed. Not the transport's failure: the peer may be busy with just this. */
export class NoAnswer extends Data.TaggedError("NoAnswer")<{ readonly millis: number }> {}

/** The call's end, or `NoAnswer` after `millis`. Never waits for the call to stop. */
export const within = <A, E>(
  millis: number,
  call: Effect.Effect<A, E>,
): Effect.Effect<A, E | NoAnswer> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkDetach(Effect.interruptible(call), { startImmediately: true })
    const exit = yield* Effect.interruptible(Effect.timeoutOption(Fiber.await(fiber), millis)).pipe(
      Effect.onInterrupt(() => Effect.sync(() => fiber.interruptUnsafe())),
    )
    if (Option.isNone(exit)) {
      fiber.interruptUnsafe()
      return yield* new NoAnswer({ millis })
    }
    return yield* Exit.isFailure(exit.value) ? Effect.failCause(exit.value.cause) : exit.value
  })

/** The typed failure of a call; undefined when it succeeded, died or was interrupted. */
export const failureOf = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit)
    ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
    : undefined

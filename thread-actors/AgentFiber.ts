/**
 * Agent code in a fiber of its own.
 *
 * - F1 It starts in a turn of its own, never on our stack.
 * - F2 What it throws past its runtime reaches none of our fibers: its end is told like any other.
 * - F3 Its turns that are to come are counted: while there are some, it has not come to rest.
 */
import { Effect, Exit, type Fiber, Scheduler } from "effect"
import { Misuse } from "./Misuse.ts"

/** How many of its turns are to come. */
export interface Turns {
  count: number
}

/**
 * A scheduler whose tasks cannot throw. A fiber throws past its runtime only when it is given what is no
 * effect and cannot even be named; it never ends then, so that whoever waits for it has to be told.
 */
const guarded = (
  base: Scheduler.Scheduler,
  turns: Turns,
  onThrow: () => void,
): Scheduler.Scheduler => ({
  executionMode: base.executionMode,
  shouldYield: (fiber) => base.shouldYield(fiber),
  makeDispatcher: () => {
    const dispatcher = base.makeDispatcher()
    return {
      flush: () => dispatcher.flush(),
      scheduleTask: (task, priority) => {
        turns.count += 1 // F3
        dispatcher.scheduleTask(() => {
          turns.count -= 1
          try {
            task()
          } catch {
            onThrow() // F2
          }
        }, priority)
      },
    }
  },
})

/** Starts it, and tells its end; a second end is no news. Nobody waits for the fiber itself. */
export const forkAgentCode = <A, E>(
  program: Effect.Effect<A, E>,
  tell: (exit: Exit.Exit<A, E>) => void,
  turns: Turns = { count: 0 },
): Effect.Effect<Fiber.Fiber<A, E>> =>
  Effect.gen(function* () {
    const scheduler = guarded(yield* Scheduler.Scheduler, turns, () => {
      tell(Exit.die(new Misuse("the agent ran a value that is no Effect")))
    })
    const fiber = yield* Effect.andThen(Effect.yieldNow, program).pipe(
      Effect.provideService(Scheduler.Scheduler, scheduler),
      Effect.forkDetach({ startImmediately: true }), // F1
    )
    fiber.addObserver(tell)
    return fiber
  })

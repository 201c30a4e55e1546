/** When an attempt may be ended because its branches wait: no body runs, and none is about to. */
import { Effect } from "effect"
import type { Running } from "./Fact.ts"

/** Waits until whatever runs now has come to rest or waits itself. */
export const turnOver = (running: Running): Effect.Effect<void> =>
  Effect.callback((resume) => running.thread.host.macrotask(() => resume(Effect.void)))

const bodyEnd = (running: Running): Effect.Effect<void> =>
  Effect.callback((resume) => {
    const { bodyEnds } = running.live
    const told = () => resume(Effect.void)
    bodyEnds.add(told)
    return Effect.sync(() => bodyEnds.delete(told))
  })

/** Looks again after each body, never on a timer. */
const waitUntil = (running: Running, isQuiet: () => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* turnOver(running)
    while (!isQuiet()) {
      yield* bodyEnd(running)
      yield* turnOver(running)
    }
  })

/**
 * Waits until no body of a step or tool call runs, also after whatever was about to start has started, and after
 * whatever agent code still has turns to come.
 */
export const waitForQuiet = (running: Running): Effect.Effect<void> =>
  Effect.gen(function* () {
    const { live } = running
    yield* waitUntil(running, () => live.bodies === 0)
    while (live.turns.count > 0) {
      yield* turnOver(running)
      yield* waitUntil(running, () => live.bodies === 0)
    }
  })

/** Turns that are waited for at most where agent code goes on and on. */
const turnsMax = 256

/** Waits until whatever can go on without a body has; not for ever for code that never rests. */
export const settleDown = (running: Running): Effect.Effect<void> =>
  Effect.gen(function* () {
    let turns = 0
    do yield* turnOver(running)
    while (running.live.turns.count > 0 && ++turns < turnsMax)
  })

/** Waits until no ordinary call is under way. */
export const waitForCalls = (running: Running): Effect.Effect<void> =>
  waitUntil(running, () => running.live.calls === 0)

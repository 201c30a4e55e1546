/**
 * The references that every fiber of a runner runs under: its clock and its scheduler are the queue's.
 *
 * - C1 A fiber that sleeps is a timer of the queue; one that waits for its turn is a task of its runner.
 * - C2 Fibers may be made to yield between any two steps, as a busy one is in production; not while an
 *   object is being made, which is synchronous there, too.
 * - C3 What objects log goes to the run, never to the console.
 */
import { Clock, Context, Duration, Effect, Logger, References, Scheduler } from "effect"
import type { Queue, Runner } from "./Queue.ts"

const nanosPerMilli = 1_000_000n

const clockOf = (queue: Queue, runner: Runner): Clock.Clock => {
  const millis = () => runner.clock
  const nanos = () => BigInt(runner.clock) * nanosPerMilli
  return {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep: (duration) => {
      const length = Duration.toMillis(duration)
      if (length <= 0) return Effect.yieldNow
      if (!Number.isFinite(length)) return Effect.never
      return Effect.callback((resume) => {
        const wake = () => resume(Effect.void)
        const timer = queue.at(queue.now() + length, runner, "sleep", wake) // C1
        return Effect.sync(() => {
          timer.cancelled = true
        })
      })
    },
  }
}

const schedulerOf = (queue: Queue, runner: Runner): Scheduler.Scheduler => {
  const { yields } = queue.pace
  return {
    executionMode: "async",
    shouldYield: (fiber) =>
      (yields > 0 && runner.mayYield && queue.random.chance(yields)) || // C2
      fiber.currentOpCount >= 2_048,
    makeDispatcher: () => ({
      scheduleTask: (task) => queue.task(runner, task), // C1
      flush: () => {},
    }),
  }
}

/** A line of an object's log that somebody should read. */
export interface LogLine {
  readonly runner: Runner
  readonly level: string
  readonly message: string
}

const textOf = (message: unknown): string => {
  if (typeof message === "string") return message
  if (Array.isArray(message)) return message.map(textOf).join(" ")
  return message instanceof Error ? message.message : ""
}

export const runnerContext = (
  queue: Queue,
  runner: Runner,
  onLog: (line: LogLine) => void,
): Context.Context<never> => {
  const logger = Logger.make(({ logLevel, message }) => {
    onLog({ runner, level: logLevel, message: textOf(message) }) // C3
  })
  return Context.make(Clock.Clock, clockOf(queue, runner)).pipe(
    Context.add(Scheduler.Scheduler, schedulerOf(queue, runner)),
    Context.add(Logger.CurrentLoggers, new Set([logger])),
    Context.add(References.MinimumLogLevel, "Warn"),
  )
}

/**
 * `run.sleep` and `run.until`: a time is drawn once, and the run goes on after it, however often it is entered again.
 */
import type { Duration } from "effect"
import { Effect, Result } from "effect"
import { millisMax } from "../contracts/Identifiers.ts"
import { leave, type Running } from "./Fact.ts"
import { misuse } from "./Misuse.ts"
import { readDuration } from "./RetryPolicy.ts"
import { waitFor } from "./Waiting.ts"

/** A time that the wire can say. */
export const timeAfter = (now: number, millis: number): number =>
  Math.min(Math.ceil(now + millis), millisMax)

/** When a recorded request is over; none if it waits as long as it takes. */
export const recordedTime =
  (field: "dueAt" | "expiresAt") =>
  (payload: Record<string, unknown>): number | null => {
    const at = payload[field]
    return typeof at === "number" ? at : null
  }

const timer = (running: Running, name: string, timeOf: (now: number) => number) =>
  Effect.flatMap(
    waitFor(running, {
      name,
      kind: "timer",
      requestKind: "TimerSet",
      request: (now) => {
        const dueAt = timeOf(now)
        return { fact: { kind: "TimerSet", payload: JSON.stringify({ dueAt }) }, dueAt }
      },
      dueAtOf: recordedTime("dueAt"),
    }),
    (answer) =>
      answer.kind === "TimerFired" ? Effect.void : leave(running, { _tag: "Mismatch", name }),
  )

/** Goes on after so long, counted from the first time that the run comes here. */
export const sleep = (
  running: Running,
  name: string,
  duration: Duration.Input,
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const millis = readDuration("the time to sleep", duration)
    return Result.isFailure(millis)
      ? misuse(`sleep ${name}: ${millis.failure}`)
      : timer(running, name, (now) => timeAfter(now, millis.success))
  })

/** Goes on at a time, or at once if it has passed. Epoch milliseconds. */
export const until = (running: Running, name: string, at: number): Effect.Effect<void> =>
  Effect.suspend(() =>
    Number.isFinite(at)
      ? timer(running, name, () => Math.max(0, timeAfter(at, 0)))
      : misuse(`until ${name}: the time must be a number of milliseconds`),
  )

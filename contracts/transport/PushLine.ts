/**
 * The way from a stream's handler to its reader: one push at a time, and a probe when it is quiet.
 *
 * - L1 At most one push is under way; a chunk waits for the probe before it, and the other way round.
 * - L2 After a push that the reader refused nothing is pushed any more.
 * - L3 A quiet reader is probed with an empty push; a probe that is refused interrupts the handler.
 */
import { Clock, Effect, type Fiber, Semaphore } from "effect"
import type { WireSink } from "./Wire.ts"

export interface PushLine {
  /** True when the reader has taken all values, false when it cannot be reached. */
  readonly push: (values: ReadonlyArray<unknown>) => Effect.Effect<boolean>
  /** When the last push was taken, on the clock of who pushed; 0 before the first. Epoch millis. */
  readonly takenAt: () => number
  /** Ends the line: later pushes are refused. */
  readonly close: () => void
}

/** Whether the reader took the values: one beyond a stub answers `false`, one here rejects. */
const send = (sink: WireSink, values: ReadonlyArray<unknown>): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const refused = () => resume(Effect.succeed(false))
    try {
      sink(values).then((taken: unknown) => resume(Effect.succeed(taken !== false)), refused)
    } catch {
      refused()
    }
  })

/** A record may have 1 MiB, and one native call carries at most 32 MiB. */
const valuesPerPush = 16

export const pushLine = (sink: WireSink): PushLine => {
  const lock = Semaphore.makeUnsafe(1)
  let takenAt = 0
  let closed = false
  const once = (values: ReadonlyArray<unknown>): Effect.Effect<boolean> =>
    Effect.suspend(() => {
      if (closed) return Effect.succeed(false) // L2
      return Effect.flatMap(send(sink, values), (taken) => {
        if (!taken) closed = true
        return Effect.map(Clock.currentTimeMillis, (now) => {
          takenAt = now
          return taken
        })
      })
    })
  const parts = (values: ReadonlyArray<unknown>): Effect.Effect<boolean> =>
    Effect.flatMap(once(values.slice(0, valuesPerPush)), (taken) =>
      taken && values.length > valuesPerPush
        ? parts(values.slice(valuesPerPush))
        : Effect.succeed(taken),
    )
  return {
    push: (values) =>
      lock.withPermit(values.length <= valuesPerPush ? once(values) : parts(values)), // L1
    takenAt: () => takenAt,
    close: () => {
      closed = true
    },
  }
}

const probe = (
  line: PushLine,
  heartbeatMillis: number,
  handler: Fiber.Fiber<unknown, unknown>,
): Effect.Effect<void> => {
  const beat = (sinceAt: number): Effect.Effect<void> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const quietSinceAt = Math.max(sinceAt, line.takenAt())
      const leftMillis = quietSinceAt + heartbeatMillis - now
      if (leftMillis > 0) return Effect.andThen(Effect.sleep(leftMillis), beat(quietSinceAt))
      return Effect.flatMap(line.push([]), (taken) => {
        if (taken) return beat(line.takenAt())
        handler.interruptUnsafe() // L3
        return Effect.void
      })
    })
  return Effect.flatMap(Clock.currentTimeMillis, beat)
}

/** Runs the handler of a stream, and probes its reader beside it for as long as it runs. */
export const withHeartbeat = <A, E, R>(
  handler: Effect.Effect<A, E, R>,
  line: PushLine,
  heartbeatMillis: number,
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) =>
    Effect.andThen(Effect.forkChild(probe(line, heartbeatMillis, fiber)), handler),
  )

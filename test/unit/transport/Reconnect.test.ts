import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { InternalDefect, Unavailable } from "../../../contracts/Errors.ts"
import { type Position, reconnecting } from "../../../contracts/transport/index.ts"

const lost = new Unavailable({ retryable: true, overloaded: false, reason: "lost" })
const overloaded = new Unavailable({ retryable: false, overloaded: true, reason: "overloaded" })

type Frame =
  | { readonly _tag: "Opened" }
  | { readonly _tag: "Record"; readonly sequence: number }
  | { readonly _tag: "Cursor"; readonly after: number }

const recordsOf = (...sequences: Array<number>): Array<Frame> =>
  sequences.map((sequence) => ({ _tag: "Record", sequence }))

const positionOf = (frame: Frame): Position | undefined =>
  frame._tag === "Opened" ? undefined : frame

type Connection = Stream.Stream<Frame, Unavailable | InternalDefect>

/** Connections given out one after the other, and what each was asked for. */
const script = (...connections: Array<Connection>) => {
  const asked: Array<number | undefined> = []
  const open = (after: number | undefined): Connection => {
    asked.push(after)
    return connections[asked.length - 1] ?? Stream.die("opened too often")
  }
  return { asked, open }
}

const failingAfter = (frames: Array<Frame>, error: Unavailable | InternalDefect = lost) =>
  Stream.concat(Stream.fromIterable(frames), Stream.fail(error))

/** Runs it to its end; every wait passes at once. */
const run = <A, E>(effect: Effect.Effect<A, E>) =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.exit(effect), { startImmediately: true })
    yield* TestClock.adjust("10 minutes")
    return yield* yield* Fiber.join(fiber)
  })

describe("a stream that reconnects", () => {
  it.effect("shows every record once and in order, whatever the connections repeat", () =>
    Effect.gen(function* () {
      const { asked, open } = script(
        failingAfter([{ _tag: "Opened" }, ...recordsOf(1, 2)]),
        failingAfter([]),
        failingAfter([{ _tag: "Opened" }, ...recordsOf(2, 3)]),
        Stream.fromIterable(recordsOf(3, 4)),
      )
      const frames = yield* run(Stream.runCollect(reconnecting({ open, positionOf })))
      expect(frames.filter(({ _tag }) => _tag === "Record")).toEqual(recordsOf(1, 2, 3, 4))
      expect(asked).toEqual([undefined, 2, 2, 3])
    }),
  )

  it.effect("starts after a given sequence", () =>
    Effect.gen(function* () {
      const { asked, open } = script(Stream.fromIterable(recordsOf(7, 8, 9)))
      const stream = reconnecting({ open, positionOf, after: 7 })
      expect(yield* run(Stream.runCollect(stream))).toEqual(recordsOf(8, 9))
      expect(asked).toEqual([7])
    }),
  )

  it.effect("goes on at once only from a connection that stood for a while", () =>
    Effect.gen(function* () {
      const cursor = Stream.succeed<Frame>({ _tag: "Cursor", after: 9 })
      for (const [connection, least, most] of [
        [cursor, 50, 250],
        [Stream.concat(Stream.drain(Stream.fromEffect(Effect.sleep(5_000))), cursor), 2, 3],
      ] as const) {
        let opened = 0
        const open = () => {
          opened += 1
          return connection
        }
        const reading = Stream.runDrain(reconnecting({ open, positionOf }))
        const fiber = yield* Effect.forkChild(reading, { startImmediately: true })
        for (let turn = 0; turn < 20; turn++) yield* Effect.yieldNow
        expect(opened).toBe(1)
        yield* TestClock.adjust("10 seconds")
        expect(opened).toBeGreaterThanOrEqual(least)
        expect(opened).toBeLessThanOrEqual(most)
        yield* Fiber.interrupt(fiber)
      }
    }),
  )

  it.effect("goes on after a cursor without showing it, and ends without one", () =>
    Effect.gen(function* () {
      const { asked, open } = script(
        Stream.fromIterable<Frame>([...recordsOf(1), { _tag: "Cursor", after: 5 }]),
        Stream.fromIterable<Frame>([...recordsOf(6), { _tag: "Cursor", after: 6 }]),
        Stream.fromIterable(recordsOf(7)),
      )
      const frames = yield* run(Stream.runCollect(reconnecting({ open, positionOf })))
      expect(frames).toEqual(recordsOf(1, 6, 7))
      expect(asked).toEqual([undefined, 5, 6])
    }),
  )

  it.effect("can end at a cursor instead, and show it", () =>
    Effect.gen(function* () {
      const cursor: Frame = { _tag: "Cursor", after: 1 }
      const { asked, open } = script(Stream.fromIterable([...recordsOf(1), cursor]))
      const stream = reconnecting({ open, positionOf, onCursor: "end" })
      expect(yield* run(Stream.runCollect(stream))).toEqual([...recordsOf(1), cursor])
      expect(asked).toHaveLength(1)
    }),
  )

  it.effect("fails at once with what cannot be repeated", () =>
    Effect.gen(function* () {
      for (const error of [overloaded, new InternalDefect({ reference: "r" })]) {
        const { asked, open } = script(failingAfter(recordsOf(1), error))
        const stream = reconnecting({ open, positionOf })
        expect(yield* Effect.flip(Stream.runDrain(stream))).toBe(error)
        expect(asked).toHaveLength(1)
      }
    }),
  )

  it.effect("gives up after so many failures without progress, and counts anew after some", () =>
    Effect.gen(function* () {
      const idle = () => failingAfter([{ _tag: "Opened" }])
      const { asked, open } = script(
        idle(),
        idle(),
        failingAfter(recordsOf(1)),
        idle(),
        idle(),
        idle(),
      )
      const stream = reconnecting({ open, positionOf, failuresMax: 3 })
      expect(yield* run(Effect.flip(Stream.runDrain(stream)))).toBe(lost)
      expect(asked).toEqual([undefined, undefined, undefined, 1, 1, 1])
    }),
  )

  it.effect(
    "counts a connection that stood for a while as progress, though it had nothing to say",
    () =>
      Effect.gen(function* () {
        const losses = Array.from({ length: 3 }, () => failingAfter([]))
        const quiet = Stream.concat(
          Stream.fromIterable<Frame>([{ _tag: "Opened" }]),
          Stream.fromEffect(Effect.delay(Effect.fail(lost), 5_000)),
        )
        const silent = Stream.fromEffect(Effect.delay(Effect.fail(lost), 5_000))
        const { asked, open } = script(
          ...losses,
          quiet,
          ...losses.slice(1),
          silent,
          failingAfter([]),
        )
        const stream = reconnecting({ open, positionOf, failuresMax: 3 })
        const shown: Array<Frame> = []
        const collecting = Stream.runForEach(stream, (frame) =>
          Effect.sync(() => shown.push(frame)),
        )
        expect(yield* run(Effect.flip(collecting))).toBe(lost)
        expect(shown).toEqual([{ _tag: "Opened" }])
        expect(asked).toHaveLength(7)
      }),
  )

  it.effect("waits between connections, longer each time", () =>
    Effect.gen(function* () {
      const { asked, open } = script(
        failingAfter([]),
        failingAfter([]),
        Stream.fromIterable(recordsOf(1)),
      )
      const curve = { baseMillis: 1_000, maxMillis: 60_000 }
      const stream = reconnecting({ open, positionOf, curve })
      const fiber = yield* Effect.forkChild(Stream.runCollect(stream), { startImmediately: true })
      yield* TestClock.adjust(499)
      expect(asked).toHaveLength(1)
      yield* TestClock.adjust(501)
      expect(asked).toHaveLength(2)
      yield* TestClock.adjust(2_000)
      expect(yield* Fiber.join(fiber)).toEqual(recordsOf(1))
    }),
  )

  it.effect("begins anew for each reader", () =>
    Effect.gen(function* () {
      const { asked, open } = script(
        Stream.fromIterable(recordsOf(1, 2)),
        Stream.fromIterable(recordsOf(1, 2)),
      )
      const stream = reconnecting({ open, positionOf })
      yield* Stream.runDrain(stream)
      expect(yield* Stream.runCollect(stream)).toEqual(recordsOf(1, 2))
      expect(asked).toEqual([undefined, undefined])
    }),
  )
})

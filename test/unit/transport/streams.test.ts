import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { InternalDefect, Unavailable } from "../../../contracts/Errors.ts"
import { connectionLost, type Fate, type WireMessage } from "../../../contracts/transport/index.ts"
import { record, Refused } from "../../conformance/transport-probe.ts"
import { makeServedProbe, type Probe, settle, until } from "./probe.ts"

const freed = ({ counts, server }: Probe) =>
  until(
    "the server has freed the stream",
    () => counts.released === counts.begun && server.activeCalls() === 0,
    () => ({ ...counts, active: server.activeCalls() }),
  )

const openQuiet = (): WireMessage => ({
  _tag: "Request",
  id: "q",
  tag: "quiet",
  payload: {},
  headers: [],
})

describe("a stream", () => {
  it.effect("arrives whole and in order, and ends", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe()
      const numbers = yield* Stream.runCollect(probe.client.numbers({ to: 1_000 }))
      expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1))
      yield* freed(probe)
    }),
  )

  it.effect("carries three records of 250 KiB", () =>
    Effect.gen(function* () {
      const { client } = yield* makeServedProbe()
      const characters = 250 * 1024
      const texts = yield* Stream.runCollect(client.texts({ count: 3, characters }))
      expect(texts).toHaveLength(3)
      for (const [index, text] of texts.entries()) {
        expect(text === record(index + 1, characters)).toBe(true)
      }
    }),
  )

  it.effect("fails with its declared error after the values before it", () =>
    Effect.gen(function* () {
      const { client } = yield* makeServedProbe()
      const seen: Array<number> = []
      const exit = yield* Effect.exit(
        Stream.runForEach(client.failing({}), (value) => Effect.sync(() => seen.push(value))),
      )
      expect(seen).toEqual([1])
      expect(exit).toStrictEqual(Exit.fail(new Refused({ why: "late" })))
    }),
  )

  it.effect("fails alone when its handler dies or its values break the schema", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe()
      const died = yield* Effect.flip(Stream.runDrain(probe.client.dying({})))
      expect(died).toBeInstanceOf(InternalDefect)
      const misshapen = yield* Effect.flip(Stream.runDrain(probe.client.misshapenValue({})))
      expect(misshapen).toBeInstanceOf(InternalDefect)
      expect(probe.log).toHaveLength(2)
      expect(yield* probe.client.echo({ text: "alive" })).toBe("alive")
      yield* freed(probe)
    }),
  )

  it.effect("frees both sides when its reader is interrupted", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe()
      const reader = yield* Effect.forkChild(Stream.runDrain(probe.client.quiet({})))
      yield* until("the stream has begun", () => probe.counts.begun === 1)
      yield* Fiber.interrupt(reader)
      yield* freed(probe)
      expect(probe.counts.released).toBe(1)
    }),
  )

  it.effect("frees both sides when its reader has had enough", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe()
      const taken = yield* Stream.runCollect(Stream.take(probe.client.endless({}), 3))
      expect(taken).toEqual([1, 2, 3])
      yield* freed(probe)
      const produced = probe.counts.produced
      yield* settle
      expect(probe.counts.produced).toBe(produced)
    }),
  )

  it.effect("frees the server at the next push when the interrupt was lost", () =>
    Effect.gen(function* () {
      const request = (message: WireMessage): Fate =>
        message._tag === "Interrupt" ? "drop" : "deliver"
      const probe = yield* makeServedProbe({ hooks: { request } })
      yield* Stream.runCollect(Stream.take(probe.client.endless({}), 3))
      yield* freed(probe)
    }),
  )

  it.effect("frees the server when a push cannot be delivered", () =>
    Effect.gen(function* () {
      let pushes = 0
      const push = (): Fate => (++pushes < 3 ? "deliver" : "drop")
      const probe = yield* makeServedProbe({ hooks: { push } })
      const error = yield* Effect.flip(Stream.runDrain(probe.client.endless({})))
      expect(error).toBeInstanceOf(Unavailable)
      yield* freed(probe)
      expect(pushes).toBe(3)
    }),
  )

  it.effect("has one push under way, and waits until it is taken", () =>
    Effect.gen(function* () {
      const { server, counts } = yield* makeServedProbe()
      const gates: Array<() => void> = []
      let underWay = 0
      let most = 0
      const sink = (values: ReadonlyArray<unknown>) => {
        expect(values.length).toBeGreaterThan(0)
        most = Math.max(most, ++underWay)
        return new Promise<void>((resolve) =>
          gates.push(() => {
            underWay--
            resolve()
          }),
        )
      }
      void server.call({ ...openQuiet(), id: "e", tag: "endless" } as WireMessage, sink)
      for (let pushes = 1; pushes <= 3; pushes++) {
        yield* until("the next push has come", () => gates.length === pushes)
        yield* settle
        expect(gates).toHaveLength(pushes)
        // What the handler is ahead of its reader is what one push holds.
        expect(counts.produced).toBeLessThanOrEqual(pushes + 1)
        gates[pushes - 1]?.()
      }
      expect(most).toBe(1)
      yield* Effect.promise(() => server.call({ _tag: "Interrupt", requestId: "e" }))
    }),
  )

  it.effect("waits for a slow reader: its queue bounds what is sent ahead", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe()
      const gate = yield* Deferred.make<void>()
      const reader = yield* Effect.forkChild(
        Stream.runForEach(Stream.take(probe.client.endless({}), 100), () => Deferred.await(gate)),
      )
      yield* until("the stream has begun", () => probe.counts.produced > 0)
      yield* settle
      const ahead = probe.counts.produced
      expect(ahead).toBeLessThan(64)
      yield* settle
      expect(probe.counts.produced).toBe(ahead)
      yield* Deferred.succeed(gate, undefined)
      yield* Fiber.join(reader)
      yield* freed(probe)
    }),
  )

  it.effect("needs a sink", () =>
    Effect.gen(function* () {
      const { server } = yield* makeServedProbe()
      const exit = yield* Effect.promise(() => server.call(openQuiet()))
      expect(exit).toMatchObject({ cause: [{ error: { _tag: "InvalidInput" } }] })
    }),
  )
})

describe("a quiet stream", () => {
  it.effect("is probed once a heartbeat, and not while values flow", () =>
    Effect.gen(function* () {
      const { server } = yield* makeServedProbe({ server: { heartbeatMillis: 1_000 } })
      const pushes: Array<number> = []
      void server.call(openQuiet(), (values) => {
        pushes.push(values.length)
        return Promise.resolve()
      })
      yield* until("its value has come", () => pushes.length === 1)
      yield* TestClock.adjust(999)
      yield* settle
      expect(pushes).toEqual([1])
      yield* TestClock.adjust(1)
      yield* until("the first probe", () => pushes.length === 2)
      yield* TestClock.adjust(1_000)
      yield* until("the second probe", () => pushes.length === 3)
      expect(pushes).toEqual([1, 0, 0])
      expect(server.activeCalls()).toBe(1)
      yield* Effect.promise(() => server.call({ _tag: "Interrupt", requestId: "q" }))
      yield* TestClock.adjust(10_000)
      yield* settle
      expect(pushes).toEqual([1, 0, 0])
    }),
  )

  it.effect("ends when its reader does not answer a probe, and the server forgets it", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe({ server: { heartbeatMillis: 1_000 } })
      let gone = false
      const call = probe.server.call(openQuiet(), () =>
        gone ? Promise.reject(connectionLost()) : Promise.resolve(),
      )
      yield* until("it has begun", () => probe.counts.begun === 1)
      yield* settle
      gone = true
      yield* TestClock.adjust(1_000)
      yield* freed(probe)
      expect(yield* Effect.promise(() => call)).toMatchObject({ _tag: "Failure" })
    }),
  )

  it.effect("stays open over many heartbeats, which its reader never sees", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe()
      const seen: Array<string> = []
      const reader = yield* Effect.forkChild(
        Stream.runForEach(probe.client.quiet({}), (text) => Effect.sync(() => seen.push(text))),
      )
      yield* until("its value has come", () => seen.length === 1)
      for (let beats = 0; beats < 5; beats++) {
        yield* TestClock.adjust(15_000)
        yield* settle
      }
      expect(seen).toEqual(["hello"])
      expect(probe.server.activeCalls()).toBe(1)
      yield* Fiber.interrupt(reader)
      yield* freed(probe)
    }),
  )
})

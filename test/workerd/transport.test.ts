import { env } from "cloudflare:workers"
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { InternalDefect, InvalidInput, Unavailable } from "../../contracts/Errors.ts"
import { makeWireClient, stubTarget, type WireTarget } from "../../contracts/transport/index.ts"
import { contractGroups, roundTripsOf } from "../conformance/transport.ts"
import { DriftedRpc, ProbeRpc, record, Refused, secret } from "../conformance/transport-probe.ts"

const objectNamed = (name: string) => env.TRANSPORT_PROBE.getByName(name)

let names = 0
const freshName = () => `probe/${++names}`

const connect = Effect.fnUntraced(function* (name: string = freshName()) {
  const target = stubTarget(() => objectNamed(name))
  yield* Effect.addFinalizer(() => Effect.sync(target.close))
  const client = yield* makeWireClient(ProbeRpc, { target: () => target })
  return { name, target, client, state: client.state({}) }
})

type Connected = Effect.Success<ReturnType<typeof connect>>
type State = Effect.Success<Connected["state"]>

const waitMillis = 10_000

/** A turn of the event loop: asking without one would starve the timers of both sides. */
const turn = Effect.promise(() => new Promise<void>((resolve) => setTimeout(resolve, 0)))

/** Asks the object, over and over, until it holds; tells the state it saw last otherwise. */
const until = Effect.fnUntraced(function* (
  { state }: Connected,
  what: string,
  holds: (state: State) => boolean,
) {
  const deadlineAt = Date.now() + waitMillis
  for (;;) {
    const seen = yield* state
    if (holds(seen)) return seen
    if (Date.now() > deadlineAt) {
      return yield* Effect.die(new Error(`waited in vain until ${what}: ${JSON.stringify(seen)}`))
    }
    yield* turn
  }
})

const freed = (connected: Connected) =>
  until(
    connected,
    "the object has freed every stream",
    ({ activeCalls, begun, released }) => activeCalls === 0 && begun > 0 && released === begun,
  )

for (const [name, group] of Object.entries(contractGroups)) {
  describe(`${name} over a real stub`, () => {
    for (const trip of roundTripsOf(name)) {
      it.live(trip.title, () =>
        Effect.gen(function* () {
          const target = stubTarget(() => objectNamed(`${name}/samples`))
          const client = yield* makeWireClient<Rpc.Any>(group, { target: () => target })
          yield* trip.check(client, (got, said) => expect(got).toStrictEqual(said))
        }),
      )
    }
  })
}

describe("a call over a real stub", () => {
  it.live("answers its result and its declared error", () =>
    Effect.gen(function* () {
      const { client } = yield* connect()
      expect(yield* client.echo({ text: "hello" })).toBe("hello")
      expect(yield* Effect.flip(client.echo({ text: "refuse" }))).toStrictEqual(
        new Refused({ why: "asked to" }),
      )
    }),
  )

  it.live("is not to be repeated when the platform cannot carry its message", () =>
    Effect.gen(function* () {
      const { target } = yield* connect()
      const Open = RpcGroup.make(Rpc.make("echo", { payload: Schema.Any }))
      const client = yield* makeWireClient(Open, { target: () => target })
      let deep: unknown = 1
      for (let level = 0; level < 100_000; level++) deep = [deep]
      for (const payload of [deep, Symbol("s"), new WeakMap(), "x".repeat(33 * 1024 * 1024)]) {
        expect(yield* Effect.flip(client.echo(payload))).toMatchObject({
          _tag: "Unavailable",
          retryable: false,
          reason: "The message cannot be carried",
        })
      }
    }),
  )

  it.live("is a typed error, at once, when the two sides' schemas differ", () =>
    Effect.gen(function* () {
      const { client: probe, name, target } = yield* connect()
      const client = yield* makeWireClient(DriftedRpc, { target: () => target })
      const soon = Effect.timeoutOrElse({
        duration: "1 second",
        orElse: () => Effect.die(new Error("it hangs")),
      })
      expect(yield* Effect.flip(client.echo({ text: 4 })).pipe(soon)).toStrictEqual(
        new InvalidInput({ path: "text", reason: "Expected string" }),
      )
      const broken = [
        client.open({}),
        client.state({}),
        Stream.runDrain(client.numbers({ to: 3 })),
        Stream.runDrain(client.endless({})),
        Stream.runDrain(client.failing({})),
      ] as ReadonlyArray<Effect.Effect<unknown, unknown>>
      for (const call of broken) {
        expect(yield* Effect.flip(call).pipe(soon)).toMatchObject({
          _tag: "Unavailable",
          retryable: false,
        })
      }
      expect(yield* Effect.flip(client.unheardOf({})).pipe(soon)).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
      })
      expect(yield* probe.echo({ text: "alive" })).toBe("alive")
      yield* freed(yield* connect(name))
    }),
  )

  it.live("fails alone when its handler dies, and nothing of the defect crosses", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      const { client, target } = connected
      const waiting = yield* Effect.forkChild(client.wait({}))
      yield* until(connected, "the other call has begun", ({ begun }) => begun === 1)
      expect(yield* Effect.flip(client.defect({}))).toBeInstanceOf(InternalDefect)
      const exit = yield* Effect.promise(() =>
        target.call({ _tag: "Request", id: "raw", tag: "defect", payload: {}, headers: [] }),
      )
      expect(JSON.stringify(exit)).not.toContain(secret)
      expect(JSON.stringify(exit)).not.toContain(".ts")
      for (const call of [client.misshapenResult({}), client.misshapenError({})]) {
        expect(yield* Effect.flip(call)).toBeInstanceOf(InternalDefect)
      }
      expect(yield* connected.state).toMatchObject({ released: 0, activeCalls: 1 })
      yield* Fiber.interrupt(waiting)
      yield* freed(connected)
    }),
  )

  it.live("goes on when it is uninterruptible and its caller has left", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      const call = yield* Effect.forkChild(connected.client.commit({}))
      yield* until(connected, "it has begun", ({ begun }) => begun === 1)
      yield* Fiber.interrupt(call)
      expect(yield* connected.state).toMatchObject({ released: 0, activeCalls: 1 })
      yield* connected.client.open({})
      yield* freed(connected)
    }),
  )
})

describe("a stream over a real stub", () => {
  it.live("arrives whole and in order", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      const numbers = yield* Stream.runCollect(connected.client.numbers({ to: 1_000 }))
      expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, index) => index + 1))
      yield* freed(connected)
    }),
  )

  it.live("carries three records of 250 KiB", () =>
    Effect.gen(function* () {
      const { client } = yield* connect()
      const characters = 250 * 1024
      const texts = yield* Stream.runCollect(client.texts({ count: 3, characters }))
      expect(texts.map((text, index) => text === record(index + 1, characters))).toEqual([
        true,
        true,
        true,
      ])
    }),
  )

  it.live("is bounded in what it sends ahead by what its reader takes", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      const held = yield* Effect.forkChild(
        Stream.runForEach(connected.client.endless({}), () => Effect.never),
      )
      const { produced } = yield* until(connected, "it has begun", (state) => state.produced > 20)
      for (let asked = 0; asked < 50; asked++) {
        expect((yield* connected.state).produced).toBeLessThan(64)
      }
      expect(produced).toBeLessThan(64)
      yield* Fiber.interrupt(held)
      yield* freed(connected)
    }),
  )

  it.live("frees both sides when its reader is interrupted", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      const reader = yield* Effect.forkChild(Stream.runDrain(connected.client.quiet({})))
      yield* until(connected, "it has begun", ({ begun }) => begun === 1)
      yield* Fiber.interrupt(reader)
      yield* freed(connected)
    }),
  )

  it.live("frees both sides when its reader has had enough", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      const taken = yield* Stream.runCollect(Stream.take(connected.client.endless({}), 3))
      expect(taken).toEqual([1, 2, 3])
      yield* freed(connected)
    }),
  )

  it.live("frees the object by a heartbeat when its reader leaves without a word", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      // A target that loses interrupts: nothing but the sink can tell that the reader has gone.
      const silent: WireTarget = {
        call: (message, sink) =>
          message._tag === "Interrupt"
            ? new Promise(() => {})
            : connected.target.call(message, sink),
      }
      const client = yield* makeWireClient(ProbeRpc, { target: () => silent })
      const reader = yield* Effect.forkChild(Stream.runDrain(client.quiet({})))
      yield* until(connected, "it has begun", ({ begun }) => begun === 1)
      yield* Fiber.interrupt(reader)
      yield* freed(connected)
    }),
  )

  it.live("frees the object when the object that read it has crashed", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      const reader = freshName()
      const reading = objectNamed(reader)
        .read(connected.name)
        .catch((error: unknown) => error)
      yield* until(connected, "the other object reads", ({ begun }) => begun === 1)
      yield* Effect.promise(() => objectNamed(reader).seen()).pipe(
        Effect.tap(() => turn),
        Effect.repeat({ until: (values) => values.length > 0 }),
        Effect.timeout(waitMillis),
      )
      expect(yield* connected.state).toMatchObject({ activeCalls: 1 })
      yield* Effect.promise(() =>
        objectNamed(reader)
          .crash()
          .catch(() => undefined),
      )
      expect(yield* Effect.promise(() => reading)).toBeInstanceOf(Error)
      yield* freed(connected)
    }),
  )
})

describe("an object that crashes", () => {
  it.live("fails its calls as Unavailable, to be retried, and serves again over a fresh stub", () =>
    Effect.gen(function* () {
      const connected = yield* connect()
      const { client, name } = connected
      const call = yield* Effect.forkChild(Effect.flip(client.wait({})))
      const stream = yield* Effect.forkChild(Effect.flip(Stream.runDrain(client.quiet({}))))
      yield* until(connected, "both have begun", ({ begun }) => begun === 2)
      yield* Effect.promise(() =>
        objectNamed(name)
          .crash()
          .catch(() => undefined),
      )
      for (const fiber of [call, stream]) {
        const error = yield* Fiber.join(fiber)
        expect(error).toBeInstanceOf(Unavailable)
        expect(error).toMatchObject({ retryable: true, overloaded: false })
      }
      expect(yield* client.echo({ text: "again" })).toBe("again")
      expect(yield* connected.state).toMatchObject({ begun: 0, activeCalls: 0 })
    }),
  )

  it.live("is not seen by a client that may repeat the call", () =>
    Effect.gen(function* () {
      const { name, target } = yield* connect()
      const client = yield* makeWireClient(ProbeRpc, { target: () => target, retry: { times: 3 } })
      expect(yield* client.echo({ text: "first" })).toBe("first")
      yield* Effect.promise(() =>
        objectNamed(name)
          .crash()
          .catch(() => undefined),
      )
      expect(yield* client.echo({ text: "second" })).toBe("second")
    }),
  )
})

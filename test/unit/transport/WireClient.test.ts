import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, Schema, Stream } from "effect"
import { Rpc, RpcGroup, type RpcMessage } from "effect/rpc"
import { TestClock } from "effect/testing"
import { InternalDefect, InvalidInput, Unavailable } from "../../../contracts/Errors.ts"
import {
  connectionLost,
  inMemoryTarget,
  makeWireClient,
  type WireMessage,
  type WireTarget,
} from "../../../contracts/transport/index.ts"
import { DriftedRpc, ProbeRpc } from "../../conformance/transport-probe.ts"
import { makeServedProbe, settle, until } from "./probe.ts"

/** A target that counts what it is sent and answers as told. */
const answering = (answer: (message: WireMessage, tries: number) => Promise<unknown>) => {
  const sent: Array<WireMessage> = []
  const target: WireTarget = {
    call: (message) => {
      sent.push(message)
      return answer(message, sent.length) as ReturnType<WireTarget["call"]>
    },
  }
  return { sent, target }
}

const requests = (sent: ReadonlyArray<WireMessage>) =>
  sent.filter((message): message is RpcMessage.RequestEncoded => message._tag === "Request")

describe("a payload that breaks its schema", () => {
  it.effect("fails the call as InvalidInput, and nothing is sent", () =>
    Effect.gen(function* () {
      const { sent, target } = answering(() => Promise.reject(new Error("sent")))
      const client = yield* makeWireClient(ProbeRpc, { target: () => target })
      const broken = [{ text: 4 }, {}, undefined, null, "text", { text: "seventeen letters" }]
      for (const payload of broken) {
        const call = client.echo(payload as never)
        expect(yield* Effect.flip(call)).toBeInstanceOf(InvalidInput)
        const stream = client.numbers(payload as never)
        expect(yield* Effect.flip(Stream.runDrain(stream))).toBeInstanceOf(InvalidInput)
      }
      expect(yield* Effect.flip(client.echo({ text: 4 } as never))).toStrictEqual(
        new InvalidInput({ path: "text", reason: "Expected string" }),
      )
      expect(sent).toEqual([])
    }),
  )

  it.effect("is completed with the defaults of its schema first", () =>
    Effect.gen(function* () {
      const Defaulted = RpcGroup.make(
        Rpc.make("greet", {
          payload: {
            name: Schema.String.pipe(Schema.withConstructorDefault(Effect.succeed("you"))),
          },
        }),
      )
      const { sent, target } = answering(() => Promise.resolve({ _tag: "Success", value: null }))
      const client = yield* makeWireClient(Defaulted, { target: () => target })
      yield* client.greet({})
      expect(requests(sent)[0]?.payload).toEqual({ name: "you" })
    }),
  )
})

describe("a peer of another version", () => {
  const drifted = Effect.gen(function* () {
    const probe = yield* makeServedProbe()
    const target = inMemoryTarget(probe.server)
    return { probe, client: yield* makeWireClient(DriftedRpc, { target: () => target }) }
  })

  it.effect("refuses a payload it cannot read", () =>
    Effect.gen(function* () {
      const { client } = yield* drifted
      const error = yield* Effect.flip(client.echo({ text: 4 }))
      expect(error).toStrictEqual(new InvalidInput({ path: "text", reason: "Expected string" }))
    }),
  )

  it.effect("is Unavailable, not to be retried, when its answer does not decode", () =>
    Effect.gen(function* () {
      const { client } = yield* drifted
      for (const call of [client.open({}), client.state({})]) {
        const error = yield* Effect.flip(Effect.asVoid(call as Effect.Effect<unknown, unknown>))
        expect(error).toMatchObject({ _tag: "Unavailable", retryable: false, overloaded: false })
      }
    }),
  )

  it.effect("is Unavailable when a value, or the error, of its stream does not decode", () =>
    Effect.gen(function* () {
      const { client, probe } = yield* drifted
      for (const stream of [client.numbers({ to: 3 }), client.endless({}), client.failing({})]) {
        const error = yield* Effect.flip(Stream.runDrain(stream as Stream.Stream<unknown, unknown>))
        expect(error).toMatchObject({ _tag: "Unavailable", retryable: false })
      }
      yield* until(
        "the server has freed all of them",
        () => probe.server.activeCalls() === 0 && probe.counts.released === 3,
        () => ({ ...probe.counts, active: probe.server.activeCalls() }),
      )
    }),
  )

  it.effect("is Unavailable, to be retried, when it lacks the method", () =>
    Effect.gen(function* () {
      const { client } = yield* drifted
      const error = yield* Effect.flip(client.unheardOf({}))
      expect(error).toMatchObject({ _tag: "Unavailable", retryable: true })
    }),
  )

  it.effect("is Unavailable whatever else it answers", () =>
    Effect.gen(function* () {
      const answers = [
        undefined,
        null,
        "Success",
        {},
        { _tag: "Success" },
        { _tag: "Failure" },
        { _tag: "Failure", cause: [] },
        { _tag: "Failure", cause: [{ _tag: "Die", defect: "secret" }] },
        { _tag: "Failure", cause: [{ _tag: "Interrupt", fiberId: 1 }] },
        { _tag: "Failure", cause: [{ _tag: "Fail", error: { _tag: "NewError" } }] },
      ]
      for (const answer of answers) {
        const { target } = answering(() => Promise.resolve(answer))
        const client = yield* makeWireClient(ProbeRpc, { target: () => target })
        const error = yield* Effect.flip(client.echo({ text: "a" }))
        expect(error).toMatchObject({ _tag: "Unavailable", retryable: false })
      }
    }),
  )
})

describe("a call that its target rejects", () => {
  it.effect("is Unavailable as the platform marked it", () =>
    Effect.gen(function* () {
      const lost = answering(() => Promise.reject(connectionLost()))
      const client = yield* makeWireClient(ProbeRpc, { target: () => lost.target })
      expect(yield* Effect.flip(client.echo({ text: "a" }))).toMatchObject({
        _tag: "Unavailable",
        retryable: true,
      })
      const stream = yield* Effect.flip(Stream.runDrain(client.endless({})))
      expect(stream).toMatchObject({ _tag: "Unavailable", retryable: true })
    }),
  )

  it.effect("is Unavailable too when there is no target, or its method throws", () =>
    Effect.gen(function* () {
      const targets: Array<() => WireTarget> = [
        () => {
          throw new Error("no stub")
        },
        () => ({
          call: () => {
            throw new Error("thrown, not rejected")
          },
        }),
        () => ({ call: () => undefined as never }),
      ]
      for (const target of targets) {
        const client = yield* makeWireClient(ProbeRpc, { target })
        expect(yield* Effect.flip(client.echo({ text: "a" }))).toBeInstanceOf(Unavailable)
      }
    }),
  )

  const retrying = (target: WireTarget, asked: Array<string> = []) =>
    makeWireClient(ProbeRpc, {
      target: (_payload, tag) => {
        asked.push(tag)
        return target
      },
      retry: { times: 2, curve: { baseMillis: 100, maxMillis: 1_000 } },
    })

  it.effect("is repeated with a target asked for anew, after a backoff", () =>
    Effect.gen(function* () {
      const { sent, target } = answering((_message, tries) =>
        tries < 3
          ? Promise.reject(connectionLost())
          : Promise.resolve({ _tag: "Success", value: "a" }),
      )
      const asked: Array<string> = []
      const client = yield* retrying(target, asked)
      const call = yield* Effect.forkChild(client.echo({ text: "a" }))
      yield* until("the first try is lost", () => sent.length === 1)
      yield* settle
      expect(sent).toHaveLength(1)
      yield* TestClock.adjust(100)
      yield* until("the second try is lost", () => sent.length === 2)
      yield* settle
      yield* TestClock.adjust(200)
      expect(yield* Fiber.join(call)).toBe("a")
      expect(asked).toEqual(["echo", "echo", "echo"])
    }),
  )

  it.effect("fails when it was repeated as often as allowed", () =>
    Effect.gen(function* () {
      const { sent, target } = answering(() => Promise.reject(connectionLost()))
      const client = yield* retrying(target)
      const call = yield* Effect.forkChild(Effect.flip(client.echo({ text: "a" })))
      for (let tries = 1; tries <= 3; tries++) {
        yield* until("the next try", () => sent.length >= tries)
        yield* settle
        yield* TestClock.adjust(1_000)
      }
      expect(yield* Fiber.join(call)).toMatchObject({ _tag: "Unavailable", retryable: true })
      expect(sent).toHaveLength(3)
    }),
  )

  it.effect("is not repeated when the object is overloaded, or the error is not retryable", () =>
    Effect.gen(function* () {
      const marks = [
        { retryable: true, overloaded: true },
        { retryable: false, overloaded: false },
      ]
      for (const mark of marks) {
        const { sent, target } = answering(() => Promise.reject(Object.assign(new Error(), mark)))
        const client = yield* retrying(target)
        const error = yield* Effect.flip(client.echo({ text: "a" }))
        expect(error).toMatchObject({ retryable: false, overloaded: mark.overloaded })
        expect(sent).toHaveLength(1)
      }
    }),
  )

  it.effect("is not repeated when the server answered", () =>
    Effect.gen(function* () {
      const fenced = { _tag: "Unavailable", retryable: true, overloaded: false, reason: "fence" }
      const { sent, target } = answering(() =>
        Promise.resolve({ _tag: "Failure", cause: [{ _tag: "Fail", error: fenced }] }),
      )
      const client = yield* retrying(target)
      expect(yield* Effect.flip(client.echo({ text: "a" }))).toMatchObject(fenced)
      expect(sent).toHaveLength(1)
    }),
  )

  it.effect("is not repeated once a stream has shown a value", () =>
    Effect.gen(function* () {
      let calls = 0
      const target: WireTarget = {
        call: async (_message, sink) => {
          calls++
          await sink?.([1])
          throw connectionLost()
        },
      }
      const client = yield* retrying(target)
      const error = yield* Effect.flip(Stream.runDrain(client.endless({})))
      expect(error).toBeInstanceOf(Unavailable)
      expect(calls).toBe(1)
    }),
  )
})

describe("a caller that is interrupted", () => {
  it.effect("tells the same target, and the server lets go", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe()
      const call = yield* Effect.forkChild(probe.client.wait({}))
      yield* until("it has begun", () => probe.counts.begun === 1)
      yield* Fiber.interrupt(call)
      yield* until("it is released", () => probe.counts.released === 1)
      expect(probe.server.activeCalls()).toBe(0)
    }),
  )

  it.effect("does not wait for a target that no longer answers", () =>
    Effect.gen(function* () {
      const { sent, target } = answering(() => new Promise(() => {}))
      const client = yield* makeWireClient(ProbeRpc, { target: () => target })
      const call = yield* Effect.forkChild(client.wait({}))
      yield* until("it is sent", () => sent.length === 1)
      yield* Fiber.interrupt(call)
      const [request, interrupt] = sent as [RpcMessage.RequestEncoded, RpcMessage.InterruptEncoded]
      expect(interrupt).toEqual({ _tag: "Interrupt", requestId: request.id })
    }),
  )
})

describe("a request", () => {
  it.effect("has an id of its own and goes where its payload says", () =>
    Effect.gen(function* () {
      const here = answering(() => Promise.resolve({ _tag: "Success", value: "here" }))
      const there = answering(() => Promise.resolve({ _tag: "Success", value: "there" }))
      const client = yield* makeWireClient(ProbeRpc, {
        target: (payload) =>
          "text" in payload && payload.text === "here" ? here.target : there.target,
      })
      expect(yield* client.echo({ text: "here" })).toBe("here")
      expect(yield* client.echo({ text: "there" })).toBe("there")
      expect(yield* client.echo({ text: "there" })).toBe("there")
      const ids = requests([...here.sent, ...there.sent]).map(({ id }) => id)
      expect(new Set(ids).size).toBe(3)
    }),
  )

  it.effect("carries the client's headers, which a call cannot replace", () =>
    Effect.gen(function* () {
      const { sent, target } = answering(() => Promise.resolve({ _tag: "Success", value: "a" }))
      const client = yield* makeWireClient(ProbeRpc, {
        target: () => target,
        headers: (payload, tag) => ({ "heddle-role": `${tag}:${JSON.stringify(payload)}` }),
      })
      yield* client.echo({ text: "a" }, { headers: { "Heddle-Role": "Owner", other: "kept" } })
      expect(Object.fromEntries(requests(sent)[0]?.headers ?? [])).toEqual({
        "heddle-role": `echo:{"text":"a"}`,
        other: "kept",
      })
    }),
  )

  it.effect("that is discarded ends when its handler starts", () =>
    Effect.gen(function* () {
      const probe = yield* makeServedProbe()
      expect(yield* probe.client.commit({}, { discard: true })).toBeUndefined()
      expect(probe.counts).toMatchObject({ begun: 1, released: 0 })
      yield* probe.client.open({})
    }),
  )

  it.effect("fails with InternalDefect as the server tells it", () =>
    Effect.gen(function* () {
      const { client } = yield* makeServedProbe({ server: { reference: () => "ref-9" } })
      expect(yield* Effect.flip(client.defect({}))).toStrictEqual(
        new InternalDefect({ reference: "ref-9" }),
      )
    }),
  )
})

import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema, Scope, Tracer } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { InternalDefect } from "../../../contracts/Errors.ts"
import { makeWireServer, type WireMessage } from "../../../contracts/transport/index.ts"
import { makeProbe, ProbeRpc, Refused, secret } from "../../conformance/transport-probe.ts"
import { makeServedProbe, settle, until } from "./probe.ts"

const request = (tag: string, payload: unknown, id = "r1"): WireMessage => ({
  _tag: "Request",
  id,
  tag,
  payload,
  headers: [],
})

const failure = (error: object) => ({ _tag: "Failure", cause: [{ _tag: "Fail", error }] })

describe("a served call", () => {
  it.effect("answers its result, and a declared error as itself", () =>
    Effect.gen(function* () {
      const { client } = yield* makeServedProbe()
      expect(yield* client.echo({ text: "hello" })).toBe("hello")
      expect(yield* Effect.flip(client.echo({ text: "refuse" }))).toStrictEqual(
        new Refused({ why: "asked to" }),
      )
    }),
  )

  it.effect("answers a payload that breaks its schema with where and why, not with what", () =>
    Effect.gen(function* () {
      const { server } = yield* makeServedProbe()
      const call = (payload: unknown) => Effect.promise(() => server.call(request("echo", payload)))
      expect(yield* call({ text: "seventeen letters" })).toEqual(
        failure({
          _tag: "InvalidInput",
          path: "text",
          reason: "Expected a value with a length of at most 16",
        }),
      )
      expect(yield* call({})).toEqual(
        failure({ _tag: "InvalidInput", path: "text", reason: "Missing key" }),
      )
      expect(yield* call("text")).toMatchObject(failure({ _tag: "InvalidInput", path: "" }))
    }),
  )

  it.effect("answers a message of no known form, and a getter that throws", () =>
    Effect.gen(function* () {
      const { server } = yield* makeServedProbe()
      const trap = Object.defineProperty({}, "text", {
        enumerable: true,
        get: () => {
          throw new Error(secret)
        },
      })
      const messages = [
        undefined,
        "echo",
        {},
        { _tag: "Request", tag: "echo" },
        { ...request("echo", {}), headers: "none" },
        request("echo", trap),
      ]
      for (const message of messages) {
        const exit = yield* Effect.promise(() => server.call(message as never))
        expect(exit).toMatchObject(failure({ _tag: "InvalidInput" }))
        expect(JSON.stringify(exit)).not.toContain(secret)
      }
      expect(server.activeCalls()).toBe(0)
    }),
  )

  it.effect("answers a method it does not serve as a peer of another version", () =>
    Effect.gen(function* () {
      const { server } = yield* makeServedProbe()
      const exit = yield* Effect.promise(() => server.call(request("unheardOf", {})))
      expect(exit).toMatchObject(failure({ _tag: "Unavailable", retryable: true }))
    }),
  )

  it.effect("answers such a method as not to be repeated where its callers are the public", () =>
    Effect.gen(function* () {
      const { server } = yield* makeServedProbe({ server: { unknownMethod: "refuse" } })
      const exit = yield* Effect.promise(() => server.call(request("unheardOf", {})))
      expect(exit).toMatchObject(failure({ _tag: "Unavailable", retryable: false }))
    }),
  )

  it.effect("fails alone when its handler dies, with a reference that the log repeats", () =>
    Effect.gen(function* () {
      const { client, counts, log, server } = yield* makeServedProbe()
      const waiting = yield* Effect.forkChild(client.wait({}))
      yield* until("the other call has begun", () => counts.begun === 1)
      const error = yield* Effect.flip(client.defect({}))
      expect(error).toBeInstanceOf(InternalDefect)
      expect(log).toHaveLength(1)
      expect(log[0]).toMatch(/^Error /)
      expect(log[0]).toContain((error as InternalDefect).reference)
      expect(log[0]).toMatch(/in defect: Error at .*\([\w-]+\.ts:\d+\)/)
      expect(log[0]).not.toContain(secret)
      expect(yield* client.echo({ text: "alive" })).toBe("alive")
      expect(server.activeCalls()).toBe(1)
      expect(counts.released).toBe(0)
      yield* Fiber.interrupt(waiting)
    }),
  )

  it.effect("shows nothing of a defect on the wire", () =>
    Effect.gen(function* () {
      const { server } = yield* makeServedProbe({ server: { reference: () => "ref-1" } })
      const exit = yield* Effect.promise(() => server.call(request("defect", {})))
      expect(exit).toEqual(failure({ _tag: "InternalDefect", reference: "ref-1" }))
    }),
  )

  it.effect("ends with a defect's reference when its answer breaks the schema", () =>
    Effect.gen(function* () {
      const { client, log, server } = yield* makeServedProbe()
      expect(yield* Effect.flip(client.misshapenResult({}))).toBeInstanceOf(InternalDefect)
      expect(yield* Effect.flip(client.misshapenError({}))).toBeInstanceOf(InternalDefect)
      expect(log).toHaveLength(2)
      expect(server.activeCalls()).toBe(0)
    }),
  )

  it.effect("is interrupted by a message that names it, and by no other", () =>
    Effect.gen(function* () {
      const { counts, server } = yield* makeServedProbe()
      const first = server.call(request("wait", {}, "first"))
      const second = server.call(request("wait", {}, "second"))
      yield* until("both wait", () => counts.begun === 2)
      yield* Effect.promise(() => server.call({ _tag: "Interrupt", requestId: "nobody" }))
      yield* Effect.promise(() => server.call({ _tag: "Interrupt", requestId: "first" }))
      expect(yield* Effect.promise(() => first)).toMatchObject(failure({ _tag: "Unavailable" }))
      expect(counts.released).toBe(1)
      expect(server.activeCalls()).toBe(1)
      yield* Effect.promise(() => server.call({ _tag: "Interrupt", requestId: "second" }))
      expect(yield* Effect.promise(() => second)).toMatchObject(failure({ _tag: "Unavailable" }))
      expect(server.activeCalls()).toBe(0)
    }),
  )

  it.effect("goes on when it is uninterruptible, whoever leaves", () =>
    Effect.gen(function* () {
      const { counts, server } = yield* makeServedProbe()
      const call = server.call(request("commit", {}, "c"))
      yield* until("it has begun", () => counts.begun === 1)
      yield* Effect.promise(() => server.call({ _tag: "Interrupt", requestId: "c" }))
      yield* settle
      expect(server.activeCalls()).toBe(1)
      yield* Effect.promise(() => server.call(request("open", {})))
      expect(yield* Effect.promise(() => call)).toEqual({ _tag: "Success", value: "committed" })
      expect(counts.released).toBe(1)
    }),
  )

  it.effect("may arrive twice under one id: both are answered", () =>
    Effect.gen(function* () {
      const { counts, server } = yield* makeServedProbe()
      const both = [server.call(request("wait", {}, "x")), server.call(request("wait", {}, "x"))]
      yield* until("both wait", () => counts.begun === 2)
      yield* Effect.promise(() => server.call({ _tag: "Interrupt", requestId: "x" }))
      const exits = yield* Effect.promise(() => Promise.all(both))
      expect(exits).toHaveLength(2)
      expect(server.activeCalls()).toBe(0)
    }),
  )

  it.effect("is answered also when the server closes under it, and after", () =>
    Effect.gen(function* () {
      const scope = yield* Scope.make()
      const probe = makeProbe(() => undefined)
      const server = yield* makeWireServer(ProbeRpc).pipe(
        Effect.provide(probe.handlers),
        Scope.provide(scope),
      )
      const call = server.call(request("wait", {}))
      yield* until("it waits", () => probe.counts.begun === 1)
      yield* Effect.forkChild(Scope.close(scope, Exit.void))
      expect(yield* Effect.promise(() => call)).toMatchObject(failure({ _tag: "Unavailable" }))
      const late = yield* Effect.promise(() => server.call(request("echo", { text: "late" })))
      expect(late).toMatchObject(failure({ _tag: "Unavailable", retryable: true }))
    }),
  )

  it.effect("cannot be sent as a notification that nobody answers", () =>
    Effect.gen(function* () {
      const { server } = yield* makeServedProbe()
      const message = { ...request("echo", { text: "a" }), isNotification: true } as WireMessage
      expect(yield* Effect.promise(() => server.call(message))).toEqual({
        _tag: "Success",
        value: "a",
      })
    }),
  )
})

describe("a trace", () => {
  const spans = (made: Array<Tracer.Span>) =>
    Tracer.make({
      span: (options) => {
        const span = new Tracer.NativeSpan(options)
        made.push(span)
        return span
      },
    })

  it.effect("goes on in the server's span, and its id passes without a tracer too", () =>
    Effect.gen(function* () {
      const made: Array<Tracer.Span> = []
      const sent: Array<WireMessage> = []
      const hooks = {
        request: (message: WireMessage) => {
          sent.push(message)
          return "deliver" as const
        },
      }
      const parent = Tracer.externalSpan({ traceId: "a".repeat(32), spanId: "b".repeat(16) })
      const withTracer = yield* makeServedProbe({ hooks }).pipe(
        Effect.provideService(Tracer.Tracer, spans(made)),
      )
      yield* withTracer.client
        .echo({ text: "a" })
        .pipe(
          Effect.provideService(Tracer.ParentSpan, parent),
          Effect.provideService(Tracer.Tracer, spans(made)),
        )
      expect(made.map((span) => [span.kind, span.traceId])).toEqual([
        ["client", parent.traceId],
        ["server", parent.traceId],
      ])
      expect(sent[0]).toMatchObject({ traceId: parent.traceId, spanId: made[0]?.spanId })

      const without = yield* makeServedProbe({ hooks })
      yield* without.client
        .echo({ text: "a" })
        .pipe(Effect.provideService(Tracer.ParentSpan, parent))
      expect(sent[1]).toMatchObject({ traceId: parent.traceId, spanId: parent.spanId })
      expect(made).toHaveLength(2)
    }),
  )

  it.effect("reaches the calls that a handler makes in turn, without a tracer anywhere", () =>
    Effect.gen(function* () {
      const Relay = RpcGroup.make(Rpc.make("relay", { payload: {}, success: Schema.String }))
      const sent: Array<WireMessage> = []
      const far = yield* makeServedProbe({
        hooks: {
          request: (message) => {
            sent.push(message)
            return "deliver"
          },
        },
      })
      const handlers = Relay.toLayer({
        relay: () => Effect.orDie(far.client.echo({ text: "far" })),
      })
      const near = yield* makeWireServer(Relay).pipe(Effect.provide(handlers))
      const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16) }
      const messages = [
        { ...request("relay", {}), ...trace },
        { ...request("relay", {}), ...trace, sampled: false },
        request("relay", {}),
        { ...request("relay", {}), traceId: 7 },
      ] as ReadonlyArray<WireMessage>
      for (const message of messages) {
        const exit = yield* Effect.promise(() => near.call(message))
        expect(exit).toEqual({ _tag: "Success", value: "far" })
      }
      const [whole, unsampled, none, broken] = sent
      expect(whole).toMatchObject({ ...trace, sampled: true })
      expect(unsampled).toMatchObject({ ...trace, sampled: false })
      expect(none).not.toHaveProperty("traceId")
      expect(broken).not.toHaveProperty("traceId")
    }),
  )
})

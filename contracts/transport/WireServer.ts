/**
 * The serving side of the wire: turns one native method into the handlers of an rpc group.
 *
 * It decodes, runs, encodes and answers. Who may call is the middleware's business, what to do the
 * handlers'. Callers are many and not told apart: a request is known by the id its caller made.
 *
 * - S1 A call always ends, and always with an encoded exit: nothing the server knows about rejects.
 * - S2 A defect fails its own call only, and crosses as a reference that the log repeats.
 * - S3 Of one stream at most one push is under way; the next waits until it is taken.
 * - S4 A reader that cannot be reached ends its stream, and the server forgets it.
 * - S5 Nothing is kept of a call that has ended.
 */
import { Cause, Context, Effect, Exit, type Fiber, Result, type Scope, Tracer } from "effect"
import { Headers } from "effect/http"
import { type Rpc, type RpcGroup, type RpcMessage, RpcServer } from "effect/rpc"
import { InternalDefect, InvalidInput, Unavailable } from "../Errors.ts"
import { CurrentLimits } from "../Limits.ts"
import { type RpcCodec, rpcCodec, type TransportError } from "./RpcCodec.ts"
import { type PushLine, pushLine, withHeartbeat } from "./PushLine.ts"
import type { WireExit, WireMessage, WireSink, WireTarget } from "./Wire.ts"

export interface WireServer extends WireTarget {
  /** How many calls have begun and not ended: requests, and streams with a reader. */
  readonly activeCalls: () => number
}

export interface WireServerOptions {
  /** A quiet stream is probed this often. Default `Limits.heartbeatMillis`. */
  readonly heartbeatMillis?: number
  /** Whether calls make spans. Default: whether a tracer is configured. Trace ids pass either way. */
  readonly tracing?: boolean
  readonly spanPrefix?: string
  /** Makes the reference of a defect: at most 64 characters. Default a random UUID. */
  readonly reference?: () => string
}

/** One call under way. */
interface Call {
  readonly id: number
  readonly wireId: string | number
  readonly codec: RpcCodec
  readonly discard: boolean
  readonly line: PushLine | undefined
  readonly answer: (exit: WireExit) => void
  /** Whether a handler's fiber exists that will end it. */
  started: boolean
}

const success: WireExit = { _tag: "Success", value: undefined }

const failure = (error: unknown): WireExit => ({
  _tag: "Failure",
  cause: [{ _tag: "Fail", error }],
})

/** Any codec can encode these: they belong to every rpc. */
const encodeTransportError = (error: TransportError): WireExit => {
  const { _tag } = error
  switch (_tag) {
    case "InvalidInput":
      return failure({ _tag, path: error.path, reason: error.reason })
    case "InternalDefect":
      return failure({ _tag, reference: error.reference })
    case "Unavailable":
      return failure({
        _tag,
        retryable: error.retryable,
        overloaded: error.overloaded,
        reason: error.reason,
      })
  }
}

const unknownMethod = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "The peer does not serve this method",
})
const interrupted = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "The call was interrupted",
})
const noRequest = new InvalidInput({ path: "", reason: "Expected a request" })
const noSink = new InvalidInput({ path: "", reason: "Expected a sink for the stream" })

const isId = (id: unknown): id is string | number => typeof id === "string" || typeof id === "number"

type RequestEncoded = RpcMessage.RequestEncoded

const isRequest = (message: WireMessage): message is RequestEncoded =>
  message._tag === "Request" &&
  isId(message.id) &&
  typeof message.tag === "string" &&
  Array.isArray(message.headers)

/** The trace fields of a request, when they are whole. */
const traceOf = (message: RequestEncoded) =>
  typeof message.traceId === "string" && typeof message.spanId === "string"
    ? { traceId: message.traceId, spanId: message.spanId, sampled: message.sampled !== false }
    : undefined

/** How the end of a handler is told; a defect is the second kind. */
const endOf = (
  call: Call,
  exit: Exit.Exit<unknown, unknown>,
): { readonly wire: WireExit } | { readonly defect: Cause.Cause<unknown> } => {
  if (exit._tag === "Success") {
    if (call.discard || call.codec.isStream) return { wire: success }
    const encoded = call.codec.encodeValue(exit.value)
    return Result.isSuccess(encoded)
      ? { wire: { _tag: "Success", value: encoded.success } }
      : { defect: Cause.die(encoded.failure) }
  }
  if (Cause.hasDies(exit.cause)) return { defect: exit.cause }
  const failed = exit.cause.reasons.find(Cause.isFailReason)
  if (failed === undefined) return { wire: encodeTransportError(interrupted) }
  const encoded = call.codec.encodeError(failed.error)
  return Result.isSuccess(encoded)
    ? { wire: failure(encoded.success) }
    : { defect: Cause.die(encoded.failure) }
}

/**
 * Serves a group. `call` never rejects and never hangs on what it is sent; it may be handed out as
 * the object's one native method. The server lives as long as the scope, whose end interrupts every
 * call.
 */
export const makeWireServer = Effect.fnUntraced(function* <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
  options: WireServerOptions = {},
): Effect.fn.Return<
  WireServer,
  never,
  Rpc.ToHandler<Rpcs> | Rpc.Middleware<Rpcs> | Scope.Scope
> {
  const context = yield* Effect.context<never>()
  const run = Effect.runForkWith(context)
  const heartbeatMillis =
    options.heartbeatMillis ?? Context.get(context, CurrentLimits).heartbeatMillis
  const tracing = options.tracing ?? Context.getOrUndefined(context, Tracer.Tracer) !== undefined
  const reference = options.reference ?? (() => crypto.randomUUID())
  const calls = new Map<number, Call>()
  let lastId = 0

  const end = (call: Call, exit: WireExit): void => {
    if (!calls.delete(call.id)) return // S5
    call.line?.close()
    call.answer(exit)
  }

  const endWithDefect = (call: Call, cause: Cause.Cause<unknown>): void => {
    const id = reference()
    run(Effect.logError(`Defect ${id} in ${call.codec.rpc._tag}`, cause))
    end(call, encodeTransportError(new InternalDefect({ reference: id }))) // S2
  }

  const finish = (call: Call, exit: Exit.Exit<unknown, unknown>): void => {
    const told = endOf(call, exit)
    if ("wire" in told) end(call, told.wire)
    else endWithDefect(call, told.defect)
  }

  const push = (call: Call, values: ReadonlyArray<unknown>): Effect.Effect<void> => {
    const encoded: Array<unknown> = []
    for (const value of values) {
      const result = call.codec.encodeValue(value)
      if (Result.isFailure(result)) {
        endWithDefect(call, Cause.die(result.failure))
        return Effect.interrupt
      }
      encoded.push(result.success)
    }
    if (call.line === undefined) return Effect.interrupt
    const pushed = call.line.push(encoded) // S3
    return Effect.flatMap(pushed, (taken) => (taken ? Effect.void : Effect.interrupt)) // S4
  }

  /** The defect of a request that never reached its handler: the message does not name the request. */
  let unstarted: Cause.Cause<unknown> | undefined

  const server = yield* RpcServer.makeNoSerialization(group, {
    disableFatalDefects: true, // S2
    disableClientAcks: true,
    disableTracing: !tracing,
    ...(options.spanPrefix === undefined ? {} : { spanPrefix: options.spanPrefix }),
    onFromServer: (response) => {
      if (response._tag === "Defect") unstarted = Cause.die(response.defect)
      if (response._tag !== "Chunk" && response._tag !== "Exit") return Effect.void
      const call = calls.get(response.requestId as number)
      if (call === undefined) return response._tag === "Chunk" ? Effect.interrupt : Effect.void
      if (response._tag === "Chunk") return push(call, response.values)
      finish(call, response.exit)
      return Effect.void
    },
  })

  const start = (call: Call, message: RequestEncoded, payload: unknown): void => {
    const trace = traceOf(message)
    const request = {
      _tag: "Request",
      id: call.id as unknown as RpcMessage.RequestId,
      tag: message.tag as Rpc.Tag<Rpcs>,
      payload: payload as Rpc.Payload<Rpcs>,
      headers: Headers.fromInput(message.headers),
      ...(call.discard ? { discard: true as const } : {}),
      ...trace,
    } satisfies RpcMessage.Request<Rpcs>
    const onRequest = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
      call.started = true
      const probed =
        call.line === undefined ? effect : withHeartbeat(effect, call.line, heartbeatMillis)
      return trace === undefined || tracing
        ? probed
        : Effect.provideService(probed, Tracer.ParentSpan, Tracer.externalSpan(trace))
    }
    unstarted = undefined
    const fiber: Fiber.Fiber<void> = run(server.write(0, request, { onRequest }))
    fiber.addObserver(() => {
      if (call.started) return
      if (unstarted === undefined) finish(call, Exit.interrupt()) // S1
      else endWithDefect(call, unstarted)
    })
  }

  const request = (message: RequestEncoded, sink: WireSink | undefined) => {
    const rpc = group.requests.get(message.tag)
    if (rpc === undefined) return Promise.resolve(encodeTransportError(unknownMethod))
    const codec = rpcCodec(rpc)
    const payload = codec.decodePayload(message.payload)
    if (Result.isFailure(payload)) {
      return Promise.resolve(encodeTransportError(payload.failure))
    }
    if (codec.isStream && typeof sink !== "function") {
      return Promise.resolve(encodeTransportError(noSink))
    }
    return new Promise<WireExit>((answer) => {
      const call: Call = {
        id: ++lastId,
        wireId: message.id,
        codec,
        discard: message.discard === true,
        line: codec.isStream && sink !== undefined ? pushLine(sink) : undefined,
        answer,
        started: false,
      }
      calls.set(call.id, call)
      start(call, message, payload.success)
    })
  }

  /** A replayed request is two calls of one id: both are meant. */
  const interrupt = (wireId: string | number): void => {
    for (const call of [...calls.values()]) {
      if (call.wireId !== wireId) continue
      const requestId = call.id as unknown as RpcMessage.RequestId
      run(server.write(0, { _tag: "Interrupt", requestId, interruptors: [] }))
    }
  }

  return {
    activeCalls: () => calls.size,
    call: (message, sink) => {
      if (typeof message === "object" && message !== null) {
        if (message._tag === "Interrupt" && isId(message.requestId)) {
          interrupt(message.requestId)
          return Promise.resolve(success)
        }
        if (isRequest(message)) return request(message, sink)
      }
      return Promise.resolve(encodeTransportError(noRequest)) // S1
    },
  }
})

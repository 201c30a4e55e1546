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
 * - S6 The log tells a defect by its name and where it came from, never in its words.
 * - S7 The span of a call tells ids of its payload and of its answer, and nothing else of them.
 */
import { Cause, Context, Effect, Exit, Result, type Scope, Tracer } from "effect"
import { Headers } from "effect/http"
import { type Rpc, type RpcGroup, type RpcMessage, RpcServer } from "effect/rpc"
import { InternalDefect } from "../Errors.ts"
import { CurrentLimits } from "../Limits.ts"
import { annotate, idsIn } from "../observability/Spans.ts"
import { continuing, traceOf } from "../observability/TraceContext.ts"
import { describeThrown } from "../Thrown.ts"
import { type PushLine, pushLine, withHeartbeat } from "./PushLine.ts"
import { type RpcCodec, rpcCodec } from "./RpcCodec.ts"
import type { WireExit, WireMessage, WireSink, WireTarget } from "./Wire.ts"
import {
  eachValue,
  endingOf,
  noSuchMethod,
  noSink,
  notARequest,
  success,
  transportFailure,
  unknownMethod,
} from "./WireExits.ts"

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
  /** What a line of the log about a defect says besides: whose object it is. Default nothing. */
  readonly annotations?: () => Readonly<Record<string, string>>
  /** Makes the reference of a defect: at most 64 characters. Default a random UUID. */
  readonly reference?: () => string
  /**
   * What a method that is not served is taken for. `retry` (default): a peer of another version,
   * `Unavailable` and retryable. `refuse`: a caller's mistake, not to be repeated; for public edges.
   */
  readonly unknownMethod?: "retry" | "refuse"
}

type RequestEncoded = RpcMessage.RequestEncoded

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

/** What the functions below share: the server of one group. */
interface Serving {
  readonly rpcs: ReadonlyMap<string, Rpc.Any>
  readonly calls: Map<number, Call>
  readonly run: <A, E>(effect: Effect.Effect<A, E>) => { addObserver(done: () => void): unknown }
  readonly heartbeatMillis: number
  readonly tracing: boolean
  readonly reference: () => string
  readonly annotations: () => Readonly<Record<string, string>>
  readonly unknownMethod: WireExit
  lastId: number
  /** The defect of a request that never reached its handler: its message names no request. */
  unstarted: Cause.Cause<unknown> | undefined
}

type Write = RpcServer.RpcServer<Rpc.Any>["write"]

const requestIdOf = (call: Call): RpcMessage.RequestId => call.id as unknown as RpcMessage.RequestId

const isId = (id: unknown): id is string | number =>
  typeof id === "string" || typeof id === "number"

const isRequest = (message: WireMessage): message is RequestEncoded =>
  message._tag === "Request" &&
  isId(message.id) &&
  typeof message.tag === "string" &&
  Array.isArray(message.headers)

/** Whom and what a call is about, told to its span. // S7 */
const identified = <A, E, R>(
  payload: unknown,
  work: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> =>
  Effect.andThen(
    annotate(() => idsIn(payload)),
    Effect.tap(work, (value) => annotate(() => idsIn(value))),
  )

const end = (serving: Serving, call: Call, exit: WireExit): void => {
  if (!serving.calls.delete(call.id)) return // S5
  call.line?.close()
  call.answer(exit)
}

const endWithDefect = (serving: Serving, call: Call, cause: Cause.Cause<unknown>): void => {
  const reference = serving.reference()
  const line = `Defect ${reference} in ${call.codec.rpc._tag}: ${describeThrown(cause)}`
  serving.run(Effect.annotateLogs(Effect.logError(line), { ...serving.annotations() })) // S6
  end(serving, call, transportFailure(new InternalDefect({ reference }))) // S2
}

const finish = (serving: Serving, call: Call, exit: Exit.Exit<unknown, unknown>): void => {
  const ending = endingOf(call.codec, call.discard || call.codec.isStream, exit)
  if (ending._tag === "Answer") end(serving, call, ending.exit)
  else endWithDefect(serving, call, ending.cause)
}

/** Encodes values and has them taken; an interruption ends the stream that pushes. */
const push = (
  serving: Serving,
  call: Call,
  values: ReadonlyArray<unknown>,
): Effect.Effect<void> => {
  const encoded = eachValue(call.codec.encodeValue, values)
  if (Result.isFailure(encoded)) {
    endWithDefect(serving, call, Cause.die(encoded.failure))
    return Effect.interrupt
  }
  if (call.line === undefined) return Effect.interrupt
  const pushed = call.line.push(encoded.success) // S3
  return Effect.flatMap(pushed, (taken) => (taken ? Effect.void : Effect.interrupt)) // S4
}

/** What the running handlers send. */
const onFromServer = (
  serving: Serving,
  response: RpcMessage.FromServer<Rpc.Any>,
): Effect.Effect<void> => {
  if (response._tag === "Defect") serving.unstarted = Cause.die(response.defect)
  if (response._tag !== "Chunk" && response._tag !== "Exit") return Effect.void
  const call = serving.calls.get(response.requestId as number)
  if (response._tag === "Chunk") {
    return call === undefined ? Effect.interrupt : push(serving, call, response.values)
  }
  if (call !== undefined) finish(serving, call, response.exit)
  return Effect.void
}

const start = (
  serving: Serving,
  write: Write,
  call: Call,
  message: RequestEncoded,
  payload: unknown,
): void => {
  const trace = traceOf(message)
  const request: RpcMessage.Request<Rpc.Any> = {
    _tag: "Request",
    id: requestIdOf(call),
    tag: message.tag as never,
    payload: payload as never,
    headers: Headers.fromInput(message.headers),
    ...(call.discard ? { discard: true as const } : {}),
    ...trace,
  }
  const onRequest = <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> => {
    call.started = true
    const probed =
      call.line === undefined ? effect : withHeartbeat(effect, call.line, serving.heartbeatMillis)
    return serving.tracing ? identified(payload, probed) : continuing(trace, probed)
  }
  serving.unstarted = undefined
  serving.run(write(0, request, { onRequest })).addObserver(() => {
    if (call.started) return
    if (serving.unstarted === undefined) finish(serving, call, Exit.interrupt()) // S1
    else endWithDefect(serving, call, serving.unstarted)
  })
}

const serveRequest = (
  serving: Serving,
  write: Write,
  message: RequestEncoded,
  sink: WireSink | undefined,
): Promise<WireExit> => {
  const rpc = serving.rpcs.get(message.tag)
  if (rpc === undefined) return Promise.resolve(serving.unknownMethod)
  const codec = rpcCodec(rpc)
  const payload = codec.decodePayload(message.payload)
  if (Result.isFailure(payload)) return Promise.resolve(transportFailure(payload.failure))
  if (codec.isStream && typeof sink !== "function") {
    return Promise.resolve(transportFailure(noSink))
  }
  return new Promise((answer) => {
    const call: Call = {
      id: ++serving.lastId,
      wireId: message.id,
      codec,
      discard: message.discard === true,
      line: codec.isStream && sink !== undefined ? pushLine(sink) : undefined,
      answer,
      started: false,
    }
    serving.calls.set(call.id, call)
    start(serving, write, call, message, payload.success)
  })
}

/** A replayed request is two calls of one id: both are meant. */
const serveInterrupt = (serving: Serving, write: Write, wireId: string | number): void => {
  const meant = [...serving.calls.values()].filter((call) => call.wireId === wireId)
  for (const call of meant) {
    const interrupt = { _tag: "Interrupt", requestId: requestIdOf(call), interruptors: [] } as const
    serving.run(write(0, interrupt))
  }
}

/**
 * Serves a group. `call` never rejects and never hangs on what it is sent; it may be handed out as
 * the object's one native method. The server lives as long as the scope, whose end interrupts every
 * call.
 */
export const makeWireServer = Effect.fnUntraced(function* <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
  options: WireServerOptions = {},
): Effect.fn.Return<WireServer, never, Rpc.ToHandler<Rpcs> | Rpc.Middleware<Rpcs> | Scope.Scope> {
  const context = yield* Effect.context<never>()
  const serving: Serving = {
    rpcs: group.requests,
    calls: new Map(),
    run: Effect.runForkWith(context),
    heartbeatMillis: options.heartbeatMillis ?? Context.get(context, CurrentLimits).heartbeatMillis,
    tracing: options.tracing ?? Context.getOrUndefined(context, Tracer.Tracer) !== undefined,
    annotations: options.annotations ?? (() => ({})),
    reference: options.reference ?? (() => crypto.randomUUID()),
    unknownMethod: transportFailure(
      options.unknownMethod === "refuse" ? noSuchMethod : unknownMethod,
    ),
    lastId: 0,
    unstarted: undefined,
  }
  const server = yield* RpcServer.makeNoSerialization(group, {
    disableFatalDefects: true, // S2
    disableClientAcks: true,
    disableTracing: !serving.tracing,
    ...(options.spanPrefix === undefined ? {} : { spanPrefix: options.spanPrefix }),
    onFromServer: (response) =>
      onFromServer(serving, response as unknown as RpcMessage.FromServer<Rpc.Any>),
  })
  const write = server.write
  return {
    activeCalls: () => serving.calls.size,
    call: (message, sink) => {
      if (typeof message === "object" && message !== null) {
        if (isRequest(message)) return serveRequest(serving, write, message, sink)
        if (message._tag === "Interrupt" && isId(message.requestId)) {
          serveInterrupt(serving, write, message.requestId)
          return Promise.resolve(success)
        }
      }
      return Promise.resolve(transportFailure(notARequest)) // S1
    },
  }
})

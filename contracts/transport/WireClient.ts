/**
 * The calling side of the wire: a typed client of an rpc group over one native method.
 *
 * One kept client serves many targets: each call picks its own by the payload.
 *
 * - C1 A call fails only with what its contract declares, or with `InvalidInput` (the payload breaks
 *   its schema, nothing was sent), `InternalDefect` (the server's) or `Unavailable` (all the rest).
 * - C2 A caller that is interrupted tells the target so, and refuses what a stream still pushes.
 * - C3 A call is repeated only where the platform says `retryable`, before its first value, and with
 *   a target asked for anew; never on `overloaded`.
 * - C4 A push is taken when the reader's queue has room: that is the backpressure.
 */
import {
  Context,
  Effect,
  Exit,
  Fiber,
  Random,
  Result,
  Schema,
  type Scope,
  Tracer,
} from "effect"
import { Headers } from "effect/http"
import { type Rpc, RpcClient, RpcGroup, type RpcMessage } from "effect/rpc"
import { type Curve, jitteredMillis } from "../Backoff.ts"
import { Unavailable } from "../Errors.ts"
import { classify } from "./PlatformFailure.ts"
import { type RpcCodec, rpcCodec, type TransportError } from "./RpcCodec.ts"
import type { WireExit, WireSink, WireTarget } from "./Wire.ts"

export interface WireClientOptions {
  /** The peer a call goes to. Asked once per try, with the payload as the caller gave it. */
  readonly target: (payload: any, tag: string) => WireTarget
  /** Say who calls. They win over headers given with a call. */
  readonly headers?:
    | Record<string, string>
    | ((payload: any, tag: string) => Record<string, string>)
    | undefined
  /** Unique over all callers of a target. Default a random UUID. */
  readonly requestId?: (() => string) | undefined
  /** Repeats a call the platform lost, `times` times at most, with jittered backoff. Default none. */
  readonly retry?: { readonly times: number; readonly curve?: Curve } | undefined
  /** Whether calls make spans. Default: whether a tracer is configured. Trace ids pass either way. */
  readonly tracing?: boolean
  readonly spanPrefix?: string
}

export type WireClient<Rpcs extends Rpc.Any> = RpcClient.RpcClient<Rpcs, TransportError>

const retryCurve: Curve = { baseMillis: 50, maxMillis: 2_000 }

const notDecoded = new Unavailable({
  retryable: false,
  overloaded: false,
  reason: "The answer of the peer does not decode",
})
const noTarget = new Unavailable({
  retryable: false,
  overloaded: false,
  reason: "The target of the call cannot be reached from here",
})

const ignore = (): void => {}

/** The end of a call as its caller sees it. An answer of no known shape is `Unavailable`. */
const decodeExit = (codec: RpcCodec, discard: boolean, exit: WireExit): Exit.Exit<any, any> => {
  if (exit?._tag === "Success") {
    if (discard || codec.isStream) return Exit.void
    const value = codec.decodeValue(exit.value)
    return Result.isSuccess(value) ? Exit.succeed(value.success) : Exit.fail(notDecoded)
  }
  const [first] = exit?._tag === "Failure" && Array.isArray(exit.cause) ? exit.cause : []
  if (first?._tag !== "Fail") return Exit.fail(notDecoded)
  const error = codec.decodeError(first.error)
  return Result.isSuccess(error) ? Exit.fail(error.success) : Exit.fail(notDecoded)
}

/** One value after the other; none when one of them does not decode. */
const decodeValues = (
  codec: RpcCodec,
  values: ReadonlyArray<unknown>,
): ReadonlyArray<unknown> | undefined => {
  const decoded: Array<unknown> = []
  if (!Array.isArray(values)) return undefined
  for (const value of values) {
    const result = codec.decodeValue(value)
    if (Result.isFailure(result)) return undefined
    decoded.push(result.success)
  }
  return decoded
}

/** The trace a call continues when no span of its own is made. */
const traceOf = (context: Context.Context<never>) => {
  const span = Context.getOrUndefined(context, Tracer.ParentSpan)
  return span === undefined
    ? {}
    : { traceId: span.traceId, spanId: span.spanId, sampled: span.sampled }
}

/** What one try shares with its sink. */
interface Reader {
  /** Set when nothing more is taken: the try ended, failed, or its caller left. */
  closed: boolean
  /** A value has arrived: from then on the call cannot be repeated. */
  readonly delivered: () => unknown
}

const closedReader = new Error("the reader of the stream has gone")

/**
 * The group as the client library sees it: it would check payloads before the call has begun, and
 * throw. Here they are checked when they are encoded, inside the call.
 */
const unchecked = <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
): RpcGroup.RpcGroup<Rpcs> => {
  const rpcs = [...group.requests.values()] as unknown as ReadonlyArray<Rpc.AnyWithProps>
  const open = rpcs.map((rpc) =>
    (rpc as unknown as Rpc.Rpc<string>).setPayload(Schema.Unknown),
  )
  return RpcGroup.make(...open) as unknown as RpcGroup.RpcGroup<Rpcs>
}

/**
 * A client of a group. Its calls never throw and never die of what the peer or the platform does.
 * It lives as long as the scope, whose end interrupts its calls.
 */
export const makeWireClient = Effect.fnUntraced(function* <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
  options: WireClientOptions,
): Effect.fn.Return<WireClient<Rpcs>, never, Scope.Scope | Rpc.MiddlewareClient<Rpcs>> {
  const context = yield* Effect.context<never>()
  const tracing = options.tracing ?? Context.getOrUndefined(context, Tracer.Tracer) !== undefined
  const requestId = options.requestId ?? (() => crypto.randomUUID())
  const { retry } = options

  const headersOf = (() => {
    const given = options.headers
    if (typeof given === "function") {
      return (payload: unknown, tag: string) => Headers.fromInput(given(payload, tag))
    }
    const fixed = Headers.fromInput(given)
    return () => fixed
  })()

  const deliver = (
    id: RpcMessage.RequestId,
    codec: RpcCodec,
    reader: Reader,
    fail: (error: Unavailable) => void,
  ): WireSink => {
    const run = Effect.runForkWith(context)
    const refuse = () => Promise.reject(closedReader)
    return (values) => {
      if (reader.closed) return refuse() // C2
      if (Array.isArray(values) && values.length === 0) return Promise.resolve()
      const decoded = decodeValues(codec, values)
      if (decoded === undefined) {
        fail(notDecoded)
        return refuse()
      }
      reader.delivered()
      const offered = run(
        write({ _tag: "Chunk", clientId: 0, requestId: id, values: decoded as never }), // C4
      )
      return new Promise<void>((resolve, reject) => {
        offered.addObserver(() => (reader.closed ? reject(closedReader) : resolve()))
      })
    }
  }

  /** One try: the native call, and its end handed to the waiting caller. */
  const attempt = (
    codec: RpcCodec,
    request: RpcMessage.Request<Rpcs>,
    payload: unknown,
    reader: Reader,
  ) =>
    Effect.callback<void, TransportError>((resume) => {
      const fiber = Fiber.getCurrent()!
      const headers = Headers.merge(request.headers, headersOf(request.payload, request.tag))
      const message: RpcMessage.RequestEncoded = {
        _tag: "Request",
        id: request.id,
        tag: request.tag,
        payload,
        headers: Object.entries(headers),
        ...(request.discard === true ? { discard: true as const } : {}),
        ...(request.traceId === undefined
          ? traceOf(fiber.context)
          : {
              traceId: request.traceId,
              spanId: request.spanId ?? "",
              sampled: request.sampled ?? true,
            }),
      }
      const fail = (error: Unavailable) => {
        reader.closed = true
        resume(Effect.fail(error))
      }
      const answered = (exit: WireExit) => {
        reader.closed = true
        const decoded = decodeExit(codec, request.discard === true, exit) as Rpc.Exit<Rpcs>
        resume(write({ _tag: "Exit", clientId: 0, requestId: request.id, exit: decoded }))
      }
      const rejected = (error: unknown) => fail(classify(error))
      let target: WireTarget
      try {
        target = options.target(request.payload, request.tag)
        const answer = codec.isStream
          ? target.call(message, deliver(request.id, codec, reader, fail))
          : target.call(message)
        answer.then(answered, rejected)
      } catch (error) {
        return rejected(error)
      }
      return Effect.sync(() => {
        reader.closed = true // C2
        try {
          target.call({ _tag: "Interrupt", requestId: request.id }).then(ignore, ignore)
        } catch {
          // The target is gone, and the call with it.
        }
      })
    })

  const send = (request: RpcMessage.Request<Rpcs>): Effect.Effect<void, TransportError> => {
    const rpc = group.requests.get(request.tag)
    if (rpc === undefined) return Effect.fail(noTarget)
    const codec = rpcCodec(rpc)
    const payload = codec.encodePayload(request.payload)
    if (Result.isFailure(payload)) return Effect.fail(payload.failure) // C1
    let delivered = false
    const once = Effect.suspend(() => {
      const reader: Reader = { closed: false, delivered: () => (delivered = true) }
      return attempt(codec, request, payload.success, reader)
    })
    if (retry === undefined || retry.times <= 0) return once
    const again = (tries: number): Effect.Effect<void, TransportError> =>
      Effect.catch(once, (error) => {
        const lost = error._tag === "Unavailable" && error.retryable && !error.overloaded
        if (!lost || delivered || tries > retry.times) return Effect.fail(error) // C3
        return Random.next.pipe(
          Effect.flatMap((random) =>
            Effect.sleep(jitteredMillis(retry.curve ?? retryCurve, tries, random)),
          ),
          Effect.andThen(again(tries + 1)),
        )
      })
    return again(1)
  }

  const { client, write } = yield* RpcClient.makeNoSerialization(unchecked(group), {
    supportsAck: false,
    disableTracing: !tracing,
    ...(options.spanPrefix === undefined ? {} : { spanPrefix: options.spanPrefix }),
    generateRequestId: () => requestId() as RpcMessage.RequestId,
    // Interruption is told by the try that was interrupted, which knows its target.
    onFromClient: ({ message }) => (message._tag === "Request" ? send(message) : Effect.void),
  })
  return client as unknown as WireClient<Rpcs>
})

/**
 * The calling side of the wire: a typed client of an rpc group over one native method.
 *
 * One kept client serves many targets: each call picks its own by the payload.
 *
 * - C1 A call fails only with what its contract declares, or with `InvalidInput` (the payload breaks
 *   its schema, nothing was sent), `InternalDefect` (the server's) or `Unavailable` (all the rest).
 * - C2 A call is repeated only where the platform says `retryable`, before its first value, and with
 *   a target asked for anew; never on `overloaded`, and never because of what a server answered.
 * - C3 The client's headers win over those of a call: they say who calls.
 */
import { Context, Effect, Random, Result, Schema, type Scope, Tracer } from "effect"
import { Headers } from "effect/http"
import { type Rpc, RpcClient, RpcGroup, type RpcMessage } from "effect/rpc"
import { type Curve, jitteredMillis } from "../Backoff.ts"
import type { Unavailable } from "../Errors.ts"
import { nativeCall } from "./NativeCall.ts"
import { rpcCodec, type TransportError } from "./RpcCodec.ts"
import type { WireTarget } from "./Wire.ts"

export interface WireClientOptions<Rpcs extends Rpc.Any = Rpc.Any> {
  /** The peer a call goes to. Asked once per try, with the payload as the caller gave it. */
  readonly target: (payload: Rpc.Payload<Rpcs>, tag: string) => WireTarget
  /** Say who calls. They win over headers given with a call. */
  readonly headers?:
    | Record<string, string>
    | ((payload: Rpc.Payload<Rpcs>, tag: string) => Record<string, string>)
    | undefined
  /** Unique over all callers of a target. Default a random UUID. */
  readonly requestId?: (() => string) | undefined
  /** Repeats a call the platform lost, `times` times at most, with jittered backoff. Default none. */
  readonly retry?: Retry | undefined
  /** Whether calls make spans. Default: whether a tracer is configured. Trace ids pass either way. */
  readonly tracing?: boolean
  readonly spanPrefix?: string
}

export interface Retry {
  readonly times: number
  /** Default 50 ms doubling to 2 s. */
  readonly curve?: Curve
}

export type WireClient<Rpcs extends Rpc.Any> = RpcClient.RpcClient<Rpcs, TransportError>

const retryCurve: Curve = { baseMillis: 50, maxMillis: 2_000 }

/** Repeats what the platform lost, for as long as `mayRepeat` says so. */
const retrying = (
  attempt: Effect.Effect<void, Unavailable>,
  { curve = retryCurve, times }: Retry,
  mayRepeat: () => boolean,
): Effect.Effect<void, Unavailable> => {
  const from = (tries: number): Effect.Effect<void, Unavailable> =>
    Effect.catch(attempt, (error) => {
      const lost = error.retryable && !error.overloaded && mayRepeat()
      if (!lost || tries > times) return Effect.fail(error) // C2
      return Random.next.pipe(
        Effect.flatMap((random) => Effect.sleep(jitteredMillis(curve, tries, random))),
        Effect.andThen(from(tries + 1)),
      )
    })
  return from(1)
}

const opened = new WeakMap<object, unknown>()

/**
 * The group as the client library sees it: it would check payloads before the call has begun, and
 * throw. Here they are checked when they are encoded, inside the call.
 */
const unchecked = <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
): RpcGroup.RpcGroup<Rpcs> => {
  const known = opened.get(group)
  if (known !== undefined) return known as RpcGroup.RpcGroup<Rpcs>
  const rpcs = [...group.requests.values()] as unknown as ReadonlyArray<Rpc.Rpc<string>>
  const open = RpcGroup.make(...rpcs.map((rpc) => rpc.setPayload(Schema.Unknown)))
  opened.set(group, open)
  return open as unknown as RpcGroup.RpcGroup<Rpcs>
}

const headersOf = <Rpcs extends Rpc.Any>({ headers }: WireClientOptions<Rpcs>) => {
  if (typeof headers === "function") {
    return ({ payload, tag }: RpcMessage.Request<Rpcs>) => Headers.fromInput(headers(payload, tag))
  }
  const fixed = Headers.fromInput(headers)
  return () => fixed
}

/**
 * A client of a group. Its calls never throw and never die of what the peer or the platform does.
 * It lives as long as the scope, whose end interrupts its calls.
 */
export const makeWireClient = Effect.fnUntraced(function* <Rpcs extends Rpc.Any>(
  group: RpcGroup.RpcGroup<Rpcs>,
  options: WireClientOptions<Rpcs>,
): Effect.fn.Return<WireClient<Rpcs>, never, Scope.Scope | Rpc.MiddlewareClient<Rpcs>> {
  const context = yield* Effect.context<never>()
  const tracing = options.tracing ?? Context.getOrUndefined(context, Tracer.Tracer) !== undefined
  const generateRequestId = options.requestId ?? (() => crypto.randomUUID())
  const { retry } = options
  const callerHeaders = headersOf(options)

  const send = (request: RpcMessage.Request<Rpcs>): Effect.Effect<void, TransportError> => {
    const codec = rpcCodec(group.requests.get(request.tag) as Rpc.Any)
    const payload = codec.encodePayload(request.payload)
    if (Result.isFailure(payload)) return Effect.fail(payload.failure) // C1
    let delivered = false
    const attempt = nativeCall({
      codec,
      request: request,
      payload: payload.success,
      headers: Headers.merge(request.headers, callerHeaders(request)), // C3
      target: () => options.target(request.payload, request.tag),
      deliver: (values) => {
        delivered = true
        return write({ ...chunk, requestId: request.id, values: values as never })
      },
      end: (exit) => write({ ...exited, requestId: request.id, exit: exit as Rpc.Exit<Rpcs> }),
    })
    return retry === undefined ? attempt : retrying(attempt, retry, () => !delivered)
  }

  const { client, write } = yield* RpcClient.makeNoSerialization(unchecked(group), {
    supportsAck: false,
    disableTracing: !tracing,
    ...(options.spanPrefix === undefined ? {} : { spanPrefix: options.spanPrefix }),
    generateRequestId: () => generateRequestId() as RpcMessage.RequestId,
    // An interruption is told by the try that was interrupted, which knows its target.
    onFromClient: ({ message }) => (message._tag === "Request" ? send(message) : Effect.void),
  })
  return client
})

const chunk = { _tag: "Chunk", clientId: 0 } as const
const exited = { _tag: "Exit", clientId: 0 } as const

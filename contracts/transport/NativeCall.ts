/**
 * One try of one call: the native method, the sink of its stream, and what becomes of its end.
 *
 * - N1 Whatever the target does (throws, rejects, answers nonsense) is an end of the try.
 * - N2 Who is interrupted tells the same target, and refuses what the stream still pushes.
 * - N3 A push is taken when the reader's queue has room: that is the backpressure.
 * - N4 A value that does not decode ends the try on both sides: it fails here, the push there.
 */
import { Context, Effect, type Exit, Result, Tracer } from "effect"
import type { Headers } from "effect/http"
import type { Rpc, RpcMessage } from "effect/rpc"
import type { Unavailable } from "../Errors.ts"
import { classify } from "./PlatformFailure.ts"
import type { RpcCodec } from "./RpcCodec.ts"
import type { WireExit, WireSink, WireTarget } from "./Wire.ts"
import { eachValue, notDecoded, readExit } from "./WireExits.ts"

export interface NativeCall {
  readonly codec: RpcCodec
  readonly request: RpcMessage.Request<Rpc.Any>
  /** The payload as it crosses. */
  readonly payload: unknown
  readonly headers: Headers.Headers
  /** Asked once, when the try begins. */
  readonly target: () => WireTarget
  /** Hands over values; done when the reader has room for more. */
  readonly deliver: (values: ReadonlyArray<unknown>) => Effect.Effect<void>
  /** Hands over the end of an answered call. */
  readonly end: (exit: Exit.Exit<unknown, unknown>) => Effect.Effect<void>
}

/** The trace that the call continues, when it has made no span of its own. */
const traceOf = ({ request }: NativeCall, context: Context.Context<never>) => {
  const { sampled, spanId, traceId } =
    request.traceId === undefined
      ? (Context.getOrUndefined(context, Tracer.ParentSpan) ?? {})
      : request
  return traceId === undefined || spanId === undefined
    ? {}
    : { traceId, spanId, sampled: sampled !== false }
}

const messageOf = (
  call: NativeCall,
  context: Context.Context<never>,
): RpcMessage.RequestEncoded => ({
  _tag: "Request",
  id: call.request.id,
  tag: call.request.tag,
  payload: call.payload,
  headers: Object.entries(call.headers),
  ...(call.request.discard === true ? { discard: true as const } : {}),
  ...traceOf(call, context),
})

const ignore = (): void => {}

const sendInterrupt = (target: WireTarget, requestId: RpcMessage.RequestId): void => {
  try {
    target.call({ _tag: "Interrupt", requestId }).then(ignore, ignore)
  } catch {
    // The target is gone, and the call with it.
  }
}

const readerGone = new Error("the reader of the stream has gone")

/** Whether the try still wants values: shared by the try and its sink. */
interface Reader {
  closed: boolean
}

const sinkOf = (
  call: NativeCall,
  context: Context.Context<never>,
  reader: Reader,
  fail: (error: Unavailable) => void,
): WireSink => {
  const run = Effect.runForkWith(context)
  return (values) => {
    if (reader.closed) return Promise.reject(readerGone) // N2
    const decoded = eachValue(call.codec.decodeValue, values)
    if (Result.isFailure(decoded)) {
      fail(notDecoded) // N4
      return Promise.reject(readerGone)
    }
    if (decoded.success.length === 0) return Promise.resolve()
    return new Promise((resolve, reject) => {
      const done = () => (reader.closed ? reject(readerGone) : resolve())
      run(call.deliver(decoded.success)).addObserver(done) // N3
    })
  }
}

/** Runs the try. Succeeds when the call was answered, whatever the answer; fails otherwise. */
export const nativeCall = (call: NativeCall): Effect.Effect<void, Unavailable> =>
  Effect.withFiber(({ context }) =>
    Effect.callback((resume) => {
      const reader: Reader = { closed: false }
      const { codec, request } = call
      const fail = (error: Unavailable) => {
        reader.closed = true
        resume(Effect.fail(error))
      }
      const answered = (exit: WireExit) => {
        reader.closed = true
        const valueless = codec.isStream || request.discard === true
        resume(call.end(readExit(codec, valueless, exit)))
      }
      const rejected = (error: unknown) => fail(classify(error)) // N1
      try {
        const target = call.target()
        const message = messageOf(call, context)
        const answer = codec.isStream
          ? target.call(message, sinkOf(call, context, reader, fail))
          : target.call(message)
        answer.then(answered, rejected)
        return Effect.sync(() => {
          reader.closed = true // N2
          sendInterrupt(target, request.id)
        })
      } catch (error) {
        return rejected(error)
      }
    }),
  )

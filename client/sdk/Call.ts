/**
 * One try of one call over a wire target, which knows nothing of tries and of iterators.
 *
 * - C1 It ends with the answer's value, with an error of the contract, or with the reason of its
 *   signal; whatever the target does (throws, rejects, answers nonsense) is one of them.
 * - C2 Who leaves tells the other side, and refuses what a stream still pushes.
 */
import { platformFault } from "../../contracts/transport/PlatformFault.ts"
import type { WireExit, WireRequest, WireSink, WireTarget } from "../../contracts/transport/Wire.ts"
import type { ErrorOf } from "./HeddleError.ts"

/** What a call is, at every try. */
export interface Calling {
  readonly target: WireTarget
  readonly errorOf: ErrorOf
  /** The operation. */
  readonly tag: string
  readonly payload: unknown
  readonly signal: AbortSignal | undefined
  /** The trace that the call belongs to, as W3C writes it. */
  readonly traceparent: string | undefined
}

const traceparents = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})/

/** The trace fields of a request; none for what is no trace. */
const traceOf = (traceparent: string | undefined) => {
  const [, traceId, spanId, flags] = traceparents.exec(traceparent ?? "") ?? []
  if (traceId === undefined || spanId === undefined) return {}
  return { traceId, spanId, sampled: Number.parseInt(flags ?? "", 16) % 2 === 1 }
}

const unavailable = (reason: string) => ({
  _tag: "Unavailable",
  retryable: false,
  overloaded: false,
  reason,
})

/** The error of an answer that is none of the contract. */
export const undecoded = unavailable("The answer of the deployment does not decode")

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null

/** The error inside an exit that is no success. */
const errorIn = (exit: Record<string, unknown>): unknown => {
  const { cause } = exit
  const first: unknown = Array.isArray(cause) ? cause[0] : undefined
  return isObject(first) && first["_tag"] === "Fail" && isObject(first["error"])
    ? first["error"]
    : undecoded
}

const valueOf = (exit: unknown, errorOf: ErrorOf): unknown => {
  const read = isObject(exit) ? exit : {}
  if (read["_tag"] === "Success") return read["value"] ?? null
  throw errorOf(errorIn(read)) // C1
}

const interrupt = (target: WireTarget, requestId: string | number): void => {
  const ignore = () => undefined
  try {
    target.call({ _tag: "Interrupt", requestId }).then(ignore, ignore) // C2
  } catch {
    // The target is gone, and the call with it.
  }
}

/** Starts it; what is thrown is a rejection, too. */
const start = async (
  target: WireTarget,
  request: WireRequest,
  sink: WireSink | undefined,
): Promise<WireExit> => (sink === undefined ? target.call(request) : target.call(request, sink))

/** Tries once. The values of a stream go to the sink meanwhile. */
export const callOnce = (calling: Calling, sink?: WireSink): Promise<unknown> =>
  new Promise((resolve, reject) => {
    const { target, errorOf, tag, payload, signal, traceparent } = calling
    if (signal?.aborted === true) {
      reject(signal.reason)
      return
    }
    const request: WireRequest = {
      _tag: "Request",
      id: crypto.randomUUID(),
      tag,
      payload,
      headers: [],
      ...traceOf(traceparent),
    }
    const leave = () => {
      interrupt(target, request.id)
      reject(signal?.reason) // C1
    }
    signal?.addEventListener("abort", leave, { once: true })
    start(target, request, sink)
      .then(
        (exit) => valueOf(exit, errorOf),
        (error: unknown) => {
          throw errorOf({ _tag: "Unavailable", ...platformFault(error) }) // C1
        },
      )
      .finally(() => signal?.removeEventListener("abort", leave))
      .then(resolve, reject)
  })

/**
 * The gate of an edge: what it does with a message before the payload is decoded. The guard then
 * judges what was decoded.
 *
 * - A1 Who has no identity, or asks for what its grants do not name, learns that and nothing else.
 * - A2 What is nested too deep, or too large to be walked, is refused before anything recursive
 *   touches it, and that request alone.
 * - A3 Every message is counted before it is looked at, but for one that ends another.
 */
import { HeddleRpc } from "../contracts/HeddleRpc.ts"
import type { RequestEncoded } from "effect/rpc/RpcMessage"
import type { Limits } from "../contracts/Limits.ts"
import type { WireExit, WireMessage } from "../contracts/transport/Wire.ts"
import { failure, notARequest, transportFailure } from "../contracts/transport/WireExits.ts"
import type { WireServer } from "../contracts/transport/WireServer.ts"
import { isDeniedUnread } from "./EdgeGuard.ts"
import type { Identity, Verified } from "./Identity.ts"
import { shapeFault } from "./PayloadShape.ts"
import { type Admission, tooMany } from "./RateLimit.ts"
import { isRecord, isRequestId, publicRequest } from "./PublicRequest.ts"

/** As many characters of an operation's name as `OperationDenied` may have. */
const operationCharacters = 64

const denied = (operation: string): WireExit =>
  failure({ _tag: "OperationDenied", operation: operation.slice(0, operationCharacters) })

/** The edge of a caller that is served nothing. Reaches no decoder, and no object. */
export const refusingEdge = (identity: Exclude<Identity, Verified>): WireServer => ({
  activeCalls: () => 0,
  call: (message) => {
    const request = publicRequest(message)
    if (identity._tag === "Unverified") {
      return Promise.resolve(failure({ _tag: "Unauthenticated", reason: identity.reason })) // A1
    }
    return Promise.resolve(denied(request?.tag ?? "")) // A1
  },
})

export interface GateOptions {
  readonly identity: Verified
  readonly limits: Limits
  /** Whether this identity may make one more call; absent where nobody counts them. */
  readonly admission?: Admission | undefined
}

const isInterrupt = (message: unknown): boolean => {
  try {
    return isRecord(message) && message["_tag"] === "Interrupt" && isRequestId(message["requestId"])
  } catch {
    return false
  }
}

/** Why a message goes no further, before its payload is decoded; or the request that it is. */
const judged = (
  message: WireMessage,
  { identity, limits }: GateOptions,
): WireExit | RequestEncoded => {
  const request = publicRequest(message)
  if (request === undefined) return transportFailure(notARequest)
  const { payload, tag } = request
  // What is unknown is answered so: its name is the caller's, and grants nothing.
  if (HeddleRpc.requests.has(tag) && isDeniedUnread(identity.grants, tag, payload)) {
    return denied(tag) // A1
  }
  const fault = shapeFault(payload, limits)
  return fault === undefined ? request : transportFailure(fault) // A2
}

/** The same of whatever arrives: of code in this process, values may throw when they are looked at. */
const judgedSafely = (message: WireMessage, options: GateOptions): WireExit | RequestEncoded => {
  try {
    return judged(message, options)
  } catch {
    return transportFailure(notARequest) // A2
  }
}

/** The edge behind its gate. */
export const gatedEdge = (edge: WireServer, options: GateOptions): WireServer => ({
  activeCalls: edge.activeCalls,
  call: async (message: WireMessage, sink) => {
    if (isInterrupt(message)) return edge.call(message)
    if (options.admission !== undefined && !(await options.admission())) {
      return transportFailure(tooMany) // A3
    }
    const request = judgedSafely(message, options)
    return request._tag === "Request" ? edge.call(request, sink) : request
  },
})

/**
 * The gate of an edge: what it does with a message before the payload is decoded. The guard then
 * judges what was decoded.
 *
 * - A1 Who has no identity, or asks for what its grants do not name, learns that and nothing else.
 * - A2 What is nested too deep, or too large to be walked, is refused before anything recursive
 *   touches it, and that request alone.
 */
import { HeddleRpc } from "../contracts/HeddleRpc.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { WireExit, WireMessage } from "../contracts/transport/Wire.ts"
import { failure, notARequest, transportFailure } from "../contracts/transport/WireExits.ts"
import type { WireServer } from "../contracts/transport/WireServer.ts"
import { isDeniedUnread } from "./EdgeGuard.ts"
import type { Identity, Verified } from "./Identity.ts"
import { shapeFault } from "./PayloadShape.ts"
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
}

const isInterrupt = (message: unknown): boolean =>
  isRecord(message) && message["_tag"] === "Interrupt" && isRequestId(message["requestId"])

/** The edge behind its gate. */
export const gatedEdge = (edge: WireServer, { identity, limits }: GateOptions): WireServer => ({
  activeCalls: edge.activeCalls,
  call: (message: WireMessage, sink) => {
    if (isInterrupt(message)) return edge.call(message)
    const request = publicRequest(message)
    if (request === undefined) return Promise.resolve(transportFailure(notARequest))
    const { payload, tag } = request
    // What is unknown is answered so: its name is the caller's, and grants nothing.
    if (HeddleRpc.requests.has(tag) && isDeniedUnread(identity.grants, tag, payload)) {
      return Promise.resolve(denied(tag)) // A1
    }
    const fault = shapeFault(payload, limits)
    if (fault !== undefined) return Promise.resolve(transportFailure(fault)) // A2
    return edge.call(request, sink)
  },
})

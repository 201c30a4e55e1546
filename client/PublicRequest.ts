/**
 * One request as a public edge takes it from a caller: over HTTPS a line, over a service binding a
 * message. Nothing is said yet of its payload.
 *
 * - Q1 Only the fields named here go on: a caller's headers never do.
 * - Q2 An id is echoed, so it is one that JSON can say, and short.
 * - Q3 Trace ids reach logs and exporters: they are what W3C traces have, or there are none.
 */
import type { RequestEncoded } from "effect/rpc/RpcMessage"
import { traceOf } from "../contracts/observability/TraceContext.ts"

/** UTF-16 units of a request's id. */
export const requestIdCharacters = 128

/** Whether a caller may name its request so. */
export const isRequestId = (id: unknown): id is string | number =>
  typeof id === "string" ? id.length <= requestIdCharacters : Number.isFinite(id) // Q2

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** Reads a request; undefined when it is none. Pure. */
export const publicRequest = (value: unknown): RequestEncoded | undefined => {
  if (!isRecord(value) || value["_tag"] !== "Request") return undefined
  const { id, tag, payload } = value
  if (!isRequestId(id) || typeof tag !== "string") return undefined
  return { _tag: "Request", id, tag, payload, headers: [], ...traceOf(value) } // Q1, Q3
}

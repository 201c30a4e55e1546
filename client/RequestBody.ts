/**
 * What `POST /rpc` takes: NDJSON, one effect/rpc request per line, checked before anything is run.
 *
 * - B1 No byte beyond the limit is read, and nothing is parsed before the whole body is in.
 * - B2 Only the fields named here go on: a caller's headers never do.
 */
import type { RequestEncoded } from "effect/rpc/RpcMessage"

/** The requests, or the HTTP status and the words of a refusal. */
export type RequestBody =
  | { readonly _tag: "Requests"; readonly requests: ReadonlyArray<RequestEncoded> }
  | { readonly _tag: "Refused"; readonly status: 400 | 413 | 415; readonly reason: string }

/** Four inputs of the hard cap of 1 MiB fit. */
export const bodyBytesMax = 4 * 1024 * 1024

/** How many calls one body may make. */
export const requestsMax = 64

const refused = (status: 400 | 413 | 415, reason: string): RequestBody => ({
  _tag: "Refused",
  status,
  reason,
})

const mediaTypes = ["application/x-ndjson", "application/ndjson", "application/json"]

const mediaTypeOf = (request: Request): string =>
  (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

const tooLarge = refused(413, `A body may have ${bodyBytesMax} bytes`)

/** The bytes of the body, or undefined as soon as there are too many. */
const readBytes = async (request: Request): Promise<Uint8Array | undefined> => {
  if (Number(request.headers.get("content-length") ?? 0) > bodyBytesMax) return undefined // B1
  if (request.body === null) return new Uint8Array()
  const chunks: Array<Uint8Array> = []
  let length = 0
  const reader = request.body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) break
    length += value.byteLength
    if (length > bodyBytesMax) {
      void reader.cancel().catch(() => undefined)
      return undefined // B1
    }
    chunks.push(value)
  }
  const bytes = new Uint8Array(length)
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return bytes
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const traceOf = (line: Record<string, unknown>) =>
  typeof line["traceId"] === "string" && typeof line["spanId"] === "string"
    ? {
        traceId: line["traceId"],
        spanId: line["spanId"],
        sampled: line["sampled"] !== false,
      }
    : {}

const requestOf = (line: unknown): RequestEncoded | undefined => {
  if (!isRecord(line) || line["_tag"] !== "Request") return undefined
  const { id, tag, payload } = line
  if ((typeof id !== "string" && typeof id !== "number") || typeof tag !== "string") {
    return undefined
  }
  return { _tag: "Request", id, tag, payload, headers: [], ...traceOf(line) } // B2
}

/** Messages of the protocol that need no answer here: one exchange is one batch of requests. */
const isIgnored = (line: unknown): boolean =>
  isRecord(line) && ["Eof", "Ping", "Ack", "Interrupt"].includes(String(line["_tag"]))

/** Reads the requests out of the text of a body. Pure. */
export const parseRequests = (text: string): RequestBody => {
  const requests: Array<RequestEncoded> = []
  const ids = new Set<string>()
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "") continue
    let value: unknown
    try {
      value = JSON.parse(line)
    } catch {
      return refused(400, `Line ${index + 1} is not JSON`)
    }
    if (isIgnored(value)) continue
    const request = requestOf(value)
    if (request === undefined) return refused(400, `Line ${index + 1} is not a request`)
    if (ids.has(String(request.id))) return refused(400, `Line ${index + 1} repeats an id`)
    ids.add(String(request.id))
    requests.push(request)
    if (requests.length > requestsMax) {
      return refused(413, `A body may make ${requestsMax} requests`)
    }
  }
  return requests.length === 0
    ? refused(400, "The body has no request")
    : { _tag: "Requests", requests }
}

/** Reads the requests out of a body. A body that breaks off rejects. */
export const readRequests = async (request: Request): Promise<RequestBody> => {
  if (!mediaTypes.includes(mediaTypeOf(request)) || request.headers.has("content-encoding")) {
    return refused(415, "Send application/x-ndjson, uncompressed")
  }
  const bytes = await readBytes(request)
  if (bytes === undefined) return tooLarge
  let text: string
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return refused(400, "The body is not UTF-8")
  }
  return parseRequests(text)
}

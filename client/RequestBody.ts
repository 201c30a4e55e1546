/**
 * What `POST /rpc` takes: NDJSON, one effect/rpc request per line, checked before anything is run.
 *
 * - B1 No byte beyond the limit is read, and nothing is parsed before the whole body is in.
 * - B2 A body that breaks off is the caller's refusal, like any other: nothing here rejects.
 * - B3 A body opens a few streams: each has records held for it for as long as it is open, read or not.
 */
import { RpcSchema } from "effect/rpc"
import type { RequestEncoded } from "effect/rpc/RpcMessage"
import { HeddleRpc } from "../contracts/HeddleRpc.ts"
import { readBounded } from "./BoundedBody.ts"
import { isRecord, publicRequest } from "./PublicRequest.ts"

/** The HTTP status and the words of a refusal. */
export interface Refused {
  readonly _tag: "Refused"
  readonly status: 400 | 413 | 415
  readonly reason: string
}

export type RequestBody =
  | { readonly _tag: "Requests"; readonly requests: ReadonlyArray<RequestEncoded> }
  | Refused

/** Four inputs of the hard cap of 1 MiB fit. */
export const bodyBytesMax = 4 * 1024 * 1024

/** How many calls one body may make. */
export const requestsMax = 64

/** How many of them may be streams. */
export const streamsMax = 8

const streams: ReadonlySet<string> = new Set(
  [...HeddleRpc.requests]
    .filter(([, { successSchema }]) => RpcSchema.isStreamSchema(successSchema))
    .map(([tag]) => tag),
)

export const refused = (status: Refused["status"], reason: string): Refused => ({
  _tag: "Refused",
  status,
  reason,
})

const mediaTypes = ["application/x-ndjson", "application/ndjson", "application/json"]

/** The media type as it is declared, without its parameters; empty where there is none. */
export const mediaTypeOf = (request: Request): string =>
  (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase() ?? ""

const tooLarge = refused(413, `A body may have ${bodyBytesMax} bytes`)

const brokenOff = refused(400, "The body broke off")

/** The bytes of the body, or why they are not all read. Given up when the signal says so. */
const readBytes = async (request: Request, signal: AbortSignal): Promise<Uint8Array | Refused> => {
  if (Number(request.headers.get("content-length") ?? 0) > bodyBytesMax) return tooLarge // B1
  try {
    const bytes = await readBounded(request.body, bodyBytesMax, signal)
    return bytes === "TooLarge" ? tooLarge : bytes // B1
  } catch {
    return brokenOff // B2
  }
}

/** Messages of the protocol that need no answer here: one exchange is one batch of requests. */
const ignored: ReadonlySet<unknown> = new Set(["Eof", "Ping", "Ack", "Interrupt"])

const isIgnored = (line: unknown): boolean => isRecord(line) && ignored.has(line["_tag"])

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
    const request = publicRequest(value)
    if (request === undefined) return refused(400, `Line ${index + 1} is not a request`)
    if (ids.has(String(request.id))) return refused(400, `Line ${index + 1} repeats an id`)
    ids.add(String(request.id))
    requests.push(request)
    if (requests.length > requestsMax) {
      return refused(413, `A body may make ${requestsMax} requests`)
    }
  }
  if (requests.filter(({ tag }) => streams.has(tag)).length > streamsMax) {
    return refused(413, `A body may open ${streamsMax} streams`) // B3
  }
  return requests.length === 0
    ? refused(400, "The body has no request")
    : { _tag: "Requests", requests }
}

/** The whole text of a body. Never rejects; the signal ends the reading. */
export const readText = async (
  request: Request,
  signal: AbortSignal,
): Promise<string | Refused> => {
  const bytes = await readBytes(request, signal)
  if (!(bytes instanceof Uint8Array)) return bytes
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes)
  } catch {
    return refused(400, "The body is not UTF-8")
  }
}

/** Reads the requests out of a body. Never rejects; the signal ends the reading. */
export const readRequests = async (request: Request, signal: AbortSignal): Promise<RequestBody> => {
  if (!mediaTypes.includes(mediaTypeOf(request)) || request.headers.has("content-encoding")) {
    return refused(415, "Send application/x-ndjson, uncompressed")
  }
  const text = await readText(request, signal)
  return typeof text === "string" ? parseRequests(text) : text
}

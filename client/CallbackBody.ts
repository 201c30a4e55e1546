/**
 * What `POST /callback/TOKEN` takes: whatever a webhook sends becomes one JSON value.
 *
 * JSON is itself, a form an object of its texts (of a name that comes twice, the last), plain text a text, and nothing
 * at all is null.
 */
import type { Schema } from "effect"
import { mediaTypeOf, readText, type Refused, refused } from "./RequestBody.ts"

export type CallbackBody = { readonly _tag: "Payload"; readonly payload: Schema.Json } | Refused

const parseJson = (text: string): CallbackBody => {
  try {
    return { _tag: "Payload", payload: JSON.parse(text) as Schema.Json }
  } catch {
    return refused(400, "The body is not JSON")
  }
}

const wrongType = refused(
  415,
  "Send application/json, application/x-www-form-urlencoded or text/plain, uncompressed",
)

const isJson = (mediaType: string): boolean => /^application\/(?:[^/]+\+)?json$/.test(mediaType)

/** The value in the text of a body. Pure. */
export const parseCallback = (mediaType: string, text: string): CallbackBody => {
  if (text === "") return { _tag: "Payload", payload: null }
  if (isJson(mediaType)) return parseJson(text)
  if (mediaType === "application/x-www-form-urlencoded") {
    return { _tag: "Payload", payload: Object.fromEntries(new URLSearchParams(text)) }
  }
  return mediaType === "text/plain" ? { _tag: "Payload", payload: text } : wrongType
}

/** Reads the value of a body. Never rejects; the signal ends the reading. */
export const readCallback = async (
  request: Request,
  signal: AbortSignal,
): Promise<CallbackBody> => {
  if (request.headers.has("content-encoding")) return wrongType
  const text = await readText(request, signal)
  return typeof text === "string" ? parseCallback(mediaTypeOf(request), text) : text
}

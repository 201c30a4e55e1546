/** The answers of the HTTP edge that are one line of JSON, and what its routes refuse alike. */
import type { Unavailable } from "../contracts/Errors.ts"
import { retryAfterSeconds, tooMany } from "./RateLimit.ts"

export const answer = (
  status: number,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Response =>
  new Response(`${JSON.stringify(body)}\n`, {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  })

export const refusal = (
  status: number,
  reason: string,
  headers?: Record<string, string>,
): Response => answer(status, { _tag: "InvalidInput", path: "", reason }, headers)

/** The same of a path that leads nowhere as of one that leads where its caller must not know. */
export const nothingHere = (): Response => refusal(404, "There is nothing here")

export const usePost = (): Response => refusal(405, "Use POST", { allow: "POST" })

export const unavailable = ({
  overloaded,
  reason,
  retryable,
}: Pick<Unavailable, "retryable" | "overloaded" | "reason">) => ({
  _tag: "Unavailable",
  retryable,
  overloaded,
  reason,
})

/** The answer that tells when to come back. */
export const later = (
  status: 429 | 503,
  why: Pick<Unavailable, "retryable" | "overloaded" | "reason">,
  seconds: number,
): Response => answer(status, unavailable(why), { "retry-after": String(seconds) })

export const limited = (): Response => later(429, tooMany, retryAfterSeconds)

/** Nothing was run: the same request may arrive in time when it is sent again. */
export const lateBody = (): Response =>
  answer(
    408,
    unavailable({ retryable: true, overloaded: false, reason: "The body did not arrive in time" }),
  )

/** Bytes of all headers together; what a token and a browser need is far less. */
const headerBytesMax = 32 * 1024

/** The refusal of a request whose headers are too long; undefined of any other. */
export const longHeaders = (request: Request): Response | undefined => {
  let bytes = 0
  for (const [name, value] of request.headers) bytes += name.length + value.length
  return bytes > headerBytesMax
    ? refusal(431, `Headers may have ${headerBytesMax} bytes`)
    : undefined
}

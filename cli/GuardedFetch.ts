/**
 * A `fetch` for an address that a person typed: whatever answers there, the command ends and says why.
 *
 * What is no answer of a deployment is put in its words: a typed `Unavailable` whose reason tells what
 * was found, in the place of the answer. So the client above knows nothing of it.
 *
 * - G1 A redirect is not followed: the token goes to the address that was named, and to no other.
 * - G2 Nothing is read without an end: an answer of other lines than a deployment's, a line that is too
 *   long, or empty lines without number end it.
 * - G3 An address that nothing answers at fails at once; one that has answered may be gone for a moment.
 * - G4 An answer must begin in time.
 * - G5 What may have taken a request is told as such, whatever its answer is taken for: it may have done what it was asked.
 */
import { plain } from "./Plain.ts"

export interface GuardOptions {
  readonly fetch?: typeof globalThis.fetch
  /** How long an answer may take to begin. */
  readonly answerMillis: number
  /** Told when a request may have been taken. */
  readonly onSent?: () => void
}

/** Larger than any answer: a page of history has 1 MiB. */
const lineBytesMax = 16 * 1024 * 1024

/** What a timer counts at most: of more it would make a millisecond. */
const timerMillisMax = 2 ** 31 - 1

/** Heartbeats are 15 s apart. */
const emptyLinesMax = 100_000

const ndjson = "application/x-ndjson"

interface Problem {
  readonly reason: string
  readonly retryable: boolean
}

const encoder = new TextEncoder()

const exitLine = ({ reason, retryable }: Problem): Uint8Array => {
  const error = {
    _tag: "Unavailable",
    retryable,
    overloaded: false,
    reason: reason.slice(0, 1_000),
  }
  const exit = { _tag: "Failure", cause: [{ _tag: "Fail", error }] }
  return encoder.encode(`\n${JSON.stringify({ _tag: "Exit", exit })}\n`)
}

const answerOf = (problem: Problem): Response =>
  new Response(exitLine(problem), { headers: { "content-type": ndjson } })

const codeOf = (error: unknown): string => {
  for (let at = error; typeof at === "object" && at !== null; at = (at as Error).cause) {
    const { code } = at as { readonly code?: unknown }
    if (typeof code === "string") return code
  }
  return ""
}

/** What a failed attempt to connect means; none where a connection was lost. */
const problemOf = (error: unknown, url: URL): string | undefined => {
  const code = codeOf(error)
  const { message = "", name = "" } = ((error as Error).cause ?? {}) as Partial<Error>
  if (/bad port/i.test(message)) return `Port ${url.port} is one that no calls are made to`
  if (code === "ECONNREFUSED") return `Nothing listens at ${url.origin}`
  if (code === "ENOTFOUND" || code === "EAI_AGAIN") return `The name ${url.hostname} is not known`
  if (/^(UND_ERR_CONNECT_TIMEOUT|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|EACCES|EPERM)$/.test(code)) {
    return `${url.origin} cannot be reached (${code})`
  }
  if (/CERT|UNABLE_TO_|_TLS_/.test(code)) {
    return `The certificate of ${url.origin} is not trusted (${code})`
  }
  if (/^(EPROTO|ERR_SSL_|HPE_)/.test(code) || name === "HTTPParserError") {
    return `${url.origin} does not speak ${url.protocol.slice(0, -1).toUpperCase()}`
  }
  return undefined
}

const lost = (): Error =>
  Object.assign(new Error("Network connection lost."), { retryable: true as const })

/** Passes an answer on for as long as it is one. */
const guarded = (body: ReadableStream<Uint8Array>, origin: string): ReadableStream<Uint8Array> => {
  let lineBytes = 0
  let emptyLines = 0
  let problem: string | undefined
  const look = (byte: number): void => {
    if (byte === 10) {
      emptyLines = lineBytes === 0 ? emptyLines + 1 : 0
      lineBytes = 0
    } else if (byte !== 13) {
      if (lineBytes === 0 && byte !== 123 && byte !== 32) problem = "with lines that are not JSON"
      lineBytes += 1
    }
    if (lineBytes > lineBytesMax) problem = "with a line without an end"
    if (emptyLines > emptyLinesMax) problem = "with empty lines without an end"
  }
  return body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform: (chunk, controller) => {
        for (const byte of chunk) look(byte) // G2
        if (problem === undefined) return controller.enqueue(chunk)
        const reason = `${origin} answered ${problem}: that is no deployment of Heddle`
        controller.enqueue(exitLine({ reason, retryable: false }))
        controller.terminate() // G2
      },
    }),
  )
}

/** What an answer other than a deployment's tells. */
const problemOfAnswer = (response: Response, url: URL): string | undefined => {
  const { headers, status } = response
  if (status >= 300 && status < 400) {
    const to = plain(headers.get("location") ?? "elsewhere").slice(0, 200)
    return `${url.origin} redirects to ${to}: a token is not sent on. If you trust it, name it with --url` // G1
  }
  const type = plain((headers.get("content-type") ?? "nothing").split(";", 1)[0] ?? "").slice(0, 80)
  if (status === 200 && type !== ndjson)
    return `${url.origin} answered with ${type}: that is no deployment of Heddle`
  if (status === 404 || status === 405)
    return `${url.href} does not take calls (status ${status}): that is no deployment of Heddle`
  return undefined
}

/** The guarded `fetch`; one for a command, since it remembers whether anything has answered. */
export const guardedFetch = (options: GuardOptions): typeof globalThis.fetch => {
  const send = options.fetch ?? globalThis.fetch
  let contacted = false

  const begin = async (url: URL, init: RequestInit): Promise<Response | Problem> => {
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(), Math.min(options.answerMillis, timerMillisMax))
    const signal = AbortSignal.any([late.signal, ...(init.signal ? [init.signal] : [])])
    const sent = () => options.onSent?.() // G5
    try {
      const response = await send(url, { ...init, redirect: "manual", signal })
      sent()
      return response
    } catch (error) {
      if (init.signal?.aborted === true) {
        sent()
        throw error
      }
      if (late.signal.aborted) {
        sent()
        return {
          reason: `${url.origin} took a connection and did not answer within ${options.answerMillis / 1_000} s`,
          retryable: false,
        } // G4
      }
      const reason = problemOf(error, url)
      if (reason === undefined) {
        sent()
        throw lost()
      }
      return { reason, retryable: contacted } // G3
    } finally {
      clearTimeout(timer) // what has begun may take as long as it likes
    }
  }

  return async (input, init = {}) => {
    const url = new URL(input instanceof Request ? input.url : input)
    const response = await begin(url, init)
    if (!(response instanceof Response)) return answerOf(response)
    const reason = problemOfAnswer(response, url)
    if (reason !== undefined) {
      void response.body?.cancel().catch(() => undefined)
      return answerOf({ reason, retryable: false })
    }
    contacted ||= response.status === 200
    return response.body === null
      ? response
      : new Response(guarded(response.body, url.origin), response)
  }
}

/**
 * The HTTP edge as a wire target: what crosses is the same as over a native call, in NDJSON lines, so
 * that one client serves both ways and fails alike. Needs nothing but `fetch`.
 *
 * - N1 A connection that breaks off, or falls silent for longer than heartbeats may be apart, is a
 *   lost call (`Unavailable`, retryable), never a hang.
 * - N2 The token is asked for at each call, so that one that was renewed is used at once.
 * - N3 Whoever gives the token may fail, hang or give nonsense: the call ends, nothing was sent, and the error says that it
 *   was the token, and nothing of it.
 * - N4 A redirect is not followed: what is sent goes to the address that was named, and to no other.
 * - N5 A line is read for as long as one of a deployment can be, and no longer.
 */
import {
  failure,
  success,
  type WireExit,
  type WireMessage,
  type WireRequest,
  type WireSink,
  type WireTarget,
} from "../contracts/transport/Wire.ts"

export interface HttpTargetOptions {
  /** Of the deployment: its origin, or the address of its `/rpc`. */
  readonly url: string
  /** The bearer token, or where to get one. */
  readonly token: string | (() => string | Promise<string>)
  /** Default the global one. */
  readonly fetch?: typeof globalThis.fetch
  /** Default 45 s: three heartbeats; 24.8 days at most. */
  readonly silenceMillis?: number
}

const unavailable = (options: { retryable: boolean; overloaded: boolean; reason: string }) =>
  failure({ _tag: "Unavailable", ...options })

/** As much of a refusal's reason as the error may have. */
const reasonCharacters = 1_024
const pathCharacters = 256
const referenceCharacters = 64

const unauthenticated = (reason: unknown): WireExit =>
  failure({
    _tag: "Unauthenticated",
    reason:
      typeof reason === "string"
        ? reason.slice(0, reasonCharacters)
        : "The deployment refused the token",
  })

/** What a status without an exit means. */
const exitOfStatus = (status: number): WireExit => {
  if (status === 413) {
    return failure({ _tag: "InvalidInput", path: "", reason: "The request is too large" })
  }
  const overloaded = status === 429 || status === 503
  return unavailable({
    retryable: (status >= 500 || status === 408) && !overloaded,
    overloaded,
    reason: `The deployment answered with status ${status}`,
  })
}

/** A browser tells a redirect by its type, and nothing else of it. */
const isRedirect = ({ status, type }: Response): boolean =>
  (type as string) === "opaqueredirect" || (status >= 300 && status < 400)

const redirected = unavailable({
  retryable: false,
  overloaded: false,
  reason: "The address redirects, and nothing is sent on: name the one that it redirects to",
})

const lost = (): Error =>
  Object.assign(new Error("Network connection lost."), { retryable: true as const }) // N1

/** What a header can carry behind `Bearer`. */
const sendable = /^[\x21-\x7e]+$/

/** Rejects with the signal's reason when it is aborted first. */
const untilAborted = <A>(value: A | Promise<A>, signal: AbortSignal): Promise<A> =>
  new Promise((resolve, reject) => {
    const leave = () => reject(signal.reason)
    signal.addEventListener("abort", leave, { once: true })
    if (signal.aborted) leave()
    Promise.resolve(value)
      .finally(() => signal.removeEventListener("abort", leave))
      .then(resolve, reject)
  })

/** The token of the moment, or why there is none. */
const tokenOf = async (
  source: HttpTargetOptions["token"],
  signal: AbortSignal,
): Promise<string | WireExit> => {
  try {
    const given = typeof source === "string" ? source : source()
    const token = (await untilAborted(given, signal)).trim()
    return sendable.test(token) ? token : unauthenticated("The token is none that can be sent") // N3
  } catch {
    const reason = signal.aborted
      ? "The function that gives the token did not answer in time"
      : "The function that gives the token failed"
    return unavailable({ retryable: true, overloaded: false, reason }) // N3
  }
}

const rpcUrl = (url: string): string =>
  new URL(url).pathname === "/" ? new URL("/rpc", url).href : url

/** One answer as it is read. */
interface Reading {
  readonly body: ReadableStream<Uint8Array>
  /** Ends the reading, and tells the other side so. */
  readonly signal: AbortSignal
  /** Called whenever something came in: from now on silence is counted. */
  readonly heard: () => void
  /** Called when the reader has something to take: it is not the other side that is silent. */
  readonly busy: () => void
}

/** One native call carries 32 MiB at most: no answer of an object is longer. */
const lineCharactersMax = 32 * 1024 * 1024

const endlessLine = (): Error =>
  Object.assign(new Error("A line of the answer has no end"), { retryable: false as const })

/** Cuts a text that comes in pieces into lines; each piece is looked at once. */
const lineCutter = () => {
  let pieces: Array<string> = []
  let characters = 0
  return {
    /** The lines that this piece ends. */
    cut: (piece: string): ReadonlyArray<string> => {
      const [first = "", ...others] = piece.split("\n")
      pieces.push(first)
      characters += first.length
      if (characters > lineCharactersMax) throw endlessLine() // N5
      const last = others.pop()
      if (last === undefined) return []
      const lines = [pieces.join(""), ...others]
      pieces = [last]
      characters = last.length
      return lines
    },
    rest: (): string => pieces.join(""),
  }
}

/** The lines of a body as they come in. */
async function* linesOf(reading: Reading): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  const lines = lineCutter()
  const reader = reading.body.getReader()
  const leave = () => void reader.cancel().catch(() => undefined)
  reading.signal.addEventListener("abort", leave, { once: true })
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      reading.heard()
      yield* lines.cut(decoder.decode(value, { stream: true }))
    }
    const rest = lines.rest()
    if (rest !== "") yield rest
  } finally {
    reading.signal.removeEventListener("abort", leave)
    leave()
  }
}

interface ReplyLine {
  readonly _tag?: unknown
  readonly values?: ReadonlyArray<unknown>
  readonly exit?: WireExit
  /** Of a refusal: one line instead of exits. */
  readonly reason?: unknown
  readonly path?: unknown
  readonly retryable?: unknown
  readonly overloaded?: unknown
  readonly reference?: unknown
}

/** A line that is not ours says nothing: an answer of such lines ends without an exit. */
const parseLine = (line: string): ReplyLine => {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === "object" && value !== null ? value : {}
  } catch {
    return {}
  }
}

/** The exit, after the values before it were taken; none when the answer ends without one. */
const readReply = async (
  reading: Reading,
  sink: WireSink | undefined,
): Promise<WireExit | undefined> => {
  for await (const line of linesOf(reading)) {
    if (line.trim() === "") continue
    const reply = parseLine(line)
    if (reply._tag === "Unauthenticated") return unauthenticated(reply.reason)
    if (reply._tag === "Exit" && reply.exit !== undefined) return reply.exit
    if (reply._tag === "Chunk" && sink !== undefined) {
      reading.busy()
      await sink(reply.values ?? [])
      reading.heard()
    }
  }
  return undefined
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value.slice(0, reasonCharacters) : ""

/** What the deployment says of a request that it refused, where the first line is a word of it. */
const readRefusal = async (reading: Reading): Promise<WireExit | undefined> => {
  for await (const line of linesOf(reading)) {
    const { _tag, overloaded, path, reason, reference, retryable } = parseLine(line)
    if (_tag === "InternalDefect") {
      return failure({ _tag, reference: textOf(reference).slice(0, referenceCharacters) })
    }
    if (_tag === "Unavailable") {
      return unavailable({
        retryable: retryable === true,
        overloaded: overloaded === true,
        reason: textOf(reason),
      })
    }
    if (_tag !== "InvalidInput") return undefined
    return failure({ _tag, path: textOf(path).slice(0, pathCharacters), reason: textOf(reason) })
  }
  return undefined
}

/** What a timer counts at most: of more it would make a millisecond. */
const timerMillisMax = 2 ** 31 - 1

/** A target over HTTPS. Serves any number of calls at once. */
export const httpTarget = (options: HttpTargetOptions): WireTarget => {
  const send = options.fetch ?? globalThis.fetch
  const silenceMillis = Math.min(options.silenceMillis ?? 45_000, timerMillisMax)
  const url = rpcUrl(options.url)
  const open = new Map<string | number, AbortController>()

  const exchange = async (
    request: WireRequest,
    sink: WireSink | undefined,
    controller: AbortController,
  ): Promise<WireExit> => {
    let timer: ReturnType<typeof setTimeout> | undefined
    const busy = () => clearTimeout(timer)
    const heard = () => {
      busy()
      timer = setTimeout(() => controller.abort(lost()), silenceMillis) // N1
    }
    heard()
    try {
      const token = await tokenOf(options.token, controller.signal) // N2
      if (typeof token !== "string") return token
      const response = await send(url, {
        method: "POST",
        headers: {
          "content-type": "application/x-ndjson",
          authorization: `Bearer ${token}`,
        },
        body: `${JSON.stringify({ ...request, headers: [] })}\n`,
        signal: controller.signal,
        redirect: "manual", // N4
      })
      const { body, status } = response
      if (isRedirect(response)) {
        void body?.cancel().catch(() => undefined)
        return redirected
      }
      if (status !== 200 && status !== 401) {
        const refused =
          body && (await readRefusal({ body, heard, busy, signal: controller.signal }))
        return refused ?? exitOfStatus(status)
      }
      const reading = body === null ? undefined : { body, heard, busy, signal: controller.signal }
      const exit = reading && (await readReply(reading, sink))
      if (exit !== undefined) return exit
      if (status === 401) return unauthenticated(undefined)
      throw lost()
    } finally {
      busy()
    }
  }

  return {
    call: async (message: WireMessage, sink?: WireSink) => {
      if (message._tag === "Interrupt") {
        open.get(message.requestId)?.abort(lost())
        return success
      }
      const controller = new AbortController()
      open.set(message.id, controller)
      try {
        return await exchange(message, sink, controller)
      } finally {
        if (open.get(message.id) === controller) open.delete(message.id)
      }
    },
  }
}

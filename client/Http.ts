/**
 * The HTTP edge: `POST /rpc`, effect/rpc over HTTP with NDJSON, `POST /callback/TOKEN` (CallbackRoute.ts), the
 * console's files below `/console/` (Console.ts), and `GET /health`.
 *
 * What a request asks is answered by the same edge as a service binding's; here are only the status
 * codes around it. 200 with an exit per request; 400, 401, 404, 405, 408, 413, 415, 429, 431, 500 and 503 with
 * one line that says why, and nothing was run. There is no CORS, and so no page of another site is served, unless the
 * deployment lists its origin.
 *
 * - H1 Whatever arrives is answered, and no answer holds a stack, a cause or another's data.
 * - H2 A reader that goes away ends its calls, and so frees the objects that serve them.
 * - H3 Of a caller without a verified token nothing is read but its header; of the others a body for
 *   so long and no longer. A connection that sends slowly holds nothing.
 * - H4 Of what is stored, a body has a few answers held for it at a time, and opens a few streams (RequestBody.ts): one
 *   that asks for much and reads nothing must not fill the memory that others are served from.
 */
import { Effect, Semaphore } from "effect"
import type { RequestEncoded } from "effect/rpc/RpcMessage"
import { CurrentLimits, type Limits } from "../contracts/Limits.ts"
import { jsonLog } from "../contracts/observability/JsonLog.ts"
import type { WireExit } from "../contracts/transport/Wire.ts"
import { type Bearer, makeBearer, type Undecided } from "./Auth.ts"
import { callbackRoute, isCallback } from "./CallbackRoute.ts"
import { type ConsoleAssets, consoleRoute, isConsole } from "./Console.ts"
import { checkOrigins, preflight, readable } from "./Cors.ts"
import { makeEdge } from "./Edge.ts"
import { logDefect } from "./EdgeDefect.ts"
import {
  answer,
  lateBody,
  later,
  limited,
  longHeaders,
  nothingHere,
  refusal,
  usePost,
} from "./HttpAnswer.ts"
import type { Verified } from "./Identity.ts"
import { type Invocation, observed, type ObserveInvocation } from "./Invocation.ts"
import type { ObjectTargets } from "./ObjectTargets.ts"
import { admitted, type Admission, prepaid, type RateLimiter } from "./RateLimit.ts"
import { makeReplyStream, type ReplyStream } from "./ReplyStream.ts"
import { type RequestBody, readRequests } from "./RequestBody.ts"

/** What the edge of one deployment needs to know. */
export interface HttpOptions {
  /** The objects, as this invocation reaches them. Throws when a binding is missing. */
  readonly targets: (env: unknown) => ObjectTargets
  readonly limits: Limits
  /** What `/health` says. */
  readonly version: (env: unknown) => string
  /** Who verifies tokens. Default: whoever knows a secret of the environment signs them. */
  readonly bearer?: Bearer | undefined
  /** The origins whose pages may call; none by default. */
  readonly origins?: ReadonlyArray<string> | undefined
  /** Who counts the calls of a principal, if anybody. */
  readonly rateLimiter?: ((env: unknown) => RateLimiter | undefined) | undefined
  /** Who collects the spans of an invocation, if anybody. */
  readonly telemetry?: ObserveInvocation | undefined
  /** Where the console's files are, if the deployment has them. */
  readonly assets?: ((env: unknown) => ConsoleAssets | undefined) | undefined
}

type Settled = HttpOptions & {
  readonly bearer: Bearer
  readonly allowed: ReadonlySet<string>
}

export type HttpHandler = (request: Request, env: unknown, ctx: Invocation) => Promise<Response>

/** What runs before it is known who is served, or has failed. */
const runLogging = Effect.runPromiseWith(jsonLog())

const ndjson = "application/x-ndjson"

const health = (request: Request, version: string): Response =>
  request.method === "GET" || request.method === "HEAD"
    ? answer(200, { version })
    : refusal(405, "Use GET", { allow: "GET, HEAD" })

interface Exchange {
  readonly requests: ReadonlyArray<RequestEncoded>
  readonly identity: Verified
  readonly targets: ObjectTargets
  readonly admission: Admission | undefined
  readonly reply: ReplyStream
}

/** Calls that wait for nothing, and may be answered by a mebibyte: a page, a state, an output. */
const largeReads: ReadonlySet<string> = new Set([
  "explain",
  "history",
  "listThreads",
  "obligations",
  "readState",
  "schedules",
  "search",
  "status",
])

/** So many of one body at a time, each until its reader has taken the answer. */
export const largeReadsMax = 8

/** Runs all calls of one body, each answered as it ends. */
const serve = ({ requests, reply, targets, ...rest }: Exchange): Effect.Effect<void> => {
  const calls = Effect.gen(function* () {
    const edge = yield* makeEdge({ targets, ...rest })
    const places = yield* Semaphore.make(largeReadsMax)
    const call = (request: RequestEncoded) =>
      Effect.promise(() => edge.call(request, (values) => reply.chunk(request.id, values)))
    const tell = (request: RequestEncoded, exit: WireExit) =>
      Effect.promise(() => reply.exit(request.id, exit).catch(() => undefined))
    const answered = (request: RequestEncoded) =>
      largeReads.has(request.tag)
        ? places.withPermit(Effect.flatMap(call(request), (exit) => tell(request, exit))) // H4
        : // What waited has its place from then on: its answer is written out when somebody takes it.
          Effect.flatMap(call(request), (exit) => places.withPermit(tell(request, exit))) // H4
    yield* Effect.forEach(requests, answered, { concurrency: "unbounded", discard: true })
  }).pipe(Effect.scoped, Effect.ensuring(Effect.promise(reply.end)))
  const left = Effect.raceFirst(
    reply.heartbeat,
    Effect.promise(() => reply.gone),
  ) // H2
  return Effect.raceFirst(calls, left).pipe(Effect.ensuring(Effect.sync(targets.close)))
}

const challenge = { "www-authenticate": "Bearer" } as const

const readWithin = (request: Request, millis: number): Effect.Effect<RequestBody | "Late"> =>
  Effect.promise((signal) => readRequests(request, signal)).pipe(
    Effect.timeoutOrElse({ duration: millis, orElse: () => Effect.succeed("Late" as const) }), // H3
  )

const undecided = ({ retryAfterMillis }: Undecided): Response => {
  const reason = "The keys that would tell whether the token is valid cannot be had now"
  const seconds = Math.max(1, Math.ceil(retryAfterMillis / 1000))
  return later(503, { retryable: true, overloaded: false, reason }, seconds)
}

const admissionOf = (
  identity: Verified,
  env: unknown,
  { limits, rateLimiter }: HttpOptions,
): Admission | undefined => {
  const limiter = rateLimiter?.(env)
  return limiter && (() => runLogging(admitted(limiter, identity.grants.principal, limits)))
}

const rpc = async (
  request: Request,
  env: unknown,
  ctx: Invocation,
  options: Settled,
): Promise<Response> => {
  if (request.method !== "POST") return usePost()
  const long = longHeaders(request)
  if (long !== undefined) return long
  const identity = await runLogging(options.bearer(request.headers.get("authorization"), env))
  if (identity._tag === "Undecided") return undecided(identity)
  if (identity._tag === "Unverified") {
    return answer(401, { _tag: "Unauthenticated", reason: identity.reason }, challenge) // H3
  }
  const admission = admissionOf(identity, env, options)
  if (admission !== undefined && !(await admission())) return limited()
  const body = await runLogging(readWithin(request, options.limits.bodyMillis))
  if (body === "Late") return lateBody()
  if (body._tag === "Refused") return refusal(body.status, body.reason)
  const reply = makeReplyStream(options.limits.heartbeatMillis)
  const exchange: Exchange = {
    requests: body.requests,
    identity,
    targets: options.targets(env),
    admission: admission && prepaid(admission),
    reply,
  }
  // The invocation outlives a reader that leaves for as long as it takes to tell the objects.
  const telemetry = observed(options.telemetry, env, ctx)
  const served = serve(exchange).pipe(
    Effect.provideService(CurrentLimits, options.limits),
    Effect.provideContext(telemetry.context),
  )
  ctx.waitUntil(telemetry.event(() => Effect.runPromise(served)))
  return new Response(reply.body, {
    status: 200,
    headers: { "content-type": ndjson, "cache-control": "no-store" },
  })
}

/** What broke, as a reference that the log repeats. // H1 */
const defect = async (error: unknown): Promise<Response> =>
  answer(500, { _tag: "InternalDefect", reference: await runLogging(logDefect("HTTP", error)) })

const route = async (
  request: Request,
  env: unknown,
  ctx: Invocation,
  options: Settled,
): Promise<Response> => {
  // The platform makes it of the Host header, which may be anything.
  if (!URL.canParse(request.url)) return refusal(400, "The Host header names no host")
  const { pathname } = new URL(request.url)
  if (isCallback(pathname)) {
    const allowed = preflight(request, options.allowed)
    if (allowed !== undefined) return allowed
    const telemetry = observed(options.telemetry, env, ctx)
    const called = Effect.provideContext(callbackRoute(request, env, options), telemetry.context)
    return telemetry.event(() => Effect.runPromise(called))
  }
  if (isConsole(pathname)) return consoleRoute(request, pathname, options.assets?.(env), defect)
  switch (pathname) {
    case "/health":
      return health(request, options.version(env))
    case "/rpc":
    case "/rpc/": // as effect's own client writes it
      return preflight(request, options.allowed) ?? (await rpc(request, env, ctx, options))
    default:
      return nothingHere()
  }
}

/** The `fetch` handler of a deployment. Never rejects. Throws when its options cannot work. */
export const makeHttpHandler = (options: HttpOptions): HttpHandler => {
  const allowed = checkOrigins(options.origins ?? [])
  const bearer = options.bearer ?? makeBearer({ limits: options.limits })
  const settled = { ...options, bearer, allowed }
  return async (request, env, ctx) => {
    try {
      return readable(request, allowed, await route(request, env, ctx, settled))
    } catch (error) {
      return readable(request, allowed, await defect(error)) // H1
    }
  }
}

/**
 * The HTTP edge: `POST /rpc`, effect/rpc over HTTP with NDJSON, and `GET /health`.
 *
 * What a request asks is answered by the same edge as a service binding's; here are only the status
 * codes around it. 200 with an exit per request; 400, 401, 404, 405, 408, 413, 415 and 500 with one
 * line that says why, and nothing was run. There is no CORS: browsers of other sites are not served.
 *
 * - H1 Whatever arrives is answered, and no answer holds a stack, a cause or another's data.
 * - H2 A reader that goes away ends its calls, and so frees the objects that serve them.
 * - H3 Of a caller without a verified token nothing is read but its header; of the others a body for
 *   so long and no longer. A connection that sends slowly holds nothing.
 */
import { Effect } from "effect"
import type { RequestEncoded } from "effect/rpc/RpcMessage"
import { CurrentLimits, type Limits } from "../contracts/Limits.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { identityOfBearer, secretName } from "./Auth.ts"
import { makeEdge } from "./Edge.ts"
import type { Verified } from "./Identity.ts"
import type { ObjectTargets } from "./ObjectTargets.ts"
import { makeReplyStream, type ReplyStream } from "./ReplyStream.ts"
import { type RequestBody, readRequests } from "./RequestBody.ts"

/** What the edge of one deployment needs to know. */
export interface HttpOptions {
  /** The objects, as this invocation reaches them. Throws when a binding is missing. */
  readonly targets: (env: unknown) => ObjectTargets
  readonly limits: Limits
  /** What `/health` says. */
  readonly version: (env: unknown) => string
}

/** The part of an `ExecutionContext` that the edge uses. */
export interface Invocation {
  readonly waitUntil: (promise: Promise<unknown>) => void
}

export type HttpHandler = (request: Request, env: unknown, ctx: Invocation) => Promise<Response>

const ndjson = "application/x-ndjson"

const answer = (
  status: number,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Response =>
  new Response(`${JSON.stringify(body)}\n`, {
    status,
    headers: { "content-type": "application/json", "cache-control": "no-store", ...headers },
  })

const refusal = (status: number, reason: string, headers?: Record<string, string>): Response =>
  answer(status, { _tag: "InvalidInput", path: "", reason }, headers)

const health = (request: Request, version: string): Response =>
  request.method === "GET" || request.method === "HEAD"
    ? answer(200, { version })
    : refusal(405, "Use GET", { allow: "GET, HEAD" })

const secretOf = (env: unknown): unknown =>
  typeof env === "object" && env !== null ? (env as Record<string, unknown>)[secretName] : undefined

interface Exchange {
  readonly requests: ReadonlyArray<RequestEncoded>
  readonly identity: Verified
  readonly targets: ObjectTargets
  readonly reply: ReplyStream
}

/** Runs all calls of one body, each answered as it ends. */
const serve = ({ requests, identity, targets, reply }: Exchange): Effect.Effect<void> => {
  const calls = Effect.gen(function* () {
    const edge = yield* makeEdge({ identity, targets })
    yield* Effect.forEach(
      requests,
      (request) =>
        Effect.promise(async () => {
          const exit = await edge.call(request, (values) => reply.chunk(request.id, values))
          await reply.exit(request.id, exit).catch(() => undefined)
        }),
      { concurrency: "unbounded", discard: true },
    )
  }).pipe(Effect.scoped, Effect.ensuring(Effect.promise(reply.end)))
  const left = Effect.raceFirst(
    reply.heartbeat,
    Effect.promise(() => reply.gone),
  ) // H2
  return Effect.raceFirst(calls, left).pipe(Effect.ensuring(Effect.sync(targets.close)))
}

const challenge = { "www-authenticate": "Bearer" } as const

/** Nothing was run: the same request may arrive in time when it is sent again. */
const late = {
  _tag: "Unavailable",
  retryable: true,
  overloaded: false,
  reason: "The body did not arrive in time",
} as const

const readWithin = (request: Request, millis: number): Effect.Effect<RequestBody | "Late"> =>
  Effect.promise((signal) => readRequests(request, signal)).pipe(
    Effect.timeoutOrElse({ duration: millis, orElse: () => Effect.succeed("Late" as const) }), // H3
  )

const rpc = async (
  request: Request,
  env: unknown,
  ctx: Invocation,
  options: HttpOptions,
): Promise<Response> => {
  if (request.method !== "POST") return refusal(405, "Use POST", { allow: "POST" })
  const identity = await Effect.runPromise(
    identityOfBearer({
      authorization: request.headers.get("authorization"),
      secret: secretOf(env),
    }),
  )
  if (identity._tag === "Unverified") {
    return answer(401, { _tag: "Unauthenticated", reason: identity.reason }, challenge) // H3
  }
  const body = await Effect.runPromise(readWithin(request, options.limits.bodyMillis))
  if (body === "Late") return answer(408, late)
  if (body._tag === "Refused") return refusal(body.status, body.reason)
  const reply = makeReplyStream(options.limits.heartbeatMillis)
  const targets = options.targets(env)
  const exchange = { requests: body.requests, identity, targets, reply }
  // The invocation outlives a reader that leaves for as long as it takes to tell the objects.
  ctx.waitUntil(
    Effect.runPromise(Effect.provideService(serve(exchange), CurrentLimits, options.limits)),
  )
  return new Response(reply.body, {
    status: 200,
    headers: { "content-type": ndjson, "cache-control": "no-store" },
  })
}

/** A deployment that cannot work says so in words of ours, and what to change. */
const isDeployment = (error: unknown): error is Error =>
  error instanceof Error && error.name === "DeploymentError"

/** The `fetch` handler of a deployment. Never rejects. */
export const makeHttpHandler =
  (options: HttpOptions): HttpHandler =>
  async (request, env, ctx) => {
    try {
      switch (new URL(request.url).pathname) {
        case "/health":
          return health(request, options.version(env))
        case "/rpc":
        case "/rpc/": // as effect's own client writes it
          return await rpc(request, env, ctx, options)
        default:
          return refusal(404, "There is nothing here")
      }
    } catch (error) {
      const reference = crypto.randomUUID()
      const what = isDeployment(error) ? error.message : describeThrown(error)
      Effect.runFork(Effect.logError(`Defect ${reference} in the HTTP edge: ${what}`))
      return answer(500, { _tag: "InternalDefect", reference }) // H1
    }
  }

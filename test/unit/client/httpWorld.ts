/** The HTTP edge over fake objects, called as the platform would call it. */
import { Effect, type Scope } from "effect"
import { type HttpOptions, makeHttpHandler } from "../../../client/Http.ts"
import { type Limits, makeLimits } from "../../../contracts/Limits.ts"
import type { Grants } from "../../../contracts/Authorization.ts"
import { mintToken } from "../../../scripts/mintToken.ts"
import { type Answers, grants, makeObjects, type Objects } from "./fakes.ts"

export const secret = "a secret of the thirty-two bytes"
export const origin = "https://heddle.test"

export interface HttpWorld {
  readonly objects: Objects
  readonly token: string
  readonly fetch: (request: Request) => Promise<Response>
  /** Everything that the platform was asked to wait for. */
  readonly done: () => Promise<unknown>
}

export const makeHttpWorld = Effect.fnUntraced(function* (
  options: {
    readonly answers?: Answers
    readonly grants?: Grants
    readonly env?: Record<string, unknown>
    readonly limits?: Partial<Limits>
    readonly targets?: HttpOptions["targets"]
    readonly edge?: Pick<HttpOptions, "bearer" | "origins" | "rateLimiter">
  } = {},
): Effect.fn.Return<HttpWorld, never, Scope.Scope> {
  const objects = yield* makeObjects(options.answers)
  const waiting: Array<Promise<unknown>> = []
  const handler = makeHttpHandler({
    targets: options.targets ?? (() => objects.targets),
    limits: makeLimits(options.limits),
    version: () => "v-1",
    ...options.edge,
  })
  const token = yield* Effect.promise(() =>
    mintToken({ grants: options.grants ?? grants(), secret, expiresInSeconds: 600 }),
  )
  const env = options.env ?? { HEDDLE_JWT_SECRET: secret }
  return {
    objects,
    token,
    fetch: (request) =>
      handler(request, env, { waitUntil: (promise) => void waiting.push(promise) }),
    done: () => Promise.all(waiting),
  }
})

export const rpcRequest = (
  body: RequestInit["body"],
  headers: Record<string, string> = {},
  init: RequestInit = {},
): Request =>
  new Request(`${origin}/rpc`, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson", ...headers },
    ...(body === undefined ? {} : { body }),
    ...init,
  })

/** An input of so many arrays inside each other, as JSON: values so deep cannot be written by it. */
export const nested = (levels: number): string => "[".repeat(levels) + "]".repeat(levels)

export const bearer = (token: string) => ({ authorization: `Bearer ${token}` })

export const line = (tag: string, payload: unknown, id: string | number = "1"): string =>
  JSON.stringify({ _tag: "Request", id, tag, payload, headers: [] })

export interface Message {
  readonly _tag: string
  readonly requestId?: string | number
  readonly values?: ReadonlyArray<unknown>
}

/** The messages of an NDJSON body. */
export const messages = async (response: Response): Promise<ReadonlyArray<Message>> =>
  (await response.text())
    .split("\n")
    .filter((text) => text !== "")
    .map((text) => JSON.parse(text) as Message)

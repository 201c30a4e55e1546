/**
 * The test Worker's own `fetch`: the HTTP edge with the tokens of an identity provider, which the Worker is itself, so
 * that keys are fetched by a real subrequest.
 */
import { exports } from "cloudflare:workers"
import { exportJWK, generateKeyPair, type JWK } from "jose"
import { makeBearer } from "../../client/Auth.ts"
import { type HttpHandler, makeHttpHandler } from "../../client/Http.ts"
import { edge } from "./edge-probe.ts"

export const issuer = "https://id.heddle.test/"

interface Key {
  readonly kid: string
  readonly privateKey: CryptoKey
  readonly jwk: JWK
}

const makeKey = async (kid: string): Promise<Key> => {
  const { privateKey, publicKey } = await generateKeyPair("ES256", { extractable: true })
  return { kid, privateKey, jwk: { ...(await exportJWK(publicKey)), alg: "ES256", kid } }
}

/** What the provider publishes now, and how often it was asked. */
export const provider = {
  keys: [] as Array<Key>,
  asked: 0,
  mood: "here" as "here" | "down" | "hangs" | "babbles",
}

/** Makes a key and publishes it beside the others. */
export const publish = async (kid: string): Promise<Key> => {
  const key = await makeKey(kid)
  provider.keys.push(key)
  return key
}

const answerKeys = async (): Promise<Response> => {
  provider.asked += 1
  // Long enough for other requests to come meanwhile.
  await new Promise((resolve) => setTimeout(resolve, 50))
  if (provider.mood === "down") return new Response("down", { status: 503 })
  if (provider.mood === "babbles") return new Response("<html>".repeat(100_000))
  if (provider.mood === "hangs") await new Promise((resolve) => setTimeout(resolve, 5_000))
  return Response.json({ keys: provider.keys.map(({ jwk }) => jwk) })
}

const self = () => (exports as unknown as { readonly default: Fetcher }).default

const limits = { ...edge.limits, keysMillis: 300, keysRefetchMillis: 0, keysRetryMillis: 1 }

const serve = makeHttpHandler({
  ...edge,
  limits,
  bearer: makeBearer({
    limits,
    trusted: () => [{ jwksUrl: `${issuer}keys`, issuer, audience: "heddle" }],
    fetch: (input, init) => self().fetch(input, init),
  }),
})

export const providedFetch: HttpHandler = (request, env, ctx) =>
  new URL(request.url).pathname === "/keys" ? answerKeys() : serve(request, env, ctx)

/** Tokens of an identity provider, and the platform's rate limiter, in the real runtime. */
import { env, exports } from "cloudflare:workers"
import { createExecutionContext } from "cloudflare:test"
import { SignJWT } from "jose"
import { expect, it } from "vitest"
import type { NativeStub } from "../../contracts/transport/index.ts"
import { decodeGrants, mintToken } from "../../scripts/mintToken.ts"
import { grants, submission } from "../unit/client/fakes.ts"
import { bearer, line, messages, rpcRequest } from "../unit/client/httpWorld.ts"
import { limitedFetch } from "./edge-probe.ts"
import { issuer, provider, publish } from "./edge-provider.ts"

const secret = "a secret of the thirty-two bytes"

const self = () => (exports as unknown as { readonly default: Fetcher }).default

const placeOf = (name: string) => ({ ownerId: `shop-auth-${name}`, threadId: "order-7" })

const post = async (token: string, place: { readonly ownerId: string }) => {
  const response = await self().fetch(
    rpcRequest(line("submit", { ...submission, ...place }), bearer(token)),
  )
  return { status: response.status, said: new TextDecoder().decode(await response.arrayBuffer()) }
}

const tokenBy = (key: Awaited<ReturnType<typeof publish>>) =>
  new SignJWT({ owners: ["shop-*"] })
    .setProtectedHeader({ alg: "ES256", kid: key.kid })
    .setSubject("ada")
    .setIssuer(issuer)
    .setAudience("heddle")
    .setExpirationTime("10 minutes")
    .sign(key.privateKey)

it("a provider's keys are fetched once for requests that come together, rotate, and outlast it", async () => {
  const place = placeOf("provider")
  const first = await tokenBy(await publish("first"))
  const answers = await Promise.all(Array.from({ length: 20 }, () => post(first, place)))
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200))
  expect(answers[0]?.said).toContain(`"Success"`)
  expect(provider.asked).toBe(1)

  const second = await tokenBy(await publish("second"))
  expect((await post(second, place)).status).toBe(200)
  expect(provider.asked).toBe(2)

  const third = await tokenBy(await publish("third"))
  for (const mood of ["down", "hangs", "babbles"] as const) {
    provider.mood = mood
    const undecided = await post(third, place)
    expect({ mood, status: undecided.status }).toEqual({ mood, status: 503 })
    expect(JSON.parse(undecided.said)).toMatchObject({ _tag: "Unavailable", retryable: true })
    expect((await post(first, place)).status).toBe(200)
  }
  provider.mood = "here"
  await expect.poll(async () => (await post(third, place)).status).toBe(200)
})

it("the platform's limiter refuses calls too many of one principal, over both edges", async () => {
  const wake = line("wake", placeOf("limited"))
  const token = (principal: string) =>
    mintToken({ grants: decodeGrants({ ...grants(), principal }), secret, expiresInSeconds: 600 })
  const overHttps = async (principal: string) => {
    const request = rpcRequest(wake, bearer(await token(principal)))
    const response = await limitedFetch(
      request,
      { ...env, HEDDLE_JWT_SECRET: secret },
      createExecutionContext(),
    )
    return { status: response.status, said: await messages(response) }
  }
  const { LimitedApi } = exports as unknown as {
    readonly LimitedApi: (options: { readonly props: unknown }) => NativeStub
  }
  const overBinding = (principal: string) =>
    LimitedApi({ props: { ...grants(), principal } }).call(JSON.parse(wake) as never)

  // A minute may end in the middle; twice five calls and one are too many even then.
  const statuses: Array<number> = []
  for (let nth = 0; nth < 11; nth++) statuses.push((await overHttps("busy")).status)
  expect(statuses[0]).toBe(200)
  expect(statuses).toContain(429)
  expect((await overHttps("quiet")).status).toBe(200)

  const exits: Array<string> = []
  for (let nth = 0; nth < 11; nth++) exits.push(JSON.stringify(await overBinding("busy too")))
  expect(exits[0]).toContain(`"Success"`)
  const refused = exits.find((exit) => exit.includes("Failure"))
  expect(JSON.parse(refused ?? "null")).toMatchObject({
    cause: [{ error: { _tag: "Unavailable", overloaded: true, retryable: true } }],
  })
})

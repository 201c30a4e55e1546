/** Tokens of secrets that are rotated and of identity providers: which are taken, and why not. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { exportJWK, exportSPKI, generateKeyPair, importJWK, SignJWT } from "jose"
import {
  type BearerIdentity,
  checkTrusted,
  literal,
  makeBearer,
  type Trusted,
  tokenCharactersMax,
  type TrustedProvider,
} from "../../../client/Auth.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { grants } from "./fakes.ts"

const now = 1_800_000_000_000
const inSeconds = (seconds: number) => now / 1000 + seconds
const secret = "a secret of the thirty-two bytes"
const secretKey = (text: string) => new TextEncoder().encode(text)
const claims = { sub: "ada", owners: ["shop-*"] }

const provider: TrustedProvider = {
  jwksUrl: "https://id.example.com/keys",
  issuer: "https://id.example.com/",
  audience: "heddle",
}
const elsewhere: TrustedProvider = {
  jwksUrl: "https://login.example.org/keys",
  issuer: "https://login.example.org/",
  audience: "heddle",
}

const makeKey = async (alg: string, kid: string) => {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { alg, kid, privateKey, publicKey, jwk: { ...(await exportJWK(publicKey)), alg, kid } }
}
type Key = Awaited<ReturnType<typeof makeKey>>

const [rsa, ec, foreign] = await Promise.all([
  makeKey("RS256", "rsa"),
  makeKey("ES256", "ec"),
  makeKey("ES256", "foreign"),
])

/** The same private key for another algorithm. */
const pss = (await importJWK(await exportJWK(rsa.privateKey), "PS256")) as CryptoKey

/** The public key in the forms in which a careless verifier would take it for a secret. */
const spki = await exportSPKI(rsa.publicKey)
const jwkText = JSON.stringify(rsa.jwk)

const good = { ...claims, iss: provider.issuer, aud: provider.audience, exp: inSeconds(60) }

const signedBy = (
  { alg, kid, privateKey }: Pick<Key, "alg" | "kid" | "privateKey">,
  payload: Record<string, unknown> = good,
) => new SignJWT(payload).setProtectedHeader({ alg, kid }).sign(privateKey)

const signedWith = (text: string, payload: Record<string, unknown> = claims, header = {}) =>
  new SignJWT(payload).setProtectedHeader({ alg: "HS256", ...header }).sign(secretKey(text))

/** Each provider publishes its own keys. */
const publishing = (sets: Readonly<Record<string, ReadonlyArray<unknown>>>) => {
  const asked: Array<string> = []
  const fetch: typeof globalThis.fetch = async (input) => {
    const url = new Request(input).url
    asked.push(url)
    const keys = sets[url]
    return keys === undefined ? new Response("down", { status: 503 }) : Response.json({ keys })
  }
  return { asked, fetch }
}

const both = {
  [provider.jwksUrl]: [rsa.jwk, ec.jwk],
  [elsewhere.jwksUrl]: [foreign.jwk],
}

const identify = Effect.fnUntraced(function* (
  token: Promise<string> | string,
  trusted: ReadonlyArray<Trusted>,
  sets: Readonly<Record<string, ReadonlyArray<unknown>>> = both,
) {
  yield* TestClock.setTime(now)
  const { asked, fetch } = publishing(sets)
  const bearer = makeBearer({ limits: makeLimits(), trusted: () => trusted, fetch })
  const text = yield* Effect.promise(async () => token)
  const identity: BearerIdentity = yield* bearer(`Bearer ${text}`, {})
  return { identity, asked }
})

const verified = (expiresAt: number | undefined) => ({
  _tag: "Verified",
  grants: grants(),
  expiresAt,
})

const refused = (reason: string) => ({ _tag: "Unverified", reason })
const notValid = refused("The token is not valid")
const wrong = (claim: string) =>
  refused(`The token's claim "${claim}" is missing or not what it must be here`)

describe("secrets that are rotated", () => {
  const before = "the secret of before, and so long"

  it.effect("are all taken, whichever signed", () =>
    Effect.gen(function* () {
      for (const secrets of [
        [secret, before],
        [before, secret],
        [undefined, secret],
      ]) {
        const { identity } = yield* identify(signedWith(secret), [{ secrets }])
        expect(identity).toEqual(verified(undefined))
      }
      const { identity } = yield* identify(signedWith(before), [{ secrets: [secret] }])
      expect(identity).toEqual(notValid)
    }),
  )

  it.effect("are by default the two of the environment", () =>
    Effect.gen(function* () {
      yield* TestClock.setTime(now)
      const bearer = makeBearer({ limits: makeLimits() })
      const token = yield* Effect.promise(() => signedWith(before))
      const tagWith = (env: unknown) =>
        Effect.map(bearer(`Bearer ${token}`, env), ({ _tag }) => _tag)
      const previous = { HEDDLE_JWT_SECRET: secret, HEDDLE_JWT_SECRET_PREVIOUS: before }
      expect(yield* tagWith(previous)).toBe("Verified")
      expect(yield* tagWith({ HEDDLE_JWT_SECRET: before })).toBe("Verified")
      expect(yield* tagWith({ HEDDLE_JWT_SECRET: secret })).toBe("Unverified")
      expect(yield* tagWith(undefined)).toBe("Unverified")
    }),
  )

  it.effect("tell what is wrong with a token that one of them signed", () =>
    Effect.gen(function* () {
      const old = signedWith(before, { ...claims, exp: inSeconds(-61) })
      const { identity } = yield* identify(old, [{ secrets: [secret, before] }])
      expect(identity).toEqual(refused("The token has expired"))
    }),
  )

  it.effect("may want an issuer, an audience and claims", () =>
    Effect.gen(function* () {
      const trusted = [
        { secrets: [secret], issuer: "desk", audience: "heddle", requiredClaims: ["jti", "exp"] },
      ]
      const whole = { ...claims, iss: "desk", aud: ["x", "heddle"], jti: "1", exp: inSeconds(60) }
      const tell = (change: object) =>
        Effect.map(
          identify(signedWith(secret, { ...whole, ...change }), trusted),
          ({ identity }) => identity,
        )
      expect(yield* tell({})).toMatchObject({ _tag: "Verified" })
      expect(yield* tell({ iss: "other" })).toEqual(wrong("iss"))
      expect(yield* tell({ aud: "other" })).toEqual(wrong("aud"))
      expect(yield* tell({ jti: undefined })).toEqual(wrong("jti"))
      expect(yield* tell({ exp: undefined })).toEqual(wrong("exp"))
    }),
  )
})

describe("a token of an identity provider", () => {
  it.effect("is taken under each of its keys, and asks nobody else for them", () =>
    Effect.gen(function* () {
      for (const key of [rsa, ec]) {
        const { asked, identity } = yield* identify(signedBy(key), [provider, elsewhere])
        expect(identity).toEqual(verified(now + 120_000))
        expect(asked).toEqual([provider.jwksUrl])
      }
    }),
  )

  for (const [title, token, answer] of [
    ["another provider's key", () => signedBy(foreign), notValid],
    ["another provider's key under its name", () => signedBy({ ...foreign, kid: "ec" }), notValid],
    ["its public key taken for a secret", () => signedWith(spki, good, { kid: "rsa" }), notValid],
    [
      "its published key taken for a secret",
      () => signedWith(jwkText, good, { kid: "rsa" }),
      notValid,
    ],
    [
      "an algorithm that its key is not for",
      () => signedBy({ ...rsa, alg: "PS256", privateKey: pss }),
      notValid,
    ],
    ["a key that it does not publish", () => signedBy({ ...ec, kid: "gone" }), notValid],
    [
      "the issuer of nobody",
      () => signedBy(ec, { ...good, iss: "https://evil.example.com/" }),
      notValid,
    ],
    ["no issuer", () => signedBy(ec, { ...good, iss: undefined }), notValid],
    ["another audience", () => signedBy(ec, { ...good, aud: "mail" }), wrong("aud")],
    ["no audience", () => signedBy(ec, { ...good, aud: undefined }), wrong("aud")],
    ["no end", () => signedBy(ec, { ...good, exp: undefined }), wrong("exp")],
    [
      "an end that has passed",
      () => signedBy(ec, { ...good, exp: inSeconds(-61) }),
      refused("The token has expired"),
    ],
    [
      "a beginning to come",
      () => signedBy(ec, { ...good, nbf: inSeconds(62) }),
      refused("The token is not valid yet"),
    ],
    [
      "no grants",
      () => signedBy(ec, { ...good, owners: undefined }),
      refused("The token lacks a claim or has a malformed one"),
    ],
  ] as const) {
    it.effect(`with ${title} is refused`, () =>
      Effect.gen(function* () {
        const { identity } = yield* identify(token(), [provider, elsewhere, { secrets: [secret] }])
        expect(identity).toEqual(answer)
      }),
    )
  }

  it.effect("that no algorithm protects is refused, and asks nobody", () =>
    Effect.gen(function* () {
      const encode = (part: object) => Buffer.from(JSON.stringify(part)).toString("base64url")
      for (const alg of ["none", "None", "", "HS512", "RSA-OAEP", "__proto__"]) {
        const token = `${encode({ alg, kid: "rsa" })}.${encode(good)}.`
        const { asked, identity } = yield* identify(token, [provider])
        expect(identity).toEqual(notValid)
        expect(asked).toEqual([])
      }
    }),
  )

  it.effect("that names a key without end is refused, and asks nobody", () =>
    Effect.gen(function* () {
      const token = signedBy({ ...ec, kid: "x".repeat(300) })
      expect(yield* identify(token, [provider])).toEqual({ identity: notValid, asked: [] })
    }),
  )

  it.effect("is taken while clocks are a minute apart", () =>
    Effect.gen(function* () {
      const late = signedBy(ec, { ...good, exp: inSeconds(-59) })
      expect((yield* identify(late, [provider])).identity).toEqual(verified(now + 1_000))
      const early = signedBy(ec, { ...good, nbf: inSeconds(59) })
      expect((yield* identify(early, [provider])).identity).toEqual(verified(now + 120_000))
    }),
  )

  it.effect("is not decided while its provider does not answer", () =>
    Effect.gen(function* () {
      const { identity } = yield* identify(signedBy(ec), [provider], {})
      expect(identity).toEqual({ _tag: "Undecided", retryAfterMillis: 1_000 })
    }),
  )

  it.effect("has its grants read from the claims that the deployment says", () =>
    Effect.gen(function* () {
      const ofOrganization: TrustedProvider = {
        ...provider,
        grants: ({ org, sub }) => ({
          principal: sub,
          owners: [literal(org)],
          threads: [`${literal(sub)}:*`],
          operations: ["submit", "observe"],
        }),
      }
      const read = (payload: object) =>
        Effect.map(
          identify(signedBy(ec, { ...good, ...payload }), [ofOrganization]),
          ({ identity }) => identity,
        )
      expect(yield* read({ org: "acme" })).toMatchObject({
        grants: {
          principal: "ada",
          owners: ["acme"],
          threads: ["ada:*"],
          operations: ["submit", "observe"],
        },
      })
      // Names that would be patterns, or more than one part of them.
      for (const others of [
        { org: "*" },
        { org: "acme", sub: "*" },
        { org: "acme", sub: "a:b" },
        {},
      ]) {
        expect(yield* read(others)).toMatchObject({ _tag: "Unverified" })
      }
      // A misspelt name would else leave all threads of the owners open.
      const misspelt = {
        ...provider,
        grants: () => ({ principal: "ada", owners: ["acme"], thread: ["ada:*"] }),
      }
      expect((yield* identify(signedBy(ec), [misspelt])).identity).toMatchObject({
        _tag: "Unverified",
      })
      const throwing = { ...provider, grants: () => JSON.parse("{") as unknown }
      expect((yield* identify(signedBy(ec), [throwing])).identity).toMatchObject({
        _tag: "Unverified",
      })
    }),
  )
})

describe("a token that is too long", () => {
  it.effect("is refused before it is looked at", () =>
    Effect.gen(function* () {
      const token = signedWith(secret, { ...claims, x: "x".repeat(tokenCharactersMax) })
      expect((yield* identify(token, [{ secrets: [secret] }])).identity).toEqual(notValid)
    }),
  )
})

describe("a deployment's trust", () => {
  it("may be in addresses of https, and of this machine", () => {
    for (const jwksUrl of [provider.jwksUrl, "http://127.0.0.1:8080/keys", "http://localhost/k"]) {
      expect(checkTrusted([{ ...provider, jwksUrl }])).toHaveLength(1)
    }
  })

  it("is refused where it would be anybody's", () => {
    for (const change of [
      { jwksUrl: "http://id.example.com/keys" },
      { jwksUrl: "keys" },
      { jwksUrl: "http://localhost.example.com/keys" },
      { issuer: "" },
      { audience: "" },
      { audience: undefined as never },
    ]) {
      expect(() => checkTrusted([{ ...provider, ...change }])).toThrow(TypeError)
    }
    for (const change of [{ issuer: "" }, { audience: "" }, { audience: [] as never }]) {
      expect(() => checkTrusted([{ secrets: [secret], ...change }])).toThrow(TypeError)
    }
  })

  it("has each issuer once: of two only one would be looked at", () => {
    expect(checkTrusted([provider, elsewhere])).toHaveLength(2)
    expect(() => checkTrusted([provider, { ...provider, audience: "machines" }])).toThrow(TypeError)
  })
})

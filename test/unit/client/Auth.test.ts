import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { SignJWT, UnsecuredJWT } from "jose"
import { makeBearer } from "../../../client/Auth.ts"
import { defaultLimits } from "../../../contracts/Limits.ts"
import { mintToken } from "../../../scripts/mintToken.ts"
import { grants } from "./fakes.ts"

const secret = "a secret of the thirty-two bytes"
const key = (text = secret) => new TextEncoder().encode(text)
const now = 1_800_000_000_000
const claims = { sub: "ada", owners: ["shop-*"] }

const sign = (payload: Record<string, unknown>, options: { secret?: string; alg?: string } = {}) =>
  new SignJWT(payload)
    .setProtectedHeader({ alg: options.alg ?? "HS256" })
    .sign(key(options.secret ?? secret))

const bearer = makeBearer({ limits: defaultLimits })

const identifyWith = (given: unknown, authorization: string | null) =>
  Effect.andThen(TestClock.setTime(now), bearer(authorization, { HEDDLE_JWT_SECRET: given }))

const identify = (authorization: string | null) => identifyWith(secret, authorization)

const identifyToken = (make: () => Promise<string> | string) =>
  Effect.flatMap(
    Effect.promise(async () => make()),
    (token) => identify(`Bearer ${token}`),
  )

const swapPayload = (token: string, payload: object): string => {
  const [header, , signature] = token.split(".")
  return [header, Buffer.from(JSON.stringify(payload)).toString("base64url"), signature].join(".")
}

const bad: Readonly<Record<string, () => Promise<string> | string>> = {
  "another secret": () => sign(claims, { secret: "another secret of so many bytes!" }),
  "another algorithm of the same secret": () => sign(claims, { alg: "HS512" }),
  "no signature": () => new UnsecuredJWT(claims).encode(),
  "a claim changed after signing": async () =>
    swapPayload(await sign(claims), { ...claims, owners: ["*"] }),
  "an end in the past": () => sign({ ...claims, exp: now / 1000 - 61 }),
  "an end a minute ago": () => sign({ ...claims, exp: now / 1000 - 60 }),
  "a beginning in the future": () => sign({ ...claims, nbf: now / 1000 + 61 }),
  "an end that is no number": () => sign({ ...claims, exp: "tomorrow" }),
  "no principal": () => sign({ owners: ["*"] }),
  "an empty principal": () => sign({ ...claims, sub: "" }),
  "a principal with a line break": () => sign({ ...claims, sub: "ada\nheddle-role: Owner" }),
  "no owners": () => sign({ sub: "ada" }),
  "owners that are no list": () => sign({ ...claims, owners: "shop-*" }),
  "owners that are no texts": () => sign({ ...claims, owners: [1] }),
  "threads that are no list": () => sign({ ...claims, threads: "order-*" }),
  "threads that are null": () => sign({ ...claims, threads: null }),
  "operations that are no list": () => sign({ ...claims, operations: { submit: true } }),
  garbage: () => "garbage",
  "three dots": () => "...",
  "an empty object for each part": () => "e30.e30.e30",
}

describe("a bearer token", () => {
  it.effect("names the principal, what it may touch, and until when", () =>
    Effect.gen(function* () {
      const payload = { ...claims, threads: ["order-*"], operations: ["submit"] }
      const identity = yield* identifyToken(() => sign({ ...payload, exp: now / 1000 + 60 }))
      expect(identity).toEqual({
        _tag: "Verified",
        grants: grants({ threads: ["order-*"], operations: ["submit"] }),
        // Clocks may be apart: until then it is taken, and its streams go on.
        expiresAt: now + 60_000 + defaultLimits.clockSkewMillis,
      })
    }),
  )

  it.effect("may be without an end", () =>
    Effect.gen(function* () {
      const identity = yield* identifyToken(() => sign(claims))
      expect(identity).toEqual({ _tag: "Verified", grants: grants(), expiresAt: undefined })
    }),
  )

  for (const [title, make] of Object.entries(bad)) {
    it.effect(`with ${title} is refused`, () =>
      Effect.gen(function* () {
        const identity = yield* identifyToken(make)
        expect(identity._tag).toBe("Unverified")
        expect(JSON.stringify(identity)).not.toContain("shop")
      }),
    )
  }

  for (const authorization of [null, "", "Bearer", "Bearer ", "Basic YTpi", "bearer a b"]) {
    it.effect(`is missed in the header ${JSON.stringify(authorization)}`, () =>
      Effect.gen(function* () {
        expect(yield* identify(authorization)).toEqual({
          _tag: "Unverified",
          reason: "No bearer token",
        })
      }),
    )
  }

  for (const given of [undefined, null, "", 42, secret.slice(1)]) {
    it.effect(`is refused by a deployment whose secret is ${JSON.stringify(given)}`, () =>
      Effect.gen(function* () {
        const text = typeof given === "string" && given !== "" ? given : secret
        const token = yield* Effect.promise(() => sign(claims, { secret: text }))
        const identity = yield* identifyWith(given, `Bearer ${token}`)
        expect(identity).toEqual({
          _tag: "Unverified",
          reason: "This deployment has no keys: HTTPS is closed",
        })
      }),
    )
  }

  it.effect("ends when it says so, within a second, too", () =>
    Effect.gen(function* () {
      const token = yield* Effect.promise(() => sign({ ...claims, exp: now / 1000 + 0.25 }))
      const end = now + 250 + defaultLimits.clockSkewMillis
      for (const [at, tag] of [
        [end - 1, "Verified"],
        [end, "Unverified"],
        [end + 400, "Unverified"],
      ] as const) {
        yield* TestClock.setTime(at)
        const identity = yield* bearer(`Bearer ${token}`, { HEDDLE_JWT_SECRET: secret })
        expect([at - end, identity._tag]).toEqual([at - end, tag])
      }
    }),
  )

  it.effect("that the token script signs is taken", () =>
    Effect.gen(function* () {
      const token = yield* Effect.promise(() =>
        mintToken({ grants: grants(), secret, expiresInSeconds: 60 }),
      )
      const identity = yield* Effect.andThen(
        TestClock.setTime(Date.now()),
        bearer(`Bearer ${token}`, { HEDDLE_JWT_SECRET: secret }),
      )
      expect(identity).toMatchObject({ _tag: "Verified", grants: grants() })
    }),
  )
})

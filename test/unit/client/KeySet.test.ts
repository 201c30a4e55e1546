/** The published keys of a provider, fetched from a fake of it under the test clock. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { exportJWK, generateKeyPair, type JWK } from "jose"
import { type FoundKey, makeKeySet } from "../../../client/KeySet.ts"
import { publishedKeys, secretKeys } from "../../../client/PinnedKey.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { settle, until } from "../transport/probe.ts"

const limits = makeLimits()
const url = "https://id.example.com/keys"

const published = async (kid: string | undefined, alg = "ES256"): Promise<JWK> => {
  const { publicKey } = await generateKeyPair(alg, { extractable: true })
  return { ...(await exportJWK(publicKey)), alg, ...(kid === undefined ? {} : { kid }) }
}

const jwks = await Promise.all(["old", "new", "newer"].map((kid) => published(kid)))
const [oldKey, newKey] = jwks

type Answer = () => Response | Promise<Response>

const keysOf = (...keys: ReadonlyArray<unknown>): Answer => {
  return () => Response.json({ keys })
}

/** Answers one after the other; the last one again and again. */
const makeProvider = (...answers: ReadonlyArray<Answer>) => {
  let left = [...answers]
  let fetched = 0
  let leftAlone = 0
  const redirects = new Set<unknown>()
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    fetched += 1
    redirects.add(init?.redirect)
    init?.signal?.addEventListener("abort", () => void (leftAlone += 1))
    const answer = left.length > 1 ? left.shift() : left[0]
    if (answer === undefined) throw new Error("no answer")
    return answer()
  }
  return {
    set: makeKeySet({ url, limits, fetch }),
    fetched: () => fetched,
    leftAlone: () => leftAlone,
    redirects: () => [...redirects],
    now: (...next: ReadonlyArray<Answer>) => {
      left = [...next]
    },
  }
}

const wanting = (kid: string | undefined, algorithm = "ES256") => ({ kid, algorithm })
const tagOf = ({ _tag }: FoundKey) => _tag

const hangs: Answer = () => new Promise<Response>(() => undefined)

const slowBody: Answer = () =>
  new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode(`{"keys":[`)),
    }),
  )

const endless: Answer = () => {
  let pieces = 0
  return new Response(
    new ReadableStream({
      pull: (controller) => {
        pieces += 1
        if (pieces > 64) controller.close()
        else controller.enqueue(new Uint8Array(64 * 1024).fill(0x20))
      },
    }),
  )
}

const bad: Readonly<Record<string, Answer>> = {
  "does not answer": () => Promise.reject(new TypeError("fetch failed")),
  "answers an error": () => new Response("down", { status: 503 }),
  "sends elsewhere": () => Response.redirect("https://elsewhere.example.com/keys", 302),
  "answers what is no JSON": () => new Response("<html>"),
  "answers what is no set": () => Response.json([oldKey]),
  "answers an empty set": keysOf(),
  "answers without end": endless,
  "breaks off": () =>
    new Response(new ReadableStream({ pull: (controller) => controller.error(new Error("lost")) })),
}

describe("the keys of a provider", () => {
  it.effect("are fetched once, when a token first needs one", () =>
    Effect.gen(function* () {
      const provider = makeProvider(keysOf(oldKey))
      expect(provider.fetched()).toBe(0)
      for (let times = 0; times < 5; times++) {
        expect(yield* provider.set.find(wanting("old"))).toMatchObject({
          _tag: "Found",
          key: { kid: "old", algorithm: "ES256" },
        })
      }
      expect(provider.fetched()).toBe(1)
      // Nobody else says where they are.
      expect(provider.redirects()).toEqual(["manual"])
    }),
  )

  it.effect("that are asked for at the same time are fetched once for all", () =>
    Effect.gen(function* () {
      let answer: (response: Response) => void = () => undefined
      const provider = makeProvider(() => new Promise<Response>((resolve) => (answer = resolve)))
      const finding = yield* Effect.forkChild(
        Effect.forEach(Array.from({ length: 20 }), () => provider.set.find(wanting("old")), {
          concurrency: "unbounded",
        }),
      )
      yield* until("one fetches", () => provider.fetched() === 1)
      yield* TestClock.adjust("1 second")
      answer(Response.json({ keys: [oldKey] }))
      yield* settle
      yield* TestClock.adjust("1 second")
      const found = yield* Fiber.join(finding)
      expect(new Set(found.map(tagOf))).toEqual(new Set(["Found"]))
      expect(provider.fetched()).toBe(1)
    }),
  )

  it.effect("are fetched again for a name that is not known, at most every half minute", () =>
    Effect.gen(function* () {
      const provider = makeProvider(keysOf(oldKey), keysOf(oldKey, newKey))
      expect(tagOf(yield* provider.set.find(wanting("old")))).toBe("Found")
      // The provider publishes another key; it was asked just now.
      expect(tagOf(yield* provider.set.find(wanting("new")))).toBe("Unknown")
      yield* TestClock.adjust("29 seconds")
      expect(tagOf(yield* provider.set.find(wanting("new")))).toBe("Unknown")
      expect(provider.fetched()).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(tagOf(yield* provider.set.find(wanting("new")))).toBe("Found")
      expect(tagOf(yield* provider.set.find(wanting("old")))).toBe("Found")
      expect(provider.fetched()).toBe(2)
      for (let nth = 0; nth < 1_000; nth++) {
        expect(tagOf(yield* provider.set.find(wanting(`made-up-${nth}`)))).toBe("Unknown")
      }
      expect(provider.fetched()).toBe(2)
    }),
  )

  it.effect("that are published no more are gone when they are ten minutes old", () =>
    Effect.gen(function* () {
      const provider = makeProvider(keysOf(oldKey), keysOf(newKey))
      yield* provider.set.find(wanting("old"))
      yield* TestClock.adjust("9 minutes")
      expect(tagOf(yield* provider.set.find(wanting("old")))).toBe("Found")
      yield* TestClock.adjust("1 minute")
      expect(tagOf(yield* provider.set.find(wanting("old")))).toBe("Unknown")
      expect(tagOf(yield* provider.set.find(wanting("new")))).toBe("Found")
      expect(provider.fetched()).toBe(2)
    }),
  )

  for (const [title, answer] of Object.entries(bad)) {
    it.effect(`go on when the provider ${title}, and an unknown one is not decided`, () =>
      Effect.gen(function* () {
        const provider = makeProvider(keysOf(oldKey), answer)
        yield* provider.set.find(wanting("old"))
        yield* TestClock.adjust("11 minutes")
        expect(tagOf(yield* provider.set.find(wanting("old")))).toBe("Found")
        expect(yield* provider.set.find(wanting("new"))).toEqual({
          _tag: "Unreachable",
          retryAfterMillis: 1_000,
        })
        expect(provider.fetched()).toBe(2)
        provider.now(keysOf(newKey))
        yield* TestClock.adjust("1 second")
        expect(tagOf(yield* provider.set.find(wanting("new")))).toBe("Found")
      }),
    )
  }

  for (const [title, answer] of [
    ["does not answer", hangs],
    ["answers slowly", slowBody],
  ] as const) {
    it.effect(`hold up nobody for more than three seconds when the provider ${title}`, () =>
      Effect.gen(function* () {
        const provider = makeProvider(keysOf(oldKey), answer)
        yield* provider.set.find(wanting("old"))
        yield* TestClock.adjust("11 minutes")
        const known = yield* Effect.forkChild(provider.set.find(wanting("old")))
        const unknown = yield* Effect.forkChild(provider.set.find(wanting("new")))
        yield* until("it is asked", () => provider.fetched() === 2)
        yield* TestClock.adjust("3 seconds")
        expect(tagOf(yield* Fiber.join(known))).toBe("Found")
        yield* TestClock.adjust("20 millis")
        expect(tagOf(yield* Fiber.join(unknown))).toBe("Unreachable")
        expect(provider.leftAlone()).toBe(1)
        // Until it is tried again nobody waits at all.
        expect(tagOf(yield* provider.set.find(wanting("old")))).toBe("Found")
        expect(provider.fetched()).toBe(2)
      }),
    )
  }

  it.effect("are asked for less and less often while there are none", () =>
    Effect.gen(function* () {
      const provider = makeProvider(keysOf())
      const tries: Array<number> = []
      for (let second = 0; second < 300; second++) {
        yield* provider.set.find(wanting("old"))
        if (provider.fetched() > tries.length) tries.push(second)
        yield* TestClock.adjust("1 second")
      }
      expect(tries).toEqual([0, 1, 3, 7, 15, 31, 63, 123, 183, 243])
    }),
  )

  it.effect("end after a day without a word of the provider", () =>
    Effect.gen(function* () {
      const provider = makeProvider(keysOf(oldKey), hangs)
      yield* provider.set.find(wanting("old"))
      provider.now(keysOf())
      yield* TestClock.adjust("23 hours")
      expect(tagOf(yield* provider.set.find(wanting("old")))).toBe("Found")
      yield* TestClock.adjust("1 hour")
      expect(tagOf(yield* provider.set.find(wanting("old")))).toBe("Unreachable")
    }),
  )

  it.effect("are fetched by another request when the one that began it went away", () =>
    Effect.gen(function* () {
      const provider = makeProvider(hangs, keysOf(oldKey))
      const first = yield* Effect.forkChild(provider.set.find(wanting("old")))
      yield* until("it is asked", () => provider.fetched() === 1)
      const second = yield* Effect.forkChild(provider.set.find(wanting("old")))
      yield* settle
      yield* Fiber.interrupt(first)
      yield* TestClock.adjust("20 millis")
      expect(tagOf(yield* Fiber.join(second))).toBe("Found")
      expect(provider.leftAlone()).toBe(1)
    }),
  )

  it.effect(
    "need no name where there is one of the algorithm, and have to be named otherwise",
    () =>
      Effect.gen(function* () {
        expect(tagOf(yield* makeProvider(keysOf(oldKey)).set.find(wanting(undefined)))).toBe(
          "Found",
        )
        const two = makeProvider(keysOf(oldKey, newKey))
        expect(tagOf(yield* two.set.find(wanting(undefined)))).toBe("Unknown")
        const other = makeProvider(keysOf(oldKey))
        expect(tagOf(yield* other.set.find(wanting("old", "RS256")))).toBe("Unknown")
      }),
  )
})

describe("a published key", () => {
  const algorithmsOf = async (...keys: ReadonlyArray<unknown>) =>
    (await publishedKeys({ keys })).map(({ algorithm }) => algorithm)

  it("is for one algorithm: its own, or that of its kind", async () => {
    const rsa = await published("a", "RS256")
    const { alg: _rsa, ...bareRsa } = rsa
    const { alg: _ec, ...bareEc } = await published("b", "ES384")
    const { alg: _ed, ...bareEd } = await published("c", "EdDSA")
    const ps = { ...rsa, alg: "PS256" }
    expect(await algorithmsOf(bareRsa, ps, bareEc, bareEd)).toEqual([
      "RS256",
      "PS256",
      "ES384",
      "EdDSA",
    ])
  })

  it("that could not verify is none, and takes nothing from the others", async () => {
    const key = await published("a")
    const rsa = await published("b", "RS256")
    const { privateKey } = await generateKeyPair("ES256", { extractable: true })
    const { publicKey: small } = (await crypto.subtle.generateKey(
      {
        name: "RSASSA-PKCS1-v1_5",
        modulusLength: 1024,
        publicExponent: new Uint8Array([1, 0, 1]),
        hash: "SHA-256",
      },
      true,
      ["sign", "verify"],
    )) as CryptoKeyPair
    const unusable: ReadonlyArray<unknown> = [
      { kty: "oct", k: "c2VjcmV0", alg: "HS256" },
      { ...rsa, alg: "HS256" },
      { ...rsa, alg: "none" },
      { ...rsa, alg: "RSA-OAEP" },
      { ...key, alg: "ES384" },
      { ...key, use: "enc" },
      { ...key, key_ops: ["encrypt"] },
      { ...key, x: "AAAA" },
      await exportJWK(privateKey),
      await crypto.subtle.exportKey("jwk", small),
      null,
      "key",
      {},
    ]
    for (const one of unusable) expect(await algorithmsOf(one)).toEqual([])
    expect(await algorithmsOf(...unusable, key)).toEqual(["ES256"])
  })
})

describe("a secret", () => {
  it("of 32 bytes or more is a key for HS256, and any other is none", () => {
    const good = "x".repeat(32)
    expect(secretKeys([good, undefined, "", 42, null, "x".repeat(31)])).toMatchObject([
      { algorithm: "HS256" },
    ])
  })
})

/** What the HTTP edge refuses with a status, and what our client makes of it. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { makeBearer } from "../../../client/Auth.ts"
import { httpTarget } from "../../../client/HttpTarget.ts"
import { defaultLimits } from "../../../contracts/Limits.ts"
import { ownerId, submission, threadId } from "./fakes.ts"
import { bearer, line, makeHttpWorld, messages, origin, rpcRequest } from "./httpWorld.ts"

const place = { ownerId, threadId }
const message = JSON.parse(line("readState", place)) as Parameters<
  ReturnType<typeof httpTarget>["call"]
>[0]

const failed = (error: Record<string, unknown>) => ({
  _tag: "Failure",
  cause: [{ _tag: "Fail", error }],
})

describe("long headers", () => {
  it.effect("are refused with 431, whoever sends them, and nothing else is looked at", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const many = Object.fromEntries(
        Array.from({ length: 40 }, (_, nth) => [`x-${nth}`, "x".repeat(1_000)]),
      )
      for (const headers of [
        { "x-long": "x".repeat(33 * 1024) },
        { ...bearer(world.token), cookie: "x".repeat(33 * 1024) },
        { ...bearer(world.token), ...many },
      ]) {
        const response = yield* Effect.promise(() =>
          world.fetch(rpcRequest(line("submit", submission), headers)),
        )
        expect(response.status).toBe(431)
        expect(yield* Effect.promise(() => messages(response))).toEqual([
          { _tag: "InvalidInput", path: "", reason: "Headers may have 32768 bytes" },
        ])
      }
      expect(world.objects.reached).toEqual([])
    }),
  )

  it.effect("are no token when they are one: it is refused unread", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const response = yield* Effect.promise(() =>
        world.fetch(rpcRequest(line("wake", place), bearer("x".repeat(9_000)))),
      )
      expect(response.status).toBe(401)
    }),
  )
})

describe("a provider that does not answer", () => {
  const token = `${btoa(`{"alg":"ES256","kid":"a"}`)}.${btoa(`{"iss":"id"}`)}.c2ln`.replaceAll(
    "=",
    "",
  )
  const trusted = () => [{ jwksUrl: "https://id.test/keys", issuer: "id", audience: "heddle" }]
  const fetch = () => Promise.reject(new TypeError("fetch failed"))
  const edge = { bearer: makeBearer({ limits: defaultLimits, trusted, fetch }) }

  it.effect("is answered 503, to be repeated, with when, and reaches no object", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld({ edge })
      const response = yield* Effect.promise(() =>
        world.fetch(rpcRequest(line("wake", place), bearer(token))),
      )
      expect(response.status).toBe(503)
      expect(response.headers.get("retry-after")).toBe("1")
      const target = httpTarget({
        url: origin,
        token,
        fetch: (input, init) => world.fetch(new Request(input, init)),
      })
      expect(yield* Effect.promise(() => target.call(message))).toEqual(
        failed({
          _tag: "Unavailable",
          retryable: true,
          overloaded: false,
          reason: "The keys that would tell whether the token is valid cannot be had now",
        }),
      )
      expect(world.objects.reached).toEqual([])
    }),
  )
})

describe("our client", () => {
  const answering = (status: number, body: string) =>
    httpTarget({ url: origin, token: "t", fetch: async () => new Response(body, { status }) })

  it("gives a refusal with a status in the words of the deployment", async () => {
    for (const [status, said] of [
      [400, { _tag: "InvalidInput", path: "", reason: "The body is not UTF-8" }],
      [408, { _tag: "Unavailable", retryable: true, overloaded: false, reason: "late" }],
      [429, { _tag: "Unavailable", retryable: true, overloaded: true, reason: "too many" }],
      [431, { _tag: "InvalidInput", path: "", reason: "Headers may have 32768 bytes" }],
    ] as const) {
      const body = `${JSON.stringify(said)}\n`
      expect(await answering(status, body).call(message)).toEqual(failed(said))
    }
  })

  it("takes a refusal of somebody in between for what its status says", async () => {
    for (const body of ["<html>", `{"error":"limited"}`, `{"_tag":"Exit"}`, "", "\n\n"]) {
      expect(await answering(429, body).call(message)).toMatchObject(
        failed({ _tag: "Unavailable", retryable: false, overloaded: true }),
      )
    }
  })

  it("bounds what it is told", async () => {
    const said = { _tag: "Unavailable", retryable: "yes", reason: "x".repeat(100_000) }
    expect(await answering(503, JSON.stringify(said)).call(message)).toEqual(
      failed({
        _tag: "Unavailable",
        retryable: false,
        overloaded: false,
        reason: "x".repeat(1_024),
      }),
    )
  })
})

/** Which pages of a browser may call: none by default, and the listed ones when a deployment lists them. */
import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import { checkOrigins } from "../../../client/Cors.ts"
import { ownerId, receipt, submission, threadId } from "./fakes.ts"
import { bearer, line, makeHttpWorld, messages, origin, rpcRequest } from "./httpWorld.ts"

const page = "https://app.example.com"
const origins = [page, "http://localhost:5173"]

const corsOf = (response: Response) =>
  Object.fromEntries([...response.headers].filter(([name]) => name.startsWith("access-control")))

const readableBy = (from: string) => ({
  "access-control-allow-origin": from,
  "access-control-expose-headers": "retry-after, www-authenticate",
})

const preflightFrom = (from: string, method = "POST") =>
  new Request(`${origin}/rpc`, {
    method: "OPTIONS",
    headers: {
      origin: from,
      "access-control-request-method": method,
      "access-control-request-headers": "authorization,content-type",
    },
  })

describe("a page of a listed origin", () => {
  it.effect("is told by the preflight that it may post with a token, and runs nothing by it", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld({ edge: { origins } })
      for (const from of origins) {
        const response = yield* Effect.promise(() => world.fetch(preflightFrom(from)))
        expect(response.status).toBe(204)
        expect(corsOf(response)).toEqual({
          ...readableBy(from),
          "access-control-allow-methods": "POST",
          "access-control-allow-headers": "authorization, content-type",
          "access-control-max-age": "600",
        })
        expect(response.headers.get("vary")).toBe("origin")
      }
      expect(world.objects.reached).toEqual([])
    }),
  )

  it.effect("may read answers and refusals, and never with a browser's own credentials", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld({ edge: { origins } })
      const send = (body: string, headers: Record<string, string>) =>
        Effect.promise(() => world.fetch(rpcRequest(body, { origin: page, ...headers })))
      const answered = yield* send(line("submit", submission), bearer(world.token))
      expect(corsOf(answered)).toEqual(readableBy(page))
      expect(yield* Effect.promise(() => messages(answered))).toMatchObject([
        { exit: { value: receipt } },
      ])
      const refused = [
        yield* send("{", bearer(world.token)),
        yield* send(line("submit", submission), {}),
        yield* send("x", { ...bearer(world.token), "content-type": "text/plain" }),
      ]
      expect(refused.map(({ status }) => status)).toEqual([400, 401, 415])
      for (const response of refused) expect(corsOf(response)).toEqual(readableBy(page))
    }),
  )
})

describe("a page of any other origin", () => {
  const others = [
    "https://evil.example.com",
    "https://app.example.com.evil.com",
    "https://app.example.com:8443",
    "http://app.example.com",
    "HTTPS://APP.EXAMPLE.COM",
    "null",
    "*",
    "",
  ]

  it.effect("gets no word of CORS, to a preflight and to a call", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld({ edge: { origins } })
      for (const from of others) {
        const asked = yield* Effect.promise(() => world.fetch(preflightFrom(from)))
        expect(asked.status).toBe(405)
        expect(corsOf(asked)).toEqual({})
        expect(asked.headers.get("vary")).toBe("origin")
        const sent = rpcRequest(line("readState", { ownerId, threadId }), {
          origin: from,
          ...bearer(world.token),
        })
        expect(corsOf(yield* Effect.promise(() => world.fetch(sent)))).toEqual({})
      }
      const put = yield* Effect.promise(() => world.fetch(preflightFrom(page, "PUT")))
      expect(put.status).toBe(405)
    }),
  )

  it.effect("gets none of a deployment that lists nobody", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const response = yield* Effect.promise(() => world.fetch(preflightFrom(page)))
      expect([response.status, corsOf(response), response.headers.get("vary")]).toEqual([
        405,
        {},
        null,
      ])
    }),
  )
})

describe("a list of origins", () => {
  it("has no wildcard, no path, and nothing that a browser would write otherwise", () => {
    expect(checkOrigins(origins)).toEqual(new Set(origins))
    for (const wrong of [
      "*",
      "null",
      "",
      "app.example.com",
      "https://*.example.com",
      "https://app.example.com/",
      "https://App.example.com",
      "https://app.example.com:443",
      "file:///x",
    ]) {
      expect(() => checkOrigins([page, wrong])).toThrow(TypeError)
    }
  })
})

/** The console's files, as the HTTP edge of a deployment serves them. */
import { describe, expect, it, vi } from "vitest"
import type { ConsoleAssets } from "../../../client/Console.ts"
import { makeHttpHandler } from "../../../client/Http.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { assetsWorker } from "../../../scripts/assetsWorker.ts"

const page = "<!doctype html><title>Heddle</title>"

/** Assets as the platform has them; what they are asked is noted. */
const makeAssets = () => {
  const asked: Array<Request> = []
  const assets: ConsoleAssets = {
    fetch: async (request) => {
      asked.push(request)
      const { pathname } = new URL(request.url)
      const known = request.headers.get("if-none-match") === '"1"'
      const headers = { "content-type": "text/html", etag: '"1"', "set-cookie": "a=b" }
      if (pathname === "/console/" || pathname.startsWith("/console/assets/"))
        return new Response(known ? null : page, { status: known ? 304 : 200, headers })
      return pathname === "/console/index.html"
        ? new Response(null, { status: 307, headers: { location: "/console/" } })
        : new Response("no such file", { status: 404 })
    },
  }
  return { assets, asked }
}

const served = (assets: ConsoleAssets | undefined) => {
  const handler = makeHttpHandler({
    targets: () => {
      throw new Error("no object is needed")
    },
    limits: makeLimits(),
    version: () => "1",
    assets: () => assets,
  })
  return (path: string, init?: RequestInit) =>
    handler(new Request(`https://example.com${path}`, init), {}, { waitUntil: () => undefined })
}

const headersOf = async (response: Promise<Response>) =>
  Object.fromEntries((await response).headers)

describe("the console", () => {
  it("is served as it was built, under a policy by which it loads nothing from elsewhere and runs no text", async () => {
    const get = served(makeAssets().assets)
    const response = await get("/console/")
    expect([response.status, await response.text()]).toEqual([200, page])
    const policy = response.headers.get("content-security-policy") ?? ""
    expect(policy.split("; ")).toEqual(
      expect.arrayContaining([
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
      ]),
    )
    expect(policy).not.toMatch(/unsafe|\*|https?:|data:|blob:/)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
      "x-frame-options": "DENY",
      "cross-origin-opener-policy": "same-origin",
      "cache-control": "no-cache",
    })
    expect(response.headers.has("set-cookie")).toBe(false)
  })

  it("has its security headers on every answer, whatever becomes of the request", async () => {
    const { assets } = makeAssets()
    const requests: ReadonlyArray<readonly [string, RequestInit?]> = [
      ["/console"],
      ["/console/nothing.js"],
      ["/console/index.html"],
      ["/console/", { method: "POST", body: "a" }],
      ["/console/", { headers: { "if-none-match": '"1"' } }],
    ]
    const statuses: Array<number> = []
    for (const get of [served(assets), served(undefined)]) {
      for (const [path, init] of requests) {
        const response = await get(path, init)
        statuses.push(response.status)
        expect(response.headers.get("content-security-policy")).toContain("default-src 'none'")
        expect(response.headers.get("x-content-type-options")).toBe("nosniff")
      }
    }
    expect(statuses).toEqual([308, 404, 307, 405, 304, 404, 404, 404, 405, 404])
  })

  it("has its security headers on the answer that its files cannot be had", async () => {
    const log = vi.spyOn(console, "error").mockImplementation(() => undefined)
    const get = served({ fetch: () => Promise.reject(new Error("no assets today")) })
    const response = await get("/console/")
    log.mockRestore()
    expect(response.status).toBe(500)
    expect(await response.json()).toMatchObject({ _tag: "InternalDefect" })
    expect(response.headers.get("content-security-policy")).toContain("default-src 'none'")
  })

  it("may be kept for ever where a name says what is in it, and is asked for anew where none does", async () => {
    const get = served(makeAssets().assets)
    expect(await headersOf(get("/console/assets/index-1.js"))).toMatchObject({
      "cache-control": "public, max-age=31536000, immutable",
      etag: '"1"',
    })
    expect(await headersOf(get("/console"))).toMatchObject({ location: "/console/" })
  })

  it("tells the assets nothing of who asks", async () => {
    const { asked, assets } = makeAssets()
    const headers = { authorization: "Bearer secret", cookie: "a=b", "if-none-match": '"2"' }
    await served(assets)("/console/?token=secret", { headers })
    const [request] = asked
    expect(request?.url).toBe("https://example.com/console/")
    expect([...(request?.headers ?? [])]).toEqual([["if-none-match", '"2"']])
  })

  it("says how it is configured where it is not", async () => {
    const empty = { fetch: () => Promise.resolve(new Response(null, { status: 404 })) }
    for (const assets of [undefined, empty]) {
      const response = await served(assets)("/console/")
      expect(response.status).toBe(404)
      expect(await response.text()).toContain(`directory = "node_modules/heddle/dist/console"`)
    }
  })

  it("takes no path from the rest of the deployment", async () => {
    const get = served(makeAssets().assets)
    expect(await (await get("/health")).json()).toEqual({ version: "1" })
    for (const path of ["/consoles", "/", "/_headers"]) expect((await get(path)).status).toBe(404)
  })
})

describe("the local stand-in for the platform's assets", () => {
  it("holds each file as it is, and not what is for the platform alone", () => {
    const content = new TextEncoder().encode(page)
    const { modules, script } = assetsWorker([
      { path: "/console/index.html", content },
      { path: "/console/assets/a.js", content },
      { path: "/_headers", content },
    ])
    expect(modules).toEqual([
      { name: "asset-0", content },
      { name: "asset-1", content },
    ])
    expect(script).toContain(`["/console/", {`)
    expect(script).toContain("text/javascript")
    expect(script).not.toContain("_headers")
  })
})

import { Context, Effect, Layer, Schema } from "effect"
import { afterEach, describe, expect, expectTypeOf, it, vi } from "vitest"
import { Agent, DeploymentError, Heddle, type HeddleOptions, queueSink } from "../../heddle.ts"
import { mintToken } from "../../scripts/mintToken.ts"
import { grants } from "../unit/client/fakes.ts"

class Bank extends Context.Service<Bank, { readonly pay: Effect.Effect<number> }>()("test/Bank") {}
class Post extends Context.Service<Post, { readonly send: Effect.Effect<void> }>()("test/Post") {}

const schemas = { input: Schema.Struct({}), output: Schema.Number }
const Free = Agent.make("free", schemas).handler(() => Effect.succeed(1))
const Paying = Agent.make("paying", schemas).handler(() => Effect.flatMap(Bank, (bank) => bank.pay))
const Sending = Agent.make("sending", schemas).handler(() =>
  Effect.as(
    Effect.flatMap(Post, (post) => post.send),
    1,
  ),
)
const bank = Layer.succeed(Bank, { pay: Effect.succeed(1) })
const post = Layer.succeed(Post, { send: Effect.void })

const secret = "a secret of the thirty-two bytes"

const rpc = (token: string) =>
  new Request("https://heddle.test/rpc", {
    method: "POST",
    headers: { "content-type": "application/x-ndjson", authorization: `Bearer ${token}` },
    body: `{"_tag":"Request","id":"1","tag":"maintenanceStatus","payload":{"ownerId":"a"}}`,
  })
const waiting = { waitUntil: () => undefined }

afterEach(() => vi.unstubAllGlobals())

describe("a deployment", () => {
  it("is made of agents whose services are all there", () => {
    const deployment = Heddle.make({
      agents: [Free, Paying, Sending],
      services: Layer.merge(bank, post),
    })
    expect(Object.keys(deployment).toSorted()).toEqual([
      "Entrypoint",
      "OwnerObject",
      "OwnerRegistry",
      "ThreadActor",
      "fetch",
      "scheduled",
    ])
    expect(() =>
      Heddle.make({ agents: [Paying], services: (_env: { key: string }) => bank }),
    ).not.toThrow()
  })

  it("needs services exactly when its agents do, and all of them", () => {
    type Options<Agents extends ReadonlyArray<typeof Free | typeof Paying | typeof Sending>> =
      HeddleOptions<Agents>
    expectTypeOf<{ agents: [typeof Free] }>().toExtend<Options<[typeof Free]>>()
    expectTypeOf<{ agents: [typeof Paying] }>().not.toExtend<Options<[typeof Paying]>>()
    expectTypeOf<{ agents: [typeof Paying]; services: typeof bank }>().toExtend<
      Options<[typeof Paying]>
    >()
    expectTypeOf<{ agents: [typeof Paying]; services: typeof post }>().not.toExtend<
      Options<[typeof Paying]>
    >()
    type Both = [typeof Paying, typeof Sending]
    expectTypeOf<{ agents: Both; services: typeof bank }>().not.toExtend<Options<Both>>()
    expectTypeOf<{
      agents: Both
      services: Layer.Layer<Bank | Post>
    }>().toExtend<Options<Both>>()
  })

  it("refuses two agents of one name", () => {
    expect(() => Heddle.make({ agents: [Free, Free] })).toThrow(
      new DeploymentError('Two agents are named "free"; give each a name of its own'),
    )
  })

  it("refuses a runtime of an older compatibility date", () => {
    const old = { durable_object_io_tasks_prevent_eviction: false }
    vi.stubGlobal("Cloudflare", { compatibilityFlags: old })
    expect(() => Heddle.make({ agents: [Free] })).toThrow("compatibility date is too old")
  })

  it("answers without a binding that it misses, and logs which", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined)
    const { fetch } = Heddle.make({ agents: [Free], bindings: { threads: "MINE" } })
    const owners = { getByName: () => undefined }
    const granted = grants({ owners: ["a"] })
    const token = await mintToken({ grants: granted, secret, expiresInSeconds: 60 })
    const env = { OWNERS: owners, HEDDLE_JWT_SECRET: secret }
    const response = await fetch(rpc(token), env, waiting)
    expect(response.status).toBe(500)
    expect(JSON.stringify(await response.json())).not.toContain("MINE")
    expect(JSON.stringify(logged.mock.calls.map((call) => call.map(String)))).toMatch(
      /no Durable Object namespace \W+MINE/,
    )
    logged.mockRestore()
  })

  it("refuses to keep what has settled for no time", () => {
    for (const settledAfter of [0, Number.NaN, "soon"]) {
      const make = () =>
        Heddle.make({ agents: [Free], retention: { settledAfter: settledAfter as never } })
      expect(make).toThrow(DeploymentError)
      expect(make).toThrow("retention.settledAfter must be a duration")
    }
    Heddle.make({ agents: [Free], retention: { settledAfter: "30 days" } })
  })

  it("refuses origins that no browser would name", () => {
    for (const origin of ["*", "app.example.com", "https://app.example.com/"]) {
      const make = () => Heddle.make({ agents: [Free], corsOrigins: [origin] })
      expect(make).toThrow(DeploymentError)
      expect(make).toThrow(`"${origin}" is no origin`)
    }
  })

  it("answers nobody where what it trusts or counts with is not there, and logs what", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined)
    const granted = grants({ owners: ["a"] })
    const token = await mintToken({ grants: granted, secret, expiresInSeconds: 60 })
    const keys = { jwksUrl: "http://id.example.com/keys", issuer: "id", audience: "heddle" }
    const trusting = Heddle.make({
      agents: [Free],
      tokens: (env: { readonly KEY: string }) => [{ secrets: [env.KEY] }, keys],
    })
    const counting = Heddle.make({
      agents: [Free],
      rateLimiter: (env: { readonly LIMITER: undefined }) => env.LIMITER,
    })
    for (const [{ fetch }, why] of [
      [trusting, "is no address of https"],
      [counting, "no rate limiter where"],
    ] as const) {
      const response = await fetch(rpc(token), { KEY: secret, HEDDLE_JWT_SECRET: secret }, waiting)
      expect(response.status).toBe(500)
      expect(await response.json()).toEqual({
        _tag: "InternalDefect",
        reference: expect.any(String),
      })
      expect(JSON.stringify(logged.mock.calls.map((call) => call.map(String)))).toContain(why)
    }
    logged.mockRestore()
  })

  it("logs no word of what its own options throw: a secret may be in it", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined)
    const { fetch } = Heddle.make({
      agents: [Free],
      tokens: (env: { readonly KEYS: string }) => JSON.parse(env.KEYS) as [],
    })
    const response = await fetch(rpc("a.b.c"), { KEYS: "sesame" }, waiting)
    expect(response.status).toBe(500)
    const lines = JSON.stringify(logged.mock.calls.map((call) => call.map(String)))
    expect(lines).toContain("SyntaxError")
    expect(lines).not.toContain("sesame")
    logged.mockRestore()
  })

  it("logs no word of what its sink function throws, but what its environment lacks", async () => {
    const logged = vi.spyOn(console, "error").mockImplementation(() => undefined)
    const token = await mintToken({
      grants: grants({ owners: ["a"] }),
      secret,
      expiresInSeconds: 60,
    })
    const env = { KEYS: "sesame", EVENTS: undefined, HEDDLE_JWT_SECRET: secret }
    const throwing = (given: typeof env) => JSON.parse(given.KEYS) as never
    const lacking = queueSink((given: typeof env) => given.EVENTS)
    for (const [sink, says] of [
      [throwing, "SyntaxError"],
      [lacking, "no queue where `publication` looks"],
    ] as const) {
      const { fetch } = Heddle.make({ agents: [Free], publication: { sink } })
      expect((await fetch(rpc(token), env, waiting)).status).toBe(500)
      const lines = JSON.stringify(logged.mock.calls.map((call) => call.map(String)))
      expect(lines).toContain(says)
      expect(lines).not.toContain("sesame")
    }
    logged.mockRestore()
  })

  it("takes the tokens that it says, and no longer those of the environment", async () => {
    const namespace = { getByName: () => undefined }
    const env = { MINE: secret, OWNERS: namespace, THREADS: namespace, HEDDLE_JWT_SECRET: "other" }
    const { fetch } = Heddle.make({
      agents: [Free],
      tokens: ({ MINE }: typeof env) => [{ secrets: [MINE] }],
    })
    const statusOf = async (key: string) => {
      const granted = grants({ owners: ["b"] })
      const token = await mintToken({ grants: granted, secret: key, expiresInSeconds: 60 })
      return (await fetch(rpc(token), env, waiting)).status
    }
    expect(await statusOf(secret)).toBe(200)
    expect(await statusOf("another secret of so many bytes!")).toBe(401)
  })

  it("does without a registry, but not without one that it names", async () => {
    const logged = vi.spyOn(console, "warn").mockImplementation(() => undefined)
    const namespace = { getByName: () => undefined }
    const env = { OWNERS: namespace, THREADS: namespace }
    await Heddle.make({ agents: [Free] }).scheduled({}, env)
    const named = Heddle.make({ agents: [Free], bindings: { registry: "MINE" } })
    await expect(named.scheduled({}, env)).rejects.toThrow('no Durable Object namespace "MINE"')
    logged.mockRestore()
  })

  it("tells the version that the platform gave it, else one of its agents", async () => {
    const { fetch } = Heddle.make({ agents: [Free] })
    const version = async (env: unknown) =>
      (await fetch(new Request("https://heddle.test/health"), env, waiting)).json()
    expect(await version({ CF_VERSION_METADATA: { id: "v-7" } })).toEqual({ version: "v-7" })
    expect(await version({})).toEqual({ version: expect.stringMatching(/^[0-9a-f]{64}$/) })
  })
})

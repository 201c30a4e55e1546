/** The guide to deploying says what the code does: its Worker, its configuration, its numbers. */
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { Ajv } from "ajv"
import { Effect } from "effect"
import { SignJWT } from "jose"
import { parse } from "smol-toml"
import { describe, expect, it } from "vitest"
import { makeBearer, tokenCharactersMax } from "../../client/Auth.ts"
import { identityOfProps } from "../../client/Identity.ts"
import { bodyBytesMax, requestsMax, streamsMax } from "../../client/RequestBody.ts"
import { grantsAllow } from "../../contracts/Authorization.ts"
import { HeddleRpc } from "../../contracts/HeddleRpc.ts"
import { defaultLimits } from "../../contracts/Limits.ts"

const root = join(import.meta.dirname, "../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")
const guide = read("docs/deploy.md")

const blocks = (language: string): ReadonlyArray<string> =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(
    ([, text]) => text ?? "",
  )

/** What of a configuration each environment has for itself. */
interface Bound {
  readonly durable_objects: object
  readonly version_metadata: object
}

describe("the guide to deploying", () => {
  it("shows the Worker that the example is", () => {
    const worker = read("examples/deployment/worker.ts")
      .replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
      .replaceAll('"../../heddle.ts"', '"heddle"')
      .replaceAll('"../00-order.ts"', '"./order.ts"')
      .trim()
    expect(blocks("ts").map((text) => text.trim())).toEqual([worker])
  })

  it("shows configuration that wrangler takes, with props that grant", () => {
    const schema = JSON.parse(read("node_modules/wrangler/config-schema.json")) as object
    const validate = new Ajv({ strict: false, logger: false }).compile(schema)
    const tables = blocks("toml").map((text) => parse(text) as Record<string, unknown>)
    expect(tables.map((table) => Object.keys(table))).toEqual([
      ["env"],
      ["assets"],
      ["services"],
      ["ratelimits"],
    ])
    for (const table of tables) {
      validate(table)
      expect(validate.errors ?? []).toEqual([])
    }
    const [, , services] = tables as unknown as ReadonlyArray<{
      readonly services: ReadonlyArray<{ readonly props: unknown }>
    }>
    expect(identityOfProps(services?.services[0]?.props)).toMatchObject({ _tag: "Verified" })
  })

  it("shows an environment that repeats what wrangler does not hand down", () => {
    const config = parse(read("wrangler.toml")) as unknown as Bound
    const [shown] = blocks("toml").map((text) => parse(text))
    const { env } = shown as unknown as { readonly env: { readonly staging: Bound } }
    expect(env.staging.durable_objects).toEqual(config.durable_objects)
    expect(env.staging.version_metadata).toEqual(config.version_metadata)
  })

  it("shows claims that let a browser see its own thread alone", async () => {
    const [text = ""] = blocks("json")
    const claims = JSON.parse(text) as { readonly exp: number; readonly operations: Array<string> }
    const secret = "a secret of the thirty-two bytes"
    const exp = Math.floor(Date.now() / 1000) + 600
    const token = await new SignJWT({ ...claims, exp })
      .setProtectedHeader({ alg: "HS256" })
      .sign(new TextEncoder().encode(secret))
    const bearer = makeBearer({ limits: defaultLimits })
    const identity = await Effect.runPromise(
      bearer(`Bearer ${token}`, { HEDDLE_JWT_SECRET: secret }),
    )
    if (identity._tag !== "Verified") throw new Error(JSON.stringify(identity))
    const allows = (operation: string, threadId: string | undefined) =>
      grantsAllow(identity.grants, { operation, ownerId: "acme", threadId })
    const own = [...HeddleRpc.requests.keys()].filter((name) => allows(name, "ada:order-7"))
    expect(own.toSorted()).toEqual(claims.operations.toSorted())
    for (const name of claims.operations) {
      expect([allows(name, "ada:order-8"), allows(name, undefined)]).toEqual([false, false])
    }
  })

  it("has the numbers that the code has", () => {
    const millis = { clockSkewMillis: 60_000, keysMillis: 3_000, bodyMillis: 30_000 }
    const minutes = {
      keysAgeMillis: 600_000,
      keysRefetchMillis: 30_000,
      keysStaleMillis: 86_400_000,
    }
    for (const [name, value] of Object.entries({ ...millis, ...minutes })) {
      expect(guide).toContain(`\`${name}\``)
      expect({ name, value: (defaultLimits as Record<string, number>)[name] }).toEqual({
        name,
        value,
      })
    }
    expect([tokenCharactersMax, bodyBytesMax]).toEqual([8 * 1024, 4 * 1024 ** 2])
    expect([requestsMax, streamsMax]).toEqual([64, 8])
  })

  it("has every status that the HTTP edge answers with", () => {
    const edge = ["Http", "HttpAnswer", "RequestBody"]
      .map((name) => read(`client/${name}.ts`))
      .join("")
    const statuses = new Set(
      [...edge.matchAll(/(?:answer|refusal|refused|later)\(\s*(\d{3})/g)].map(
        ([, status]) => status ?? "",
      ),
    )
    expect(statuses.size).toBeGreaterThan(9)
    const table = guide.slice(guide.indexOf("## What HTTPS refuses"))
    for (const status of statuses) expect(table).toMatch(new RegExp(`\\b${status}\\b`))
  })
})

/** What is told a collector, when, and what becomes of it if it is not taken. */
import { Effect, Tracer } from "effect"
import { describe, expect, it, vi } from "vitest"
import { jsonLog } from "../../../contracts/observability/JsonLog.ts"
import { makeOtlp, type OtlpOptions } from "../../../contracts/observability/Otlp.ts"
import { otlp, otlpOptionsOf } from "../../../contracts/observability/OtlpConfig.ts"
import { consoleLines } from "../consoleLines.ts"
import type { Telemetry } from "../../../contracts/observability/Telemetry.ts"

const lines = consoleLines()

interface Sent {
  readonly url: string
  readonly text: string
  readonly headers: Headers
}

type Fate = "take" | "refuse" | "move" | "break" | "hang"

const makeCollected = (options: Partial<OtlpOptions> = {}) => {
  const sent: Array<Sent> = []
  const work: Array<Promise<unknown>> = []
  const tasks: Array<() => void> = []
  const state = { now: 1_000, fate: "take" as Fate }
  const statuses: { readonly [P in Fate]?: number } = { refuse: 503, move: 307 }
  const fetch: typeof globalThis.fetch = async (input, init) => {
    const request = new Request(input, init)
    sent.push({ url: request.url, text: await request.text(), headers: request.headers })
    if (state.fate === "break") throw new TypeError("no route")
    if (state.fate === "hang")
      await new Promise((_, reject) => {
        init?.signal?.addEventListener("abort", () => reject(new Error("aborted")))
      })
    const status =
      request.redirect === "follow" && state.fate === "move" ? 200 : statuses[state.fate]
    return new Response("{}", { status: status ?? 200 })
  }
  const telemetry = makeOtlp(
    { url: "https://collector.test/base/", metrics: false, ...options },
    { serviceVersion: "v1", fetch },
  )({
    now: () => state.now,
    waitUntil: (promise) => void work.push(promise),
    macrotask: (task) => void tasks.push(task),
  })
  const settle = async () => {
    for (const task of tasks.splice(0)) task()
    await Promise.all(work.splice(0))
  }
  return { sent, state, telemetry, tasks, settle, work }
}

const run = <A, E>({ context }: Telemetry, effect: Effect.Effect<A, E>) =>
  Effect.runPromiseExit(Effect.provideContext(effect, context))

const span = (
  telemetry: Telemetry,
  name: string,
  work: Effect.Effect<unknown, unknown> = Effect.void,
) =>
  telemetry.event(() => run(telemetry, Effect.withSpan(work, name, { captureStackTrace: false })))

const names = (sent: ReadonlyArray<Sent>) =>
  sent.flatMap(({ text }) => [...text.matchAll(/"name":"(span [^"]*)"/g)].map((found) => found[1]))

describe("spans", () => {
  it("go out once the last event under way has ended, those of several together", async () => {
    const { sent, settle, telemetry } = makeCollected({ headers: { "x-key": "k" } })
    let end = (): void => undefined
    const open = telemetry.event(() => new Promise<void>((resolve) => (end = resolve)))
    await span(telemetry, "span 1")
    await settle()
    expect(sent).toEqual([])
    end()
    await open
    await span(telemetry, "span 2")
    await settle()
    expect(names(sent)).toEqual(["span 1", "span 2"])
    expect(sent.map(({ url }) => url)).toEqual(["https://collector.test/base/v1/traces"])
    expect(sent[0]?.headers.get("x-key")).toBe("k")
    expect(sent[0]?.text).toContain(`"service.name","value":{"stringValue":"heddle"}`)
  })

  it("go out at the end of an event while others last, when they have waited for seconds", async () => {
    const { sent, settle, state, telemetry } = makeCollected()
    void telemetry.event(() => new Promise(() => undefined))
    await span(telemetry, "span 1")
    await settle()
    state.now += 5_000
    await span(telemetry, "span 2")
    await settle()
    expect(names(sent)).toEqual(["span 1", "span 2"])
  })

  it("are not held up by a reader who stays", async () => {
    const { sent, settle, telemetry } = makeCollected()
    void telemetry.event(() => new Promise(() => undefined), "reader")
    await span(telemetry, "span 1")
    await settle()
    expect(names(sent)).toEqual(["span 1"])
  })

  it("set no timer: an event that tells nothing sends nothing", async () => {
    const { sent, tasks, telemetry, work } = makeCollected()
    await telemetry.event(() => Promise.resolve())
    expect([sent, tasks, work]).toEqual([[], [], []])
  })

  it("go out in batches of 512 while their event goes on", async () => {
    const { sent, telemetry } = makeCollected()
    const many = Effect.forEach(
      Array.from({ length: 600 }, (_, index) => `span ${index}`),
      (name) => Effect.withSpan(Effect.void, name, { captureStackTrace: false }),
      { discard: true },
    )
    await telemetry.event(async () => {
      await run(telemetry, many)
      await expect.poll(() => names(sent).length).toBe(512)
    })
  })

  it("are those of the share of traces that is sampled, whole", async () => {
    const { sent, settle, telemetry } = makeCollected({ sampleRatio: 0.5 })
    const inner = Effect.withSpan(Effect.void, "span inner", { captureStackTrace: false })
    for (let index = 0; index < 100; index++) await span(telemetry, "span outer", inner)
    await settle()
    const told = names(sent)
    const outer = told.filter((name) => name === "span outer").length
    expect(outer).toBeGreaterThan(20)
    expect(outer).toBeLessThan(80)
    expect(told).toHaveLength(2 * outer)
  })

  it("of a caller that is not sampled are not told", async () => {
    const { sent, settle, telemetry } = makeCollected()
    const trace = { traceId: "a".repeat(32), spanId: "b".repeat(16), sampled: false }
    const called = Effect.withSpan(Effect.void, "span 1", { parent: Tracer.externalSpan(trace) })
    await telemetry.event(() => run(telemetry, called))
    await settle()
    expect(sent).toEqual([])
  })
})

describe("what is told of an error", () => {
  const secret = "a-secret"
  class Broken extends Error {
    readonly _tag = "Broken"
  }
  const hostile = new Proxy(
    {},
    {
      get: () => {
        throw new Error(secret)
      },
    },
  )
  const ends: ReadonlyArray<readonly [string, Effect.Effect<unknown, unknown>]> = [
    ["Broken", Effect.fail(new Broken(secret))],
    ["TypeError", Effect.die(new TypeError(secret, { cause: new Error(secret) }))],
    ["a thrown string", Effect.fail(secret)],
    ["a thrown object", Effect.fail({ _tag: `${secret} with spaces`, message: secret })],
    ["unknown", Effect.die(hostile)],
  ]
  for (const [type, work] of ends)
    it(`is its name alone: ${type}`, async () => {
      const { sent, settle, telemetry } = makeCollected()
      await span(telemetry, "span 1", work)
      await settle()
      expect(names(sent)).toEqual(["span 1"])
      expect(sent[0]?.text).toContain(`"error.type","value":{"stringValue":"${type}"}`)
      expect(sent[0]?.text).toContain(`"events":[]`)
      expect(sent[0]?.text).toMatch(/"status":\{"code":2\}/)
      expect(sent[0]?.text).not.toContain(secret)
    })

  it("is nothing of what Effect tells of calls, statements and logs", async () => {
    const { sent, settle, telemetry } = makeCollected()
    const work = Effect.annotateCurrentSpan({
      "url.full": `https://x.test/?q=${secret}`,
      "http.request.header.cookie": secret,
      "db.query.text": `SELECT '${secret}'`,
      "app.list": [secret],
      "http.request.method": "GET",
      "app.mine": "x".repeat(1_000),
    })
    await span(telemetry, "span 1", Effect.andThen(work, Effect.logWarning(secret)))
    await settle()
    expect(sent[0]?.text).not.toContain(secret)
    expect(sent[0]?.text).toContain("http.request.method")
    expect(sent[0]?.text).toContain(`"${"x".repeat(256)}"`)
  })
})

describe("what a span links", () => {
  it("leaves as what the span tells of itself does", async () => {
    const secret = "4111 1111 1111 1111"
    const { sent, settle, telemetry } = makeCollected()
    const other = Tracer.externalSpan({ traceId: "0a".repeat(16), spanId: "0b".repeat(8) })
    const attributes = {
      "db.query.text": `SELECT '${secret}'`,
      "app.list": [secret],
      "app.mine": "x".repeat(1_000),
    }
    const links = Array.from({ length: 40 }, () => ({ span: other, attributes }))
    await telemetry.event(() => run(telemetry, Effect.withSpan(Effect.void, "span 1", { links })))
    await settle()
    const text = sent[0]?.text ?? ""
    expect(text).not.toContain(secret)
    expect(text.match(/"spanId":"0b0b0b0b0b0b0b0b"/g)).toHaveLength(32)
    expect(text).toContain(`"${"x".repeat(256)}"`)
    expect(text).not.toContain("x".repeat(257))
  })
})

describe("a collector that does not take what it is sent", () => {
  it("costs an edge one call a minute, and what its invocations tell meanwhile is counted", async () => {
    const posts: Array<string> = []
    const state = { now: 1_000, status: 503 }
    const fetch: typeof globalThis.fetch = async (input, init) => {
      posts.push(await new Request(input, init).text())
      return new Response(null, { status: state.status })
    }
    const collector = otlp({ url: "https://collector.test" })
    const invocation = async () => {
      const work: Array<Promise<unknown>> = []
      const telemetry = collector(
        {},
        { serviceVersion: "v1", context: jsonLog(), fetch },
      )?.({
        now: () => state.now,
        waitUntil: (promise) => void work.push(promise),
        macrotask: (task) => task(),
        once: true,
      })
      if (telemetry === undefined) throw new Error("there is no collector")
      await span(telemetry, "span 1")
      await Promise.all(work)
      return posts.splice(0)
    }
    for (let minute = 0; minute < 2; minute++) {
      expect((await invocation()).length).toBeGreaterThan(0)
      for (let nth = 0; nth < 5; nth++) expect(await invocation()).toEqual([])
      state.now += 60_000
    }
    expect(lines).toHaveLength(1)
    expect(lines[0]).toContain("does not take them")
    state.status = 200
    const told = [await invocation(), await invocation()].flat().join("\n")
    expect(told.match(/span 1/g)).toHaveLength(2)
    expect([...told.matchAll(/telemetry\.dropped.*?"asDouble":(\d+)/g)].map(([, n]) => n)).toEqual([
      "12",
    ])
  })

  it("is left alone for a minute, and what came meanwhile is counted", async () => {
    const { sent, settle, state, telemetry } = makeCollected({ metrics: true })
    const told = () => sent.splice(0).map(({ url }) => url.slice(-6))
    for (const fate of ["refuse", "move", "break"] as const) {
      state.fate = fate
      await span(telemetry, "span 1")
      await settle()
      expect(told().length).toBeGreaterThan(0)
      await span(telemetry, "span 2")
      await settle()
      expect(told()).toEqual([])
      state.now += 60_000
    }
    state.fate = "take"
    await span(telemetry, "span 3")
    await settle()
    const metrics = sent.find(({ url }) => url.endsWith("/v1/metrics"))
    expect(names(sent)).toEqual(["span 3"])
    expect(metrics?.text).toMatch(/heddle\.telemetry\.dropped.*"asDouble":6/)
  })

  it("holds up no event, and is given up after three seconds", async () => {
    const giveUp = new AbortController()
    const timeout = vi.spyOn(AbortSignal, "timeout").mockImplementation(() => giveUp.signal)
    const { sent, settle, state, telemetry } = makeCollected()
    state.fate = "hang"
    await span(telemetry, "span 1")
    let isOver = false
    const settling = settle().then(() => (isOver = true))
    await vi.waitUntil(() => sent.length > 0)
    await new Promise((resolve) => setImmediate(resolve))
    expect(isOver).toBe(false)
    expect(timeout.mock.calls).toEqual([[3_000]])
    giveUp.abort()
    await settling
    timeout.mockRestore()
  })
})

describe("metrics", () => {
  it("tell by default what came since the last time, and name neither owner nor thread", async () => {
    const { sent, settle, telemetry } = makeCollected({ metrics: true })
    let rows = 3
    telemetry.beforeSending(() => telemetry.add("rowsRead", rows, { object: "owner" }))
    for (const _ of [1, 2]) {
      telemetry.add("settled", 2, { outcome: "failed" })
      telemetry.tell("passDuration", 20)
      await telemetry.event(() => Promise.resolve())
      await settle()
      rows = 4
    }
    expect(sent.map(({ url }) => url)).toEqual(
      ["", ""].map(() => "https://collector.test/base/v1/metrics"),
    )
    const [first, second] = sent.map(({ text }) => text)
    for (const text of [first, second]) {
      expect(text).toContain(`"aggregationTemporality":1`)
      expect(text).toMatch(/heddle\.submissions\.settled.*?"asDouble":2/)
      expect(text).toMatch(/heddle\.pass\.duration.*?"count":1/)
      expect(text).toContain(`"unit":"ms"`)
      expect(text).toContain(`"heddle.outcome","value":{"stringValue":"failed"}`)
      expect(text).not.toMatch(/heddle\.(owner|thread|submission)\.id/)
    }
    expect(second).toMatch(/heddle\.rows\.read.*?"asDouble":4/)
  })
})

describe("the collector of a deployment", () => {
  const env = {
    OTEL_EXPORTER_OTLP_ENDPOINT: "https://env.test",
    OTEL_EXPORTER_OTLP_HEADERS: "authorization=Basic%20abc, x=1",
    OTEL_SERVICE_NAME: "shop",
    OTEL_TRACES_SAMPLER_ARG: "0.1",
  }

  it("is named by the environment, and by the code before it", () => {
    const headers = { authorization: "Basic abc", x: "1" }
    const ofEnv = { url: "https://env.test", headers, serviceName: "shop", sampleRatio: 0.1 }
    expect(otlpOptionsOf(undefined, env)).toEqual(ofEnv)
    expect(otlpOptionsOf({ url: "https://code.test", sampleRatio: 1 }, env)).toEqual({
      ...ofEnv,
      url: "https://code.test",
      sampleRatio: 1,
    })
  })

  it("is none where nobody names one, or where the environment says so", () => {
    for (const none of [undefined, {}, { OTEL_EXPORTER_OTLP_ENDPOINT: "" }])
      expect(otlpOptionsOf(undefined, none)).toBeUndefined()
    expect(otlpOptionsOf(undefined, { ...env, OTEL_SDK_DISABLED: "true" })).toBeUndefined()
  })

  it("that is named wrongly is none, which the log says once and without what was thrown", () => {
    const secret = "a-secret"
    const wrong: ReadonlyArray<readonly [Parameters<typeof otlp>[0], RegExp]> = [
      [{ url: "collector:4318" }, /its url must be one of http or https/],
      [
        () => {
          throw new TypeError(secret)
        },
        /TypeError/,
      ],
    ]
    for (const [given, why] of wrong) {
      lines.length = 0
      const collector = otlp(given)
      for (const _ of [1, 2])
        expect(collector({}, { serviceVersion: "v1", context: jsonLog() })).toBeUndefined()
      expect(lines).toHaveLength(1)
      expect(lines[0]).toMatch(why)
      expect(lines[0]).not.toContain(secret)
    }
  })

  it("is refused where it has no address", () => {
    expect(() => otlpOptionsOf({ url: "collector:4318" }, {})).toThrow(/http or https/)
    expect(() => otlpOptionsOf({ url: "nowhere" }, {})).toThrow(/http or https/)
    expect(() => otlpOptionsOf({ url: "https://a.test", sampleRatio: 2 }, {})).toThrow(/0 to 1/)
  })
})

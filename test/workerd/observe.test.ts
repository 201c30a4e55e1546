/** What a deployment tells a collector: one trace from the caller to the step, and nothing of what is worked on. */
import { describe, expect, it, vi } from "@effect/vitest"
import { runDurableObjectAlarm } from "cloudflare:test"
import { Effect, Tracer } from "effect"
import { collector, type Received, received } from "./loom-collector.ts"
import { type Loom, openLoom } from "./loom.ts"

const secret = "a-secret-of-the-input"

/** The spans of the caller itself. */
const callersTracer = (made: Array<Tracer.Span>) =>
  Tracer.make({
    span: (options) => {
      const span = new Tracer.NativeSpan(options)
      made.push(span)
      return span
    },
  })

const named = (spans: ReadonlyArray<Received>, name: string) =>
  spans.filter((span) => span.name === name)

const untilReceived = (loom: Loom, what: string, holds: () => boolean) =>
  loom.until(`the collector has ${what}`, holds)

describe("a submission whose caller traces it", () => {
  it.live("is one trace from the caller's span to its steps, its children and its report", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("traced")
      const made: Array<Tracer.Span> = []
      const receipt = yield* loom
        .submit({ agent: "spun", input: secret })
        .pipe(
          Effect.withSpan("checkout"),
          Effect.provideService(Tracer.Tracer, callersTracer(made)),
        )
      const settlement = yield* loom.settled(receipt)
      expect(settlement).toMatchObject({ outcome: "failed", failure: { tag: "Declined" } })
      const [checkout] = made
      const traceId = checkout?.traceId ?? ""
      const ofTrace = () => received().filter((span) => span.traceId === traceId)
      const ends = () =>
        named(ofTrace(), "heddle.attempt").map(({ attributes }) => attributes["heddle.end"])
      yield* untilReceived(loom, "all attempts", () => ends().length >= 3)
      const has = (name: string) => named(ofTrace(), name).length > 0
      yield* untilReceived(loom, "the delivery", () => has("heddle.deliver"))
      yield* loom.quiet

      const spans = ofTrace()
      const tree = new Map(spans.map((span) => [span.spanId, span]))
      const way = (span: Received | undefined): ReadonlyArray<string> =>
        span === undefined ? [] : [...way(tree.get(span.parentSpanId ?? "")), span.name]
      const ways = new Set(spans.map((span) => way(span).join(" > ")))
      const admitted = "heddle.edge.submit > heddle.owner.submit > heddle.thread.admit"
      const attempt = `${admitted} > heddle.attempt`
      expect(ways).toContain(`${attempt} > heddle.settle`)
      expect(ways).toContain(`${attempt} > spun > heddle.step`)
      expect(ways).toContain(`${attempt} > spun > heddle.tool`)
      expect(ways).toContain(`${attempt} > heddle.owner.report`)
      expect(ways).toContain(`${attempt} > heddle.deliver > heddle.thread.admit > heddle.attempt`)
      expect(named(spans, "heddle.edge.submit")[0]?.parentSpanId).toBe(checkout?.spanId)

      // A pass serves many traces: it has one of its own, to which each attempt is linked.
      const all = received().filter(
        ({ attributes }) => attributes["heddle.owner.id"] === loom.ownerId,
      )
      const turn = all.find(({ spanId }) => spanId === named(spans, "heddle.attempt")[0]?.links[0])
      const dispatch = all.find(({ spanId }) => spanId === turn?.parentSpanId)
      const pass = all.find(({ spanId }) => spanId === dispatch?.parentSpanId)
      expect([pass?.name, dispatch?.name, turn?.name]).toEqual([
        "heddle.pass",
        "heddle.dispatch",
        "heddle.thread.processHead",
      ])
      expect(pass?.parentSpanId).toBeUndefined()

      const attempts = named(spans, "heddle.attempt").map(({ attributes }) => attributes)
      expect(attempts.filter((one) => one["heddle.thread.id"] === "a")[0]).toMatchObject({
        "heddle.owner.id": loom.ownerId,
        "heddle.thread.id": "a",
        "heddle.submission.id": receipt.submissionId,
        "heddle.agent": "spun",
      })
      expect(spans.find(({ attributes }) => attributes["heddle.name"] === "broken")).toMatchObject({
        attributes: { "error.type": "Declined" },
        status: { code: 2 },
      })
      expect(named(spans, "spun")[0]?.attributes).toMatchObject({ "app.shade": "blue" })
      expect(collector.texts.join("\n")).not.toContain(secret)
      expect(collector.texts.join("\n")).not.toMatch(/stack|\.ts:\d|SELECT|UPDATE/)
      expect(collector.requests[0]).toMatchObject({ authorization: "Basic abc" })
    }),
  )
})

describe("a pass that finds nothing due", () => {
  it.live("is one span", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("traced")
      yield* loom.settled(yield* loom.submit({ agent: "noop", input: null }))
      yield* loom.quiet
      const passes = () =>
        received().filter(
          ({ attributes, name }) =>
            name === "heddle.pass" && attributes["heddle.owner.id"] === loom.ownerId,
        )
      yield* untilReceived(loom, "the pass", () => passes().length > 0)
      yield* loom.inOwner(({ storage }) => storage.setAlarm(Date.now() + 3_600_000))
      const before = received().length
      expect(yield* Effect.promise(() => runDurableObjectAlarm(loom.owner()))).toBe(true)
      yield* untilReceived(loom, "the pass", () => received().length > before)
      const came = received().slice(before)
      expect(came.map(({ attributes, name }) => [name, attributes["heddle.phase"]])).toEqual([
        ["heddle.pass", "caught-up"],
      ])
    }),
  )
})

describe("the metrics of a deployment", () => {
  it.live("come with the spans, from owners and from threads", () =>
    Effect.gen(function* () {
      const loom = yield* openLoom("traced")
      const from = collector.texts.length
      yield* loom.settled(yield* loom.submit({ agent: "noop", input: null }))
      yield* loom.quiet
      const told = () => collector.texts.slice(from).join("\n")
      const wanted = [
        /heddle\.submissions\.accepted.*?"asDouble":1/,
        /heddle\.submissions\.settled.*?completed/,
        /heddle\.attempts.*?"asDouble":1/,
        /heddle\.pass\.duration/,
        /heddle\.pass\.calls/,
        /heddle\.queue\.age/,
        /heddle\.rows\.written.*?"owner"/,
        /heddle\.rows\.read.*?"thread"/,
        /heddle\.alarm\.writes/,
      ]
      yield* untilReceived(loom, "all metrics", () => wanted.every((one) => one.test(told())))
      const status = yield* loom.client.rpc.maintenanceStatus({ ownerId: loom.ownerId })
      expect(status.totals).toMatchObject({ accepted: 1, completed: 1, attempts: 1, faults: 0 })
    }),
  )
})

describe("what a run logs", () => {
  it.live(
    "is a line of JSON that says whose it is, in which trace, and nothing of what was thrown",
    () =>
      Effect.gen(function* () {
        const said = vi.spyOn(console, "error").mockImplementation(() => undefined)
        yield* Effect.addFinalizer(() => Effect.sync(() => said.mockRestore()))
        const loom = yield* openLoom("traced")
        const receipt = yield* loom.submit({ agent: "dies", input: null })
        yield* loom.settled(receipt)
        // The file shares its workerd, and so its console: only what this owner's objects say counts.
        const lines = () =>
          said.mock.calls
            .map(([line]) => String(line))
            .filter((line) => line.includes(loom.ownerId))
            .map((line) => JSON.parse(line) as object)
        yield* loom.until("it has logged", () => lines().length > 0)
        expect(lines()).toEqual([
          {
            time: expect.any(String),
            level: "Error",
            message: expect.stringContaining("Error at"),
            ownerId: loom.ownerId,
            threadId: "a",
            submissionId: receipt.submissionId,
            traceId: expect.stringMatching(/^[0-9a-f]{32}$/),
            spanId: expect.any(String),
          },
        ])
        expect(JSON.stringify(said.mock.calls)).not.toContain("a secret of the handler")
      }),
  )
})

// Last: for a minute after it nobody in this isolate asks the collector.
describe("a collector that does not answer", () => {
  for (const mood of ["refuses", "hangs"] as const)
    it.live(`holds up no work while it ${mood}`, () =>
      Effect.gen(function* () {
        collector.mood = mood
        yield* Effect.addFinalizer(() => Effect.sync(() => (collector.mood = "takes")))
        const loom = yield* openLoom("traced")
        const startedAt = Date.now()
        for (let index = 0; index < 3; index++)
          yield* loom.settled(yield* loom.submit({ agent: "noop", input: null }))
        expect(Date.now() - startedAt).toBeLessThan(2_500)
        yield* loom.quiet
      }),
    )
})

import { describe, expect, it } from "@effect/vitest"
import { vi } from "vitest"
import { Effect, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { RpcClient, RpcSerialization } from "effect/rpc"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import type { ObserveFrame } from "../../../contracts/JournalRecord.ts"
import { largeReadsMax } from "../../../client/Http.ts"
import { bodyBytesMax, requestsMax, streamsMax } from "../../../client/RequestBody.ts"
import { until } from "../transport/probe.ts"
import {
  grants,
  lane,
  ownerId,
  receipt,
  settlement,
  submission,
  submissionId,
  threadId,
} from "./fakes.ts"
import {
  bearer,
  type HttpWorld,
  line,
  makeHttpWorld,
  nested,
  messages,
  origin,
  rpcRequest,
  secret,
} from "./httpWorld.ts"

const place = { ownerId, threadId }
const streamed = { duplex: "half" } as RequestInit
const opened: ObserveFrame = { _tag: "Opened", tailSequence: 2 }
const quiet = Stream.concat(Stream.make(opened), Stream.never)

const post = (world: HttpWorld, body: RequestInit["body"], headers: Record<string, string> = {}) =>
  Effect.promise(() => world.fetch(rpcRequest(body, { ...bearer(world.token), ...headers })))

const read = (response: Response) => Effect.promise(() => messages(response))

const exitOf = (value: unknown, requestId: string | number = "1") => ({
  _tag: "Exit",
  requestId,
  exit: { _tag: "Success", value },
})

const failed = (error: unknown, requestId: string | number = "1") => ({
  _tag: "Exit",
  requestId,
  exit: { _tag: "Failure", cause: [{ _tag: "Fail", error }] },
})

describe("POST /rpc", () => {
  it.effect("answers a call with its exit, in NDJSON", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const response = yield* post(world, `${line("submit", submission)}\n`)
      expect(response.status).toBe(200)
      expect(response.headers.get("content-type")).toBe("application/x-ndjson")
      expect(yield* read(response)).toEqual([exitOf(receipt)])
      yield* Effect.promise(world.done)
      expect(world.objects.closed()).toBe(1)
    }),
  )

  it.effect("takes what curl sends: a last line without its end, and no optional field", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const body = JSON.stringify({ _tag: "Request", id: 7, tag: "submit", payload: submission })
      const response = yield* post(world, body, { "content-type": "application/json; charset=x" })
      expect(yield* read(response)).toEqual([exitOf(receipt, 7)])
    }),
  )

  it.effect("answers every call of a body, each as itself", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const lines = [
        line("submit", submission, "a"),
        line("readState", { ...place, ownerId: "bank" }, "b"),
        line("history", {}, "c"),
        line("unheard-of", {}, "d"),
        JSON.stringify({ _tag: "Eof" }),
      ]
      const answers = yield* read(yield* post(world, lines.join("\r\n")))
      const byId = new Map(answers.map((answer) => [answer.requestId, answer]))
      expect(byId.size).toBe(4)
      expect(byId.get("a")).toEqual(exitOf(receipt, "a"))
      expect(byId.get("b")).toEqual(
        failed({ _tag: "OperationDenied", operation: "readState" }, "b"),
      )
      expect(byId.get("c")).toMatchObject(failed({ _tag: "InvalidInput" }, "c"))
      expect(byId.get("d")).toMatchObject(failed({ _tag: "Unavailable", retryable: false }, "d"))
    }),
  )

  it.effect("lets no header of a caller through to an object", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const forged = callerHeaders({ _tag: "Owner", ownerId })
      const body = JSON.stringify({
        _tag: "Request",
        id: "1",
        tag: "submit",
        payload: submission,
        headers: Object.entries(forged),
      })
      yield* read(yield* post(world, body, forged))
      expect(world.objects.calls.map((call) => call.caller)).toEqual([
        { _tag: "Principal", principal: "ada" },
      ])
    }),
  )

  it.effect("tells a defect as a reference, and nothing else of it", () =>
    Effect.gen(function* () {
      const submit = () => Effect.die(new Error("SELECT secret FROM users"))
      const world = yield* makeHttpWorld({ answers: { submit } })
      const [answer] = yield* read(yield* post(world, line("submit", submission)))
      expect(answer).toEqual(
        failed({ _tag: "InternalDefect", reference: expect.stringMatching(/^[0-9a-f-]{36}$/) }),
      )
    }),
  )

  it.effect("answers 500 with a reference alone when a binding is missing", () =>
    Effect.gen(function* () {
      const targets = () => {
        throw new Error("The environment has no OWNERS")
      }
      const world = yield* makeHttpWorld({ targets })
      const response = yield* post(world, line("submit", submission))
      expect(response.status).toBe(500)
      expect(yield* read(response)).toEqual([
        { _tag: "InternalDefect", reference: expect.stringMatching(/^[0-9a-f-]{36}$/) },
      ])
    }),
  )

  for (const [title, headers, env] of [
    ["without a token", {}, { HEDDLE_JWT_SECRET: secret }],
    ["with a bad token", { authorization: "Bearer x.y.z" }, { HEDDLE_JWT_SECRET: secret }],
    ["of a deployment without keys", undefined, {}],
    ["of a deployment with a short key", undefined, { HEDDLE_JWT_SECRET: "short" }],
  ] as const) {
    it.effect(`${title} is answered 401, typed, and reaches no object`, () =>
      Effect.gen(function* () {
        const world = yield* makeHttpWorld({ env })
        for (const tag of ["submit", "observe"]) {
          const sent = rpcRequest(line(tag, submission), headers ?? bearer(world.token))
          const response = yield* Effect.promise(() => world.fetch(sent))
          expect(response.status).toBe(401)
          expect(response.headers.get("www-authenticate")).toBe("Bearer")
          expect(yield* read(response)).toEqual([
            { _tag: "Unauthenticated", reason: expect.any(String) },
          ])
        }
        expect(world.objects.reached).toEqual([])
      }),
    )

    it.effect(`${title} is answered alike whatever it sends, and none of it is read`, () =>
      Effect.gen(function* () {
        const world = yield* makeHttpWorld({ env })
        const send = (body: RequestInit["body"], more: Record<string, string> = {}) =>
          Effect.promise(async () => {
            const sent = { ...(headers ?? bearer(world.token)), ...more }
            const response = await world.fetch(rpcRequest(body, sent, streamed))
            return { status: response.status, said: await response.text() }
          })
        const answer = yield* send(line("submit", submission))
        for (const body of [line("unheard-of", {}), line("submit", { ownerId: 7 }), "{", ""]) {
          expect(yield* send(body)).toEqual(answer)
        }
        expect(yield* send("x", { "content-length": String(bodyBytesMax + 1) })).toEqual(answer)
        expect(yield* send("x", { "content-type": "text/plain" })).toEqual(answer)
        let asked = false
        const pull = () => {
          asked = true
          return new Promise<never>(() => undefined)
        }
        const slow = new ReadableStream({ pull }, { highWaterMark: 0 })
        expect(yield* send(slow)).toEqual(answer)
        expect(asked).toBe(false)
      }),
    )
  }

  it.effect("gives up a body that does not arrive in time, typed and to be retried", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld({ limits: { bodyMillis: 5 } })
      let given = false
      const body = new ReadableStream({
        start: (controller) => controller.enqueue(new TextEncoder().encode(`{"_tag":`)),
        cancel: () => {
          given = true
        },
      })
      const sent = rpcRequest(body, bearer(world.token), streamed)
      const response = yield* Effect.promise(() => world.fetch(sent))
      expect(response.status).toBe(408)
      expect(yield* read(response)).toEqual([
        {
          _tag: "Unavailable",
          retryable: true,
          overloaded: false,
          reason: "The body did not arrive in time",
        },
      ])
      yield* until("the body is let go", () => given)
      expect(world.objects.reached).toEqual([])
    }),
  )

  it.effect("refuses an input nested too deep, that call alone", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const deep = (levels: number, id: string) =>
        line("submit", { ...submission, input: "?" }, id).replace(`"?"`, nested(levels))
      for (const levels of [67, 3_000, 5_000, 1_000_000]) {
        const sent = [deep(levels, "deep"), deep(64, "deepest"), line("submit", submission, "flat")]
        const answers = yield* read(yield* post(world, sent.join("\n")))
        const byId = new Map(answers.map((answer) => [answer.requestId, answer]))
        const reason = "nested deeper than 64"
        expect(byId.get("deep")).toEqual(failed({ _tag: "InvalidInput", path: "", reason }, "deep"))
        expect(byId.get("deepest")).toEqual(exitOf(receipt, "deepest"))
        expect(byId.get("flat")).toEqual(exitOf(receipt, "flat"))
      }
    }),
  )

  // Finite, so that a server that reads on for ever fails the test and not the machine.
  let megabytes = 0
  const oversized = new ReadableStream({
    pull: (controller) => {
      megabytes += 1
      if (megabytes > 16) controller.close()
      else controller.enqueue(new Uint8Array(1024 * 1024).fill(0x20))
    },
  })
  const many = Array.from({ length: requestsMax + 1 }, (_, id) => line("history", place, id))
  const broken = new ReadableStream({
    start: (controller) => controller.enqueue(new TextEncoder().encode(line("wake", place))),
    pull: (controller) => controller.error(new Error("Network connection lost.")),
  })
  const badBodies: ReadonlyArray<
    readonly [string, number, RequestInit["body"], Record<string, string>?]
  > = [
    ["that is no JSON", 400, "{"],
    ["of a JSON value that is no request", 400, "[]"],
    ["of words that are no text", 400, `{"_tag":{"toString":1,"valueOf":1}}`],
    ["of a word nested without end", 400, `{"_tag":${nested(100_000)}}`],
    ["of a word in a list", 400, `{"_tag":["Eof"]}\n${line("wake", place)}`],
    ["with a request without an id", 400, `{"_tag":"Request","tag":"submit"}`],
    ["with an id that is no number of JSON", 400, line("wake", place, 7).replace("7", "1e400")],
    ["with an endless id", 400, line("wake", place, "x".repeat(3_000_000))],
    ["that breaks off", 400, broken],
    ["that uses an id twice", 400, `${line("wake", place)}\n${line("wake", place)}`],
    ["that is empty", 400, ""],
    ["that is not UTF-8", 400, new Uint8Array([0xff, 0xfe])],
    ["that says it is above the limit", 413, "x", { "content-length": String(bodyBytesMax + 1) }],
    ["that is above the limit without saying so", 413, oversized],
    ["with too many requests", 413, many.join("\n")],
    ["of another media type", 415, line("submit", submission), { "content-type": "text/plain" }],
    ["that is compressed", 415, line("submit", submission), { "content-encoding": "gzip" }],
  ]
  for (const [title, status, body, headers] of badBodies) {
    it.effect(`with a body ${title} is answered ${status}, and reaches no object`, () =>
      Effect.gen(function* () {
        const world = yield* makeHttpWorld()
        const sent = rpcRequest(body, { ...bearer(world.token), ...headers }, streamed)
        const response = yield* Effect.promise(() => world.fetch(sent))
        expect(response.status).toBe(status)
        expect(yield* read(response)).toMatchObject([{ _tag: "InvalidInput" }])
        expect(world.objects.reached).toEqual([])
      }),
    )
  }
})

describe("a stream over HTTP", () => {
  it.effect("is chunks of frames, then its exit", () =>
    Effect.gen(function* () {
      const cursor: ObserveFrame = { _tag: "Cursor", after: 2 }
      const world = yield* makeHttpWorld({ answers: { observe: Stream.make(opened, cursor) } })
      const answers = yield* read(yield* post(world, line("observe", place)))
      const values = answers.flatMap((answer) => answer.values ?? [])
      expect(values).toEqual([{ ...opened, lane }, cursor])
      expect(answers.at(-1)).toMatchObject({ _tag: "Exit", exit: { _tag: "Success" } })
    }),
  )

  for (const [title, tag, payload, answers] of [
    ["stream", "observe", place, { observe: quiet }],
    [
      "wait",
      "awaitSettlement",
      { ...place, submissionId },
      { awaitSettlement: () => Effect.never },
    ],
  ] as const) {
    it.effect(`of a quiet ${title} carries empty lines, and a reader that leaves frees it`, () =>
      Effect.gen(function* () {
        const world = yield* makeHttpWorld({ answers, limits: { heartbeatMillis: 5 } })
        const response = yield* post(world, line(tag, payload))
        const reader = response.body?.getReader()
        if (reader === undefined) throw new Error("the answer has no body")
        let empties = 0
        while (empties < 3) {
          const { value, done } = yield* Effect.promise(() => reader.read())
          if (done) throw new Error("the answer ended")
          if (new TextDecoder().decode(value) === "\n") empties += 1
        }
        expect(world.objects.thread.activeCalls()).toBe(1)
        yield* Effect.promise(() => reader.cancel())
        yield* Effect.promise(world.done)
        yield* until("the thread is free", () => world.objects.thread.activeCalls() === 0)
        expect(world.objects.closed()).toBe(1)
      }),
    )
  }

  it.effect("waits for its reader: what is not read is not produced", () =>
    Effect.gen(function* () {
      let produced = 0
      const endless = Stream.forever(
        Stream.fromEffect(
          Effect.sync((): ObserveFrame => {
            produced += 1
            return { _tag: "Gap", dropped: produced }
          }),
        ),
      )
      const world = yield* makeHttpWorld({ answers: { observe: endless } })
      const response = yield* post(world, line("observe", place))
      let seen = -1
      yield* until("production stands still", () => {
        const still = produced > 0 && produced === seen
        seen = produced
        return still
      })
      expect(produced).toBeLessThan(1_000)
      yield* Effect.promise(async () => response.body?.cancel())
      yield* Effect.promise(world.done)
    }),
  )
})

describe("a body of many large reads", () => {
  const histories = Array.from({ length: 64 }, (_, id) => line("history", place, id))

  /** Waits until a count that has begun grows no more. */
  const standsStill = (what: string, count: () => number) => {
    let seen = -1
    return until(what, () => {
      const still = seen === count() && seen > 0
      seen = count()
      return still
    })
  }

  for (const tag of ["history", "schedules"] as const) {
    it.effect(`holds a few answers of ${tag} until its reader takes them, and then gives all`, () =>
      Effect.gen(function* () {
        const world = yield* makeHttpWorld()
        const body = Array.from({ length: 64 }, (_, id) => line(tag, place, id)).join("\n")
        const response = yield* post(world, body)
        yield* standsStill("no more is read", () => world.objects.calls.length)
        expect(world.objects.calls.length).toBeLessThanOrEqual(largeReadsMax + 1)
        expect(yield* read(response)).toHaveLength(64)
        yield* Effect.promise(world.done)
      }),
    )
  }

  it.effect("writes out a few answers of what was waited for, until its reader takes them", () =>
    Effect.gen(function* () {
      let written = 0
      const stringify = vi.spyOn(JSON, "stringify")
      const wait = { ...place, submissionId }
      const body = Array.from({ length: 64 }, (_, id) => line("awaitSettlement", wait, id))
      stringify.mockClear()
      const count = () => {
        const lines = stringify.mock.calls.map(([value]) => value as { _tag?: unknown } | null)
        written = lines.filter((value) => value?._tag === "Exit").length
        return written
      }
      const world = yield* makeHttpWorld()
      const response = yield* post(world, body.join("\n"))
      yield* until("all were answered", () => world.objects.calls.length === 64)
      yield* standsStill("no more is written", count)
      stringify.mockRestore()
      expect(written).toBeLessThanOrEqual(largeReadsMax + 1)
      expect(yield* read(response)).toHaveLength(64)
      yield* Effect.promise(world.done)
    }),
  )

  it.effect("holds a few records of each stream that it does not read", () =>
    Effect.gen(function* () {
      let made = 0
      const record = (): ObserveFrame => ({
        _tag: "Record",
        record: {
          sequence: ++made,
          submissionId,
          kind: "Progress",
          epoch: 1,
          recordedAt: 1,
          payload: "256 KiB each",
        },
      })
      const page = Effect.sync(() => Array.from({ length: 4 }, record))
      const endless = Stream.forever(Stream.fromIterableEffect(page))
      const world = yield* makeHttpWorld({ answers: { observe: endless } })
      const body = Array.from({ length: streamsMax }, (_, id) => line("observe", place, id))
      const response = yield* post(world, body.join("\n"))
      yield* standsStill("production stands still", () => made)
      expect(made).toBeLessThanOrEqual(streamsMax * 20) // at the edge, and under way in the object
      yield* Effect.promise(async () => response.body?.cancel())
      yield* Effect.promise(world.done)
    }),
  )

  it.effect("is refused whole when it opens too many streams", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const watch = line("watch", { ownerId }, "watch")
      const streams = Array.from({ length: streamsMax }, (_, id) => line("observe", place, id))
      const response = yield* post(world, [...streams, watch].join("\n"))
      expect(response.status).toBe(413)
      expect(yield* read(response)).toMatchObject([{ _tag: "InvalidInput" }])
      expect(world.objects.reached).toEqual([])
    }),
  )

  it.effect("holds up none of its other calls", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const waits = Array.from({ length: 32 }, (_, id) =>
        line("awaitSettlement", { ...place, submissionId }, `wait-${id}`),
      )
      const sent = [...histories.slice(0, 31), ...waits, line("submit", submission, "last")]
      const response = yield* post(world, sent.join("\n"))
      const called = (operation: string) =>
        world.objects.calls.filter((call) => call.operation === operation).length
      yield* until(
        "all others have begun",
        () => called("submit") + called("awaitSettlement") === 33,
      )
      expect(yield* read(response)).toHaveLength(64)
      yield* Effect.promise(world.done)
    }),
  )
})

describe("effect's own client over HTTP", () => {
  const protocol = (world: HttpWorld) =>
    RpcClient.layerProtocolHttp({ url: `${origin}/rpc` }).pipe(
      Layer.provide([RpcSerialization.layerNdjson, FetchHttpClient.layer]),
      Layer.provide(
        Layer.succeed(FetchHttpClient.Fetch, (input, init) => {
          const request = new Request(input, init)
          request.headers.set("authorization", `Bearer ${world.token}`)
          return world.fetch(request)
        }),
      ),
    )

  it.effect("is served: calls, typed failures and streams", () =>
    Effect.gen(function* () {
      const cursor: ObserveFrame = { _tag: "Cursor", after: 2 }
      const world = yield* makeHttpWorld({ answers: { observe: Stream.make(opened, cursor) } })
      yield* Effect.gen(function* () {
        const client = yield* RpcClient.make(HeddleRpc)
        expect(yield* client.submit(submission)).toEqual(receipt)
        expect(yield* client.awaitSettlement({ ...place, submissionId })).toEqual({
          _tag: "Settled",
          settlement,
        })
        const frames = yield* Stream.runCollect(client.observe(place))
        expect(frames).toEqual([{ ...opened, lane }, cursor])
      }).pipe(Effect.provide(protocol(world)))
      const stranger = yield* makeHttpWorld({ grants: grants({ operations: ["status"] }) })
      const failure = yield* Effect.flatMap(RpcClient.make(HeddleRpc), (client) =>
        Effect.flip(client.submit(submission)),
      ).pipe(Effect.provide(protocol(stranger)))
      expect(failure).toMatchObject({ _tag: "OperationDenied", operation: "submit" })
    }),
  )

  it.effect("is told by a typed failure that its token is refused", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const failure = yield* Effect.flatMap(RpcClient.make(HeddleRpc), (client) =>
        Effect.flip(client.submit(submission)),
      ).pipe(Effect.provide(protocol({ ...world, token: "x.y.z" })))
      expect(failure._tag).toBe("RpcClientError")
      expect(world.objects.reached).toEqual([])
    }),
  )
})

describe("the rest of the HTTP edge", () => {
  const get = (world: HttpWorld, path: string, init: RequestInit = {}) =>
    Effect.promise(() => world.fetch(new Request(`${origin}${path}`, init)))

  it.effect("says its version at /health, to anybody, and nothing more", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld({ env: {} })
      const response = yield* get(world, "/health")
      expect(response.status).toBe(200)
      expect(yield* read(response)).toEqual([{ version: "v-1" }])
      expect((yield* get(world, "/health", { method: "POST" })).status).toBe(405)
    }),
  )

  it.effect("answers 400 where the platform's address of a request is none, and logs nothing", () =>
    Effect.gen(function* () {
      const log = vi.spyOn(console, "log").mockImplementation(() => undefined)
      const world = yield* makeHttpWorld()
      for (const url of ["http://a b/rpc", "http://[/rpc", "http://x:99999/health", "/rpc", ""]) {
        const request = Object.defineProperty(new Request(origin), "url", { value: url })
        const response = yield* Effect.promise(() => world.fetch(request))
        expect(response.status).toBe(400)
        expect(yield* read(response)).toMatchObject([{ _tag: "InvalidInput" }])
      }
      expect(log).not.toHaveBeenCalled()
      log.mockRestore()
    }),
  )

  it.effect("has nothing elsewhere, takes POST alone at /rpc, and gives no CORS", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      for (const path of ["/", "/rpcs", "/console", "/RPC", "/rpc%2f"]) {
        expect((yield* get(world, path)).status).toBe(404)
      }
      for (const method of ["GET", "PUT", "DELETE", "OPTIONS"]) {
        const headers = {
          origin: "https://elsewhere.test",
          "access-control-request-method": "POST",
        }
        const response = yield* get(world, "/rpc", { method, headers })
        expect(response.status).toBe(405)
        expect(response.headers.get("allow")).toBe("POST")
        const names = [...response.headers.keys()]
        expect(names.filter((name) => name.startsWith("access-control"))).toEqual([])
      }
    }),
  )
})

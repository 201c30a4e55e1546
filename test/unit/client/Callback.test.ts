/** Callbacks at both edges: who is asked what, in whose name, and what whoever has only a token is told. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { makeEdge } from "../../../client/Edge.ts"
import { bodyBytesMax } from "../../../client/RequestBody.ts"
import { callbackPath, type CallbackToken, makeCallbackToken } from "../../../contracts/Callback.ts"
import {
  AdmissionLimitExceeded,
  InvalidInput,
  JoinedToHost,
  NotAwaiting,
  OperationDenied,
  ResolutionConflict,
  SettlementConflict,
  StorageFull,
  StorageUnavailable,
  SubmissionNotFound,
  ThreadForgotten,
  ThreadUnreadable,
  Unavailable,
} from "../../../contracts/Errors.ts"
import { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import { OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { SignalRefusal } from "../../../contracts/Signal.ts"
import { inMemoryTarget, makeWireClient } from "../../../contracts/transport/index.ts"
import {
  type Answers,
  grants,
  makeObjects,
  ownerId,
  signalled,
  submissionId,
  threadId,
  token,
  waitName,
} from "./fakes.ts"
import { type HttpWorld, makeHttpWorld, nested, origin } from "./httpWorld.ts"

const place = { ownerId, threadId }
const asCallback = { _tag: "Principal", principal: "callback" }
const invented = makeCallbackToken({ ownerId, threadId, secret: "0".repeat(32) })

/** What reached the objects: where, in whose name, with what. */
const theTwoCalls = (payload: unknown) => [
  { object: "thread", operation: "callback", caller: asCallback, payload: { ...place, token } },
  {
    object: "owner",
    operation: "callback",
    caller: asCallback,
    payload: { ...place, submissionId, name: waitName, payload },
  },
]

describe("callback, the operation,", () => {
  const call = Effect.fnUntraced(function* (
    payload: Partial<{ ownerId: OwnerId; threadId: ThreadId; token: CallbackToken }>,
    answers: Answers = {},
  ) {
    const objects = yield* makeObjects(answers)
    const identity = { _tag: "Verified", grants: grants(), expiresAt: undefined } as const
    const edge = yield* makeEdge({ identity, targets: objects.targets })
    const client = yield* makeWireClient(HeddleRpc, { target: () => inMemoryTarget(edge) })
    const exit = yield* Effect.exit(
      client.callback({ ...place, token, payload: { paid: true }, ...payload }),
    )
    return { exit, objects }
  })

  it.effect(
    "asks the thread which wait it is for, then signals, both as the principal callback",
    () =>
      Effect.gen(function* () {
        const { exit, objects } = yield* call({})
        expect(exit).toMatchObject({ _tag: "Success", value: signalled })
        expect(objects.calls).toEqual(theTwoCalls({ paid: true }))
      }),
  )

  it.effect("is denied to a token that was made up, and its owner is not even reached", () =>
    Effect.gen(function* () {
      const { exit, objects } = yield* call({ token: invented })
      expect(exit).toMatchObject({ cause: { reasons: [{ error: { _tag: "OperationDenied" } }] } })
      expect(objects.reached).toEqual([`${ownerId}/${threadId}`])
    }),
  )

  it.effect.each([
    ["owner", { ownerId: OwnerId.make("shop-2") }],
    ["thread", { threadId: ThreadId.make("order-8") }],
  ] as const)("refuses a token of another %s than it names, and reaches nobody", ([, other]) =>
    Effect.gen(function* () {
      const { exit, objects } = yield* call(other)
      expect(exit).toMatchObject({
        cause: { reasons: [{ error: { _tag: "InvalidInput", path: "token" } }] },
      })
      expect(objects.reached).toEqual([])
    }),
  )

  it.effect("tells a verified caller what the thread says of the wait", () =>
    Effect.gen(function* () {
      const refusal = new NotAwaiting({ submissionId, name: waitName })
      const { exit } = yield* call({}, { signal: () => Effect.fail(refusal) })
      expect(exit).toMatchObject({ cause: { reasons: [{ error: refusal }] } })
    }),
  )
})

interface Sent {
  readonly path?: string
  readonly method?: string
  readonly body?: RequestInit["body"]
  readonly type?: string | undefined
  readonly headers?: Record<string, string>
}

const callbackRequest = ({ body, headers, method = "POST", path, type }: Sent): Request => {
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body
  return new Request(`${origin}${path ?? callbackPath(token)}`, {
    method,
    headers: { ...(type === undefined ? {} : { "content-type": type }), ...headers },
    ...(bytes === undefined ? {} : { body: bytes, duplex: "half" }),
  })
}

const send = (world: HttpWorld, sent: Sent = {}) =>
  Effect.promise(async () => {
    const response = await world.fetch(callbackRequest(sent))
    return { status: response.status, headers: response.headers, text: await response.text() }
  })

const json = "application/json"

describe("POST /callback/TOKEN", () => {
  it.effect("gives the run the value, without any other credentials, and says so", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const answer = yield* send(world, { body: '{"paid":true}', type: json })
      expect(answer.status).toBe(200)
      expect(JSON.parse(answer.text)).toEqual({ received: true, duplicate: false })
      expect(world.objects.calls).toEqual(theTwoCalls({ paid: true }))
      expect(world.objects.closed()).toBe(1)
    }),
  )

  it.effect("says of the same value again that it is one", () =>
    Effect.gen(function* () {
      const signal = () => Effect.succeed({ ...signalled, duplicate: true })
      const world = yield* makeHttpWorld({ answers: { signal } })
      const answer = yield* send(world, { body: "1", type: json })
      expect([answer.status, JSON.parse(answer.text)]).toEqual([
        200,
        { received: true, duplicate: true },
      ])
    }),
  )

  it.effect.each([
    ["nothing", undefined, undefined, null],
    ["an empty body of any type", "", "image/png", null],
    ["JSON", ' {"a":[1,null]} ', "application/json; charset=utf-8", { a: [1, null] }],
    ["JSON of a vendor", '{"a":1}', "application/cloudevents+json", { a: 1 }],
    [
      "a form",
      "CallStatus=completed&From=%2B4930&empty=&To=a&To=b+c",
      "application/x-www-form-urlencoded",
      { CallStatus: "completed", From: "+4930", empty: "", To: "b c" },
    ],
    [
      "a form with a hostile name",
      "__proto__=x",
      "application/x-www-form-urlencoded",
      Object.fromEntries([["__proto__", "x"]]),
    ],
    ["plain text", "yes, do", "text/plain;charset=UTF-8", "yes, do"],
  ] as const)("takes %s", ([what, body, type, payload]) =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const answer = yield* send(world, { body, type })
      expect([what, answer.status]).toEqual([what, 200])
      const given = JSON.stringify(world.objects.calls[1]?.payload)
      expect(given).toContain(`"payload":${JSON.stringify(payload)}}`)
    }),
  )

  it.effect.each([
    ["not JSON", '{"a":', json, {}, 400],
    ["not UTF-8", new Uint8Array([0x22, 0xff, 0x22]), json, {}, 400],
    ["nested too deep", nested(5_000), json, {}, 400],
    ["of another type", "<a/>", "text/xml", {}, 415],
    ["of no type", new Uint8Array([49]), undefined, {}, 415],
    ["compressed", "1", json, { "content-encoding": "gzip" }, 415],
    ["too large", `"${"x".repeat(bodyBytesMax)}"`, json, {}, 413],
  ] as const)(
    "refuses a body that is %s, and signals nobody",
    ([what, body, type, headers, status]) =>
      Effect.gen(function* () {
        const world = yield* makeHttpWorld()
        const answer = yield* send(world, { body, type, headers })
        expect([what, answer.status]).toEqual([what, status])
        expect(JSON.parse(answer.text)).toMatchObject({ _tag: "InvalidInput" })
        expect(world.objects.calls.map(({ object }) => object)).toEqual(["thread"])
      }),
  )

  it.effect("does not wait for ever for a body", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld({ limits: { bodyMillis: 20 } })
      const never = new ReadableStream<Uint8Array>({ pull: () => new Promise(() => undefined) })
      const sending = yield* Effect.forkChild(send(world, { body: never, type: json }))
      yield* TestClock.adjust("1 second")
      expect((yield* Fiber.join(sending)).status).toBe(408)
    }),
  )
})

describe("a token that leads nowhere", () => {
  const paths = [
    ["made up", callbackPath(invented)],
    ["malformed", "/callback/x"],
    ["empty", "/callback/"],
    ["with more behind it", `${callbackPath(token)}/`],
    ["of a path inside it", "/callback/shop-1/order-7~5e"],
    ["that does not decode", "/callback/%E0%A4%A"],
    ["too long", `/callback/${"a".repeat(10_000)}`],
  ] as const

  it.effect.each(paths)("is answered 404, like any other: %s", ([what, path]) =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const nowhere = yield* send(world, { path: "/nowhere" })
      let asked = false
      const pull = () => {
        asked = true
        return new Promise<never>(() => undefined)
      }
      const body = new ReadableStream<Uint8Array>({ pull }, { highWaterMark: 0 })
      const answer = yield* send(world, { path, body, type: json })
      expect([what, answer.status, answer.text]).toEqual([what, 404, nowhere.text])
      expect([...answer.headers]).toEqual([...nowhere.headers])
      // Nor is anything read of who is nobody.
      expect(asked).toBe(false)
      expect(world.objects.calls.map(({ object }) => object)).toEqual(
        what === "made up" ? ["thread"] : [],
      )
    }),
  )

  it.effect("is the same whether the policy refuses it, or the thread was forgotten", () =>
    Effect.gen(function* () {
      const texts = new Set<string>()
      for (const refusal of [
        new OperationDenied({ operation: "callback" }),
        new ThreadForgotten({ threadId, forgottenAt: 7 }),
      ]) {
        const signal = () => Effect.fail(refusal as unknown as SignalRefusal)
        const world = yield* makeHttpWorld({ answers: { signal } })
        const { status, text } = yield* send(world)
        texts.add(`${status} ${text}`)
      }
      const world = yield* makeHttpWorld()
      const { status, text } = yield* send(world, { path: callbackPath(invented) })
      expect([...texts]).toEqual([`${status} ${text}`])
    }),
  )

  it.effect("is found percent-encoded as it is", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const path = callbackPath(token).replaceAll("~", "%7e").replace("shop", "%73hop")
      expect((yield* send(world, { path })).status).toBe(200)
    }),
  )
})

describe("what a webhook is told", () => {
  const why = { retryable: true, overloaded: false, reason: "the thread did not answer in time" }
  const cases: ReadonlyArray<
    readonly [what: string, refusal: object, status: number, comesAgain: boolean]
  > = [
    ["that nothing waits", new NotAwaiting({ submissionId, name: waitName }), 410, false],
    [
      "that its run has settled",
      new SettlementConflict({ submissionId, outcome: "failed" }),
      410,
      false,
    ],
    ["that its run is gone", new SubmissionNotFound({ submissionId }), 410, false],
    [
      "that its run was joined",
      new JoinedToHost({ submissionId, hostSubmissionId: submissionId }),
      410,
      false,
    ],
    ["of another value", new ResolutionConflict({ first: "the first value" }), 409, false],
    [
      "of a value that cannot be stored",
      new InvalidInput({ path: "payload", reason: "NUL" }),
      400,
      false,
    ],
    [
      "of a value that is too large",
      new AdmissionLimitExceeded({ limit: "recordBytes", actual: 2, maximum: 1 }),
      413,
      false,
    ],
    [
      "where there is no room",
      new AdmissionLimitExceeded({ limit: "waitsPerRun", actual: 2, maximum: 1 }),
      503,
      true,
    ],
    ["of a full owner", new StorageFull({ actualBytes: 2, maximumBytes: 1 }), 503, true],
    ["of storage that fails", new StorageUnavailable({ operation: "signal" }), 503, true],
    ["of a damaged thread", new ThreadUnreadable({ threadId, what: "journal" }), 503, true],
    ["of a passing trouble", new Unavailable(why), 503, true],
    ["of a lasting trouble", new Unavailable({ ...why, retryable: false }), 503, false],
  ]

  it.effect.each(cases)("%s", ([, refusal, status, comesAgain]) =>
    Effect.gen(function* () {
      const signal = () => Effect.fail(refusal as SignalRefusal)
      const world = yield* makeHttpWorld({ answers: { signal } })
      const answer = yield* send(world, { body: "1", type: json })
      expect(answer.status).toBe(status)
      expect(answer.headers.has("retry-after")).toBe(comesAgain)
      // Nothing of the run, and nothing of what another caller gave it.
      for (const secret of [submissionId, waitName, "the first value"]) {
        expect(answer.text).not.toContain(secret)
      }
    }),
  )

  it.effect("of a defect is its reference", () =>
    Effect.gen(function* () {
      const signal = () => Effect.die(new Error("SELECT secret"))
      const world = yield* makeHttpWorld({ answers: { signal } })
      const answer = yield* send(world)
      expect(answer.status).toBe(500)
      expect(JSON.parse(answer.text)).toEqual({
        _tag: "InternalDefect",
        reference: expect.stringMatching(/^[0-9a-f-]{36}$/),
      })
    }),
  )
})

describe("around a callback", () => {
  it.effect.each(["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])("%s is answered 405", (method) =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      for (const path of [callbackPath(token), callbackPath(invented), "/callback/x"]) {
        const answer = yield* send(world, { method, path })
        expect([answer.status, answer.headers.get("allow")]).toEqual([405, "POST"])
      }
      expect(world.objects.reached).toEqual([])
    }),
  )

  it.effect("headers that are too long are answered 431, and nobody is asked", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const headers = { "x-long": "x".repeat(33 * 1024) }
      expect((yield* send(world, { headers })).status).toBe(431)
      expect(world.objects.reached).toEqual([])
    }),
  )

  it.effect("no page of another site may read the answer, unless its origin is listed", () =>
    Effect.gen(function* () {
      const asks = { origin: "https://app.example.com" }
      const wants = { ...asks, "access-control-request-method": "POST" }
      const closed = yield* makeHttpWorld()
      const open = yield* makeHttpWorld({ edge: { origins: ["https://app.example.com"] } })
      for (const [world, allowed, preflight] of [
        [closed, null, 405],
        [open, "https://app.example.com", 204],
      ] as const) {
        const answer = yield* send(world, { headers: asks })
        expect(answer.headers.get("access-control-allow-origin")).toBe(allowed)
        expect((yield* send(world, { method: "OPTIONS", headers: wants })).status).toBe(preflight)
      }
    }),
  )

  it.effect("calls are counted for each thread, before its object is asked", () =>
    Effect.gen(function* () {
      const counted: Array<string> = []
      const limit = ({ key }: { readonly key: string }) => {
        counted.push(key)
        return Promise.resolve({ success: counted.length < 2 })
      }
      const world = yield* makeHttpWorld({ edge: { rateLimiter: () => ({ limit }) } })
      expect((yield* send(world)).status).toBe(200)
      const answer = yield* send(world, { path: callbackPath(invented) })
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([429, "10"])
      expect((yield* send(world, { path: "/callback/x" })).status).toBe(404)
      const key = `callback:${ownerId}/${threadId}`
      expect(counted).toEqual([key, key])
      expect(world.objects.calls).toHaveLength(2)
    }),
  )
})

import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, type Schema, Stream } from "effect"
import { HeddleClient } from "../../../client/HeddleClient.ts"
import { httpTarget, type HttpTargetOptions } from "../../../client/HttpTarget.ts"
import { Unavailable } from "../../../contracts/Errors.ts"
import { IdempotencyKey } from "../../../contracts/Identifiers.ts"
import type { ObserveFrame } from "../../../contracts/JournalRecord.ts"
import type { AwaitSettlementReply } from "../../../contracts/Settlement.ts"
import { until } from "../transport/probe.ts"
import { lane, ownerId, receipt, settlement, submission, submissionId, threadId } from "./fakes.ts"
import { type HttpWorld, line, makeHttpWorld, nested, origin, rpcRequest } from "./httpWorld.ts"

const place = { ownerId, threadId }
const opened: ObserveFrame = { _tag: "Opened", tailSequence: 2 }

const recorded = (sequence: number): ObserveFrame => ({
  _tag: "Record",
  record: { sequence, submissionId, kind: "Progress", epoch: 1, recordedAt: 1_000, payload: null },
})

type Fetch = NonNullable<HttpTargetOptions["fetch"]>

const fetchOf =
  (world: HttpWorld): Fetch =>
  (input, init) =>
    world.fetch(new Request(input, init))

const connect = (world: HttpWorld, options: Partial<HttpTargetOptions> = {}) =>
  Effect.map(
    Layer.build(
      HeddleClient.layerHttp({
        url: origin,
        token: world.token,
        fetch: fetchOf(world),
        ...options,
      }),
    ),
    (context) => Context.get(context, HeddleClient),
  )

/** Loses the first answers: the call happened, and its caller does not know. */
const losing = (fetch: Fetch, times: number): Fetch => {
  let left = times
  return async (input, init) => {
    const response = await fetch(input, init)
    if (left-- <= 0) return response
    await response.text()
    throw new TypeError("fetch failed")
  }
}

const keysOf = (world: HttpWorld) =>
  world.objects.calls.map((call) => (call.payload as { idempotencyKey: string }).idempotencyKey)

const { idempotencyKey: _, ...unkeyed } = submission

describe("the client over HTTPS", () => {
  it.effect("submits and waits for the settlement", () =>
    Effect.gen(function* () {
      const client = yield* connect(yield* makeHttpWorld())
      expect(yield* client.submit(submission)).toEqual(receipt)
      expect(yield* client.submitAndWait(unkeyed)).toEqual(settlement)
    }),
  )

  it.live("makes one key per intent, and sends it again when the answer is lost", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const client = yield* connect(world, { fetch: losing(fetchOf(world), 2) })
      yield* client.submit(unkeyed)
      yield* client.submit(unkeyed)
      yield* client.submit({ ...unkeyed, idempotencyKey: IdempotencyKey.make("mine") })
      const [first, second, third, fourth, fifth] = keysOf(world)
      expect([second, third]).toEqual([first, first])
      expect(fourth).not.toBe(first)
      expect(fifth).toBe("mine")
    }),
  )

  const flaky = Effect.fnUntraced(function* (failures: number, failure: Unavailable) {
    let left = failures
    const submit = () =>
      Effect.suspend(() => (left-- > 0 ? Effect.fail(failure) : Effect.succeed(receipt)))
    const world = yield* makeHttpWorld({ answers: { submit } })
    return { world, client: yield* connect(world) }
  })
  const gone = new Unavailable({ retryable: true, overloaded: false, reason: "A fence" })

  it.live("submits again, with the same key, when the answer is that nobody could", () =>
    Effect.gen(function* () {
      const { client, world } = yield* flaky(4, gone)
      expect(yield* client.submit(unkeyed)).toEqual(receipt)
      const keys = keysOf(world)
      expect(keys).toHaveLength(5)
      expect(new Set(keys).size).toBe(1)
    }),
  )

  it.live("gives up a submit after four repetitions, with what it was last answered", () =>
    Effect.gen(function* () {
      const { client, world } = yield* flaky(Infinity, gone)
      expect(yield* Effect.flip(client.submit(unkeyed))).toStrictEqual(gone)
      expect(keysOf(world)).toHaveLength(5)
      const lost = yield* makeHttpWorld()
      const unheard = yield* connect(lost, { fetch: losing(fetchOf(lost), Infinity) })
      expect(yield* Effect.flip(unheard.submit(unkeyed))).toMatchObject({ retryable: true })
      expect(keysOf(lost)).toHaveLength(5)
    }),
  )

  it.effect("repeats no submit of what is overloaded, or will fail again", () =>
    Effect.gen(function* () {
      for (const [retryable, overloaded] of [
        [true, true],
        [false, false],
      ] as const) {
        const failure = new Unavailable({ retryable, overloaded, reason: "No" })
        const { client, world } = yield* flaky(1, failure)
        expect(yield* Effect.flip(client.submit(unkeyed))).toStrictEqual(failure)
        expect(keysOf(world)).toHaveLength(1)
      }
    }),
  )

  it.effect("tells an input nested too deep as InvalidInput", () =>
    Effect.gen(function* () {
      const client = yield* connect(yield* makeHttpWorld())
      const input = JSON.parse(nested(1_000)) as Schema.Json
      const failure = yield* Effect.flip(client.submit({ ...unkeyed, input }))
      expect(failure).toMatchObject({ _tag: "InvalidInput", reason: "nested deeper than 64" })
    }),
  )

  it.live("waits on when a wait ends without a settlement", () =>
    Effect.gen(function* () {
      const replies: Array<AwaitSettlementReply> = [
        { _tag: "Pending" },
        { _tag: "Pending" },
        { _tag: "Settled", settlement },
      ]
      const awaitSettlement = () =>
        Effect.sync((): AwaitSettlementReply => replies.shift() ?? { _tag: "Pending" })
      const world = yield* makeHttpWorld({ answers: { awaitSettlement } })
      const client = yield* connect(world)
      expect(yield* client.awaitSettled({ ...place, submissionId })).toEqual(settlement)
      expect(world.objects.calls).toHaveLength(3)
    }),
  )

  it.live("waits on over a deployment that goes away and comes back", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const client = yield* connect(world, { fetch: losing(fetchOf(world), 7) })
      expect(yield* client.awaitSettled({ ...place, submissionId })).toEqual(settlement)
    }),
  )

  it.live("observes on after a cursor and after a lost connection, every record once", () =>
    Effect.gen(function* () {
      const seen: Array<unknown> = []
      const world = yield* makeHttpWorld({
        answers: {
          observe: Stream.suspend(() => {
            const opening = world.objects.calls.findLast(({ operation }) => operation === "observe")
            const { after = 0 } = (opening?.payload ?? {}) as { after?: number }
            seen.push(after)
            const records = [1, 2, 3, 4, 5, 6].filter((n) => n > after).map(recorded)
            const ended = Stream.fromIterable([opened, ...records.slice(0, 2)])
            // The second connection repeats what was seen; the first ends with a cursor.
            if (seen.length === 1) return Stream.concat(ended, Stream.make(cursorAt(2)))
            if (seen.length === 2) return Stream.make(opened, recorded(2), recorded(3))
            return Stream.concat(Stream.fromIterable([opened, ...records]), Stream.never)
          }),
        },
      })
      const client = yield* connect(world, { fetch: cutting(fetchOf(world), 2) })
      const frames = yield* client.observe(place).pipe(
        Stream.filter((frame) => frame._tag === "Record"),
        Stream.map((frame) => frame.record.sequence),
        Stream.take(6),
        Stream.runCollect,
      )
      expect(frames).toEqual([1, 2, 3, 4, 5, 6])
      expect(seen).toEqual([0, 2, 3])
    }),
  )

  it.effect("observes from where its reader is, and shows nothing before that", () =>
    Effect.gen(function* () {
      const observe = Stream.fromIterable([opened, recorded(4), recorded(5)])
      const world = yield* makeHttpWorld({ answers: { observe } })
      const client = yield* connect(world)
      const first = yield* client.observe({ ...place, after: 4 }).pipe(
        Stream.filter((frame) => frame._tag === "Record"),
        Stream.take(1),
        Stream.runCollect,
      )
      expect(first).toEqual([recorded(5)])
      expect(world.objects.calls[0]).toMatchObject({ operation: "observe", payload: { after: 4 } })
    }),
  )

  it.effect("asks for its token at each call", () =>
    Effect.gen(function* () {
      const world = yield* makeHttpWorld()
      const tokens = [world.token, "stale", world.token]
      const client = yield* connect(world, { token: async () => tokens.shift() ?? "none" })
      expect(yield* client.submit(submission)).toEqual(receipt)
      expect(yield* Effect.flip(client.submit(submission))).toMatchObject({
        _tag: "Unauthenticated",
        reason: "The token is not valid",
      })
      expect(yield* client.submit(submission)).toEqual(receipt)
    }),
  )

  it.effect("frees the object when its reader leaves", () =>
    Effect.gen(function* () {
      const observe = Stream.concat(Stream.make(opened), Stream.never)
      const world = yield* makeHttpWorld({ answers: { observe } })
      const client = yield* connect(world)
      const frames: Array<ObserveFrame> = []
      const reading = yield* Effect.forkChild(
        Stream.runForEach(client.observe(place), (frame) => Effect.sync(() => frames.push(frame))),
      )
      yield* until("the stream is open", () => frames.length === 1)
      expect(frames).toEqual([{ ...opened, lane }])
      yield* Fiber.interrupt(reading)
      yield* until("the thread is free", () => world.objects.thread.activeCalls() === 0)
      yield* Effect.promise(world.done)
    }),
  )
})

const cursorAt = (after: number): ObserveFrame => ({ _tag: "Cursor", after })

/** Cuts the connection of the nth call before its exit. */
const cutting = (fetch: Fetch, nth: number): Fetch => {
  let calls = 0
  return async (input, init) => {
    const response = await fetch(input, init)
    calls += 1
    if (calls !== nth) return response
    const lines = (await response.text()).split("\n").filter((text) => !text.includes(`"Exit"`))
    return new Response(lines.join("\n"), response)
  }
}

describe("the HTTPS target", () => {
  const message = JSON.parse(line("observe", place)) as Parameters<
    ReturnType<typeof httpTarget>["call"]
  >[0]
  const answering = (body: BodyInit | null, init: ResponseInit = {}) =>
    httpTarget({ url: origin, token: "t", fetch: async () => new Response(body, init) })
  const errorOf = (tag: string, rest: Record<string, unknown> = {}) => ({
    _tag: "Failure",
    cause: [{ _tag: "Fail", error: { _tag: tag, ...rest } }],
  })

  for (const [status, error] of [
    [401, errorOf("Unauthenticated")],
    [404, errorOf("Unavailable", { retryable: false, overloaded: false })],
    [408, errorOf("Unavailable", { retryable: true, overloaded: false })],
    [413, errorOf("InvalidInput")],
    [429, errorOf("Unavailable", { retryable: false, overloaded: true })],
    [500, errorOf("Unavailable", { retryable: true, overloaded: false })],
    [502, errorOf("Unavailable", { retryable: true, overloaded: false })],
    [503, errorOf("Unavailable", { retryable: false, overloaded: true })],
  ] as const) {
    it(`reads status ${status} without an exit as a typed failure`, async () => {
      expect(await answering("<html>\n", { status }).call(message)).toMatchObject(error)
      expect(await answering(null, { status }).call(message)).toMatchObject(error)
    })
  }

  for (const [title, body] of [
    ["ends without an exit", `{"_tag":"Chunk","requestId":"1","values":[1]}\n`],
    ["is empty", ""],
    ["is no NDJSON", "<html></html>\n"],
  ] as const) {
    it(`rejects as a lost connection when an answer ${title}`, async () => {
      const call = answering(body).call(message, () => Promise.resolve())
      await expect(call).rejects.toMatchObject({ retryable: true })
    })
  }

  it("reads lines that arrive in pieces, and characters too", async () => {
    const bytes = new TextEncoder().encode(
      `\n{"_tag":"Chunk","requestId":"1","values":["é€😀"]}\r\n\n{"_tag":"Exit","requestId":"1","exit":{"_tag":"Success","value":null}}`,
    )
    let at = 0
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        if (at === bytes.length) controller.close()
        else controller.enqueue(bytes.subarray(at, ++at))
      },
    })
    const values: Array<unknown> = []
    const exit = await answering(body).call(message, async (taken) => void values.push(...taken))
    expect(values).toEqual(["é€😀"])
    expect(exit).toEqual({ _tag: "Success", value: null })
  })

  it("gives up a connection that has fallen silent, as lost", async () => {
    const target = httpTarget({
      url: origin,
      token: "t",
      silenceMillis: 5,
      fetch: async (_input, init) => {
        const body = new ReadableStream<Uint8Array>({
          start: (controller) => {
            init?.signal?.addEventListener("abort", () => controller.error(init.signal?.reason))
          },
        })
        return new Response(body)
      },
    })
    await expect(target.call(message)).rejects.toMatchObject({ retryable: true })
  })

  it("posts to /rpc of an origin, and to an address as it is given", async () => {
    const seen: Array<string> = []
    const fetch: Fetch = async (input) => {
      seen.push(new Request(input).url)
      return new Response(null, { status: 404 })
    }
    for (const url of ["https://a.test", "https://a.test/", "https://a.test/under/rpc"]) {
      await httpTarget({ url, token: "t", fetch }).call(message)
    }
    expect(seen).toEqual(["https://a.test/rpc", "https://a.test/rpc", "https://a.test/under/rpc"])
  })

  it("sends no header of a call", async () => {
    let sent = ""
    const fetch: Fetch = async (_input, init) => {
      sent = typeof init?.body === "string" ? init.body : ""
      return new Response(null, { status: 404 })
    }
    const target = httpTarget({ url: origin, token: "t", fetch })
    await target.call({ ...message, headers: [["authorization", "x"]] } as typeof message)
    expect(JSON.parse(sent)).toMatchObject({ headers: [] })
    expect(rpcRequest(sent).method).toBe("POST")
  })
})

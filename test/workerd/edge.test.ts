import { env, exports } from "cloudflare:workers"
import { createExecutionContext } from "cloudflare:test"
import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Fiber, Layer, type Schema, Stream } from "effect"
import { HeddleClient } from "../../client/HeddleClient.ts"
import { OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { ObserveFrame } from "../../contracts/JournalRecord.ts"
import type { NativeStub } from "../../contracts/transport/index.ts"
import { mintToken } from "../../scripts/mintToken.ts"
import { grants, lane, receipt, submission, submissionId } from "../unit/client/fakes.ts"
import { nested } from "../unit/client/httpWorld.ts"
import { until } from "../unit/transport/probe.ts"
import { edgeFetch } from "./edge-probe.ts"

const secret = "a secret of the thirty-two bytes"

let names = 0
/** A thread of its own for each test: the objects outlive them. */
const freshPlace = () => {
  names += 1
  return { ownerId: OwnerId.make(`shop-${names}`), threadId: ThreadId.make("order-7") }
}
type Place = ReturnType<typeof freshPlace>

const ownerOf = ({ ownerId }: Place) => env.EDGE_OWNER.getByName(ownerId)
const threadOf = ({ ownerId, threadId }: Place) =>
  env.EDGE_THREAD.getByName(`${ownerId}/${threadId}`)

const seen = (place: Place) =>
  Effect.promise(async () => {
    const [owner, thread] = await Promise.all([ownerOf(place).seen(), threadOf(place).seen()])
    return { active: owner.active + thread.active, calls: [...owner.calls, ...thread.calls] }
  })

/** Waits until no call runs in either object. */
const freed = (place: Place) =>
  Effect.promise(() => Promise.all([ownerOf(place).idle(), threadOf(place).idle()]))

interface LoopbackEntrypoint {
  (options: { readonly props: unknown }): NativeStub
}

const bind = (props: unknown): NativeStub =>
  (exports as unknown as { readonly EdgeApi: LoopbackEntrypoint }).EdgeApi({ props })

const clientOf = (layer: Layer.Layer<HeddleClient>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, HeddleClient))

const overBinding = (props: unknown) => clientOf(HeddleClient.layerServiceBinding(bind(props)))

const overHttps = Effect.fnUntraced(function* (bindings: Record<string, unknown>) {
  const token = yield* Effect.promise(() =>
    mintToken({ grants: grants(), secret, expiresInSeconds: 600 }),
  )
  const fetch: typeof globalThis.fetch = (input, init) =>
    edgeFetch(new Request(input, init), { ...env, ...bindings }, createExecutionContext())
  return yield* clientOf(HeddleClient.layerHttp({ url: "https://heddle.test", token, fetch }))
})

const edges = {
  "a service binding": overBinding(grants()),
  HTTPS: overHttps({ HEDDLE_JWT_SECRET: secret }),
}

for (const [title, connect] of Object.entries(edges)) {
  describe(`${title} in workerd`, () => {
    it.live("carries calls to the objects, as the verified principal", () =>
      Effect.gen(function* () {
        const place = freshPlace()
        const client = yield* connect
        expect(yield* client.submit({ ...submission, ...place })).toEqual(receipt)
        expect(yield* client.rpc.status({ ...place, submissionId })).toMatchObject({
          state: "settled",
        })
        const caller = { _tag: "Principal", principal: "ada" }
        expect((yield* seen(place)).calls).toEqual([
          { object: "owner", operation: "submit", caller },
          { object: "thread", operation: "status", caller },
        ])
      }),
    )

    it.live("gives refusals as typed failures, and calls no object", () =>
      Effect.gen(function* () {
        const place = { ...freshPlace(), ownerId: OwnerId.make(`bank-${names}`) }
        const client = yield* connect
        const failure = yield* Effect.flip(client.submit({ ...submission, ...place }))
        expect(failure).toMatchObject({ _tag: "OperationDenied", operation: "submit" })
        expect((yield* seen(place)).calls).toEqual([])
      }),
    )

    it.live("refuses an input nested too deep, not to be repeated, and calls no object", () =>
      Effect.gen(function* () {
        const place = freshPlace()
        const client = yield* connect
        const submit = (levels: number) => {
          const input = JSON.parse(nested(levels)) as Schema.Json
          return Effect.flip(client.rpc.submit({ ...submission, ...place, input }))
        }
        expect(yield* submit(1_000)).toMatchObject({
          _tag: "InvalidInput",
          reason: "nested deeper than 64",
        })
        for (const levels of [5_000, 100_000]) {
          const failure = yield* submit(levels)
          // Where the caller's own stack ends first, the call is not sent at all.
          expect(["InvalidInput", "Unavailable"]).toContain(failure._tag)
          expect((failure as { readonly retryable?: boolean }).retryable ?? false).toBe(false)
        }
        expect((yield* seen(place)).calls).toEqual([])
      }),
    )

    it.live("streams, and frees the thread when its reader leaves", () =>
      Effect.gen(function* () {
        const place = freshPlace()
        const client = yield* connect
        const frames: Array<ObserveFrame> = []
        const reading = yield* Effect.forkChild(
          Stream.runForEach(client.observe(place), (frame) =>
            Effect.sync(() => frames.push(frame)),
          ),
        )
        yield* until("the stream is open", () => frames.length === 1)
        expect(frames).toEqual([{ _tag: "Opened", tailSequence: 2, lane }])
        expect((yield* seen(place)).active).toBe(1)
        yield* Fiber.interrupt(reading)
        yield* freed(place)
      }),
    )

    it.live("serves many calls of one client at once", () =>
      Effect.gen(function* () {
        const client = yield* connect
        const place = freshPlace()
        const receipts = yield* Effect.all(
          Array.from({ length: 50 }, () => client.submit({ ...submission, ...place })),
          { concurrency: "unbounded" },
        )
        expect(receipts).toEqual(Array.from({ length: 50 }, () => receipt))
        expect((yield* seen(place)).calls).toHaveLength(50)
      }),
    )
  })
}

describe("a service binding", () => {
  for (const props of [undefined, {}, { principal: "ada" }, { ...grants(), owners: "shop-*" }]) {
    it.live(`with the props ${JSON.stringify(props)} is denied, and calls no object`, () =>
      Effect.gen(function* () {
        const place = freshPlace()
        const client = yield* overBinding(props)
        expect(yield* Effect.flip(client.submit({ ...submission, ...place }))).toMatchObject({
          _tag: "OperationDenied",
        })
        expect(yield* Effect.flip(Stream.runCollect(client.observe(place)))).toMatchObject({
          _tag: "OperationDenied",
        })
        expect((yield* seen(place)).calls).toEqual([])
      }),
    )
  }

  it.live("is refused what only a native call can carry, typed, and calls no object", () =>
    Effect.gen(function* () {
      const place = freshPlace()
      const circle = () => {
        const value: Record<string, unknown> = {}
        value["self"] = value
        return value
      }
      const strange: ReadonlyArray<() => unknown> = [
        () => new Map([["a", 1]]),
        () => new Set([1]),
        () => new Date(0),
        () => new Uint8Array(3),
        () => /x/,
        () => new Error("secret"),
        () => 10n,
        () => Number.NaN,
        () => () => "called",
        () => new Response("x").body,
        () => new Request("https://heddle.test"),
        circle,
      ]
      for (const make of strange) {
        for (const change of [{ input: make() }, { agent: make() }]) {
          const payload = { ...submission, ...place, ...change }
          const request = { _tag: "Request", id: "1", tag: "submit", payload, headers: [] } as const
          const exit = yield* Effect.promise(async () => bind(grants()).call(request as never))
          expect(exit).toMatchObject({ cause: [{ error: { _tag: "InvalidInput" } }] })
          expect(JSON.stringify(exit)).not.toContain("secret")
        }
      }
      for (const message of [undefined, null, 7, "submit", [], () => "called", new Map()]) {
        const exit = yield* Effect.promise(async () => bind(grants()).call(message as never))
        expect(exit).toMatchObject({ cause: [{ error: { _tag: "InvalidInput" } }] })
      }
      expect((yield* seen(place)).calls).toEqual([])
    }),
  )

  it.live("is refused what shares its parts without end, and at once", () =>
    Effect.gen(function* () {
      const place = freshPlace()
      let input: unknown = 1
      for (let level = 0; level < 60; level++) input = [input, input]
      const payload = { ...submission, ...place, input }
      const request = { _tag: "Request", id: "1", tag: "submit", payload, headers: [] } as const
      const exit = yield* Effect.promise(async () => bind(grants()).call(request))
      expect(exit).toMatchObject({ cause: [{ error: { _tag: "InvalidInput" } }] })
      expect((yield* seen(place)).calls).toEqual([])
    }),
  )

  it.live("frees the thread when a caller stops answering its stream", () =>
    Effect.gen(function* () {
      const place = freshPlace()
      let pushes = 0
      const exit = bind(grants()).call(
        { _tag: "Request", id: "1", tag: "observe", payload: place, headers: [] },
        async () => {
          pushes += 1
          if (pushes > 1) throw new Error("gone")
        },
      )
      yield* until("the stream is open", () => pushes > 0)
      yield* Effect.promise(async () => exit)
      expect(pushes).toBeGreaterThan(1)
      yield* freed(place)
    }),
  )
})

describe("a service binding to a deployment that cannot work", () => {
  it.live("is answered typed, with a reference alone", () =>
    Effect.gen(function* () {
      const { BrokenApi } = exports as unknown as { readonly BrokenApi: LoopbackEntrypoint }
      const broken = BrokenApi({ props: grants() })
      const exit = yield* Effect.promise(async () =>
        broken.call({
          _tag: "Request",
          id: "1",
          tag: "history",
          payload: freshPlace(),
          headers: [],
        }),
      )
      expect(exit).toEqual({
        _tag: "Failure",
        cause: [{ _tag: "Fail", error: { _tag: "InternalDefect", reference: expect.any(String) } }],
      })
    }),
  )
})

describe("HTTPS", () => {
  it.live("without a secret is closed, and calls no object", () =>
    Effect.gen(function* () {
      const place = freshPlace()
      const client = yield* overHttps({})
      expect(yield* Effect.flip(client.submit({ ...submission, ...place }))).toMatchObject({
        _tag: "Unauthenticated",
      })
      expect((yield* seen(place)).calls).toEqual([])
    }),
  )
})

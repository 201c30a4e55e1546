import { describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber, Stream } from "effect"
import type { RpcMessage } from "effect/rpc"
import { TestClock } from "effect/testing"
import { makeEdge } from "../../../client/Edge.ts"
import { type Identity, identityOfProps, unverified } from "../../../client/Identity.ts"
import { callerHeaders } from "../../../contracts/Authorization.ts"
import { OperationDenied, ThreadUnreadable, Unauthenticated } from "../../../contracts/Errors.ts"
import { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import { OwnerId, SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import type { ObserveFrame } from "../../../contracts/JournalRecord.ts"
import type { LaneStatus } from "../../../contracts/Maintenance.ts"
import {
  inMemoryTarget,
  makeWireClient,
  type WireTarget,
} from "../../../contracts/transport/index.ts"
import { nested } from "./httpWorld.ts"
import { operations, withoutOwner, words } from "./operations.ts"
import { settle, until } from "../transport/probe.ts"
import {
  type Answers,
  explanation,
  grants,
  lane,
  makeObjects,
  ownerId,
  receipt,
  settlement,
  submission,
  submissionId,
  threadId,
} from "./fakes.ts"

const ada: Identity = { _tag: "Verified", grants: grants(), expiresAt: undefined }

const ofAllOwners: Identity = {
  _tag: "Verified",
  grants: grants({ owners: ["shop-*", "*"] }),
  expiresAt: undefined,
}

const makeWorld = Effect.fnUntraced(function* (
  options: { readonly identity?: Identity; readonly answers?: Answers } = {},
) {
  const objects = yield* makeObjects(options.answers)
  const edge = yield* makeEdge({ identity: options.identity ?? ada, targets: objects.targets })
  const client = yield* makeWireClient(HeddleRpc, { target: () => inMemoryTarget(edge) })
  return { objects, edge, client }
})

const opened: ObserveFrame = { _tag: "Opened", tailSequence: 2 }
const cursor: ObserveFrame = { _tag: "Cursor", after: 2 }
const lanePlace = { ownerId, threadId }

const names = { owner: ownerId, thread: `${ownerId}/${threadId}`, registry: "registry" }

const request = (tag: string, payload: unknown): RpcMessage.RequestEncoded => ({
  _tag: "Request",
  id: "1",
  tag,
  payload,
  headers: Object.entries(callerHeaders({ _tag: "Owner", ownerId })),
})

const sink = () => Promise.resolve()

const failed = (error: object) => ({ _tag: "Failure", cause: [{ _tag: "Fail", error }] })

/** What only a decoder, or a list of methods, would answer differently. */
const unwelcome = [
  request("history", lanePlace),
  request("history", { ownerId: 7 }),
  request("history", JSON.parse(nested(5_000))),
  request("unheard-of", {}),
  request("x".repeat(3_000_000), {}),
  { ...request("history", lanePlace), id: Number.NaN },
  undefined as never,
]

describe("the edge", () => {
  it("serves every public operation", () => {
    expect(Object.keys(operations).toSorted()).toEqual([...HeddleRpc.requests.keys()].toSorted())
  })

  for (const [tag, { object, payload }] of Object.entries(operations)) {
    it.effect(`has ${tag} answered by the ${object}, as who it is from`, () =>
      Effect.gen(function* () {
        const identity = tag === "listOwners" ? ofAllOwners : ada
        const { edge, objects } = yield* makeWorld({ identity })
        const exit = yield* Effect.promise(() => edge.call(request(tag, payload), sink))
        expect(exit._tag).toBe("Success")
        const isCallback = tag === "callback"
        if (isCallback) {
          // The thread is asked first, and what the owner is told is what it says: Callback.test.ts.
          expect(objects.calls.shift()).toMatchObject({ object: "thread", operation: tag })
          expect(objects.reached.shift()).toBe(names.thread)
        }
        const operation = tag === "listOwners" ? "list" : tag
        const [answering, ...completing] = objects.calls
        const caller = { _tag: "Principal", principal: isCallback ? "callback" : "ada" }
        const told = isCallback ? { payload: { paid: true } } : payload
        expect(answering).toMatchObject({ object, operation, payload: told, caller })
        // The owner's view is asked for where a thread tells why it does not run, and nowhere else.
        const completed = tag === "explain"
        expect(completing.map((call) => [call.object, call.operation])).toEqual(
          completed ? [["owner", "laneStatus"]] : [],
        )
        expect(objects.reached).toEqual([names[object], ...(completed ? [names.owner] : [])])
      }),
    )

    for (const [who, identity, error] of [
      ["without a verified token", unverified("No bearer token"), "Unauthenticated"],
      ["of a binding without props", identityOfProps({}), "OperationDenied"],
      [
        "of a binding with a misspelt grant",
        identityOfProps({ ...grants(), thread: ["order-7"] }),
        "OperationDenied",
      ],
      [
        "of another owner's grants",
        identityOfProps(grants({ owners: ["bank"] })),
        "OperationDenied",
      ],
      [
        "that its grants do not name",
        identityOfProps(grants({ operations: [] })),
        "OperationDenied",
      ],
      [
        "of another thread's grants",
        identityOfProps(grants({ threads: ["x"] })),
        "OperationDenied",
      ],
    ] as const) {
      it.effect(`refuses ${tag} ${who}, and reaches no object`, () =>
        Effect.gen(function* () {
          const { edge, objects } = yield* makeWorld({ identity })
          const exit = yield* Effect.promise(() => edge.call(request(tag, payload), sink))
          expect(exit).toMatchObject({ _tag: "Failure", cause: [{ error: { _tag: error } }] })
          expect(objects.reached).toEqual([])
        }),
      )
    }
  }

  it.effect("lists owners for a bare * alone, whatever owner the payload names", () =>
    Effect.gen(function* () {
      for (const owners of [["shop-*"], ["*-*"], ["**"], [], ["shop-7"]]) {
        const { edge, objects } = yield* makeWorld({
          identity: identityOfProps(grants({ owners })),
        })
        for (const payload of [{}, { ownerId: "shop-7" }, { after: 7 }, null]) {
          const exit = yield* Effect.promise(() => edge.call(request("listOwners", payload), sink))
          expect(exit).toEqual(failed({ _tag: "OperationDenied", operation: "listOwners" }))
        }
        expect(objects.reached).toEqual([])
      }
    }),
  )

  it.effect("says so where the deployment has no owner registry", () =>
    Effect.gen(function* () {
      const { targets } = yield* makeObjects()
      const edge = yield* makeEdge({
        identity: ofAllOwners,
        targets: { ...targets, registry: undefined },
      })
      const exit = yield* Effect.promise(() => edge.call(request("listOwners", {}), sink))
      expect(exit).toMatchObject({
        cause: [{ error: { _tag: "Unavailable", retryable: false } }],
      })
    }),
  )

  it.effect("gives results and typed failures as the objects gave them", () =>
    Effect.gen(function* () {
      const { client } = yield* makeWorld()
      expect(yield* client.submit(submission)).toEqual(receipt)
      expect(yield* client.awaitSettlement({ ...lanePlace, submissionId })).toEqual({
        _tag: "Settled",
        settlement,
      })
      const other = SubmissionId.make("018f0000-0000-7000-8000-000000000002")
      const failure = yield* Effect.flip(client.status({ ...lanePlace, submissionId: other }))
      expect(failure).toMatchObject({ _tag: "SubmissionNotFound", submissionId: other })
    }),
  )

  it.effect("serves no method of the objects", () =>
    Effect.gen(function* () {
      const { edge, objects } = yield* makeWorld()
      for (const tag of [
        "admit",
        "admitMany",
        "listOpen",
        "requestAbort",
        "pause",
        "resume",
        "forget",
        "inspect",
        "recover",
        "processHead",
        "report",
        "laneStatus",
        "look",
        "takeDue",
      ]) {
        const exit = yield* Effect.promise(() => edge.call(request(tag, lanePlace)))
        expect(exit).toEqual(
          failed({
            _tag: "Unavailable",
            retryable: false,
            overloaded: false,
            reason: "The peer does not serve this method",
          }),
        )
      }
      expect(objects.reached).toEqual([])
    }),
  )

  it.effect("tells a caller without an identity that, whatever it asks", () =>
    Effect.gen(function* () {
      const { edge } = yield* makeWorld({ identity: unverified("No bearer token") })
      for (const message of unwelcome) {
        const exit = yield* Effect.promise(() => edge.call(message))
        expect(exit).toEqual(failed({ _tag: "Unauthenticated", reason: "No bearer token" }))
      }
    }),
  )

  it.effect("denies a nameless binding, whatever it asks", () =>
    Effect.gen(function* () {
      const { edge } = yield* makeWorld({ identity: identityOfProps({}) })
      for (const message of unwelcome) {
        const exit = yield* Effect.promise(() => edge.call(message))
        expect(exit).toEqual(failed({ _tag: "OperationDenied", operation: expect.any(String) }))
        expect(JSON.stringify(exit).length).toBeLessThan(200)
      }
    }),
  )

  it.effect("says nothing of a payload to whom its grants do not let in", () =>
    Effect.gen(function* () {
      const elsewhere = { ...lanePlace, ownerId: "bank" }
      const denied = [
        [grants(), { ...elsewhere, after: "x" }],
        [grants(), { ownerId: "../x" }],
        [grants(), { ownerId: "bank", deep: JSON.parse(nested(5_000)) }],
        [grants({ threads: ["order-8"] }), { ...lanePlace, after: "x" }],
        [grants({ operations: ["submit"] }), { ...lanePlace, after: "x" }],
        [grants({ operations: ["submit"] }), null],
      ] as const
      for (const [granted, payload] of denied) {
        const { edge } = yield* makeWorld({ identity: identityOfProps(granted) })
        const exit = yield* Effect.promise(() => edge.call(request("history", payload)))
        expect(exit).toEqual(failed({ _tag: "OperationDenied", operation: "history" }))
      }
    }),
  )

  it.effect("refuses an input nested too deep, and takes the deepest that may be stored", () =>
    Effect.gen(function* () {
      const { edge, objects } = yield* makeWorld()
      const submit = (levels: number) =>
        Effect.promise(() =>
          edge.call(request("submit", { ...submission, input: JSON.parse(nested(levels)) })),
        )
      for (const levels of [67, 3_000, 5_000, 1_000_000]) {
        const reason = "nested deeper than 64"
        expect(yield* submit(levels)).toEqual(failed({ _tag: "InvalidInput", path: "", reason }))
      }
      expect(objects.reached).toEqual([])
      expect((yield* submit(64))._tag).toBe("Success")
      const input = JSON.parse(nested(64))
      const submissions = [{ ...withoutOwner(submission), input }]
      const many = request("submitMany", { ownerId, submissions })
      expect((yield* Effect.promise(() => edge.call(many)))._tag).toBe("Success")
    }),
  )

  it.effect("takes no message that is no request, and none by a name it cannot repeat", () =>
    Effect.gen(function* () {
      const { edge, objects } = yield* makeWorld()
      const messages = [
        undefined,
        "wake",
        { ...request("wake", lanePlace), id: Number.POSITIVE_INFINITY },
        { ...request("wake", lanePlace), id: "x".repeat(129) },
        { ...request("wake", lanePlace), id: { toString: () => "1" } },
        { _tag: "Interrupt", requestId: "x".repeat(129) },
      ]
      for (const message of messages) {
        const exit = yield* Effect.promise(() => edge.call(message as never))
        expect(exit).toMatchObject(failed({ _tag: "InvalidInput", path: "" }))
      }
      expect(objects.reached).toEqual([])
    }),
  )

  it.effect("hands on the trace of a caller, and nothing else that calls itself one", () =>
    Effect.gen(function* () {
      const traces: Array<unknown> = []
      const objects = yield* makeObjects()
      const noting = (target: WireTarget): WireTarget => ({
        call: (message) => {
          const { spanId, traceId } = message as RpcMessage.RequestEncoded
          traces.push([traceId, spanId])
          return target.call(message)
        },
      })
      const owner = (id: OwnerId) => noting(objects.targets.owner(id))
      const edge = yield* makeEdge({ identity: ada, targets: { ...objects.targets, owner } })
      const whole = { traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" }
      const sent = [
        whole,
        { ...whole, traceId: "x".repeat(2_000_000) },
        { ...whole, spanId: "b7ad6b716920333\0" },
        { ...whole, spanId: undefined },
      ]
      for (const trace of sent) {
        const message = { ...request("wake", lanePlace), ...trace } as RpcMessage.RequestEncoded
        yield* Effect.promise(() => edge.call(message))
      }
      const none = [undefined, undefined]
      expect(traces).toEqual([[whole.traceId, whole.spanId], none, none, none])
    }),
  )

  it.effect("reaches no object with a payload that breaks the contract", () =>
    Effect.gen(function* () {
      const { edge, objects } = yield* makeWorld()
      const owned = { ...lanePlace, ownerId: "shop-/" }
      for (const payload of [
        owned,
        { ownerId },
        { ...lanePlace, ownerId: 7 },
        null,
        [],
        "shop-1",
      ]) {
        const exit = yield* Effect.promise(() => edge.call(request("history", payload)))
        expect(exit).toMatchObject({
          _tag: "Failure",
          cause: [{ error: { _tag: "InvalidInput" } }],
        })
      }
      expect(objects.reached).toEqual([])
    }),
  )

  it.effect("keeps to patterns of owners and threads", () =>
    Effect.gen(function* () {
      const identity = identityOfProps(grants({ owners: ["shop-*-eu", "exact"], threads: ["o*"] }))
      const { client } = yield* makeWorld({ identity })
      const read = (owner: string, thread: string) =>
        Effect.exit(
          client.readState({ ownerId: OwnerId.make(owner), threadId: ThreadId.make(thread) }),
        )
      const allowed = [
        ["shop-1-eu", "o"],
        ["shop--eu", "order"],
        ["exact", "o7"],
      ] as const
      const denied = [
        ["shop-eu", "o"],
        ["shop-1-eu2", "o"],
        ["exactly", "o"],
        ["exact", "po"],
      ] as const
      for (const [owner, thread] of allowed) {
        expect(Exit.isSuccess(yield* read(owner, thread))).toBe(true)
      }
      for (const [owner, thread] of denied) {
        expect(yield* read(owner, thread)).toStrictEqual(
          Exit.fail(new OperationDenied({ operation: "readState" })),
        )
      }
    }),
  )
})

describe("a call about several threads", () => {
  const at = (thread: string) => ({ ...withoutOwner(submission), threadId: thread })
  const bulk = (filter: object) => ({ ownerId, ...words, filter, dryRun: true })

  it.effect("is denied to whom one of them is not granted, and reaches no object", () =>
    Effect.gen(function* () {
      const identity = identityOfProps(grants({ threads: ["order-*", "t1"] }))
      const { edge, objects } = yield* makeWorld({ identity })
      const call = (tag: string, payload: unknown) =>
        Effect.promise(() => edge.call(request(tag, payload)))
      const denied = [
        ["submitMany", { ownerId, submissions: [at("t1"), at("order-1"), at("t2")] }],
        ["submitMany", { ownerId, submissions: [at("t1"), { threadId: 7 }] }],
        ["submitMany", { ownerId, submissions: Array.from({ length: 1_001 }, () => at("t1")) }],
        ["submitMany", { ownerId, submissions: [] }],
        ["submitMany", { ownerId, submissions: "t1" }],
        ["submitMany", { ownerId, threadId: "t1" }],
        ["retryMany", bulk({ threadIds: ["t1", "t2"] })],
        ["retryMany", bulk({ threadIds: [] })],
        ["retryMany", { ...bulk({}), threadId: "t1" }],
        ["abortMany", bulk({})],
        ["abortMany", bulk({ agent: "refund" })],
      ] as const
      for (const [tag, payload] of denied) {
        expect(yield* call(tag, payload)).toEqual(
          failed({ _tag: "OperationDenied", operation: tag }),
        )
      }
      expect(objects.reached).toEqual([])
      const submissions = [at("t1"), at("order-1"), at("t1")]
      expect((yield* call("submitMany", { ownerId, submissions }))._tag).toBe("Success")
      const threadIds = ["order-7", "t1"]
      expect((yield* call("retryMany", bulk({ threadIds })))._tag).toBe("Success")
      expect((yield* call("abortMany", bulk({ threadIds })))._tag).toBe("Success")
    }),
  )

  it.effect("by a filter means what was accepted up to now, unless it says another time", () =>
    Effect.gen(function* () {
      const { edge, objects } = yield* makeWorld()
      yield* TestClock.setTime(5_000)
      for (const tag of ["retryMany", "abortMany"])
        for (const filter of [{ state: "ready" }, { acceptedBefore: 7_000 }])
          yield* Effect.promise(() => edge.call(request(tag, bulk(filter))))
      expect(
        objects.calls.map(({ payload }) => (payload as { readonly filter: object }).filter),
      ).toEqual(
        [1, 2].flatMap(() => [
          { state: "ready", acceptedBefore: 5_001 },
          { acceptedBefore: 7_000 },
        ]),
      )
    }),
  )

  it.effect("by a filter means on every page what it meant on the first one", () =>
    Effect.gen(function* () {
      const next = { threadId }
      const { edge, objects } = yield* makeWorld({
        answers: { abortMany: () => Effect.succeed({ results: [], unanswered: [], next }) },
      })
      const page = (rest: object, filter: object = {}) =>
        Effect.promise(() => edge.call(request("abortMany", { ...bulk(filter), ...rest })))
      const boundOf = (exit: unknown) =>
        (exit as { readonly value: { readonly next: object } }).value.next
      yield* TestClock.setTime(5_000)
      const first = boundOf(yield* page({}))
      expect(first).toEqual({ threadId, acceptedBefore: 5_001 })
      yield* TestClock.setTime(9_000)
      expect(boundOf(yield* page({ after: first }))).toEqual(first)
      expect(boundOf(yield* page({ after: first }, { acceptedBefore: 7_000 }))).toMatchObject({
        acceptedBefore: 7_000,
      })
      expect(
        objects.calls.map(({ payload }) => (payload as { readonly filter: object }).filter),
      ).toEqual([5_001, 5_001, 7_000].map((acceptedBefore) => ({ acceptedBefore })))
    }),
  )

  it.effect("that names none needs a grant for all of them", () =>
    Effect.gen(function* () {
      const { edge, objects } = yield* makeWorld({
        identity: identityOfProps(grants({ threads: ["*"] })),
      })
      const exit = yield* Effect.promise(() => edge.call(request("abortMany", bulk({}))))
      expect(exit._tag).toBe("Success")
      expect(objects.calls).toMatchObject([{ operation: "abortMany", payload: bulk({}) }])
    }),
  )
})

describe("an explanation through the edge", () => {
  const stalled: LaneStatus = { ...lane, stalledUntilAt: 9_000 }

  it.effect("is the thread's own, completed by what its owner knows", () =>
    Effect.gen(function* () {
      const { client, objects } = yield* makeWorld({
        answers: { laneStatus: Effect.succeed(stalled) },
      })
      const explanations = yield* client.explain(lanePlace)
      expect(explanations).toMatchObject([
        { ...explanation, heldBy: [{ blocker: "paused" }, { blocker: "stalled", untilAt: 9_000 }] },
      ])
      expect(objects.calls.map((call) => call.operation)).toEqual(["explain", "laneStatus"])
    }),
  )

  it.effect("tells a pause once, on the word of the thread", () =>
    Effect.gen(function* () {
      const { client } = yield* makeWorld()
      expect(lane.paused).toBe(true)
      expect(yield* client.explain(lanePlace)).toEqual([explanation])
    }),
  )

  it.effect("of a thread that owes nothing asks no owner", () =>
    Effect.gen(function* () {
      const { client, objects } = yield* makeWorld({ answers: { explain: Effect.succeed([]) } })
      expect(yield* client.explain(lanePlace)).toEqual([])
      expect(objects.calls.map((call) => call.operation)).toEqual(["explain"])
    }),
  )

  it.effect("that the thread cannot give fails as the thread says", () =>
    Effect.gen(function* () {
      const error = new ThreadUnreadable({ threadId, what: "journal" })
      const { client, objects } = yield* makeWorld({ answers: { explain: Effect.fail(error) } })
      expect(yield* Effect.flip(client.explain(lanePlace))).toMatchObject({
        _tag: "ThreadUnreadable",
        what: "journal",
      })
      expect(objects.calls.map((call) => call.operation)).toEqual(["explain"])
    }),
  )

  it.effect("does without an owner that does not answer in two seconds", () =>
    Effect.gen(function* () {
      const { client, objects } = yield* makeWorld({ answers: { laneStatus: Effect.never } })
      const asking = yield* Effect.forkChild(client.explain(lanePlace))
      yield* until("the owner is asked", () => objects.calls.length === 2)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(asking)).toEqual([explanation])
      yield* until("the owner is let go", () => objects.owner.activeCalls() === 0)
    }),
  )
})

describe("a stream through the edge", () => {
  it.effect("opens with the owner's view of the lane", () =>
    Effect.gen(function* () {
      const observe = Stream.make(opened, cursor)
      const { client, objects } = yield* makeWorld({ answers: { observe } })
      const frames = yield* Stream.runCollect(client.observe(lanePlace))
      expect(frames).toEqual([{ ...opened, lane }, cursor])
      expect(objects.calls.map((call) => call.operation)).toEqual(["observe", "laneStatus"])
    }),
  )

  it.effect("opens without it when the owner does not answer in two seconds", () =>
    Effect.gen(function* () {
      const observe = Stream.make(opened, cursor)
      const { client, objects } = yield* makeWorld({
        answers: { observe, laneStatus: Effect.never },
      })
      const reading = yield* Effect.forkChild(Stream.runCollect(client.observe(lanePlace)))
      yield* until("the owner is asked", () => objects.calls.length === 2)
      yield* TestClock.adjust("2 seconds")
      expect(yield* Fiber.join(reading)).toEqual([opened, cursor])
      yield* until("the owner is let go", () => objects.owner.activeCalls() === 0)
    }),
  )

  it.effect("that its reader leaves frees the thread", () =>
    Effect.gen(function* () {
      const observe = Stream.concat(Stream.make(opened), Stream.never)
      const { client, edge, objects } = yield* makeWorld({ answers: { observe } })
      const first = yield* Deferred.make<void>()
      const reading = yield* Effect.forkChild(
        Stream.runForEach(client.observe(lanePlace), () => Deferred.succeed(first, undefined)),
      )
      yield* Deferred.await(first)
      expect(objects.thread.activeCalls()).toBe(1)
      yield* Fiber.interrupt(reading)
      yield* until(
        "edge and thread are free",
        () => edge.activeCalls() === 0 && objects.thread.activeCalls() === 0,
        () => [edge.activeCalls(), objects.thread.activeCalls()],
      )
    }),
  )

  it.effect(
    "whose reader cannot be reached is found out by a heartbeat, and frees the thread",
    () =>
      Effect.gen(function* () {
        const observe = Stream.concat(Stream.make(opened), Stream.never)
        const { edge, objects } = yield* makeWorld({ answers: { observe } })
        let pushes = 0
        const vanishing = () => {
          pushes += 1
          return pushes === 1 ? Promise.resolve() : Promise.reject(new Error("gone"))
        }
        const exit = edge.call(request("observe", lanePlace), vanishing)
        yield* until("the first frame is taken", () => pushes === 1)
        yield* settle
        expect(objects.thread.activeCalls()).toBe(1)
        yield* TestClock.adjust("15 seconds")
        yield* until("the thread is free", () => objects.thread.activeCalls() === 0)
        expect((yield* Effect.promise(() => exit))._tag).toBe("Failure")
      }),
  )

  it.effect("ends with the token of its reader, and frees the thread", () =>
    Effect.gen(function* () {
      const observe = Stream.concat(Stream.make(opened), Stream.never)
      const identity: Identity = { _tag: "Verified", grants: grants(), expiresAt: 60_000 }
      const { client, objects } = yield* makeWorld({ identity, answers: { observe } })
      const frames: Array<ObserveFrame> = []
      const reading = yield* Effect.forkChild(
        Stream.runForEach(client.observe(lanePlace), (frame) =>
          Effect.sync(() => frames.push(frame)),
        ),
      )
      yield* until("the stream is open", () => frames.length === 1)
      yield* TestClock.adjust("59 seconds")
      yield* settle
      expect(objects.thread.activeCalls()).toBe(1)
      yield* TestClock.adjust("1 second")
      expect(yield* Fiber.await(reading)).toStrictEqual(
        Exit.fail(new Unauthenticated({ reason: "The token has expired" })),
      )
      yield* until("the thread is free", () => objects.thread.activeCalls() === 0)
    }),
  )

  it.effect("is not what a submission is: that outlives its token", () =>
    Effect.gen(function* () {
      const identity: Identity = { _tag: "Verified", grants: grants(), expiresAt: 60_000 }
      const gate = yield* Deferred.make<void>()
      const submit = () => Effect.as(Deferred.await(gate), receipt)
      const { client, objects } = yield* makeWorld({ identity, answers: { submit } })
      const submitting = yield* Effect.forkChild(client.submit(submission))
      yield* until("the owner is asked", () => objects.calls.length === 1)
      yield* TestClock.adjust("61 seconds")
      yield* Deferred.succeed(gate, undefined)
      expect(yield* Fiber.join(submitting)).toEqual(receipt)
    }),
  )
})

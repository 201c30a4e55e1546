/** Streams end with the token of their reader, say where to go on, and go on with another token. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Stream } from "effect"
import { RpcSchema } from "effect/rpc"
import { TestClock } from "effect/testing"
import { makeEdge } from "../../../client/Edge.ts"
import { identityOfProps, type Identity, type Verified } from "../../../client/Identity.ts"
import { makeBearer } from "../../../client/Auth.ts"
import { Unauthenticated } from "../../../contracts/Errors.ts"
import { HeddleRpc } from "../../../contracts/HeddleRpc.ts"
import type { ObserveFrame } from "../../../contracts/JournalRecord.ts"
import { defaultLimits } from "../../../contracts/Limits.ts"
import {
  inMemoryTarget,
  makeWireClient,
  reconnecting,
  type WireExit,
} from "../../../contracts/transport/index.ts"
import { mintToken } from "../../../scripts/mintToken.ts"
import { settle, until } from "../transport/probe.ts"
import { type Answers, grants, makeObjects, ownerId, submissionId, threadId } from "./fakes.ts"

const place = { ownerId, threadId }
const until60: Verified = { _tag: "Verified", grants: grants(), expiresAt: 60_000 }
const opened: ObserveFrame = { _tag: "Opened", tailSequence: 9 }
const ended = new Unauthenticated({ reason: "The token has expired" })

const recordFrame = (sequence: number): ObserveFrame => ({
  _tag: "Record",
  record: {
    sequence,
    submissionId,
    kind: "InputApplied",
    epoch: 1,
    recordedAt: 1_000,
    payload: null,
  },
})

const quiet = (...frames: ReadonlyArray<ObserveFrame>) =>
  Stream.concat(Stream.fromIterable([opened, ...frames]), Stream.never)

const request = (tag: string, payload: unknown) =>
  ({ _tag: "Request", id: "1", tag, payload, headers: [] }) as const

const makeWorld = Effect.fnUntraced(function* (identity: Identity, answers: Answers) {
  const objects = yield* makeObjects(answers)
  const edge = yield* makeEdge({ identity, targets: objects.targets })
  const client = yield* makeWireClient(HeddleRpc, { target: () => inMemoryTarget(edge) })
  return { objects, edge, client }
})

describe("a stream whose token ends", () => {
  it.effect("shows where to go on, behind all that it has shown, and fails typed", () =>
    Effect.gen(function* () {
      for (const [frames, after, start] of [
        [[recordFrame(3), recordFrame(4)], 4, undefined],
        [[], 0, undefined],
        [[], 7, 7],
      ] as const) {
        const expiresAt = (yield* Effect.clockWith((clock) => clock.currentTimeMillis)) + 60_000
        const identity: Identity = { ...until60, expiresAt }
        const { client, objects } = yield* makeWorld(identity, { observe: quiet(...frames) })
        const shown: Array<ObserveFrame> = []
        const payload = start === undefined ? place : { ...place, after: start }
        const reading = yield* Effect.forkChild(
          Stream.runForEach(client.observe(payload), (frame) =>
            Effect.sync(() => shown.push(frame)),
          ),
        )
        yield* until("all is shown", () => shown.length === 1 + frames.length)
        yield* TestClock.adjust("60 seconds")
        expect(yield* Fiber.await(reading)).toStrictEqual(Exit.fail(ended))
        expect(shown.at(-1)).toEqual({ _tag: "Cursor", after })
        yield* until("the thread is free", () => objects.thread.activeCalls() === 0)
      }
    }),
  )

  it.effect("ends with it whatever the operation, also for a reader that takes nothing", () =>
    Effect.gen(function* () {
      const streams = [...HeddleRpc.requests.values()].filter((rpc) =>
        RpcSchema.isStreamSchema(rpc.successSchema),
      )
      expect(streams.map(({ _tag }) => _tag).toSorted()).toEqual(["observe", "watch"])
      for (const { _tag: tag } of streams) {
        for (const [sink, waitMillis] of [
          [() => Promise.resolve(), 60_000],
          [() => new Promise<never>(() => undefined), 61_000],
        ] as const) {
          const now = yield* Effect.clockWith((clock) => clock.currentTimeMillis)
          const identity = { ...until60, expiresAt: now + 60_000 }
          const { edge, objects } = yield* makeWorld(identity, {
            observe: quiet(),
            watch: Stream.concat(
              Stream.make({ _tag: "Opened" as const, faultedLanes: 0 }),
              Stream.never,
            ),
          })
          const exits: Array<WireExit> = []
          void edge.call(request(tag, place), sink).then((exit) => exits.push(exit))
          yield* until("it is served", () => objects.calls.length > 0)
          yield* TestClock.adjust(waitMillis - 1)
          yield* settle
          expect(exits).toEqual([])
          yield* TestClock.adjust("1 millis")
          yield* until("it has ended", () => exits.length === 1)
          expect(exits).toMatchObject([{ cause: [{ error: { _tag: "Unauthenticated" } }] }])
          yield* until(
            "its object is free",
            () => objects.thread.activeCalls() + objects.owner.activeCalls() === 0,
          )
        }
      }
    }),
  )

  it.effect("goes on with another token, and shows every record once", () =>
    Effect.gen(function* () {
      const secret = "a secret of the thirty-two bytes"
      const bearer = makeBearer({ limits: defaultLimits })
      const journal = [1, 2, 3, 4, 5].map(recordFrame)
      let kept = 2
      const objects = yield* makeObjects({
        observe: Stream.suspend(() => quiet(...journal.slice(0, kept))),
      })
      yield* TestClock.setTime(Date.now())
      const mint = () =>
        Effect.promise(() => mintToken({ grants: grants(), secret, expiresInSeconds: 60 }))
      let token = yield* mint()
      const asked: Array<number | undefined> = []
      const open = (after: number | undefined) => {
        asked.push(after)
        return Stream.unwrap(
          Effect.gen(function* () {
            const identity = yield* bearer(`Bearer ${token}`, { HEDDLE_JWT_SECRET: secret })
            if (identity._tag === "Undecided") return yield* Effect.die("no keys")
            const edge = yield* makeEdge({ identity, targets: objects.targets })
            const client = yield* makeWireClient(HeddleRpc, { target: () => inMemoryTarget(edge) })
            return client.observe({ ...place, ...(after === undefined ? {} : { after }) })
          }),
        )
      }
      const shown: Array<number> = []
      const stream = reconnecting({
        open,
        positionOf: (frame: ObserveFrame) => {
          if (frame._tag === "Record") return { _tag: "Record", sequence: frame.record.sequence }
          return frame._tag === "Cursor" ? frame : undefined
        },
      })
      const reading = yield* Effect.forkChild(
        Stream.runForEach(stream, (frame) =>
          Effect.sync(() => frame._tag === "Record" && shown.push(frame.record.sequence)),
        ),
      )
      yield* until("the first are shown", () => shown.length === 2)
      kept = 5
      // Signed by a clock that the test does not move: an hour of it is left.
      token = yield* Effect.promise(() =>
        mintToken({ grants: grants(), secret, expiresInSeconds: 3_600 }),
      )
      yield* TestClock.adjust("2 minutes")
      yield* until("the others are shown", () => shown.length === 5)
      expect(shown).toEqual([1, 2, 3, 4, 5])
      expect(asked).toEqual([undefined, 2])
      // The same token once more is refused, and the stream fails with that.
      yield* TestClock.adjust("2 hours")
      expect(yield* Fiber.await(reading)).toStrictEqual(Exit.fail(ended))
      expect(asked).toEqual([undefined, 2, 5])
    }),
  )

  it.effect("is none over a service binding: those have no end by time", () =>
    Effect.gen(function* () {
      const identity = identityOfProps(grants())
      const { client, objects } = yield* makeWorld(identity, { observe: quiet() })
      const reading = yield* Effect.forkChild(Stream.runDrain(client.observe(place)))
      yield* until("it is served", () => objects.thread.activeCalls() === 1)
      yield* TestClock.adjust("25 hours")
      yield* settle
      expect(objects.thread.activeCalls()).toBe(1)
      yield* Fiber.interrupt(reading)
    }),
  )
})

describe("a wait whose token ends", () => {
  it.effect("is one until then, and is answered Pending: what settles later is not told", () =>
    Effect.gen(function* () {
      const { client, objects } = yield* makeWorld(until60, {
        awaitSettlement: () => Effect.succeed({ _tag: "Pending" }),
      })
      const waited = () =>
        (objects.calls.at(-1)?.payload as { timeoutMillis?: number } | undefined)?.timeoutMillis
      const of = { ...place, submissionId }
      yield* client.awaitSettlement(of)
      expect(waited()).toBe(60_000)
      yield* client.awaitSettlement({ ...of, timeoutMillis: 300_000 })
      expect(waited()).toBe(60_000)
      yield* client.awaitSettlement({ ...of, timeoutMillis: 1_000 })
      expect(waited()).toBe(1_000)
      yield* TestClock.adjust("2 minutes")
      yield* client.awaitSettlement(of)
      expect(waited()).toBe(0)
    }),
  )

  it.effect("is as long as is asked where there is no end", () =>
    Effect.gen(function* () {
      const { client, objects } = yield* makeWorld(identityOfProps(grants()), {})
      yield* client.awaitSettlement({ ...place, submissionId })
      expect(objects.calls.at(-1)?.payload).not.toHaveProperty("timeoutMillis")
    }),
  )
})

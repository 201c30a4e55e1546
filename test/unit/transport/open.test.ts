import { describe, expect, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Rpc, RpcGroup } from "effect/rpc"
import { openLiterals, openUnion } from "../../../contracts/Open.ts"
import {
  inMemoryTarget,
  makeWireClient,
  makeWireServer,
} from "../../../contracts/transport/index.ts"

const group = <State extends Schema.Top, Answer extends Schema.Top>(state: State, answer: Answer) =>
  RpcGroup.make(
    Rpc.make("look", {
      payload: { known: state },
      success: Schema.Struct({ state, answers: Schema.Array(answer) }),
    }),
  )

const Ran = Schema.TaggedStruct("Ran", { times: Schema.Int })
const Slept = Schema.TaggedStruct("Slept", { millis: Schema.Int, by: Schema.Struct({}) })

/** This version, and a newer one that knows a state and an answer more. */
const Older = group(openLiterals(["ready", "running"]), openUnion([Ran]))
const Newer = group(openLiterals(["ready", "running", "asleep"]), openUnion([Ran, Slept]))

describe("an open enumeration", () => {
  it.effect("reads what a newer peer added as Unrecognized, and the rest as it is", () =>
    Effect.gen(function* () {
      const handlers = Newer.toLayer({
        look: () =>
          Effect.succeed({
            state: "asleep" as const,
            answers: [
              { _tag: "Ran" as const, times: 1 },
              { _tag: "Slept" as const, millis: 5, by: {} },
            ],
          }),
      })
      const server = yield* makeWireServer(Newer).pipe(Effect.provide(handlers))
      const target = inMemoryTarget(server)
      const older = yield* makeWireClient(Older, { target: () => target })
      expect(yield* older.look({ known: "ready" })).toStrictEqual({
        state: "Unrecognized",
        answers: [{ _tag: "Ran", times: 1 }, { _tag: "Unrecognized" }],
      })
      const newer = yield* makeWireClient(Newer, { target: () => target })
      expect((yield* newer.look({ known: "ready" })).state).toBe("asleep")
    }),
  )

  it.effect("reads a newer caller's word so, too", () =>
    Effect.gen(function* () {
      const heard: Array<string> = []
      const handlers = Older.toLayer({
        look: ({ known }) =>
          Effect.sync(() => {
            heard.push(known)
            return { state: known, answers: [] }
          }),
      })
      const server = yield* makeWireServer(Older).pipe(Effect.provide(handlers))
      const target = inMemoryTarget(server)
      const newer = yield* makeWireClient(Newer, { target: () => target })
      yield* newer.look({ known: "asleep" })
      yield* newer.look({ known: "running" })
      expect(heard).toEqual(["Unrecognized", "running"])
    }),
  )
})

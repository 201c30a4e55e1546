import { describe, expect, it } from "@effect/vitest"
import { Context, Effect, Layer } from "effect"
import { RpcMiddleware, type Rpc, type RpcGroup } from "effect/rpc"
import {
  AllowedRole,
  SpeaksFor,
  type Caller,
  CallerMiddleware,
  callerHeaders,
  CurrentCaller,
} from "../../../contracts/Authorization.ts"
import { OperationDenied } from "../../../contracts/Errors.ts"
import type { OwnerId, Principal, ThreadId } from "../../../contracts/Identifiers.ts"
import {
  inMemoryTarget,
  makeWireClient,
  makeWireServer,
} from "../../../contracts/transport/index.ts"
import {
  callOf,
  contractGroups,
  errorSchemasOf,
  middlewareLayer,
  rpcsOf,
  sampleHandlers,
  samplesOf,
  samplesPerSchema,
  valueSchemaOf,
  wanted,
} from "../../conformance/transport.ts"

const owner = (ownerId: string): Caller => ({ _tag: "Owner", ownerId: ownerId as OwnerId })
const thread = (ownerId: string): Caller => ({
  _tag: "Thread",
  ownerId: ownerId as OwnerId,
  threadId: "t" as ThreadId,
})
const principal: Caller = { _tag: "Principal", principal: "ann" as Principal }
const scheduler: Caller = { _tag: "Scheduler" }

const objects = ["ThreadRpc", "OwnerRpc", "RegistryRpc"].map((name) => {
  const group = contractGroups[name]
  if (group === undefined) throw new Error(`no group ${name}`)
  return { name, group }
})

const served = Effect.fnUntraced(function* (group: RpcGroup.RpcGroup<Rpc.Any>) {
  const context = yield* Layer.build(Layer.merge(sampleHandlers(group), middlewareLayer))
  const server = yield* Effect.provideContext(makeWireServer(group), context)
  return inMemoryTarget(server)
})

describe("an operation of an object", () => {
  for (const { name, group } of objects) {
    for (const rpc of rpcsOf(group)) {
      it.effect(`${name}.${rpc._tag} admits its role alone, for its own owner`, () =>
        Effect.gen(function* () {
          const target = yield* served(group)
          const [payload] = yield* samplesOf(rpc.payloadSchema, samplesPerSchema)
          const [value] = yield* samplesOf(valueSchemaOf(rpc), samplesPerSchema)
          const speaksFor = Context.get(rpc.annotations, SpeaksFor)(payload as never)
          const own = typeof speaksFor === "string" ? speaksFor : "o1"
          const role = Context.get(rpc.annotations, AllowedRole)
          expect(["Owner", "Thread", "Principal", "Scheduler"]).toContain(role)
          const callers = [
            owner(own),
            thread(own),
            principal,
            scheduler,
            owner("o2"),
            thread("o2"),
            undefined,
          ]
          for (const caller of callers) {
            const headers = caller === undefined ? {} : callerHeaders(caller)
            const client = yield* makeWireClient<Rpc.Any>(group, {
              target: () => target,
              headers: {
                "heddle-role": "",
                ...headers,
              },
            })
            const called = callOf(client, rpc, payload, wanted("value", 0, 0))
            const foreign = caller !== undefined && "ownerId" in caller && caller.ownerId !== own
            if (caller?._tag === role && !foreign) expect(yield* called).toStrictEqual(value)
            else {
              expect(yield* Effect.flip(called)).toStrictEqual(
                new OperationDenied({ operation: rpc._tag }),
              )
            }
          }
        }),
      )
    }
  }

  it("declares the refusal of its middleware among its errors", () => {
    for (const { group } of objects) {
      for (const rpc of rpcsOf(group)) expect(errorSchemasOf(rpc)).toContain(OperationDenied)
    }
  })
})

describe("a middleware", () => {
  class Twice extends RpcMiddleware.Service<Twice>()("test/Twice") {}

  it.effect("may run a handler twice: the caller gets the second answer, once", () =>
    Effect.gen(function* () {
      const { OwnerRpc } = contractGroups
      if (OwnerRpc === undefined) return yield* Effect.die("no group")
      const group = OwnerRpc.middleware(Twice) as unknown as RpcGroup.RpcGroup<Rpc.Any>
      let runs = 0
      const twice = Layer.succeed(Twice, (effect) =>
        Effect.andThen(
          Effect.suspend(() => {
            runs++
            return effect
          }),
          Effect.suspend(() => {
            runs++
            return effect
          }),
        ),
      )
      const context = yield* Layer.build(
        Layer.mergeAll(sampleHandlers(group), middlewareLayer, twice),
      )
      const server = yield* Effect.provideContext(makeWireServer(group), context)
      const target = inMemoryTarget(server)
      const client = yield* makeWireClient<Rpc.Any>(group, { target: () => target })
      for (const rpc of rpcsOf(group)) {
        runs = 0
        const [payload] = yield* samplesOf(rpc.payloadSchema, samplesPerSchema)
        const [value] = yield* samplesOf(valueSchemaOf(rpc), samplesPerSchema)
        const got = yield* callOf(client, rpc, payload, wanted("value", 0, 0))
        expect(got).toStrictEqual(value)
        expect(runs).toBe(2)
      }
    }),
  )

  it.effect("that throws fails its call alone", () =>
    Effect.gen(function* () {
      const { OwnerRpc } = contractGroups
      if (OwnerRpc === undefined) return yield* Effect.die("no group")
      let broken = true
      const layer = Layer.succeed(CallerMiddleware, (effect) => {
        if (broken) throw new Error("secret")
        return Effect.provideService(effect, CurrentCaller, principal)
      })
      const context = yield* Layer.build(Layer.merge(sampleHandlers(OwnerRpc), layer))
      const server = yield* Effect.provideContext(makeWireServer(OwnerRpc), context)
      const client = yield* makeWireClient<Rpc.Any>(OwnerRpc, {
        target: () => inMemoryTarget(server),
      })
      for (const rpc of rpcsOf(OwnerRpc)) {
        const [payload] = yield* samplesOf(rpc.payloadSchema, samplesPerSchema)
        const [value] = yield* samplesOf(valueSchemaOf(rpc), samplesPerSchema)
        const call = callOf(client, rpc, payload, wanted("value", 0, 0))
        broken = true
        expect(yield* Effect.flip(call)).toMatchObject({ _tag: "InternalDefect" })
        broken = false
        expect(yield* call).toStrictEqual(value)
      }
      expect(server.activeCalls()).toBe(0)
    }),
  )
})

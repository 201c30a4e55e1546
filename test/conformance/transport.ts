/**
 * Every rpc of every contract, with samples of all it can say: run over the in-memory target and over
 * real stubs. The groups are read, not listed: a new rpc or error is covered by being there.
 */
import type { Schema } from "effect"
import { Arbitrary, Effect, Layer, Stream } from "effect"
import type { Rpc } from "effect/rpc"
import { type RpcGroup, RpcSchema } from "effect/rpc"
import type { CallerMiddleware } from "../../contracts/Authorization.ts"
import {
  AllowedRole,
  callerHeaders,
  SpeaksFor,
  callerMiddlewareLayer,
  CurrentGrants,
  EdgeMiddleware,
  type Grants,
} from "../../contracts/Authorization.ts"
import { HeddleRpc } from "../../contracts/HeddleRpc.ts"
import type { OwnerId, Principal, ThreadId } from "../../contracts/Identifiers.ts"
import { OwnerRpc } from "../../contracts/OwnerRpc.ts"
import { RegistryRpc } from "../../contracts/RegistryRpc.ts"
import { ThreadRpc } from "../../contracts/ThreadRpc.ts"
import type { WireClient } from "../../contracts/transport/index.ts"
import { Context } from "effect"

export type Group = RpcGroup.RpcGroup<Rpc.Any>

export const contractGroups: Readonly<Record<string, Group>> = {
  ThreadRpc: ThreadRpc as unknown as Group,
  OwnerRpc: OwnerRpc as unknown as Group,
  RegistryRpc: RegistryRpc as unknown as Group,
  HeddleRpc: HeddleRpc as unknown as Group,
}

export const rpcsOf = (group: Group): ReadonlyArray<Rpc.AnyWithProps> =>
  [...group.requests.values()] as unknown as ReadonlyArray<Rpc.AnyWithProps>

const flatten = (schema: Schema.Top): ReadonlyArray<Schema.Top> =>
  "members" in schema ? (schema.members as ReadonlyArray<Schema.Top>).flatMap(flatten) : [schema]

/** The error classes an rpc declares, those of its stream and middleware included. */
export const errorSchemasOf = (rpc: Rpc.AnyWithProps): ReadonlyArray<Schema.Top> => {
  const { successSchema } = rpc
  const declared = [
    RpcSchema.isStreamSchema(successSchema) ? successSchema.error : rpc.errorSchema,
    ...[...rpc.middlewares].map((middleware) => middleware.error),
  ]
  return [...new Set(declared.flatMap(flatten))]
}

export const valueSchemaOf = ({ successSchema }: Rpc.AnyWithProps): Schema.Top =>
  RpcSchema.isStreamSchema(successSchema) ? successSchema.success : successSchema

/** The same samples wherever it is called. */
export const samplesOf = (
  schema: Schema.Top,
  count: number,
): Effect.Effect<ReadonlyArray<unknown>> =>
  Effect.orDie(Arbitrary.sampleEffect(Arbitrary.schema(schema), { count, seed: 7, size: 4 }))

/** What the handlers of `sampleHandlers` are told to answer, in the headers of the call. */
export const wanted = (answer: "value" | "error", member: number, index: number) => ({
  "test-answer": answer,
  "test-member": String(member),
  "test-index": String(index),
})

export const samplesPerSchema = 5

/** Handlers that answer with the sample that the headers name; they run behind the middleware. */
export const sampleHandlers = (group: Group): Layer.Layer<never> => {
  const handler =
    (rpc: Rpc.AnyWithProps) =>
    (_payload: unknown, options: { readonly headers: Readonly<Record<string, string>> }) => {
      const { headers } = options
      const index = Number(headers["test-index"])
      const answer = Effect.gen(function* () {
        if (headers["test-answer"] === "value") {
          return (yield* samplesOf(valueSchemaOf(rpc), samplesPerSchema))[index]
        }
        const schema = errorSchemasOf(rpc)[Number(headers["test-member"])]
        if (schema === undefined) return yield* Effect.die("no such error class")
        return yield* Effect.fail((yield* samplesOf(schema, samplesPerSchema))[index])
      })
      return RpcSchema.isStreamSchema(rpc.successSchema) ? Stream.fromEffect(answer) : answer
    }
  const handlers = Object.fromEntries(rpcsOf(group).map((rpc) => [rpc._tag, handler(rpc)]))
  return group.toLayer(handlers as never)
}

const grants: Grants = { principal: "ann" as Principal, owners: ["*"] }

export const edgeMiddlewareLayer: Layer.Layer<EdgeMiddleware> = Layer.succeed(
  EdgeMiddleware,
  (effect) => Effect.provideService(effect, CurrentGrants, grants),
)

export const middlewareLayer: Layer.Layer<CallerMiddleware | EdgeMiddleware> = Layer.merge(
  callerMiddlewareLayer,
  edgeMiddlewareLayer,
)

/** The headers of a caller that the rpc admits, for the owner (and thread) of the payload. */
export const admittedHeaders = (
  rpc: Rpc.AnyWithProps,
  payload: unknown,
): Record<string, string> => {
  // Of a message from another owner: that one.
  const ownerId = Context.get(rpc.annotations, SpeaksFor)(payload as never) as OwnerId
  switch (Context.get(rpc.annotations, AllowedRole)) {
    case "Owner":
      return callerHeaders({ _tag: "Owner", ownerId })
    case "Thread":
      return callerHeaders({ _tag: "Thread", ownerId, threadId: "t" as ThreadId })
    case "Scheduler":
      return callerHeaders({ _tag: "Scheduler" })
    default:
      return callerHeaders({ _tag: "Principal", principal: "ann" as Principal })
  }
}

type Call = (
  payload: unknown,
  options: { readonly headers: Record<string, string> },
) => Effect.Effect<unknown, unknown> | Stream.Stream<unknown, unknown>

/** Calls an rpc by its tag; a stream ends as its last value. */
export const callOf = (
  client: WireClient<Rpc.Any>,
  rpc: Rpc.AnyWithProps,
  payload: unknown,
  headers: Record<string, string>,
): Effect.Effect<unknown, unknown> => {
  const call = (client as unknown as Record<string, Call>)[rpc._tag]
  if (call === undefined) return Effect.die(`no method ${rpc._tag}`)
  const called = call(payload, { headers: { ...headers, ...admittedHeaders(rpc, payload) } })
  return Stream.isStream(called)
    ? Effect.map(Stream.runCollect(called), (values) => values.at(-1))
    : called
}

export interface RoundTrip {
  readonly title: string
  /** Fails, as an assertion does, unless what the server said is what the caller got. */
  readonly check: (
    client: WireClient<Rpc.Any>,
    expectEqual: (got: unknown, said: unknown) => void,
  ) => Effect.Effect<void>
}

/** One round trip for each thing that the rpcs of a group can say. */
export const roundTripsOf = (name: string): ReadonlyArray<RoundTrip> => {
  const group = contractGroups[name]
  if (group === undefined) throw new Error(`no group ${name}`)
  return rpcsOf(group).flatMap((rpc) => {
    const check = (
      schema: Schema.Top,
      answer: "value" | "error",
      member: number,
    ): RoundTrip["check"] =>
      Effect.fnUntraced(function* (client, expectEqual) {
        const payloads = yield* samplesOf(rpc.payloadSchema, samplesPerSchema)
        for (const [index, sample] of (yield* samplesOf(schema, samplesPerSchema)).entries()) {
          const headers = wanted(answer, member, index)
          const called = callOf(client, rpc, payloads[index], headers)
          expectEqual(yield* answer === "value" ? called : Effect.flip(called), sample)
        }
      }, Effect.orDie)
    return [
      {
        title: `${name}.${rpc._tag} answers its result`,
        check: check(valueSchemaOf(rpc), "value", 0),
      },
      ...errorSchemasOf(rpc).map((schema, member) => ({
        title: `${name}.${rpc._tag} fails with ${(schema as { identifier?: string }).identifier}`,
        check: check(schema, "error", member),
      })),
    ]
  })
}

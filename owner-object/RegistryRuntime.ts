/**
 * The owner registry as one value: what the Durable Object and the unit tests share.
 *
 * It has no identity, no alarm and nothing in memory: each call is one block on one table.
 *
 * Invariants
 * - W1 What changes something is one block, and uninterruptible.
 * - W2 A storage that fails answers this call alone; nothing of it is durable.
 */
import { Context, Effect, Layer, Scope } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import { Rpc } from "effect/rpc"
import { type Authorizer, callerMiddlewareLayer, withPolicy } from "../contracts/Authorization.ts"
import { StorageUnavailable } from "../contracts/Errors.ts"
import { CurrentLimits, type Limits } from "../contracts/Limits.ts"
import { spans } from "../contracts/observability/Spans.ts"
import { type MakeTelemetry, unobserved } from "../contracts/observability/Telemetry.ts"
import { RegistryRpc } from "../contracts/RegistryRpc.ts"
import type { WireTarget } from "../contracts/transport/Wire.ts"
import { makeWireServer, type WireServer } from "../contracts/transport/WireServer.ts"
import { type ObjectHost, underHost } from "../platform/ObjectHost.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import * as RegistryTable from "./RegistryTable.ts"

export interface RegistryOptions {
  readonly limits: Limits
  /** Who collects spans and metrics, if anybody. */
  readonly telemetry?: MakeTelemetry | undefined
  /** The application's policy, which is asked for `listOwners`; everything is allowed without one. */
  readonly authorizer?: Authorizer
}

const handlersLayer = ({ storage, now }: ObjectHost, limits: Limits) => {
  const asked = <A>(operation: string, read: () => A): Effect.Effect<A, StorageUnavailable> =>
    Effect.catch(Effect.try({ try: read, catch: (cause) => cause }), (cause) =>
      Effect.logError(`storage failed in ${operation}: ${describeThrown(cause)}`).pipe(
        Effect.andThen(Effect.fail(new StorageUnavailable({ operation }))),
      ),
    ) // W2
  const block = <A>(operation: string, write: (sql: Sql) => A) =>
    Rpc.uninterruptible(asked(operation, () => storage.transaction(() => write(storage.sql)))) // W1
  const bounded = (limit: number | undefined): number =>
    Math.max(1, Math.min(limit ?? limits.pageOwners, limits.pageOwners))
  const moment = () => ({ now: now(), limits })
  return RegistryRpc.toLayer({
    enter: (payload) => block("enter", (sql) => RegistryTable.enter(sql, payload, moment())),
    list: ({ after = "", limit }) =>
      asked("list", () => RegistryTable.list(storage.sql, { after, limit: bounded(limit) })),
    takeDue: ({ limit }) =>
      block("takeDue", (sql) => ({
        owners: RegistryTable.takeDue(sql, bounded(limit), moment()),
      })),
    looked: ({ looks }) =>
      block("looked", (sql) => RegistryTable.recordLooks(sql, looks, moment())),
  })
}

/** The registry of an object. Making one does nothing that can fail. */
export const makeRegistryRuntime = (
  host: ObjectHost,
  { authorizer, limits, telemetry: observe }: RegistryOptions,
): WireTarget => {
  const telemetry = observe?.(host) ?? unobserved
  const build = makeWireServer(RegistryRpc, { spanPrefix: spans.registry }).pipe(
    Effect.provide(Layer.merge(handlersLayer(host, limits), callerMiddlewareLayer)),
    withPolicy(authorizer),
  )
  let server: WireServer | undefined
  const ready = (): WireServer => {
    // The scope is the object's: it ends with it.
    server ??= Effect.runSyncWith(Context.add(telemetry.context, CurrentLimits, limits))(
      underHost(host, Scope.provide(build, Scope.makeUnsafe())),
    )
    return server
  }
  return { call: (message, sink) => telemetry.event(() => ready().call(message, sink)) }
}

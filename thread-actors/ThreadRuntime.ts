/**
 * A thread as a value: what the Durable Object, the unit tests and the simulation share.
 *
 * - R1 Making one does nothing that can fail: it reads nothing, and builds no service of the user's.
 */
import { Effect, Layer, Scope } from "effect"
import { callerMiddlewareLayer, withPolicy } from "../contracts/Authorization.ts"
import { CurrentLimits } from "../contracts/Limits.ts"
import { spans } from "../contracts/observability/Spans.ts"
import { tellRows } from "../contracts/observability/Telemetry.ts"
import { ThreadRpc } from "../contracts/ThreadRpc.ts"
import type { WireTarget } from "../contracts/transport/Wire.ts"
import { makeWireServer } from "../contracts/transport/WireServer.ts"
import { withAsideTables } from "../platform/AsideTables.ts"
import { type ObjectHost, underHost } from "../platform/ObjectHost.ts"
import { handlers } from "./Handlers.ts"
import { asideTables } from "./Tables.ts"
import { makeThreadState, type ThreadOptions } from "./Thread.ts"

export type { ThreadOptions } from "./Thread.ts"

export interface ThreadRuntime {
  /** The object's one native method. */
  readonly call: WireTarget["call"]
  /** Readers of `observe` that are registered now. */
  readonly observers: () => number
  /** Whether an attempt runs in this incarnation. */
  readonly isRunning: () => boolean
}

const setAside = withAsideTables(asideTables)

/** Makes the thread of this host. Synchronous; its start is run by the calls. */
export const makeThread = (host: ObjectHost, options: ThreadOptions): ThreadRuntime => {
  const storage = setAside(host.storage)
  const thread = makeThreadState({ ...host, storage }, options) // R1
  tellRows(thread.telemetry, "thread", () => host.storage.counts())
  const build = makeWireServer(ThreadRpc, {
    reference: host.uuid,
    spanPrefix: spans.thread,
    annotations: () => ({ ...thread.identity }),
  }).pipe(
    Effect.provide(Layer.merge(handlers(thread), callerMiddlewareLayer)),
    withPolicy(options.authorizer),
    Effect.provideService(CurrentLimits, options.limits),
    Effect.provideContext(thread.telemetry.context),
    // Never closed: the server lives as long as the object.
    Effect.provideService(Scope.Scope, Scope.makeUnsafe()),
  )
  const server = Effect.runSync(underHost(host, build))
  return {
    call: (message, sink) =>
      thread.telemetry.event(() => server.call(message, sink), sink && "reader"),
    observers: () => thread.observers.size,
    isRunning: () => thread.live !== undefined,
  }
}

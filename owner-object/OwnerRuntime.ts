/**
 * An owner as one value: what the Durable Object, the unit tests and the simulation share.
 *
 * Making one does nothing that can fail; the server is built by the first call that needs it.
 */
import { Context, Effect, Layer, References, Scope } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import {
  type Authorizer,
  callerHeaders,
  callerMiddlewareLayer,
  withPolicy,
} from "../contracts/Authorization.ts"
import type { AgentId, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import { CurrentLimits, type Limits } from "../contracts/Limits.ts"
import { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { spans } from "../contracts/observability/Spans.ts"
import {
  type MakeTelemetry,
  type Telemetry,
  tellRows,
  unobserved,
} from "../contracts/observability/Telemetry.ts"
import type { HeddleSink } from "../contracts/Publication.ts"
import { RegistryRpc } from "../contracts/RegistryRpc.ts"
import { ThreadRpc } from "../contracts/ThreadRpc.ts"
import type { WireTarget } from "../contracts/transport/Wire.ts"
import { makeWireClient } from "../contracts/transport/WireClient.ts"
import { makeWireServer, type WireServer } from "../contracts/transport/WireServer.ts"
import type { Failpoints } from "../platform/Failpoint.ts"
import { type ObjectHost, underHost } from "../platform/ObjectHost.ts"
import type { AcceptMessages } from "./AcceptMessages.ts"
import { deliverAlarm } from "./Alarm.ts"
import * as AlarmSlot from "./AlarmSlot.ts"
import { handlersLayer } from "./Handlers.ts"
import type { HostLane } from "./HostLane.ts"
import { makeHosts } from "./Hosts.ts"
import { readDeadlines } from "./HostWave.ts"
import { storedOwnerId } from "./Maintenance.ts"
import type { Owner, PeerClient } from "./Owner.ts"
import { makeWaiters } from "./Waiters.ts"

export interface OwnerOptions {
  readonly limits: Limits
  readonly codeVersion: string
  readonly agentsDigest: string
  /** How many attempts of an agent may run at once in an owner; without an entry, as many as may at all. */
  readonly maxRunning?: ReadonlyMap<AgentId, number>
  /** The one native method of a thread's object. */
  readonly thread: (ownerId: OwnerId, threadId: ThreadId) => WireTarget
  /** The one native method of another owner's object. */
  readonly peer: (ownerId: OwnerId) => WireTarget
  /** Which threads of other owners may send to those of this one; none without it. */
  readonly acceptMessages?: AcceptMessages | undefined
  /** Where the records of threads are published; nowhere without it. */
  readonly sink?: HeddleSink | undefined
  /** Whether the outcomes of submissions are searched besides titles; not without it. */
  readonly searchesOutcomes?: boolean | undefined
  /** The one native method of the owner registry; undefined in a deployment without one. */
  readonly registry?: WireTarget | undefined
  /** Work of the application's own, and the services that it needs. */
  readonly hostLanes?: ReadonlyArray<HostLane<never>> | undefined
  readonly services?: Layer.Layer<never> | undefined
  readonly failpoints: Failpoints
  /** Who collects spans and metrics, if anybody. */
  readonly telemetry?: MakeTelemetry | undefined
  /** The application's policy; everything is allowed without one. */
  readonly authorizer?: Authorizer
}

export interface OwnerRuntime extends WireTarget {
  /** Delivers the alarm. Rejects only when not even the fallback could be armed. */
  readonly alarm: () => Promise<void>
}

interface Address {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}

/** The way to the threads of this owner. */
const threadClient = (host: ObjectHost, thread: OwnerOptions["thread"]) =>
  makeWireClient(ThreadRpc, {
    target: ({ ownerId, threadId }: Address) => thread(ownerId, threadId),
    headers: ({ ownerId }: Address) => callerHeaders({ _tag: "Owner", ownerId }),
    requestId: host.uuid,
    tracing: false,
  })

/** The way to the registry: an owner enters itself there, and asks nothing else. */
const registryClient = (host: ObjectHost, target: WireTarget) =>
  makeWireClient(RegistryRpc, {
    target: () => target,
    headers: (payload) =>
      "owes" in payload ? callerHeaders({ _tag: "Owner", ownerId: payload.ownerId }) : {},
    requestId: host.uuid,
    tracing: false,
  })

/** The way to other owners: an owner speaks for itself, and sends only what its own threads have recorded. */
const peerClient = (
  host: ObjectHost,
  peer: OwnerOptions["peer"],
): Effect.Effect<PeerClient, never, Scope.Scope> =>
  makeWireClient(OwnerRpc, {
    target: ({ ownerId }) => peer(ownerId),
    headers: (payload) =>
      "message" in payload
        ? callerHeaders({ _tag: "Owner", ownerId: payload.message.from.ownerId })
        : {},
    requestId: host.uuid,
    tracing: false,
  })

/** What the owner's effects run under. Each line of the log says whose owner it is about. */
const contextOf = ({ name }: ObjectHost, telemetry: Telemetry, limits: Limits) =>
  Context.add(telemetry.context, CurrentLimits, limits).pipe(
    Context.add(References.CurrentLogAnnotations, name === undefined ? {} : { ownerId: name }),
  )

/** The owner of an object. */
export const makeOwnerRuntime = (host: ObjectHost, options: OwnerOptions): OwnerRuntime => {
  const { limits } = options
  const telemetry = options.telemetry?.(host) ?? unobserved
  const context = contextOf(host, telemetry, limits)
  tellRows(telemetry, "owner", () => host.storage.counts())
  const runPromise = Effect.runPromiseWith(context)
  const run = <A, E>(effect: Effect.Effect<A, E>) => runPromise(underHost(host, effect))
  const background: Owner["background"] = (effect) =>
    host.waitUntil(
      telemetry.event(() =>
        run(
          Effect.catchCause(effect, (cause) =>
            Effect.logDebug(`background work failed: ${describeThrown(cause)}`),
          ),
        ),
      ),
    )

  const build = Effect.gen(function* () {
    const threads = yield* threadClient(host, options.thread)
    const peers = yield* peerClient(host, options.peer)
    const registry =
      options.registry === undefined ? undefined : yield* registryClient(host, options.registry)
    const owner: Owner = {
      host,
      limits,
      failpoints: options.failpoints,
      codeVersion: options.codeVersion,
      agentsDigest: options.agentsDigest,
      maxRunning: options.maxRunning ?? new Map(),
      threads,
      registry,
      peers,
      acceptMessages: options.acceptMessages,
      sink: options.sink,
      searchesOutcomes: options.searchesOutcomes === true,
      telemetry,
      hosts: makeHosts(options.codeVersion, options.hostLanes, options.services),
      waiters: makeWaiters(),
      began: (life) => readDeadlines(owner, life),
      background,
      life: undefined,
      starting: undefined,
    }
    const server = yield* makeWireServer(OwnerRpc, { spanPrefix: spans.owner }).pipe(
      Effect.provide(Layer.merge(handlersLayer(owner), callerMiddlewareLayer)),
      withPolicy(options.authorizer),
    )
    return { owner, server }
  })

  let built: { readonly owner: Owner; readonly server: WireServer } | undefined
  const ready = () => {
    // The scope is the object's: it ends with it.
    built ??= Effect.runSyncWith(context)(underHost(host, Scope.provide(build, Scope.makeUnsafe())))
    return built
  }

  return {
    call: (message, sink) =>
      telemetry.event(() => ready().server.call(message, sink), sink && "reader"),
    alarm: async () => {
      try {
        const ownerId = (host.name ?? storedOwnerId(host.storage.sql)) as OwnerId | undefined
        if (ownerId !== undefined)
          await telemetry.event(() => run(deliverAlarm(ready().owner, ownerId)))
      } catch {
        AlarmSlot.armFallback(host.storage.alarm, host.now(), limits)
      }
    },
  }
}

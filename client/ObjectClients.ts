/**
 * The typed clients of the objects, for one invocation of an edge that speaks for one principal.
 *
 * - E1 The objects are told the verified principal, in headers that are made here.
 */
import { Effect } from "effect"
import { callerHeaders } from "../contracts/Authorization.ts"
import type { OwnerId, Principal, ThreadId } from "../contracts/Identifiers.ts"
import { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { RegistryRpc } from "../contracts/RegistryRpc.ts"
import { ThreadRpc } from "../contracts/ThreadRpc.ts"
import type { WireTarget } from "../contracts/transport/Wire.ts"
import { makeWireClient, type WireClientOptions } from "../contracts/transport/WireClient.ts"
import { failure } from "../contracts/transport/WireExits.ts"

/** Where the objects are, for the length of one invocation. */
export interface EdgeTargets {
  readonly owner: (ownerId: OwnerId) => WireTarget
  readonly thread: (ownerId: OwnerId, threadId: ThreadId) => WireTarget
  /** The owner registry; absent in a deployment without one. */
  readonly registry?: (() => WireTarget) | undefined
}

/** A thread, and whose it is. */
export interface Lane {
  readonly ownerId: OwnerId
  readonly threadId: ThreadId
}

/** What the platform lost is tried again here, where a fresh stub is at hand. */
const retry = { times: 2 } as const

/** Answers for the registry of a deployment that has none. */
const noRegistry: WireTarget = {
  call: () =>
    Promise.resolve(
      failure({
        _tag: "Unavailable",
        retryable: false,
        overloaded: false,
        reason: "this deployment has no owner registry",
      }),
    ),
}

export const makeClients = Effect.fnUntraced(function* (
  targets: EdgeTargets,
  principal: Principal,
) {
  const headers = callerHeaders({ _tag: "Principal", principal }) // E1
  const shared = { headers, retry, tracing: false } satisfies Partial<WireClientOptions>
  const owner = yield* makeWireClient(OwnerRpc, {
    ...shared,
    target: (payload: { readonly ownerId: OwnerId }) => targets.owner(payload.ownerId),
  })
  const thread = yield* makeWireClient(ThreadRpc, {
    ...shared,
    target: (payload: Lane) => targets.thread(payload.ownerId, payload.threadId),
  })
  const registry = yield* makeWireClient(RegistryRpc, {
    ...shared,
    target: () => targets.registry?.() ?? noRegistry,
  })
  return { owner, thread, registry }
})

export type Clients = Effect.Success<ReturnType<typeof makeClients>>

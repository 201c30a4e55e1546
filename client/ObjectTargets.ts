/**
 * The objects as one invocation of a stateless Worker reaches them: one stub per object, replaced
 * after an error, disposed when the invocation is done.
 */
import { type OwnerId, type ThreadId, threadObjectName } from "../contracts/Identifiers.ts"
import { registryName } from "../contracts/RegistryRpc.ts"
import { type NativeStub, type StubTarget, stubTarget } from "../contracts/transport/StubTarget.ts"
import type { EdgeTargets } from "./ObjectClients.ts"

/** The part of a `DurableObjectNamespace` that is used. */
export interface ObjectNamespace {
  readonly getByName: (name: string) => NativeStub
}

export interface ObjectNamespaces {
  readonly owners: ObjectNamespace
  readonly threads: ObjectNamespace
  /** Undefined in a deployment without an owner registry. */
  readonly registry?: ObjectNamespace | undefined
}

export interface ObjectTargets extends EdgeTargets {
  /** Disposes the stubs. */
  readonly close: () => void
}

const kept = (namespace: ObjectNamespace) => {
  const targets = new Map<string, StubTarget>()
  return {
    of: (name: string): StubTarget => {
      const found = targets.get(name)
      if (found !== undefined) return found
      const made = stubTarget(() => namespace.getByName(name))
      targets.set(name, made)
      return made
    },
    close: () => {
      for (const target of targets.values()) target.close()
      targets.clear()
    },
  }
}

/** Targets for one invocation. */
export const objectTargets = (namespaces: ObjectNamespaces): ObjectTargets => {
  const owners = kept(namespaces.owners)
  const threads = kept(namespaces.threads)
  const registry = namespaces.registry === undefined ? undefined : kept(namespaces.registry)
  return {
    owner: (ownerId: OwnerId) => owners.of(ownerId),
    thread: (ownerId: OwnerId, threadId: ThreadId) =>
      threads.of(threadObjectName(ownerId, threadId)),
    registry: registry === undefined ? undefined : () => registry.of(registryName),
    close: () => {
      owners.close()
      threads.close()
      registry?.close()
    },
  }
}

/**
 * A whole deployment in Node behind both of its edges: real owners, threads and registry, each on a database of its
 * own, which are made when they are first reached.
 */
import { Effect, Layer, Schema } from "effect"
import { makeEdge } from "../../../client/Edge.ts"
import { makeHttpHandler } from "../../../client/Http.ts"
import { identityOfProps } from "../../../client/Identity.ts"
import type { Authorizer } from "../../../contracts/Authorization.ts"
import { type OwnerId, type ThreadId, threadObjectName } from "../../../contracts/Identifiers.ts"
import { CurrentLimits, type Limits, makeLimits } from "../../../contracts/Limits.ts"
import type {
  WireExit,
  WireMessage,
  WireSink,
  WireTarget,
} from "../../../contracts/transport/index.ts"
import { inMemoryTarget } from "../../../contracts/transport/index.ts"
import { makeOwnerRuntime } from "../../../owner-object/OwnerRuntime.ts"
import { makeRegistryRuntime } from "../../../owner-object/RegistryRuntime.ts"
import { inert } from "../../../platform/Failpoint.ts"
import { makeNodeHost, type NodeStorage, openNodeStorage } from "../../../platform/NodeStorage.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { agentsDigest } from "../../../thread-actors/AgentsDigest.ts"
import { makeThread } from "../../../thread-actors/ThreadRuntime.ts"
import { bearer, messages, rpcRequest, secret } from "../client/httpWorld.ts"

/** Gives back what it is given. */
const echo = Agent.make("refund", { input: Schema.Json, output: Schema.Json }).handler((input) =>
  Effect.succeed(input),
)

interface Living {
  readonly storage: NodeStorage
  readonly target: WireTarget
  /** Delivers its alarm if it is due. */
  readonly ring: () => Promise<void>
}

export interface EdgeWorldOptions {
  readonly authorizer?: Authorizer
  readonly limits?: Partial<Limits>
  /** Besides the one that gives back what it is given. */
  readonly agents?: ReadonlyArray<Agent.AgentLive<never>>
}

/** What a call came to: an exit, or a refusal with a status and one line. */
export interface Answered {
  readonly status: number
  readonly said: ReadonlyArray<unknown>
}

export const makeEdgeWorld = (options: EdgeWorldOptions = {}) => {
  const limits = makeLimits({ heartbeatMillis: 60_000, ...options.limits })
  const agents = new Map([echo, ...(options.agents ?? [])].map((one) => [one.agent.name, one]))
  const living = new Map<string, Living>()
  const shared = {
    limits,
    codeVersion: "v1",
    agentsDigest: agentsDigest(agents),
    failpoints: inert,
    ...(options.authorizer === undefined ? {} : { authorizer: options.authorizer }),
  }

  const reach = (name: string, make: (storage: NodeStorage) => Omit<Living, "storage">) => {
    const found = living.get(name)
    if (found !== undefined) return inMemoryTarget(found.target)
    const storage = openNodeStorage()
    const made = { storage, ...make(storage) }
    living.set(name, made)
    return inMemoryTarget(made.target)
  }
  const owner = (ownerId: OwnerId): WireTarget =>
    reach(ownerId, (storage) => {
      const runtime = makeOwnerRuntime(makeNodeHost({ name: ownerId, storage }), {
        ...shared,
        thread: (_owner, threadId) => thread(ownerId, threadId),
        peer: owner,
        registry: registry(),
      })
      const ring = async () => {
        const at = storage.alarmAt()
        if (at === null || at > Date.now()) return
        storage.alarm.delete()
        await runtime.alarm()
      }
      return { target: runtime, ring }
    })
  const thread = (ownerId: OwnerId, threadId: ThreadId): WireTarget => {
    const name = threadObjectName(ownerId, threadId)
    return reach(name, (storage) => ({
      target: makeThread(makeNodeHost({ name, storage }), {
        ...shared,
        agents,
        services: Layer.empty,
        owner: () => owner(ownerId),
      }),
      ring: () => Promise.resolve(),
    }))
  }
  const registry = (): WireTarget =>
    reach("registry", (storage) => ({
      target: makeRegistryRuntime(makeNodeHost({ name: "registry", storage }), shared),
      ring: () => Promise.resolve(),
    }))
  const targets = { owner, thread, registry, close: () => undefined }

  const handler = makeHttpHandler({ targets: () => targets, limits, version: () => "v-1" })
  const written = ({ storage }: Living): number => {
    const counts = storage.counts()
    return counts.written + counts.alarmWrites
  }

  return {
    /** The objects that were ever reached. */
    reached: () => [...living.keys()].toSorted(),
    /** Rows and alarms that were ever written, of all objects but those of the owners that are left out. */
    written: (...without: ReadonlyArray<string>): number =>
      [...living]
        .filter(([name]) => !without.some((one) => name === one || name.startsWith(`${one}/`)))
        .reduce((sum, [, one]) => sum + written(one), 0),
    /** Waits until what was let through writes no more, alarms aside. */
    calm: async (...without: ReadonlyArray<string>): Promise<void> => {
      const look = () =>
        [...living]
          .filter(([name]) => !without.some((one) => name === one || name.startsWith(`${one}/`)))
          .reduce((sum, [, one]) => sum + written(one), 0)
      for (let still = 0, seen = look(); still < 3;) {
        await new Promise((resolve) => setImmediate(resolve))
        const now = look()
        still = now === seen ? still + 1 : 0
        seen = now
      }
    },
    /** Rows that were ever read, of all objects. */
    read: (): number =>
      [...living.values()].reduce((sum, { storage }) => sum + storage.counts().read, 0),
    /** One call over a service binding whose caller has these props. */
    overBinding: (props: unknown, message: unknown, sink?: WireSink): Promise<WireExit> =>
      Effect.runPromise(
        makeEdge({ identity: identityOfProps(props), targets }).pipe(
          Effect.flatMap((edge) => Effect.promise(() => edge.call(message as WireMessage, sink))),
          Effect.scoped,
          Effect.provideService(CurrentLimits, limits),
        ),
      ),
    fetch: (request: Request): Promise<Response> =>
      handler(request, { HEDDLE_JWT_SECRET: secret }, { waitUntil: () => undefined }),
    /** One body over HTTPS with this token. */
    overHttps: async (token: string | undefined, body: RequestInit["body"]): Promise<Answered> => {
      const headers = token === undefined ? {} : bearer(token)
      const request = rpcRequest(body, headers, { duplex: "half" } as RequestInit)
      const response = await handler(
        request,
        { HEDDLE_JWT_SECRET: secret },
        { waitUntil: () => undefined },
      )
      return { status: response.status, said: await messages(response) }
    },
    /** Delivers alarms until no owner owes anything and nobody writes any more. */
    rest: async (): Promise<void> => {
      const end = Date.now() + 10_000
      for (let still = 0, seen = -1; still < 20;) {
        if (Date.now() > end) throw new Error(`not at rest: ${[...living.keys()].join(", ")}`)
        for (const one of living.values()) await one.ring()
        await new Promise((resolve) => setImmediate(resolve))
        const isAwake = [...living.values()].some(({ storage }) => storage.alarmAt() !== null)
        const now = [...living.values()].reduce((sum, one) => sum + written(one), 0)
        still = isAwake || now !== seen ? 0 : still + 1
        seen = now
      }
    },
  }
}

export type EdgeWorld = ReturnType<typeof makeEdgeWorld>

/**
 * The package root: agents in, one deployable Worker out.
 *
 * `Heddle.make` joins what does not know one another: the thread actors and the owner object, which
 * meet over their contracts only, and the edges in front of them.
 *
 * - M1 What is wrong with a deployment is told before it takes work: an old compatibility date and a
 *   doubled agent when the module loads, a missing binding at the first use of its environment.
 */
import { type Duration, Layer } from "effect"
import type { Authorizer } from "./contracts/Authorization.ts"
import { checkTrusted, makeBearer, type TrustedBy } from "./client/Auth.ts"
import { assetsOf } from "./client/Console.ts"
import { checkOrigins } from "./client/Cors.ts"
import { type EntrypointClass, makeEntrypoint } from "./client/Entrypoint.ts"
import { type HttpHandler, makeHttpHandler } from "./client/Http.ts"
import type { RateLimiter } from "./client/RateLimit.ts"
import { makeScheduledHandler, type ScheduledHandler } from "./client/Scheduled.ts"
import { sinkFrom } from "./client/sinks/Sink.ts"
import { type ObjectNamespace, objectTargets } from "./client/ObjectTargets.ts"
import {
  type AgentId,
  type OwnerId,
  type ThreadId,
  threadObjectName,
} from "./contracts/Identifiers.ts"
import { type Limits, makeLimits } from "./contracts/Limits.ts"
import { type Observability, telemetryOf } from "./contracts/observability/Observability.ts"
import type { HeddleSink } from "./contracts/Publication.ts"
import { registryName } from "./contracts/RegistryRpc.ts"
import { stubTarget } from "./contracts/transport/StubTarget.ts"
import type { AcceptMessages } from "./owner-object/AcceptMessages.ts"
import { checkHostLanes, type HostLane } from "./owner-object/HostLane.ts"
import { makeOwnerObject } from "./owner-object/OwnerObject.ts"
import { makeOwnerRegistry, type OwnerRegistryClass } from "./owner-object/OwnerRegistry.ts"
import { type Failpoints, inert } from "./platform/Failpoint.ts"
import type { FailpointsOf } from "./platform/ObjectUnderTest.ts"
import { type AgentLive, type Agents, maxRunningOf } from "./thread-actors/Agent.ts"
import { agentsDigest } from "./thread-actors/AgentsDigest.ts"
import { readPeriod } from "./thread-actors/RetentionPeriod.ts"
import { makeThreadActor } from "./thread-actors/ThreadActor.ts"

export * as Agent from "./thread-actors/Agent.ts"
export * from "./contracts/index.ts"
export { HeddleClient } from "./client/HeddleClient.ts"
export { literal } from "./client/Auth.ts"
export type { Trusted, TrustedBy, TrustedProvider, TrustedSecrets } from "./client/Auth.ts"
export type { AcceptMessages, MessageRequest } from "./owner-object/AcceptMessages.ts"
export type { HostLane, HostLaneContext } from "./owner-object/HostLane.ts"
export type { Observability } from "./contracts/observability/Observability.ts"
export { otlp } from "./contracts/observability/OtlpConfig.ts"
export type { OtlpOptions } from "./contracts/observability/Otlp.ts"
export type { RateLimiter } from "./client/RateLimit.ts"
export { type QueueProducer, queueSink } from "./client/sinks/QueueSink.ts"
export type { SinkFrom } from "./client/sinks/Sink.ts"
export type { FailpointsOf, ObjectUnderTest } from "./platform/ObjectUnderTest.ts"
export { workerSink } from "./client/sinks/WorkerSink.ts"

/** The services that the handlers of these agents need. */
export type Requirements<Registered extends ReadonlyArray<AgentLive<unknown>>> = [
  Registered[number],
] extends [never]
  ? never
  : Registered[number] extends AgentLive<infer R>
    ? R
    : never

/** The handlers' services, or how to make them from the Worker's environment. */
export type Services<R> = Layer.Layer<R> | ((env: never) => Layer.Layer<R>)

interface Options<Registered> {
  /** Every agent of the deployment, each name once. */
  readonly agents: Registered
  /** Overrides of the documented defaults. */
  readonly limits?: Partial<Limits>
  /**
   * The names of the namespaces in the environment; `OWNERS`, `THREADS` and `REGISTRY` by default. A
   * deployment may do without the registry, unless it is named here. `assets` (`ASSETS`) has the console's files.
   */
  readonly bindings?: {
    readonly owners?: string
    readonly threads?: string
    readonly registry?: string
    readonly assets?: string
  }
  /** The application's own policy for public calls, besides the grants; or how to make it. */
  readonly authorizer?: Authorizer | ((env: never) => Authorizer)
  /**
   * What `search` finds besides the titles of threads. With `outcomes`, the outputs, failures and reasons with which
   * submissions end: an owner then keeps the beginning of each.
   */
  readonly search?: { readonly outcomes?: boolean }
  /**
   * Which threads of other owners may send messages to this owner's: asked by the owner of the target, once for
   * each delivery. None may by default.
   */
  readonly acceptMessages?: AcceptMessages
  /**
   * Where the records of each thread go, in batches, each at least once and in order: `queueSink`, `workerSink` or a sink
   * of your own. A thread begins no run, and goes on with none, before its sink has all that it has recorded.
   */
  readonly publication?: { readonly sink: HeddleSink | ((env: never) => HeddleSink) }
  /**
   * Whose bearer tokens HTTPS takes: secrets of the deployment, identity providers with published keys, or several of
   * them. By default `HEDDLE_JWT_SECRET` and, while it is rotated, `HEDDLE_JWT_SECRET_PREVIOUS`.
   */
  readonly tokens?: TrustedBy
  /** The origins, as in `https://app.example.com`, whose pages may call from a browser. None by default. */
  readonly corsOrigins?: ReadonlyArray<string>
  /** Counts the calls of each principal: a `[[ratelimits]]` binding. Nobody does by default. */
  readonly rateLimiter?: (env: never) => RateLimiter | undefined
  /**
   * How long the content of what has settled is kept: inputs, outputs, records and idempotency keys. For ever by default;
   * an agent may say otherwise for itself (`retention`).
   */
  readonly retention?: { readonly settledAfter: Duration.Input }
  /** How much is logged, and which collector is told of spans and metrics. */
  readonly observability?: Observability
  /** For tests only: where the objects may be made to crash or wait; for all, or for each its own. */
  readonly testing?: { readonly failpoints: Failpoints | FailpointsOf }
}

/** The services that the waves of these host lanes need. */
export type HostRequirements<Lanes extends ReadonlyArray<HostLane<unknown>>> = [
  Lanes[number],
] extends [never]
  ? never
  : Lanes[number] extends HostLane<infer R>
    ? R
    : never

/** What a deployment is made of. `services` must bring all that the handlers and the host lanes require. */
export type HeddleOptions<
  Registered extends ReadonlyArray<AgentLive<unknown>>,
  Lanes extends ReadonlyArray<HostLane<unknown>> = readonly [],
> = Options<Registered> & {
  /** Work of the application's own in each owner, in finite waves beside its threads. */
  readonly hostLanes?: Lanes
} & ([Requirements<Registered> | HostRequirements<Lanes>] extends [never]
    ? { readonly services?: Services<never> }
    : { readonly services: Services<Requirements<Registered> | HostRequirements<Lanes>> })

/** What a Worker exports: extend the classes, and hand out `fetch` and `scheduled`. */
export interface Deployment {
  readonly OwnerObject: ReturnType<typeof makeOwnerObject>
  readonly ThreadActor: ReturnType<typeof makeThreadActor>
  readonly OwnerRegistry: OwnerRegistryClass<unknown>
  readonly Entrypoint: EntrypointClass
  readonly fetch: HttpHandler
  /** For an hourly cron trigger: the last net under the alarms. */
  readonly scheduled: ScheduledHandler
}

/** A deployment that cannot work; the message says what to change. */
export class DeploymentError extends Error {
  override readonly name = "DeploymentError"
}

/** The agents by name. Throws when two have the same. */
const register = (agents: ReadonlyArray<AgentLive<unknown>>): Agents => {
  const byName = new Map<AgentId, AgentLive<never>>()
  for (const live of agents) {
    const { name } = live.agent
    if (byName.has(name)) {
      throw new DeploymentError(`Two agents are named "${name}"; give each a name of its own`) // M1
    }
    byName.set(name, live as AgentLive<never>)
  }
  return byName
}

/** The switch behind the date from which pending work keeps an object alive by itself. */
const neededFlag = "durable_object_io_tasks_prevent_eviction"

/** Throws on a runtime that would drop an attempt with its caller. */
const checkRuntime = (): void => {
  const flags = (
    globalThis as { Cloudflare?: { compatibilityFlags?: Readonly<Record<string, boolean>> } }
  ).Cloudflare?.compatibilityFlags
  if (flags !== undefined && flags[neededFlag] !== true) {
    throw new DeploymentError(
      'The compatibility date is too old: set compatibility_date = "2026-10-01" or later', // M1
    )
  }
}

const isNamespace = (value: unknown): value is ObjectNamespace =>
  typeof value === "object" && value !== null && "getByName" in value

const field = (env: unknown, name: string): unknown =>
  typeof env === "object" && env !== null ? (env as Record<string, unknown>)[name] : undefined

const namespaceOf = (env: unknown, name: string): ObjectNamespace => {
  const namespace = field(env, name)
  if (isNamespace(namespace)) return namespace
  throw new DeploymentError(
    `The environment has no Durable Object namespace "${name}": add it to durable_objects.bindings`, // M1
  )
}

const versionBinding = "CF_VERSION_METADATA"

/** The id of the deployment, where the platform tells it; else what the agents are. */
const codeVersionOf = (env: unknown, digest: string): string => {
  const id = field(field(env, versionBinding), "id")
  return typeof id === "string" && id !== "" ? id : digest
}

/** The policy of this environment, if the deployment has one. */
const policyOf = (
  authorizer: Authorizer | ((env: never) => Authorizer) | undefined,
  env: unknown,
): { readonly authorizer?: Authorizer } => {
  if (authorizer === undefined) return {}
  return { authorizer: typeof authorizer === "function" ? authorizer(env as never) : authorizer }
}

/** What a check throws, as what it means for a deployment. // M1 */
const deployable = <A>(check: () => A): A => {
  try {
    return check()
  } catch (error) {
    throw new DeploymentError(error instanceof Error ? error.message : "It cannot be deployed")
  }
}

/** What stands in front of the objects, as the options and the environment say. */
const edgeOf = (
  { bindings, corsOrigins = [], rateLimiter, tokens }: Options<unknown>,
  limits: Limits,
) => {
  deployable(() => checkOrigins(corsOrigins))
  const trusted = tokens as ((env: unknown) => ReturnType<TrustedBy>) | undefined
  const limiter = rateLimiter as ((env: unknown) => RateLimiter | undefined) | undefined
  return {
    assets: (env: unknown) => assetsOf(field(env, bindings?.assets ?? "ASSETS")),
    origins: corsOrigins,
    bearer: makeBearer({
      limits,
      // What `tokens` itself throws is not of our words: it may hold a secret, and is told as any defect.
      trusted:
        trusted &&
        ((env: unknown) => {
          const all = trusted(env)
          return deployable(() => checkTrusted(all))
        }),
    }),
    rateLimiter:
      limiter &&
      ((env: unknown): RateLimiter => {
        const found = limiter(env)
        if (found !== undefined) return found
        throw new DeploymentError(
          "The environment has no rate limiter where `rateLimiter` looks: add it to [[ratelimits]]", // M1
        )
      }),
  }
}

/** What the handlers need, as it is made from an environment. */
const servicesOf =
  (given: Services<never> = Layer.empty) =>
  (env: unknown): Layer.Layer<never> =>
    typeof given === "function" ? given(env as never) : given

/** The failpoints of each object. */
const failpointsIn =
  (failpoints: Failpoints | FailpointsOf = inert): FailpointsOf =>
  (object) =>
    typeof failpoints === "function" ? failpoints(object) : failpoints

/** How long what has settled is kept. */
const settledAfterOf = ({ retention }: Options<unknown>): number | undefined => {
  if (retention === undefined) return undefined
  const millis = readPeriod(retention.settledAfter)
  if (millis !== undefined) return millis
  throw new DeploymentError("retention.settledAfter must be a duration of a millisecond or more") // M1
}

/** The sink of an environment, if the deployment publishes. */
const sinkOf = (
  publication: Options<unknown>["publication"],
  env: unknown,
): HeddleSink | undefined => {
  if (publication === undefined) return undefined
  const sink = sinkFrom(publication.sink, env as never, (lacks) => new DeploymentError(lacks))
  if (typeof sink?.publish === "function") return sink
  throw new DeploymentError("publication.sink has no method `publish`: see docs/publish.md") // M1
}

/** The same for an owner, which goes on without: what its sink does not take comes again. */
const lateSinkOf = (
  publication: Options<unknown>["publication"],
  env: unknown,
): HeddleSink | undefined =>
  publication && { publish: async (batch) => sinkOf(publication, env)?.publish(batch) }

/** The host lanes, whose services the deployment brings. */
const hostLanesOf = (
  lanes: ReadonlyArray<HostLane<unknown>> = [],
  limits: Limits,
): ReadonlyArray<HostLane> => {
  deployable(() => checkHostLanes(lanes, limits))
  return lanes as ReadonlyArray<HostLane>
}

/** Where the objects of an environment are, and the ways to them once it has what the deployment needs. */
const namespacesOf = ({ bindings, publication }: Options<unknown>) => {
  const names = { owners: "OWNERS", threads: "THREADS", registry: "REGISTRY", ...bindings }
  const owners = (env: unknown) => namespaceOf(env, names.owners)
  const threads = (env: unknown) => namespaceOf(env, names.threads)
  const registry = (env: unknown): ObjectNamespace | undefined =>
    field(env, names.registry) === undefined && bindings?.registry === undefined
      ? undefined
      : namespaceOf(env, names.registry)
  const targets = (env: unknown) => {
    sinkOf(publication, env) // M1
    return objectTargets({ owners: owners(env), threads: threads(env), registry: registry(env) })
  }
  return { owners, threads, registry, targets }
}

const make = <
  const Registered extends ReadonlyArray<AgentLive<unknown>>,
  const Lanes extends ReadonlyArray<HostLane<unknown>> = readonly [],
>(
  options: HeddleOptions<Registered, Lanes>,
): Deployment => {
  checkRuntime()
  const agents = register(options.agents)
  const limits = makeLimits(options.limits)
  const hostLanes = hostLanesOf(options.hostLanes, limits)
  const failpointsOf = failpointsIn(options.testing?.failpoints)
  const digest = agentsDigest(agents)
  const maxRunning = maxRunningOf(agents)
  const settledAfterMillis = settledAfterOf(options)
  const services = servicesOf(options.services)
  const version = (env: unknown) => codeVersionOf(env, digest)
  const telemetry = (env: unknown) => telemetryOf(options.observability, env, version(env))
  const { owners, registry, targets, threads } = namespacesOf(options)
  const shared = (env: unknown) => ({
    limits,
    agentsDigest: digest,
    codeVersion: version(env),
    telemetry: telemetry(env),
    ...policyOf(options.authorizer, env),
  })
  const edge = { ...edgeOf(options, limits), limits, targets, version, telemetry }
  return {
    OwnerObject: makeOwnerObject((env: unknown, state) => {
      const namespace = threads(env)
      const peers = owners(env)
      const registers = registry(env)
      return {
        ...shared(env),
        failpoints: failpointsOf({ kind: "owner", state }),
        maxRunning,
        hostLanes,
        services: services(env),
        peer: (ownerId: OwnerId) => stubTarget(() => peers.getByName(ownerId)),
        acceptMessages: options.acceptMessages,
        sink: lateSinkOf(options.publication, env),
        searchesOutcomes: options.search?.outcomes,
        thread: (ownerId: OwnerId, threadId: ThreadId) =>
          stubTarget(() => namespace.getByName(threadObjectName(ownerId, threadId))),
        registry:
          registers === undefined ? undefined : stubTarget(() => registers.getByName(registryName)),
      }
    }),
    ThreadActor: makeThreadActor((env: unknown, state) => {
      const namespace = owners(env)
      return {
        ...shared(env),
        failpoints: failpointsOf({ kind: "thread", state }),
        agents,
        publishes: options.publication !== undefined,
        settledAfterMillis,
        services: services(env),
        owner: (ownerId: OwnerId) => stubTarget(() => namespace.getByName(ownerId)),
      }
    }),
    OwnerRegistry: makeOwnerRegistry(shared),
    Entrypoint: makeEntrypoint(edge),
    fetch: makeHttpHandler(edge),
    scheduled: makeScheduledHandler(edge),
  }
}

/** Makes a deployment of agents. Throws `DeploymentError` when it cannot work. */
export const Heddle = { make }

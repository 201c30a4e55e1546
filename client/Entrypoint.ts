/**
 * The service-binding entrypoint: `HeddleRpc` behind one native method, for other Workers.
 *
 * Whom it serves is said by the `props` of the caller's binding, and by nothing in the message.
 * A membrane: it starts the edge and awaits it.
 */
import { WorkerEntrypoint } from "cloudflare:workers"
import { Effect } from "effect"
import { InternalDefect } from "../contracts/Errors.ts"
import { CurrentLimits, type Limits } from "../contracts/Limits.ts"
import { jsonLog } from "../contracts/observability/JsonLog.ts"
import type { WireExit, WireMessage, WireSink, WireTarget } from "../contracts/transport/Wire.ts"
import { transportFailure } from "../contracts/transport/WireExits.ts"
import { makeEdge } from "./Edge.ts"
import { logDefect } from "./EdgeDefect.ts"
import { type Identity, identityOfProps } from "./Identity.ts"
import { observed, type ObserveInvocation } from "./Invocation.ts"
import type { ObjectTargets } from "./ObjectTargets.ts"
import { type Admission, admitted, type RateLimiter } from "./RateLimit.ts"

export interface EntrypointOptions {
  /** The objects, as this invocation reaches them. Throws when a binding is missing. */
  readonly targets: (env: unknown) => ObjectTargets
  readonly limits: Limits
  /** Who counts the calls of a principal, if anybody. */
  readonly rateLimiter?: ((env: unknown) => RateLimiter | undefined) | undefined
  /** Who collects the spans of an invocation, if anybody. */
  readonly telemetry?: ObserveInvocation | undefined
}

/** What runs before it is known who is served, or has failed. */
const runLogging = Effect.runPromiseWith(jsonLog())

const admissionOf = (
  identity: Identity,
  env: unknown,
  { limits, rateLimiter }: EntrypointOptions,
): Admission | undefined => {
  const limiter = identity._tag === "Verified" ? rateLimiter?.(env) : undefined
  if (limiter === undefined || identity._tag !== "Verified") return undefined
  return () => runLogging(admitted(limiter, identity.grants.principal, limits))
}

/** What `class Api extends heddle.Entrypoint {}` extends. */
export type EntrypointClass = new (
  ctx: ExecutionContext<unknown>,
  env: unknown,
) => WorkerEntrypoint<unknown, unknown> & WireTarget

/** The class to extend and export, so that other Workers can bind it. */
export const makeEntrypoint = (options: EntrypointOptions): EntrypointClass =>
  class extends WorkerEntrypoint<unknown, unknown> {
    /** One request in, its exit out; the values of a stream go to the sink meanwhile. Never rejects. */
    async call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
      try {
        return await this.#serve(message, sink)
      } catch (error) {
        const reference = await runLogging(logDefect("service binding's", error))
        return transportFailure(new InternalDefect({ reference }))
      }
    }

    async #serve(message: WireMessage, sink?: WireSink): Promise<WireExit> {
      const targets = options.targets(this.env)
      const identity = identityOfProps(this.ctx.props)
      const admission = admissionOf(identity, this.env, options)
      const telemetry = observed(options.telemetry, this.env, this.ctx)
      const served = makeEdge({ identity, targets, admission }).pipe(
        Effect.flatMap((edge) => Effect.promise(() => edge.call(message, sink))),
        Effect.scoped,
        Effect.ensuring(Effect.sync(targets.close)),
        Effect.provideService(CurrentLimits, options.limits),
        Effect.provideContext(telemetry.context),
      )
      return telemetry.event(() => Effect.runPromise(served))
    }
  }

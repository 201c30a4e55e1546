/**
 * The membrane of the owner registry: a Durable Object with one native method and no alarm.
 */
import { DurableObject } from "cloudflare:workers"
import type { WireExit, WireMessage, WireSink, WireTarget } from "../contracts/transport/Wire.ts"
import { makeDurableObjectHost } from "../platform/DurableObjectStorage.ts"
import { makeRegistryRuntime, type RegistryOptions } from "./RegistryRuntime.ts"

/** What a Worker exports as its registry class. */
export type OwnerRegistryClass<Env> = new (
  context: DurableObjectState,
  env: Env,
) => DurableObject<Env> & WireTarget

/** The class of the owner registry, for the options of one deployment. */
export const makeOwnerRegistry = <Env>(
  options: (env: Env) => RegistryOptions,
): OwnerRegistryClass<Env> =>
  class OwnerRegistry extends DurableObject<Env> {
    readonly #registry: WireTarget

    constructor(context: DurableObjectState, env: Env) {
      super(context, env)
      this.#registry = makeRegistryRuntime(makeDurableObjectHost(context), options(env))
    }

    /** Serves `RegistryRpc`. */
    call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
      return this.#registry.call(message, sink)
    }
  }

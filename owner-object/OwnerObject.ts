/**
 * The membrane of an owner: a Durable Object with one native method and an alarm.
 */
import { DurableObject } from "cloudflare:workers"
import type { WireExit, WireMessage, WireSink, WireTarget } from "../contracts/transport/Wire.ts"
import { makeDurableObjectHost } from "../platform/DurableObjectStorage.ts"
import { makeOwnerRuntime, type OwnerOptions, type OwnerRuntime } from "./OwnerRuntime.ts"

/** What a Worker exports as its owner class. */
export type OwnerObjectClass<Env> = new (
  context: DurableObjectState,
  env: Env,
) => DurableObject<Env> & WireTarget & { readonly alarm: () => Promise<void> }

/** The class of an owner object, for the options of one deployment. */
export const makeOwnerObject = <Env>(
  options: (env: Env, context: DurableObjectState) => OwnerOptions,
): OwnerObjectClass<Env> =>
  class OwnerObject extends DurableObject<Env> {
    readonly #owner: OwnerRuntime

    constructor(context: DurableObjectState, env: Env) {
      super(context, env)
      this.#owner = makeOwnerRuntime(makeDurableObjectHost(context), options(env, context))
    }

    /** Serves `OwnerRpc`. */
    call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
      return this.#owner.call(message, sink)
    }

    override alarm(): Promise<void> {
      return this.#owner.alarm()
    }
  }

/**
 * The membrane: the Durable Object class around a thread. It holds nothing and decides nothing.
 */
import { DurableObject } from "cloudflare:workers"
import type { WireExit, WireMessage, WireSink } from "../contracts/transport/Wire.ts"
import { makeDurableObjectHost } from "../platform/DurableObjectStorage.ts"
import { makeThread, type ThreadOptions, type ThreadRuntime } from "./ThreadRuntime.ts"

/** What a Worker exports. */
export type ThreadActorClass<Env> = new (
  ctx: DurableObjectState,
  env: Env,
) => DurableObject<Env> & {
  readonly call: (message: WireMessage, sink?: WireSink) => Promise<WireExit>
}

/** Makes the class that a Worker exports; the options are asked for once per incarnation. */
export const makeThreadActor = <Env>(
  options: (env: Env, ctx: DurableObjectState) => ThreadOptions,
): ThreadActorClass<Env> =>
  class ThreadActor extends DurableObject<Env> {
    readonly thread: ThreadRuntime

    constructor(ctx: DurableObjectState, env: Env) {
      super(ctx, env)
      this.thread = makeThread(makeDurableObjectHost(ctx), options(env, ctx))
    }

    call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
      return this.thread.call(message, sink)
    }
  }

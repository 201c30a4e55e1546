/**
 * The edges over real stubs of objects that only count: what the edge tests are run against.
 */
import { DurableObject } from "cloudflare:workers"
import { Effect, Scope, Stream } from "effect"
import { makeEntrypoint } from "../../client/Entrypoint.ts"
import { makeHttpHandler } from "../../client/Http.ts"
import { objectTargets } from "../../client/ObjectTargets.ts"
import type { ObserveFrame } from "../../contracts/JournalRecord.ts"
import { makeLimits } from "../../contracts/Limits.ts"
import { OwnerRpc } from "../../contracts/OwnerRpc.ts"
import { ThreadRpc } from "../../contracts/ThreadRpc.ts"
import { makeWireServer, type WireServer } from "../../contracts/transport/index.ts"
import type { WireExit, WireMessage, WireSink } from "../../contracts/transport/index.ts"
import { type Call, objectHandlers, provided } from "../unit/client/fakes.ts"

/** Short, so that a reader that has vanished is noticed while a test watches. */
const limits = makeLimits({ heartbeatMillis: 50 })

const beating = { heartbeatMillis: limits.heartbeatMillis }

type Served = Effect.Effect<WireServer, never, Scope.Scope>

const opened: ObserveFrame = { _tag: "Opened", tailSequence: 2 }

class Counting extends DurableObject {
  readonly #calls: Array<Call> = []
  readonly #waiting: Array<() => void> = []
  readonly #server: Promise<WireServer>

  constructor(
    ctx: DurableObjectState,
    env: Cloudflare.Env,
    serve: (handlers: ReturnType<typeof objectHandlers>) => Served,
  ) {
    super(ctx, env)
    const handlers = objectHandlers(this.#calls, {
      observe: Stream.concat(Stream.make(opened), Stream.never),
      awaitSettlement: () => Effect.never,
    })
    this.#server = Effect.runPromise(Scope.provide(serve(handlers), Scope.makeUnsafe()))
  }

  async call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
    const server = await this.#server
    try {
      return await server.call(message, sink)
    } finally {
      if (server.activeCalls() === 0) for (const tell of this.#waiting.splice(0)) tell()
    }
  }

  /** Resolves when no call runs. An event, not a question: asking again and again starves timers. */
  async idle(): Promise<void> {
    const server = await this.#server
    if (server.activeCalls() > 0) await new Promise<void>((tell) => this.#waiting.push(tell))
  }

  /** How many calls run now, and which reached a handler so far. */
  async seen(): Promise<{ active: number; calls: ReadonlyArray<Omit<Call, "payload">> }> {
    const calls = this.#calls.map(({ object, operation, caller }) => ({
      object,
      operation,
      caller,
    }))
    return { active: (await this.#server).activeCalls(), calls }
  }
}

export class EdgeOwner extends Counting {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env, ({ owner }) => provided(makeWireServer(OwnerRpc, beating), owner))
  }
}

export class EdgeThread extends Counting {
  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env, ({ thread }) => provided(makeWireServer(ThreadRpc, beating), thread))
  }
}

export const edge = {
  limits,
  targets: (env: unknown) => {
    const { EDGE_OWNER, EDGE_THREAD } = env as Cloudflare.Env
    return objectTargets({ owners: EDGE_OWNER, threads: EDGE_THREAD })
  },
  version: () => "v-test",
}

export class EdgeApi extends makeEntrypoint(edge) {}

/** Of a deployment that cannot work. */
export class BrokenApi extends makeEntrypoint({
  ...edge,
  targets: () => {
    throw new Error("sesame")
  },
}) {}

export const edgeFetch = makeHttpHandler(edge)

const limited = { ...edge, rateLimiter: (env: unknown) => (env as Cloudflare.Env).EDGE_LIMITER }

/** The same behind the platform's rate limiter: five calls a minute of each principal. */
export class LimitedApi extends makeEntrypoint(limited) {}

export const limitedFetch = makeHttpHandler(limited)

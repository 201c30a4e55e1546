/**
 * An object that serves a group over its one native method: the probe, or, by its name
 * (`ThreadRpc/…`), every rpc of a contract with samples of all it can answer.
 */
import { DurableObject } from "cloudflare:workers"
import { type Context, Effect, Layer, Scope, Stream } from "effect"
import type { Rpc, RpcGroup } from "effect/rpc"
import {
  makeWireClient,
  makeWireServer,
  stubTarget,
  type WireMessage,
  type WireServer,
  type WireSink,
} from "../../contracts/transport/index.ts"
import { contractGroups, middlewareLayer, sampleHandlers } from "../conformance/transport.ts"
import { makeProbe, ProbeRpc } from "../conformance/transport-probe.ts"

/** Short, so that a test need not wait for the default. */
const heartbeatMillis = 50

interface Served {
  readonly server: WireServer
  readonly counts: { readonly begun: number; readonly released: number }
}

const serve = (name: string): Served => {
  const scope = Scope.makeUnsafe()
  const contract = contractGroups[name.split("/")[0] ?? ""]
  const served: { server?: WireServer } = {}
  const probe = makeProbe(() => served.server)
  const build = Effect.gen(function* () {
    const context: Context.Context<never> = yield* Layer.build(
      Layer.merge(
        contract === undefined ? probe.handlers : sampleHandlers(contract),
        middlewareLayer,
      ) as Layer.Layer<never>,
    )
    const group = contract ?? (ProbeRpc as unknown as RpcGroup.RpcGroup<Rpc.Any>)
    return yield* Effect.provideContext(makeWireServer(group, { heartbeatMillis }), context)
  })
  const server = Effect.runSync(Scope.provide(build, scope))
  served.server = server
  return { server, counts: probe.counts }
}

export class TransportProbe extends DurableObject<Cloudflare.Env> {
  readonly served = serve(this.ctx.id.name ?? "")
  readonly values: Array<string> = []

  call(message: WireMessage, sink?: WireSink) {
    return this.served.server.call(message, sink)
  }

  /** Reads the quiet stream of another object, for as long as both live. */
  async read(name: string): Promise<void> {
    const read = Effect.gen({ self: this }, function* () {
      const target = stubTarget(() => this.env.TRANSPORT_PROBE.getByName(name))
      const client = yield* makeWireClient(ProbeRpc, { target: () => target })
      yield* Stream.runForEach(client.quiet({}), (value) =>
        Effect.sync(() => this.values.push(value)),
      )
    })
    await Effect.runPromise(Effect.scoped(read))
  }

  /** What `read` has seen so far. */
  seen(): ReadonlyArray<string> {
    return this.values
  }

  crash(): void {
    this.ctx.abort("crash")
  }
}

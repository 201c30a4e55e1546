/** A served probe and what the transport tests share. */
import { Effect, Layer, Logger, type Scope } from "effect"
import {
  inMemoryTarget,
  type InMemoryHooks,
  makeWireClient,
  makeWireServer,
  type WireClient,
  type WireClientOptions,
  type WireServer,
  type WireServerOptions,
} from "../../../contracts/transport/index.ts"
import type { RpcGroup } from "effect/rpc"
import { makeProbe, ProbeRpc } from "../../conformance/transport-probe.ts"

type ProbeRpcs = RpcGroup.Rpcs<typeof ProbeRpc>

export interface Probe {
  readonly server: WireServer
  readonly client: WireClient<ProbeRpcs>
  readonly counts: { begun: number; released: number; produced: number }
  /** What was logged, message and cause as text. */
  readonly log: Array<string>
}

export const makeServedProbe = Effect.fnUntraced(function* (
  options: {
    readonly hooks?: InMemoryHooks
    readonly server?: WireServerOptions
    readonly client?: Partial<WireClientOptions<ProbeRpcs>>
  } = {},
): Effect.fn.Return<Probe, never, Scope.Scope> {
  const log: Array<string> = []
  const logger = Logger.make(({ cause, logLevel, message }) => {
    const reasons = cause.reasons.map((reason) =>
      reason._tag === "Die" ? String(reason.defect) : reason._tag,
    )
    log.push(`${logLevel} ${String(message)} ${reasons.join(" ")}`)
  })
  const served: { server?: WireServer } = {}
  const probe = makeProbe(() => served.server)
  const context = yield* Layer.build(Layer.merge(probe.handlers, Logger.layer([logger])))
  const server = yield* Effect.provideContext(makeWireServer(ProbeRpc, options.server), context)
  served.server = server
  const target = inMemoryTarget(server, options.hooks)
  const client = yield* makeWireClient(ProbeRpc, { target: () => target, ...options.client })
  return { server, client, counts: probe.counts, log }
})

const turn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Waits, turn by turn of the event loop, until it holds; tells the state it saw last otherwise. */
export const until = Effect.fnUntraced(function* (
  what: string,
  holds: () => boolean,
  saw: () => unknown = () => undefined,
) {
  // Of time, and not of turns: on a slow machine a turn is soon over that has little to do.
  for (const end = performance.now() + 10_000; performance.now() < end;) {
    if (holds()) return
    yield* turn
  }
  return yield* Effect.die(new Error(`waited in vain until ${what}: ${JSON.stringify(saw())}`))
})

/** Gives everything that is ready its turn. */
export const settle = Effect.repeat(turn, { times: 20 })

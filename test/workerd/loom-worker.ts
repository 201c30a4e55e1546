/**
 * The loom in the real runtime: the classes that `Heddle.make` gives, chosen by the owner's name.
 *
 * An owner is called `profile.something`: `plain` has the documented limits, `quick` has the same
 * with short waits and small results, `published` is quick and publishes, `mixed` is quick and patient, `ring` is quick with messages, `metered` is plain and counted, `full` has a database that is
 * full once a thread holds anything, `traced` is quick and tells a collector. A deployment without the agent `guest` can take over in between.
 */
import { DurableObject } from "cloudflare:workers"
import { Effect, Layer } from "effect"
import { Heddle, type HostLane, type Limits, otlp } from "../../heddle.ts"
import type { WireExit, WireMessage, WireSink } from "../../contracts/transport/index.ts"
import { agents, agentsWithGuest, carriedOut, payments, requests } from "./loom-agents.ts"
import {
  brokenServices,
  brokenStorage,
  countIn,
  failpointsOf,
  ownerOfName,
  refusedStarts,
  wavesMade,
  wavesWanted,
  withoutGuest,
} from "./loom-control.ts"
import { collectorUrl, listen } from "./loom-collector.ts"
import { attachMeter, countCall, orderOf } from "./loom-meter.ts"
import { loomSink } from "./loom-sink.ts"

const quick: Partial<Limits> = {
  stepResultBytes: 4_096,
  coverMillis: 50,
  passRetryMillis: 20,
  alarmFallbackMillis: 50,
  dispatchGraceMillis: 1_000,
  attentionMillis: 30,
  laneBackoffMillis: 2,
  laneBackoffMaxMillis: 20,
  transportBackoffMaxMillis: 20,
  clockAllowanceMillis: 0,
  oldInstanceMillis: 30,
  lostBackoffMillis: 5,
  lostBackoffMaxMillis: 20,
  faultRetryMillis: 20,
  registryMillis: 200,
  registryRetryMillis: 20,
  bindingWaitMillis: 20,
  bindingWaitMaxMillis: 40,
  // Long enough that a push comes first, short enough to wait for when a push is lost.
  watchMillis: 400,
  watchMaxMillis: 400,
}

const profiles = {
  plain: {},
  metered: {},
  quick,
  // A call that hangs is given up after seconds, and no run is given up for being lost.
  mixed: { ...quick, recoverMillis: 2_500, attemptsLost: 1_000_000 },
  // Its records are published; a sink that is down is tried again soon.
  published: { ...quick, publishRetryMillis: 20, publishRetryMaxMillis: 40 },
  // What makes a crash cost milliseconds; nothing is given up sooner.
  ring: { ...quick, attemptsLost: 1_000_000, messageRetryMillis: 5, messageRetryMaxMillis: 50 },
  full: { ...quick, databaseBytes: 130_000 },
  traced: quick,
} satisfies Record<string, Partial<Limits>>

export type Profile = keyof typeof profiles

const profileOf = (ownerId: string): Profile => (ownerId.split(".")[0] ?? "plain") as Profile

/** The services of the agents: none, but they can fail to start. */
const services = (ownerId: string) =>
  Layer.effectDiscard(
    Effect.suspend(() => {
      if (!brokenServices.has(ownerId)) return Effect.void
      countIn(refusedStarts, ownerId)
      return Effect.die(new Error("the services do not start"))
    }),
  )

const bindings = { owners: "LOOM_OWNERS", threads: "LOOM_THREADS", registry: "LOOM_REGISTRY" }

/** A host lane that makes as many waves as a test wants of it: none in most owners. */
const waves: HostLane = {
  name: "waves",
  allowanceMillis: 1_000,
  run: ({ ownerId }) => Effect.sync(() => countIn(wavesMade, ownerId)),
  nextDeadline: ({ ownerId }) =>
    Effect.sync(() =>
      (wavesMade.get(ownerId) ?? 0) < (wavesWanted.get(ownerId) ?? 0) ? 1 : undefined,
    ),
}

const observability = {
  otlp: otlp({ url: collectorUrl, headers: { authorization: "Basic abc" }, serviceName: "loom" }),
}
listen()

const deploymentOf = (ownerId: string) => {
  const options = {
    limits: profiles[profileOf(ownerId)],
    bindings,
    testing: { failpoints: failpointsOf },
    services: services(ownerId),
    hostLanes: profileOf(ownerId) === "quick" ? [waves] : [],
    ...(profileOf(ownerId) === "published" ? { publication: { sink: loomSink } } : {}),
    ...(profileOf(ownerId) === "traced" ? { observability } : {}),
  }
  return withoutGuest.has(ownerId)
    ? Heddle.make({ ...options, agents })
    : Heddle.make({ ...options, agents: agentsWithGuest })
}

/** Has every statement fail while the owner's storage is said to be broken. */
const attachFault = (ownerId: string, { storage: { sql } }: DurableObjectState): void => {
  const exec = sql.exec.bind(sql)
  Object.defineProperty(sql, "exec", {
    value: (...given: Parameters<typeof exec>) => {
      if (!brokenStorage.has(ownerId)) return exec(...given)
      countIn(refusedStarts, ownerId)
      throw new Error("disk I/O error")
    },
  })
  faulty.add(sql)
}
const faulty = new Set<object>()

export class LoomOwner extends DurableObject<Cloudflare.Env> {
  readonly #inner
  readonly #name = this.ctx.id.name ?? ""

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    if (profileOf(this.#name) === "metered") attachMeter("owner", ctx)
    else attachFault(this.#name, ctx)
    this.#inner = new (deploymentOf(this.#name).OwnerObject)(ctx, env)
  }

  async call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
    countCall(this.#name)
    const exit = await this.#inner.call(message, sink)
    orderOf(this.#name).push("owner reply")
    return exit
  }

  override async alarm(): Promise<void> {
    await this.#inner.alarm()
  }
}

export class LoomThread extends DurableObject<Cloudflare.Env> {
  readonly #inner

  constructor(ctx: DurableObjectState, env: Cloudflare.Env) {
    super(ctx, env)
    const ownerId = ownerOfName(ctx.id.name)
    if (profileOf(ownerId) === "metered") attachMeter("thread", ctx)
    this.#inner = new (deploymentOf(ownerId).ThreadActor)(ctx, env)
  }

  call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
    countCall(this.ctx.id.name ?? "")
    return this.#inner.call(message, sink)
  }
}

/** The world outside of the loom. */
export class LoomBank extends DurableObject<Cloudflare.Env> {
  pay(name: string): string {
    countIn(payments, name)
    return "paid"
  }

  /** Carries the payment out a while after the request came, whatever becomes of who asked. */
  async paySlowly(name: string, millis: number): Promise<string> {
    countIn(requests, name)
    await new Promise((resolve) => setTimeout(resolve, millis))
    countIn(carriedOut, name)
    return "paid"
  }
}

const deployment = Heddle.make({ agents, bindings })

/** The public edge, the registry and the cron: their objects are those above. */
export class LoomApi extends deployment.Entrypoint {}
export class LoomTracedApi extends Heddle.make({ agents, bindings, observability }).Entrypoint {}
export class LoomRegistry extends deployment.OwnerRegistry {}
export const loomScheduled = deployment.scheduled

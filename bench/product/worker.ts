/**
 * The Worker under measurement: a deployment as users make one, with the documented limits, and around it what a
 * measurement needs: passes that can be held, settlements that are counted, storages that count.
 */
import { DurableObject } from "cloudflare:workers"
import { Duration, Effect, Schema } from "effect"
import { callerHeaders } from "../../contracts/Authorization.ts"
import { OwnerId, Principal, ThreadId } from "../../contracts/Identifiers.ts"
import { OwnerRpc } from "../../contracts/OwnerRpc.ts"
import { stubTarget } from "../../contracts/transport/StubTarget.ts"
import type { WireExit, WireMessage, WireSink } from "../../contracts/transport/Wire.ts"
import { makeWireClient } from "../../contracts/transport/WireClient.ts"
import { Agent, Heddle } from "../../heddle.ts"
import { Bare } from "../Bare.ts"
import { control, countSettled, whileHeld } from "../Control.ts"
import { metered, meteredCall, peekCounts, takeCounts } from "../Meter.ts"
import { addLanes, addRecords, openRecords } from "./Seed.ts"

export { Bare }

interface Env {
  readonly OWNERS: DurableObjectNamespace<Owner>
  readonly THREADS: DurableObjectNamespace<Thread>
  readonly BARE: DurableObjectNamespace<Bare>
}

const noop = Agent.make("noop", { input: Schema.Json, output: Schema.Null }).handler(() =>
  Effect.succeed(null),
)

/** Waits in its handler, as an agent that calls somebody does. */
const wait = Agent.make("wait", {
  input: Schema.Struct({ waitMillis: Schema.Number }),
  output: Schema.Null,
}).handler(({ waitMillis }) => Effect.as(Effect.sleep(waitMillis), null))

const steps = Agent.make("steps", {
  input: Schema.Struct({ count: Schema.Number, waitMillis: Schema.Number }),
  output: Schema.Null,
}).handler(
  Effect.fnUntraced(function* ({ count, waitMillis }, run) {
    for (let step = 0; step < count; step++)
      yield* run.step(`step-${step}`, Schema.Null, Effect.as(Effect.sleep(waitMillis), null))
    return null
  }),
)

/** Gives back what it was given. */
const echo = Agent.make("echo", { input: Schema.String, output: Schema.String }).handler((text) =>
  Effect.succeed(text),
)

/** Waits for a word that never comes: it stays with its thread, and asks for nothing. */
const idle = Agent.make("idle", { input: Schema.Json, output: Schema.Null }).handler((_, run) =>
  run.waitFor("never", Schema.Null),
)

/** Waits for a time with nothing in memory. */
const sleep = Agent.make("sleep", {
  input: Schema.Struct({ waitMillis: Schema.Number }),
  output: Schema.Null,
}).handler(({ waitMillis }, run) =>
  Effect.as(run.sleep("until", Duration.millis(waitMillis)), null),
)

const heddle = Heddle.make({
  agents: [noop, wait, steps, echo, idle, sleep],
  testing: {
    failpoints: ({ kind }) => ({
      reach: (point) => {
        if (kind === "owner" && point === "begin:before") return Effect.promise(whileHeld)
        if (kind === "thread" && point === "settle:after") return Effect.sync(() => countSettled())
        return Effect.void
      },
    }),
  },
})

const operationOf = (message: WireMessage): string =>
  message._tag === "Request" ? message.tag : "interrupt"

export class Owner extends DurableObject<Env> {
  readonly #inner: InstanceType<typeof heddle.OwnerObject>

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    this.#inner = new heddle.OwnerObject(metered("owner", ctx), env)
  }

  call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
    const object = { kind: "owner", state: this.ctx } as const
    return meteredCall(object, operationOf(message), () => this.#inner.call(message, sink))
  }

  override async alarm(): Promise<void> {
    await meteredCall({ kind: "owner", state: this.ctx }, "alarm", async () => this.#inner.alarm())
  }

  /** The bytes of its database. */
  size(): number {
    return this.ctx.storage.sql.databaseSize
  }

  /** More threads than anybody would submit to for a measurement, put beside the others as they are. */
  addLanes(count: number, work: "dispatch" | null): void {
    addLanes(this.ctx.storage.sql, count, work)
  }
}

export class Thread extends DurableObject<Env> {
  readonly #inner: InstanceType<typeof heddle.ThreadActor>

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env)
    this.#inner = new heddle.ThreadActor(metered("thread", ctx), env)
  }

  call(message: WireMessage, sink?: WireSink): Promise<WireExit> {
    const object = { kind: "thread", state: this.ctx } as const
    return meteredCall(object, operationOf(message), () => this.#inner.call(message, sink))
  }

  /** As a machine that is lost. */
  die(): void {
    this.ctx.abort("the measurement has it die here")
  }

  /** A longer past than anybody would wait for. */
  addRecords(count: number): void {
    addRecords(this.ctx.storage.sql, count)
  }

  /** The rows and records of its open submissions: what recovery has to decide about. */
  openRecords(): number {
    return openRecords(this.ctx.storage.sql)
  }

  /** The bytes of its database. */
  size(): number {
    return this.ctx.storage.sql.databaseSize
  }
}

export class Registry extends heddle.OwnerRegistry {}

const headers = callerHeaders({ _tag: "Principal", principal: Principal.make("bench") })

/** So many calls one after the other, over one kept client as objects keep theirs. */
const typedCalls = (env: Env, owner: string, times: number): Promise<void> =>
  Effect.gen(function* () {
    const stub = env.OWNERS.getByName(owner)
    const target = stubTarget(() => stub)
    const client = yield* makeWireClient(OwnerRpc, { headers, target: () => target })
    const ownerId = OwnerId.make(owner)
    const address = { ownerId, threadId: ThreadId.make("a") }
    for (let call = 0; call < times; call++) yield* client.recoveryStatus(address)
  }).pipe(Effect.scoped, Effect.orDie, Effect.runPromise)

const bareCalls = async (env: Env, owner: string, times: number): Promise<void> => {
  const stub = env.BARE.getByName(owner)
  for (let call = 0; call < times; call++) await stub.status()
}

const threadOf = (env: Env, url: URL): DurableObjectStub<Thread> =>
  env.THREADS.getByName(`${url.searchParams.get("owner")}/${url.searchParams.get("thread")}`)

let requests = 0

/** How many requests the product's Worker has served since the last time. */
const takeRequests = (): number => {
  const served = requests
  requests = 0
  return served
}

const measured = async (url: URL, env: Env): Promise<Response | undefined> => {
  const owner = url.searchParams.get("owner") ?? ""
  const count = Number(url.searchParams.get("count") ?? 1)
  switch (url.pathname) {
    case "/bench/typed":
      await typedCalls(env, owner, count)
      return new Response("")
    case "/bench/bare":
      await bareCalls(env, owner, count)
      return new Response("")
    case "/bench/counts":
      return Response.json(takeCounts(owner))
    case "/bench/peek":
      return Response.json(peekCounts(owner))
    case "/bench/names":
      return Response.json({
        owner: env.OWNERS.idFromName(owner).toString(),
        thread: env.THREADS.idFromName(`${owner}/${url.searchParams.get("thread")}`).toString(),
      })
    case "/bench/lanes":
      await env.OWNERS.getByName(owner).addLanes(
        count,
        url.searchParams.get("work") === "dispatch" ? "dispatch" : null,
      )
      return new Response("")
    case "/bench/records": {
      await threadOf(env, url).addRecords(count)
      return new Response("")
    }
    case "/bench/open":
      return Response.json(await threadOf(env, url).openRecords())
    case "/bench/size":
      return Response.json({
        owner: await env.OWNERS.getByName(owner).size(),
        thread: await threadOf(env, url).size(),
      })
    case "/bench/requests":
      return Response.json(takeRequests())
    case "/bench/die": {
      await threadOf(env, url)
        .die()
        .catch(() => undefined)
      return new Response("")
    }
    default:
      return control(url)
  }
}

export default {
  fetch: async (request: Request, env: Env, context: ExecutionContext): Promise<Response> => {
    const url = new URL(request.url)
    if (!url.pathname.startsWith("/bench/")) {
      requests += 1
      return heddle.fetch(request, env, context)
    }
    return (await measured(url, env)) ?? new Response("not found", { status: 404 })
  },
}

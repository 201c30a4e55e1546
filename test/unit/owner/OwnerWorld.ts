/**
 * One owner over its threads: the real owner on `node:sqlite`, the real wire, a real clock with
 * shortened limits, and alarms that the test delivers.
 */
import { Context, Effect, Scope } from "effect"
import { type Authorizer, callerHeaders } from "../../../contracts/Authorization.ts"
import {
  AgentId,
  IdempotencyKey,
  OwnerId,
  Principal,
  ThreadId,
} from "../../../contracts/Identifiers.ts"
import { type Limits, makeLimits } from "../../../contracts/Limits.ts"
import type { HeddleSink } from "../../../contracts/Publication.ts"
import { OwnerRpc } from "../../../contracts/OwnerRpc.ts"
import {
  connectionLost,
  inMemoryTarget,
  type InMemoryHooks,
} from "../../../contracts/transport/InMemory.ts"
import type { WireTarget } from "../../../contracts/transport/Wire.ts"
import { makeWireClient, type WireClient } from "../../../contracts/transport/WireClient.ts"
import type { RpcGroup } from "effect/rpc"
import type { HostLane } from "../../../owner-object/HostLane.ts"
import type { AcceptMessages } from "../../../owner-object/AcceptMessages.ts"
import { makeOwnerRuntime, type OwnerRuntime } from "../../../owner-object/OwnerRuntime.ts"
import { type Failpoints, inert } from "../../../platform/Failpoint.ts"
import { makeNodeHost, openNodeStorage } from "../../../platform/NodeStorage.ts"
import type { ObjectStorage } from "../../../platform/ObjectStorage.ts"
import { FakeThread } from "./FakeThread.ts"

export const ownerId = OwnerId.make("tenant")
export const agent = AgentId.make("agent")

export const shortLimits: Partial<Limits> = {
  coverMillis: 40,
  mutationMillis: 400,
  visitMillis: 60,
  attentionMillis: 10,
  dispatchGraceMillis: 50,
  recoverMillis: 100,
  forgetMillis: 60,
  claimMillis: 60,
  deliverMillis: 60,
  outboxGatherMillis: 5,
  outboxPatienceMillis: 20,
  publishMillis: 60,
  publishRetryMillis: 5,
  publishRetryMaxMillis: 20,
  outboxRetryMillis: 5,
  outboxRetryMaxMillis: 20,
  forgetWaitMillis: 60,
  forgetRetryMillis: 5,
  forgetRetryMaxMillis: 20,
  registryMillis: 50,
  registryRetryMillis: 5,
  registryRetryMaxMillis: 40,
  laneBackoffMillis: 4,
  laneBackoffMaxMillis: 20,
  transportBackoffMaxMillis: 20,
  letGoMillis: 20,
  passRetryMillis: 5,
  passRetryMaxMillis: 20,
  projectionMillis: 2,
  projectionRideMillis: 20,
  projectionRetryMillis: 2,
}

export interface WorldOptions {
  readonly limits?: Partial<Limits>
  readonly failpoints?: Failpoints
  readonly authorizer?: Authorizer
  /** How many attempts of an agent may run at once. */
  readonly maxRunning?: ReadonlyMap<AgentId, number>
  readonly searchesOutcomes?: boolean
  readonly hostLanes?: ReadonlyArray<HostLane>
  /** What happens to messages between owner and threads. */
  readonly hooks?: InMemoryHooks
  /** The name the platform gives the object; its owner's id by default. */
  readonly name?: string | undefined
  /** How long an alarm must stand unchanged beyond its time before it is delivered. */
  readonly alarmLagMillis?: number
  /** How far the object's clock is behind the one by which its alarms ring. */
  readonly clockBehindMillis?: number
  /** Asked before each use of the storage; throws to make it fail. */
  readonly storageFault?: (use: "transaction" | "commit" | "alarm" | "size") => void
  /** The owner registry; a deployment has none unless a test gives one. */
  readonly registry?: WireTarget
  /** The ways to other owners; none answers unless a test gives one. */
  readonly peer?: (ownerId: OwnerId) => WireTarget
  /** Which threads of other owners may send to those of this one. */
  readonly acceptMessages?: AcceptMessages
  /** Where records are published. */
  readonly sink?: HeddleSink
  /** Replaces the fake threads; `owner` is the way to this owner. */
  readonly thread?: (threadId: ThreadId, owner: WireTarget) => WireTarget
}

/** Where there is no other owner. */
const nobody: WireTarget = { call: () => Promise.reject(connectionLost()) }

/** A storage that an abandoned object can no longer write or read: what a crash does. */
const revocable = (storage: ObjectStorage, fault: WorldOptions["storageFault"]) => {
  let alive = true
  const guard = <A>(use: () => A): A => {
    if (!alive) throw new Error("this object is no more")
    return use()
  }
  const view: ObjectStorage = {
    sql: {
      all: (statement, ...bindings) => guard(() => storage.sql.all(statement, ...bindings)),
      run: (statement, ...bindings) => guard(() => storage.sql.run(statement, ...bindings)),
    },
    alarm: {
      get: () =>
        guard(() => {
          fault?.("alarm")
          return storage.alarm.get()
        }),
      set: (at) => guard(() => storage.alarm.set(at)),
      delete: () => guard(() => storage.alarm.delete()),
    },
    transaction: (block) =>
      guard(() => {
        fault?.("transaction")
        return storage.transaction(() => {
          const result = block()
          fault?.("commit")
          return result
        })
      }),
    sync: () => guard(() => storage.sync()),
    databaseBytes: () =>
      guard(() => {
        fault?.("size")
        return storage.databaseBytes()
      }),
    counts: () => storage.counts(),
  }
  return { view, revoke: () => void (alive = false) }
}

export const makeOwnerWorld = (options: WorldOptions = {}) => {
  const limits = makeLimits({ ...shortLimits, ...options.limits })
  const storage = openNodeStorage()
  const threads = new Map<string, FakeThread>()
  const targets = new Map<string, WireTarget>()

  const fake = (threadId: string): FakeThread => {
    const found = threads.get(threadId)
    if (found !== undefined) return found
    const thread = new FakeThread(threadId as ThreadId)
    threads.set(threadId, thread)
    return thread
  }
  const threadTarget = (threadId: ThreadId): WireTarget => {
    let target = targets.get(threadId)
    if (target === undefined) {
      target =
        options.thread?.(
          threadId,
          inMemoryTarget(() => current.runtime),
        ) ?? fake(threadId).target()
      targets.set(threadId, target)
    }
    return inMemoryTarget(target, options.hooks)
  }

  let failpoints = options.failpoints ?? inert
  let agentsDigest = "agents"
  let codeVersion = "v1"
  let sink = options.sink
  let maxRunning = options.maxRunning ?? new Map<AgentId, number>()
  const start = () => {
    const { view, revoke } = revocable(storage, options.storageFault)
    const runtime = makeOwnerRuntime(
      makeNodeHost({
        name: "name" in options ? options.name : ownerId,
        storage: view,
        now: () => Date.now() - (options.clockBehindMillis ?? 0),
      }),
      {
        limits,
        codeVersion,
        hostLanes: options.hostLanes,
        agentsDigest,
        maxRunning,
        thread: (_owner, threadId) => threadTarget(threadId),
        peer: (other) => options.peer?.(other) ?? nobody,
        acceptMessages: options.acceptMessages,
        sink,
        registry: options.registry,
        searchesOutcomes: options.searchesOutcomes,
        failpoints: { reach: (point) => failpoints.reach(point) },
        ...(options.authorizer === undefined ? {} : { authorizer: options.authorizer }),
      },
    )
    return { runtime, revoke }
  }
  let current = start()
  let delivering = false

  const connect = (headers: Record<string, string>): WireClient<RpcGroup.Rpcs<typeof OwnerRpc>> =>
    Effect.runSync(
      makeWireClient(OwnerRpc, {
        target: () => inMemoryTarget(() => current.runtime),
        headers,
      }).pipe(Effect.provideContext(Context.make(Scope.Scope, Scope.makeUnsafe()))),
    )
  const client = connect(callerHeaders({ _tag: "Principal", principal: Principal.make("tester") }))

  let keys = 0
  const submit = (threadId: string, key?: string, n?: number, of: AgentId = agent) =>
    client.submit({
      ownerId,
      threadId: ThreadId.make(threadId),
      agent: of,
      input: { n: n ?? ++keys },
      idempotencyKey: IdempotencyKey.make(key ?? `key-${keys}`),
    })

  /** Delivers the alarm if it is due, as the platform would. */
  const deliver = async (runtime: OwnerRuntime = current.runtime): Promise<boolean> => {
    const at = storage.alarmAt()
    if (at === null || at + (options.alarmLagMillis ?? 0) > Date.now()) return false
    storage.alarm.delete()
    delivering = true
    // A dead object's handler fails; the platform has delivered its alarm to the next one by then.
    await runtime.alarm().catch((error: unknown) => {
      if (runtime === current.runtime) throw error
    })
    // An object that died in it has handed it over to the next one.
    if (runtime === current.runtime) delivering = false
    return true
  }

  /** Delivers alarms until the condition holds. Bounded; a timeout tells the state. */
  const alarmsUntil = async (description: string, done: () => boolean): Promise<void> => {
    const until = Date.now() + 10_000
    while (!done()) {
      if (Date.now() > until) {
        const lanes = storage.sql.all("SELECT * FROM lanes")
        throw new Error(
          `not so: ${description}; alarm ${storage.alarmAt()}; ${JSON.stringify(lanes)}`,
        )
      }
      if (!(await deliver())) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Waits for the condition without delivering anything. */
  const until = async (description: string, holds: () => boolean): Promise<void> => {
    const end = Date.now() + 10_000
    while (!holds()) {
      if (Date.now() > end) throw new Error(`not so: ${description}; alarm ${storage.alarmAt()}`)
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** A pass that hangs before it begins, for this long; the next one is not kept. */
  const hangPass = async (millis: number): Promise<void> => {
    let hung = false
    failpoints = {
      reach: (point) =>
        Effect.suspend(() => {
          if (hung || point !== "begin:before") return Effect.void
          hung = true
          return Effect.never
        }),
    }
    storage.alarm.delete()
    void current.runtime.alarm()
    const hungAt = Date.now()
    await until("the pass hangs", () => hung && Date.now() > hungAt + millis)
  }

  return {
    hangPass,
    until,
    isDelivering: () => delivering,
    limits,
    storage,
    client,
    connect,
    thread: fake,
    submit,
    deliver,
    alarmsUntil,
    quiet: () => alarmsUntil("no alarm is armed", () => storage.alarmAt() === null),
    runtime: () => current.runtime,
    setFailpoints: (next: Failpoints) => void (failpoints = next),
    /** The object dies where it stands, and the next one starts from the same rows. */
    crash: (deployment?: {
      readonly agentsDigest?: string
      readonly codeVersion?: string
      readonly maxRunning?: ReadonlyMap<AgentId, number>
      readonly sink?: HeddleSink | undefined
    }) => {
      if (deployment !== undefined && "sink" in deployment) sink = deployment.sink
      maxRunning = deployment?.maxRunning ?? maxRunning
      codeVersion = deployment?.codeVersion ?? codeVersion
      agentsDigest = deployment?.agentsDigest ?? agentsDigest
      current.revoke()
      // The platform delivers an alarm again whose handler did not return.
      if (delivering && storage.alarmAt() === null) storage.alarm.set(Date.now())
      delivering = false
      current = start()
    },
    /** The lane's row; undefined also before there are tables. */
    lane: (threadId: string) =>
      storage.sql.all("SELECT 1 FROM sqlite_schema WHERE name = 'lanes'").length === 0
        ? undefined
        : storage.sql.all("SELECT * FROM lanes WHERE thread_id = ?", threadId)[0],
  }
}

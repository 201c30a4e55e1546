/**
 * A thread in Node for tests: the real wire, the real SQL, a clock that stands until it is moved, and
 * crashes. `crash` abandons an incarnation (whatever it still does, it does) and starts the next one on
 * the same database.
 */
import { Deferred, Effect, Layer, Scope } from "effect"
import { type Authorizer, callerHeaders } from "../../../contracts/Authorization.ts"
import {
  makeGeneration,
  type AgentId,
  type Generation,
  type OwnerId,
  type SubmissionId,
  type ThreadId,
} from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import { type Limits, makeLimits } from "../../../contracts/Limits.ts"
import { type HeadAnswer, ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import { inMemoryTarget } from "../../../contracts/transport/InMemory.ts"
import type { WireMessage, WireTarget } from "../../../contracts/transport/Wire.ts"
import { makeWireClient } from "../../../contracts/transport/WireClient.ts"
import { type Failpoints, inert } from "../../../platform/Failpoint.ts"
import { lookingAside } from "../../../platform/AsideTables.ts"
import { makeNodeHost, type NodeStorage, openNodeStorage } from "../../../platform/NodeStorage.ts"
import { type ObjectStorage, StorageFailure } from "../../../platform/ObjectStorage.ts"
import type { AgentLive, Json } from "../../../thread-actors/Agent.ts"
import { agentsDigest } from "../../../thread-actors/AgentsDigest.ts"
import { asideTables } from "../../../thread-actors/Tables.ts"
import { makeThread, type ThreadRuntime } from "../../../thread-actors/ThreadRuntime.ts"

export const ownerId = "acme" as OwnerId
export const threadId = "order-1" as ThreadId

export interface WorldOptions {
  readonly agents?: ReadonlyArray<AgentLive<never>>
  readonly services?: Layer.Layer<never>
  readonly limits?: Partial<Limits>
  readonly authorizer?: Authorizer
  readonly codeVersion?: string
  /** Whether the deployment publishes. */
  readonly publishes?: boolean
  readonly name?: string
  /** Another thread than the usual one. */
  readonly threadId?: ThreadId
  /** How long what has settled is kept. */
  readonly settledAfterMillis?: number | undefined
  /** A failpoint such as `settle:after` at which the first incarnation stops for ever. */
  readonly stopAt?: string
  /** A failpoint at which our own code breaks, every time. */
  readonly breakAt?: string
  /** A failpoint that waits until `release`. */
  readonly holdAt?: string
  /** No report reaches the owner. */
  readonly ownerFails?: boolean
  /** An abandoned incarnation has no storage any more, as on the platform. */
  readonly cutsOff?: boolean
}

const registry = (agents: ReadonlyArray<AgentLive<never>>) =>
  new Map(agents.map((live) => [live.agent.name, live]))

const scope = Scope.makeUnsafe()

const clientOf = (target: () => WireTarget, headers: Record<string, string>) =>
  Effect.runSync(
    makeWireClient(ThreadRpc, { target, headers }).pipe(Effect.provideService(Scope.Scope, scope)),
  )

/** Runs a call of a test. */
export const go = <A, E>(effect: Effect.Effect<A, E>): Promise<A> => Effect.runPromise(effect)

/** Waits for a condition; a timeout says what was waited for and what was seen. */
export const until = async <A>(
  description: string,
  look: () => A | Promise<A>,
  holds: (seen: A) => boolean,
): Promise<A> => {
  const end = Date.now() + 5_000
  for (;;) {
    const seen = await look()
    if (holds(seen)) return seen
    if (Date.now() > end) throw new Error(`${description}; saw ${JSON.stringify(seen)}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** The storage of one incarnation: it fails once that is over. */
const storageOf = (storage: ObjectStorage, isOver: () => boolean): ObjectStorage => {
  const living = <A extends ReadonlyArray<unknown>, B>(use: (...given: A) => B) =>
    ((...given: A): B => {
      if (isOver()) throw new StorageFailure(new Error("the object is gone"))
      return use(...given)
    }) as never
  return {
    ...storage,
    sql: {
      all: living((...given: Parameters<typeof storage.sql.all>) => storage.sql.all(...given)),
      run: living((...given: Parameters<typeof storage.sql.run>) => storage.sql.run(...given)),
    },
    transaction: living((block: () => unknown) => storage.transaction(block)),
    sync: living(() => storage.sync()),
  }
}

const lookAside = lookingAside(asideTables)

/**
 * The same storage for who looks at it from outside: tables that nobody has made read as empty, and are made to be filled.
 * What is put in the place of a method, the object meets.
 */
const fromOutside = (storage: NodeStorage): NodeStorage => {
  const sql = new Proxy(storage.sql, {
    get: ({ all, run }, method: "all" | "run") => lookAside({ all, run })[method],
  })
  return new Proxy(storage, {
    get: (own, key) => (key === "sql" ? sql : Reflect.get(own, key)),
  })
}

export const makeWorld = (initial: WorldOptions = {}) => {
  const storage = openNodeStorage()
  const address = { ownerId, threadId: initial.threadId ?? threadId }
  const reports: Array<LaneReport> = []
  const time = { now: 1_800_000_000_000 }
  const reached: Array<string> = []
  let options = initial
  let stopped = Deferred.makeUnsafe<void>()
  const released = Deferred.makeUnsafe<void>()
  let counter = 0

  const owner: WireTarget = {
    call: async (message: WireMessage) => {
      if (options.ownerFails === true) throw new Error("Network connection lost.")
      if (message._tag === "Request") {
        const { report } = message.payload as { report: LaneReport }
        reports.push(report)
      }
      return { _tag: "Success", value: undefined }
    },
  }

  const failpoints = (): Failpoints => {
    const { breakAt, stopAt, holdAt } = options
    if ([breakAt, stopAt, holdAt].every((point) => point === undefined)) return inert
    return {
      reach: (point) =>
        Effect.suspend(() => {
          reached.push(point)
          if (point === breakAt) return Effect.die(new Error("a mistake of ours"))
          if (point === holdAt) return Deferred.await(released)
          if (point !== stopAt) return Effect.void
          Deferred.doneUnsafe(stopped, Effect.void)
          return Effect.never
        }),
    }
  }

  let life = 0
  const incarnate = (): ThreadRuntime => {
    const agents = registry(options.agents ?? [])
    const own = ++life
    return makeThread(
      makeNodeHost({
        name: options.name ?? `${ownerId}/${address.threadId}`,
        storage: options.cutsOff === true ? storageOf(storage, () => life !== own) : storage,
        now: () => time.now,
      }),
      {
        agents,
        services: options.services ?? Layer.empty,
        limits: makeLimits({ attentionMillis: 1_000, ...options.limits }),
        codeVersion: options.codeVersion ?? "v1",
        settledAfterMillis: options.settledAfterMillis,
        agentsDigest: agentsDigest(agents),
        publishes: options.publishes,
        owner: () => owner,
        failpoints: failpoints(),
        ...(options.authorizer === undefined ? {} : { authorizer: options.authorizer }),
      },
    )
  }

  let thread = incarnate()
  const target = () => inMemoryTarget(() => thread)
  const asOwner = clientOf(target, callerHeaders({ _tag: "Owner", ownerId }))
  const asReader = clientOf(
    target,
    callerHeaders({ _tag: "Principal", principal: "reader" as never }),
  )
  const generation = (): Generation => makeGeneration({ incarnation: 1, counter: ++counter })

  return {
    storage: fromOutside(storage),
    /** As the object's own host has it. */
    own: storage,
    time,
    reports,
    reached,
    asOwner,
    asReader,
    address,
    target,
    generation,
    thread: () => thread,
    release: () => Deferred.doneUnsafe(released, Effect.void),
    stopped: () => go(Deferred.await(stopped)),
    /** A new incarnation on the same database; the old one is left to itself. */
    crash: (next: Partial<WorldOptions> = {}) => {
      const { breakAt: _breakAt, stopAt: _stopAt, ...kept } = options
      options = { ...kept, ...next }
      stopped = Deferred.makeUnsafe()
      thread = incarnate()
    },
    admit: (
      agent: string,
      input: Json,
      extra: Partial<{
        idempotencyKey: string
        principal: string
        generation: Generation
        title: string
        notBefore: number
      }> = {},
    ) =>
      asOwner.admit({
        ...address,
        agent: agent as AgentId,
        input,
        idempotencyKey: `key-${++counter}`,
        principal: "alice",
        generation: generation(),
        now: time.now,
        ...extra,
      } as never),
    process: (
      extra: Partial<{
        yieldAt: number
        maxHeads: number
        sliceMillis: number
        attentionMillis: number
        suspect: boolean
      }> = {},
    ) =>
      asOwner.processHead({
        ...address,
        now: time.now,
        yieldAt: time.now + 600_000,
        maxHeads: 8,
        sliceMillis: 100,
        attentionMillis: 1_000,
        suspect: false,
        ...extra,
      }),
    abort: (
      submissionId: SubmissionId,
      extra: Partial<{
        author: string
        reason: string
        principal: string
        generation: Generation
      }> = {},
    ) =>
      asOwner.requestAbort({
        ...address,
        submissionId,
        author: "ann",
        reason: "sent twice",
        principal: "alice",
        generation: generation(),
        now: time.now,
        ...extra,
      } as never),
    recover: () => asOwner.recover({ ...address, now: time.now }),
    inspect: (fence?: Generation) =>
      asOwner.inspect({ ...address, now: time.now, ...(fence === undefined ? {} : { fence }) }),
    status: (submissionId: SubmissionId) => asReader.status({ ...address, submissionId }),
    history: (page: { after?: number; before?: number; limit?: number } = {}) =>
      asReader.history({ ...address, ...page }),
  }
}

export type World = ReturnType<typeof makeWorld>

/** The receipt of an admission that must have been accepted. */
export const accepted = async (reply: ReturnType<World["admit"]>) => {
  const { result } = await go(reply)
  if (result._tag === "Failure") throw new Error(`refused: ${JSON.stringify(result.error)}`)
  return result.value
}

/** The refusal of an admission that must have been refused. */
export const refusal = async (reply: ReturnType<World["admit"]>) => {
  const { result } = await go(reply)
  if (result._tag === "Success") throw new Error(`accepted: ${JSON.stringify(result.value)}`)
  return result.error
}

/** The answers of a turn that could look at its thread. */
export const answers = async (
  reply: ReturnType<World["process"]>,
): Promise<ReadonlyArray<HeadAnswer>> => {
  const { result } = await go(reply)
  if (result._tag === "Failure") throw result.error
  return result.value
}

export const tags = async (reply: ReturnType<World["process"]>) =>
  (await answers(reply)).map(({ _tag }) => _tag)

/**
 * Plays the owner until the thread owes nothing that a call would change: recovers, moves the clock
 * to what is due, and dispatches.
 */
export const drain = async (world: World): Promise<LaneReport> => {
  for (let round = 0; round < 200; round++) {
    const { report } = await go(world.inspect())
    if (report.recoverAt !== undefined) await go(world.recover())
    else if (report.dueAt === undefined) return report
    else {
      world.time.now = Math.max(world.time.now + 1, report.dueAt)
      await go(world.process())
    }
  }
  throw new Error("the thread does not come to rest")
}

/**
 * An owner at work: its host, its limits, its way to the threads, and its present life.
 *
 * Invariants
 * - O1 A start that failed answers its event alone; the next event tries again.
 * - O2 Work of an ended life writes nothing into the next one.
 * - O3 Any request finds and repairs a missing or long overdue alarm; the start itself never does.
 * - O4 A block that fails ends the life; the next event starts again from the rows.
 * - O5 The pass of a life that has ended waits no longer: it holds the alarm of the next one.
 * - O6 Who begins a life is given it, also where what it does first has ended it: its reads are right, its blocks refused.
 */
import { Effect } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import type { RpcClient } from "effect/rpc"
import { StorageUnavailable, Unavailable } from "../contracts/Errors.ts"
import type { AgentId, OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { OwnerRpc } from "../contracts/OwnerRpc.ts"
import type { Telemetry } from "../contracts/observability/Telemetry.ts"
import type { HeddleSink } from "../contracts/Publication.ts"
import type { RegistryRpc } from "../contracts/RegistryRpc.ts"
import type { ThreadRpc } from "../contracts/ThreadRpc.ts"
import type { InternalDefect, InvalidInput } from "../contracts/Errors.ts"
import type { Failpoints } from "../platform/Failpoint.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import type { AcceptMessages } from "./AcceptMessages.ts"
import * as AlarmSlot from "./AlarmSlot.ts"
import { type Block, deadlinesOf, runBlock } from "./Block.ts"
import { takeFinishes } from "./Finish.ts"
import type { Hosts } from "./Hosts.ts"
import { beginLife, type Life } from "./Life.ts"
import { tellNotices } from "./Notice.ts"
import { noTally } from "./Totals.ts"
import type { Waiters } from "./Waiters.ts"

export type ThreadClient = RpcClient.FromGroup<
  typeof ThreadRpc,
  Unavailable | InvalidInput | InternalDefect
>

export type RegistryClient = RpcClient.FromGroup<
  typeof RegistryRpc,
  Unavailable | InvalidInput | InternalDefect
>

/** Another owner, as far as one calls it. */
export type PeerClient = Pick<
  RpcClient.FromGroup<typeof OwnerRpc, Unavailable | InvalidInput | InternalDefect>,
  "deliver"
>

export interface Owner {
  readonly host: ObjectHost
  readonly limits: Limits
  readonly failpoints: Failpoints
  readonly codeVersion: string
  /** The names and schemas of this deployment's agents. */
  readonly agentsDigest: string
  /** How many attempts of an agent may run at once; those that are not named have no limit. */
  readonly maxRunning: ReadonlyMap<AgentId, number>
  /** One kept client of all threads of this owner. */
  readonly threads: ThreadClient
  /** The owner registry; undefined in a deployment without one. */
  readonly registry: RegistryClient | undefined
  /** One kept client of all other owners. */
  readonly peers: PeerClient
  /** Which threads of other owners may send to those of this one. */
  readonly acceptMessages: AcceptMessages | undefined
  /** Where records of threads are published; undefined in a deployment that does not. */
  readonly sink: HeddleSink | undefined
  /** Whether outcomes are searched, too. */
  readonly searchesOutcomes: boolean
  /** Who is told of what is counted, if anybody. */
  readonly telemetry: Telemetry
  /** The application's own lanes. */
  readonly hosts: Hosts
  /** Who waits for the end of a pass, or of a forgetting. */
  readonly waiters: Waiters
  /** What is done, beside its first event, when a life has begun. */
  readonly began: (life: Life) => void
  /** Runs an effect that nobody waits for; it outlives the call that started it. */
  readonly background: (effect: Effect.Effect<unknown, unknown>) => void
  /** The present life; undefined before the first start and after a storage failure. */
  life: Life | undefined
  starting: Promise<Life> | undefined
}

/**
 * Failpoints of the owner: each is reached as `name:before` and `name:after` around the block it
 * names. `body` brackets the thread call of a mutation, `close` the letting go of a pass; `claim`, `deliver` and
 * `acknowledge` the calls by which an outbox is carried; `publish` that of the sink.
 */
export const ownerFailpoints = [
  "enroll",
  "body",
  "finish",
  "begin",
  "select",
  "visit",
  "recover",
  "fault",
  "binding",
  "report",
  "condemn",
  "forget",
  "claim",
  "deliver",
  "acknowledge",
  "publish",
  "enter",
  "project",
  "host",
  "close",
] as const
export type OwnerFailpoint = (typeof ownerFailpoints)[number]

const couldNotStart = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the owner could not start",
})

/** What work of a life that has ended is told. */
export const lifeEnded = new Unavailable({
  retryable: true,
  overloaded: false,
  reason: "the owner started again while the call was under way",
})

const load = async (owner: Owner, ownerId: OwnerId): Promise<Life> => {
  const armedAt = await owner.host.storage.alarm.get()
  if (owner.life !== undefined) return owner.life
  const life = beginLife(owner.host, ownerId, armedAt, {
    registers: owner.registry !== undefined,
    outcomes: owner.searchesOutcomes,
    // Nothing of it is in a hurry: the first work of a life comes first.
    lookMillis: owner.limits.coverMillis,
    hosts: owner.hosts,
    waiters: owner.waiters,
  })
  life.maxRunning = owner.maxRunning
  owner.life = life
  owner.began(life)
  return life // O6
}

/** The present life, started if there is none. One start at a time; only success is kept. // O1 */
export const started = (owner: Owner, ownerId: OwnerId): Effect.Effect<Life, Unavailable> =>
  Effect.suspend(() => {
    if (owner.life !== undefined) return Effect.succeed(owner.life)
    // Begun where it is awaited: a fiber that ends in between would leave a failed start to nobody.
    const starting = () =>
      (owner.starting ??= load(owner, ownerId).finally(() => {
        owner.starting = undefined
      }))
    return Effect.tryPromise({ try: starting, catch: (cause) => cause }).pipe(
      Effect.tapError((cause) =>
        Effect.logError(`the owner could not start: ${describeThrown(cause)}`),
      ),
      Effect.mapError(() => couldNotStart),
    )
  })

/**
 * Ends the present life: the next event starts again from the rows, and who watches hears of it. So does its pass, whatever it
 * waits for: while its event lasts, the platform delivers no other alarm. // O5
 */
export const endLife = (owner: Owner): void => {
  const ended = owner.life
  owner.life = undefined
  for (const watcher of ended?.watchers ?? []) watcher.wake()
  ended?.pass?.wake() // O5
}

const failed = (owner: Owner, name: string, cause: unknown) => {
  endLife(owner) // O4
  return Effect.logError(`storage failed in ${name}: ${describeThrown(cause)}`).pipe(
    Effect.andThen(Effect.fail(new StorageUnavailable({ operation: name }))),
  )
}

/** What the storage tells of itself: whatever it throws then, it has failed. */
export const askStorage = <A>(name: string, ask: () => A): Effect.Effect<A, StorageUnavailable> =>
  Effect.catch(Effect.try({ try: ask, catch: (cause) => cause }), (cause) =>
    Effect.andThen(
      Effect.logError(`storage failed in ${name}: ${describeThrown(cause)}`),
      Effect.fail(new StorageUnavailable({ operation: name })),
    ),
  )

/** Runs a body as one block of this life, between its failpoints. */
export const inBlock = <A>(
  owner: Owner,
  life: Life,
  name: OwnerFailpoint,
  body: (block: Block) => A,
): Effect.Effect<A, StorageUnavailable | Unavailable> =>
  Effect.gen(function* () {
    yield* owner.failpoints.reach(`${name}:before`)
    const result = yield* quietBlock(owner, life, name, body)
    yield* owner.failpoints.reach(`${name}:after`)
    return result
  })

/** Tells whoever collects it what was counted. */
const tellTally = (telemetry: Telemetry, life: Life): void => {
  const { accepted = 0, attempts = 0, faults = 0, ...untold } = life.untold
  life.untold = noTally
  telemetry.add("accepted", accepted)
  telemetry.add("attempts", attempts)
  telemetry.add("faults", faults)
  for (const outcome of ["completed", "failed", "aborted"] as const)
    telemetry.add("settled", untold[outcome] ?? 0, { outcome })
}

/** A block without failpoints. */
export const quietBlock = <A>(
  owner: Owner,
  life: Life,
  name: string,
  body: (block: Block) => A,
): Effect.Effect<A, StorageUnavailable | Unavailable> =>
  Effect.suspend((): Effect.Effect<A, StorageUnavailable | Unavailable> => {
    if (owner.life !== life) return Effect.fail(lifeEnded) // O2
    try {
      const result = runBlock(owner.host, life, owner.limits, takeFinishes, body)
      if (life.untold !== noTally) tellTally(owner.telemetry, life)
      const notices = life.notices.splice(0)
      return notices.length === 0 ? Effect.succeed(result) : Effect.as(tellNotices(notices), result)
    } catch (cause) {
      return failed(owner, name, cause)
    }
  })

/** Repairs the alarm if this request finds it missing or given up. // O3 */
export const repairAlarm = (owner: Owner, life: Life) =>
  Effect.suspend(() => {
    const { host, limits } = owner
    if (!AlarmSlot.needsRepair(life, host.now(), limits)) return Effect.void
    const { alarm, sql } = host.storage
    return quietBlock(owner, life, "repair", (block) => {
      AlarmSlot.armEarliest(alarm, sql, life, deadlinesOf(block))
    })
  })

/** The payload that every call of a thread starts with. */
export const addressOf = (life: Life, threadId: ThreadId) => ({ ownerId: life.ownerId, threadId })

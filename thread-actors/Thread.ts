/**
 * One incarnation of a thread: what it is given, and the little it keeps in memory.
 *
 * - I1 Memory may narrow work, durable state decides: everything here may vanish at any line.
 * - I2 The thread's clock is at least every time its owner has told it, and never goes back within
 *   an incarnation.
 */
import type { Context, Deferred, Layer, Tracer } from "effect"
import type { AgentId, OwnerId } from "../contracts/Identifiers.ts"
import type {
  StorageUnavailable,
  ThreadForgotten,
  ThreadUnreadable,
  Unavailable,
} from "../contracts/Errors.ts"
import type { Authorizer } from "../contracts/Authorization.ts"
import type { Limits } from "../contracts/Limits.ts"
import {
  type MakeTelemetry,
  type Telemetry,
  unobserved,
} from "../contracts/observability/Telemetry.ts"
import type { RecoveryReport } from "../contracts/Recovery.ts"
import type { WireTarget } from "../contracts/transport/Wire.ts"
import type { Failpoints } from "../platform/Failpoint.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import type { Agents } from "./Agent.ts"
import type { Identity } from "./Identity.ts"
import type { Header } from "./Header.ts"
import type { LiveAttempt } from "./LiveAttempt.ts"
import type { Observer } from "./Observers.ts"

export interface ThreadOptions {
  readonly agents: Agents
  /** What the agents need. Built once per incarnation, before its first claim. */
  readonly services: Layer.Layer<never>
  readonly limits: Limits
  /** Names this deployment; attempts that vanish are counted per version. */
  readonly codeVersion: string
  readonly agentsDigest: string
  /** How long what has settled is kept of agents that do not say so themselves; for ever without it. */
  readonly settledAfterMillis?: number | undefined
  /** A fresh way to the owner; asked for each call. */
  readonly owner: (ownerId: OwnerId) => WireTarget
  /** Whether a sink is to have every record before the next run; not without it. */
  readonly publishes?: boolean | undefined
  readonly failpoints: Failpoints
  /** Who collects spans and metrics, if anybody. */
  readonly telemetry?: MakeTelemetry | undefined
  /** The application's policy; everything is allowed without one. */
  readonly authorizer?: Authorizer
}

/** The call that drives: while it waits, the block that settles a head may claim the next. */
export interface Turn {
  /** No claim at or after it. */
  readonly yieldAt: number
  /** The end of the slice. */
  readonly sliceEndAt: number
  /** Whether what this turn claims must be flushed before it runs. */
  readonly suspect: boolean
  /** Agents of which it starts no attempt: as many run as may, as far as their owner knows. */
  readonly notAgents: ReadonlyArray<AgentId>
  /** The span of the call. */
  readonly span: Tracer.AnySpan | undefined
  headsLeft: number
}

/** Why a recovery could not look, or not write. */
type NotRecovered = StorageUnavailable | ThreadUnreadable | ThreadForgotten

/** Reconcilers of one submission that look, beside the recovery that asked them. */
export interface Asking {
  /** They have told by then, or the object was lost meanwhile: the owner looks again. */
  readonly untilAt: number
  readonly done: Deferred.Deferred<RecoveryReport, NotRecovered>
  /** A recovery left while they looked, and counts on the thread's own report. */
  outlived: boolean
}

/** What vanishes with the incarnation. */
export interface Thread {
  // I1
  readonly host: ObjectHost
  readonly options: ThreadOptions
  readonly limits: Limits
  readonly telemetry: Telemetry
  readonly observers: Set<Observer>
  /** Who waits for the settlement of a sequence. */
  readonly waiters: Map<number, Set<Deferred.Deferred<void>>>
  started: boolean
  /** Who this object is, once a call or the database has told. */
  identity: Identity | undefined
  hasTables: boolean
  /** Since when only a tombstone is left. */
  forgottenAt: number | undefined
  /** As the last committed block left it; only blocks change it. None after one that failed. */
  header: Header | undefined
  clock: number
  /** The last record this incarnation knows committed. */
  tailSequence: number
  live: LiveAttempt | undefined
  /** When the last run was settled that had been begun before: its end may not be on disk yet. */
  begunEndedAt: number | undefined
  turn: Turn | undefined
  /** What the recovery under way comes to. */
  recovering: Deferred.Deferred<ReadonlyArray<RecoveryReport>, NotRecovered> | undefined
  /** The reconcilers that look now, by the sequence of their submission. */
  readonly asking: Map<number, Asking>
  /** Whether nothing is known to be in the outbox: then it is not looked at. A look finds out; a block that queues forgets. */
  outboxEmpty: boolean
  /** Whether the owner is about to be told of what its run has queued. */
  telling: boolean
  services: Context.Context<never> | undefined
  /** What the build of them under way comes to. */
  building: Deferred.Deferred<void, Unavailable> | undefined
}

export const makeThreadState = (host: ObjectHost, options: ThreadOptions): Thread => ({
  host,
  options,
  limits: options.limits,
  telemetry: options.telemetry?.(host) ?? unobserved,
  observers: new Set(),
  waiters: new Map(),
  started: false,
  identity: undefined,
  hasTables: false,
  forgottenAt: undefined,
  header: undefined,
  clock: 0,
  tailSequence: 0,
  live: undefined,
  begunEndedAt: undefined,
  turn: undefined,
  recovering: undefined,
  asking: new Map(),
  outboxEmpty: false,
  telling: false,
  services: undefined,
  building: undefined,
})

/** The thread's time: the host's, or the latest it was told. */
export const clockOf = (thread: Thread): number => {
  thread.clock = Math.max(thread.clock, thread.host.now()) // I2
  return thread.clock
}

/** Takes a time from the owner. */
export const adoptClock = (thread: Thread, now: number): void => {
  thread.clock = Math.max(thread.clock, now) // I2
}

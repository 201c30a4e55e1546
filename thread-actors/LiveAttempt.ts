/**
 * An attempt in memory: one ownership period of a run in this incarnation, and how it can end.
 *
 * - V1 The first verdict decides; whatever comes later is not looked at.
 * - V2 A live attempt is a cache of its row: every write checks the row's epoch.
 * - V3 What agent code throws while it is interrupted reaches nobody.
 */
import { Deferred, Effect, type Fiber } from "effect"
import type { AttemptId } from "../contracts/Identifiers.ts"
import type { Failure } from "../contracts/Settlement.ts"
import type { HeadAnswer } from "../contracts/ThreadRpc.ts"
import type { StoredRetry, SubmissionRow } from "./Ledger.ts"
import type { Identity } from "./Identity.ts"
import type { RaceBranch } from "./RaceBranch.ts"

/** How an attempt is to end. */
export type Verdict =
  /** `output` is canonical JSON. */
  | { readonly _tag: "Completed"; readonly output: string }
  | { readonly _tag: "Failed"; readonly failure: Failure }
  /** It is past its yield time and hands back. */
  | { readonly _tag: "Yielded" }
  /** Declared retries that wait, by step; the empty name is the run itself. */
  | {
      readonly _tag: "Retrying"
      readonly pending: ReadonlyMap<string, StoredRetry>
    }
  /** It ended without a result: its code was interrupted, or we made a mistake. */
  | { readonly _tag: "WithoutResult" }
  /** Its ceiling, or the grace of an abort, was over while its handler still ran. */
  | { readonly _tag: "OutOfTime" }
  /** An ordinary call is open and nothing else is to be done: recovery asks about it. */
  | { readonly _tag: "CallOpen" }
  /** All its branches wait for something from outside. */
  | { readonly _tag: "Waiting" }
  /** A name means something else in this code. */
  | { readonly _tag: "Mismatch"; readonly name: string }
  /** A stored record does not decode. */
  | { readonly _tag: "Unreadable"; readonly what: string }
  /** Another epoch owns the run. */
  | { readonly _tag: "Superseded" }
  /** Our own storage failed: nothing is settled, the run is tried again. */
  | { readonly _tag: "StorageLost" }

/** What those who wait are told. */
export type AttemptEnd =
  | { readonly _tag: "Answered"; readonly answer: HeadAnswer }
  | { readonly _tag: "Unreadable"; readonly what: string }
  /** The attempt no longer owns the run; the row says what is. */
  | { readonly _tag: "Gone" }

export interface Claimed {
  readonly identity: Identity
  /** The row as the claim left it. */
  readonly row: SubmissionRow
  readonly attemptId: AttemptId
  readonly claimedAt: number
  /** The strike must be durable before anything runs. */
  readonly flushFirst: boolean
  /** What the run has recorded under names before. */
  readonly size: { readonly records: number; readonly bytes: number }
  readonly retries: ReadonlyMap<string, StoredRetry>
}

/** A race under way: its branches, and what tells it that it stands in one that has lost. */
export interface UnderWay {
  readonly scopes: ReadonlyArray<RaceBranch>
  readonly lose: () => void
}

export interface LiveAttempt extends Claimed {
  readonly sequence: number
  readonly epoch: number
  readonly yieldAt: number
  readonly names: Set<string>
  /** Which branch of a race took a name; none for names outside of races. */
  readonly branches: Map<string, RaceBranch>
  /** Races that are under way, by name. */
  readonly contests: Map<string, UnderWay>
  readonly verdict: Deferred.Deferred<Verdict>
  readonly done: Deferred.Deferred<AttemptEnd>
  records: number
  bytes: number
  /** A result was recorded by this attempt. */
  progressed: boolean
  ended: boolean
  /** An abort has told it to end. */
  aborting: boolean
  /** While agent code computes a new state: whether it has called the run meanwhile. */
  changing: { entered: boolean } | undefined
  /** A call left while it ran, and counts on being told of its end. */
  outlived: boolean
  /** Bodies of steps and tool calls that run now. */
  bodies: number
  /** Those of ordinary calls among them. */
  calls: number
  /** Retries that wait in memory beside bodies that run. */
  readonly pending: Map<string, StoredRetry>
  /** Branches that wait for an answer, by the name of their wait: what tells each that there may be one. */
  readonly waiting: Map<string, () => void>
  /** Turns of agent code that are to come: while there are some, not all of its branches wait. */
  readonly turns: { count: number }
  /** Ordinary calls whose bodies have ended here: no replaced object goes on with them. */
  readonly endedCalls: Set<string>
  /** Told when a body ends; each listener once. */
  readonly bodyEnds: Set<() => void>
  /** How many children its run has asked for; none before that was counted. */
  children: number | undefined
  /** Emitted chunks so far. */
  chunks: number
  handler: Fiber.Fiber<unknown, unknown> | undefined
  /** The trace that what it sends to others continues. */
  sendsUnder: string | undefined
  /** The attempt that the block of this one's settlement has claimed. */
  next: LiveAttempt | undefined
}

export const makeLiveAttempt = (claimed: Claimed, yieldAfterMillis: number): LiveAttempt => ({
  ...claimed,
  sequence: claimed.row.sequence,
  epoch: claimed.row.epoch, // V2
  yieldAt: claimed.claimedAt + yieldAfterMillis,
  names: new Set(),
  branches: new Map(),
  contests: new Map(),
  verdict: Deferred.makeUnsafe(),
  done: Deferred.makeUnsafe(),
  records: claimed.size.records,
  bytes: claimed.size.bytes,
  progressed: false,
  ended: false,
  aborting: false,
  changing: undefined,
  outlived: false,
  bodies: 0,
  calls: 0,
  pending: new Map(),
  waiting: new Map(),
  turns: { count: 0 },
  endedCalls: new Set(),
  bodyEnds: new Set(),
  children: undefined,
  chunks: 0,
  handler: undefined,
  sendsUnder: undefined,
  next: undefined,
})

/** An answer to a wait, or what it has decided, as a block has recorded it. */
export interface AnsweredWait {
  readonly submission: number
  readonly name: string
  readonly bytes: number
}

/**
 * Tells an attempt of answers to waits of its run: they are results of it, and count in what it has recorded as they do
 * for the next attempt.
 */
export const tellAnswered = (live: LiveAttempt, answers: ReadonlyArray<AnsweredWait>): void => {
  for (const { bytes, name, submission } of answers) {
    if (submission !== live.sequence) continue
    live.progressed = true
    live.records += 1
    live.bytes += bytes
    live.waiting.get(name)?.()
  }
}

/** Passes the verdict; only the first counts. */
export const condemn = (live: LiveAttempt, verdict: Verdict): void => {
  Deferred.doneUnsafe(live.verdict, Effect.succeed(verdict)) // V1
}

/** Whether it has a verdict: its end may be written by now, and no body of it starts any more. */
export const hasVerdict = ({ verdict }: LiveAttempt): boolean => Deferred.isDoneUnsafe(verdict)

/** Interrupts its handler, if it has one by now. */
export const interrupt = ({ handler }: LiveAttempt): void => {
  try {
    handler?.interruptUnsafe()
  } catch {
    // Its finalizers are agent code, and run here; nobody waits for them. // V3
  }
}

/** Counts the end of a body. */
export const endBody = (live: LiveAttempt): void => {
  live.bodies -= 1
  const listeners = [...live.bodyEnds]
  live.bodyEnds.clear()
  for (const listener of listeners) listener()
}

/**
 * What an owner has under way: its calls of threads, carries, publications, waves. It is a life's and no pass's, since what goes on
 * when a pass ends goes on under the next one.
 *
 * Each of them ends by itself, by a deadline of its own.
 */
import type { Fiber } from "effect"
import type { AgentId, ThreadId } from "../contracts/Identifiers.ts"
import type { CallKind } from "./Lane.ts"

/** A call under way. */
export interface Flight {
  readonly kind: CallKind
  readonly slow: boolean
  /** Whether it may start an attempt. */
  readonly starts: boolean
  /** Of which agent, as far as it is known. */
  readonly agent?: AgentId | undefined
  /** Absent until it has begun. */
  fiber?: Fiber.Fiber<unknown, unknown>
}

/** A carry, or a turn of publishing, under way. */
export interface CarryUnderWay {
  readonly slow: boolean
  readonly startedAt: number
}

export interface UnderWay {
  readonly flights: Map<ThreadId, Flight>
  /** Lanes that were marked again while their call was under way. */
  readonly marked: Set<ThreadId>
  /** Lanes whose call nobody waits for any more, of an earlier life among them: looked at before they are believed. */
  readonly letGo: Set<ThreadId>
  /** Threads whose outcomes are being read for the search index. */
  readonly reads: Set<ThreadId>
  /** Outboxes that are being carried, beside whatever their lanes do. */
  readonly carries: Map<ThreadId, CarryUnderWay>
  /** Threads whose records are being published, likewise. */
  readonly publications: Map<ThreadId, CarryUnderWay>
  /** Host lanes whose wave was started and has not been seen to end. */
  readonly waves: Set<string>
  /** Whether the registry is being asked. */
  entering: boolean
}

/** What a life finds: nothing, and the calls that one before it may have left. */
export const makeUnderWay = (inFlight: ReadonlyArray<ThreadId>): UnderWay => ({
  flights: new Map(),
  marked: new Set(),
  letGo: new Set(inFlight),
  reads: new Set(),
  carries: new Map(),
  publications: new Map(),
  waves: new Set(),
  entering: false,
})

/** Whether anything is under way. */
export const goesOn = (underWay: UnderWay): boolean =>
  underWay.flights.size > 0 ||
  underWay.carries.size > 0 ||
  underWay.publications.size > 0 ||
  underWay.reads.size > 0 ||
  underWay.waves.size > 0 ||
  underWay.entering

/** Stops waiting for the calls of threads that have not ended. */
export const letCallsGo = ({ flights, letGo }: UnderWay): void => {
  const left = [...flights]
  flights.clear()
  for (const [threadId, { fiber }] of left) {
    letGo.add(threadId)
    fiber?.interruptUnsafe()
  }
}

/** The lanes in flight, as the maintenance row has them. */
export const inFlightOf = ({ flights, letGo }: UnderWay): ReadonlyArray<ThreadId> => [
  ...flights.keys(),
  ...letGo,
]

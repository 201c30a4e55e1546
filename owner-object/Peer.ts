/**
 * A peer: what is remembered of whom something is delivered to, and whether it takes a delivery now. Pure.
 *
 * Invariants
 * - P1 One delivery at a time to another owner, whichever threads send; a thread of this owner takes several.
 * - P2 A peer that did not answer is left alone until its backoff has ended; then one delivery tries it.
 * - P3 Nobody waits behind a delivery that lasts.
 */
import type { Limits } from "../contracts/Limits.ts"

export interface Peer {
  /** Deliveries under way, and when the last of them began. */
  busy: number
  busySinceAt: number
  /** Deliveries in a row without an answer, and when the next may be tried. */
  failures: number
  notBefore: number
  /** Who waits for a turn, in their order. */
  readonly waiting: Set<() => void>
}

/** How many deliveries it takes at once. */
export interface PeerName {
  readonly key: string
  readonly width: number
}

export type Turn = "free" | "taken" | "away"

/** Whether a peer takes a delivery now. Pure. */
export const turnAt = (
  peer: Omit<Peer, "waiting">,
  { limits, now, width }: { readonly limits: Limits; readonly now: number; readonly width: number },
): Turn => {
  if (peer.failures > 0) return peer.busy > 0 || now < peer.notBefore ? "away" : "free" // P2
  if (peer.busy < width) return "free" // P1
  return now - peer.busySinceAt >= limits.outboxPatienceMillis ? "away" : "taken" // P3
}

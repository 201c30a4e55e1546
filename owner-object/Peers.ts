/**
 * Peers: whom outboxes are carried to, as far as it is remembered. Another owner is a peer, and so is each thread
 * of this one.
 *
 * Memory only, and it only narrows: who forgets it asks once more than was needed. What is delivered, and when it is
 * tried again, the rows of the sending threads say.
 *
 * Invariants
 * - K3 Nobody waits for longer than a delivery may last: whose turn does not come, waits in the rows of its thread and
 *   holds no slot.
 * - K4 What is remembered is bounded.
 */
import { Effect } from "effect"
import { jitteredMillis } from "../contracts/Backoff.ts"
import type { Life } from "./Life.ts"
import type { Owner } from "./Owner.ts"
import { type Peer, type PeerName, turnAt } from "./Peer.ts"

/** Peers that are remembered at most. */
const peersMax = 1_000

const unknownPeer = (): Peer => ({
  busy: 0,
  busySinceAt: 0,
  failures: 0,
  notBefore: 0,
  waiting: new Set(),
})

/** Drops what tells nothing, and beyond the bound whoever failed longest ago. // K4 */
const tidy = (peers: Life["peers"], key: string, peer: Peer): void => {
  if (peer.busy > 0 || peer.waiting.size > 0) return
  if (peer.failures === 0) peers.delete(key)
  if (peers.size <= peersMax) return
  for (const [other, idle] of peers) {
    if (idle.busy > 0 || idle.waiting.size > 0) continue
    peers.delete(other)
    return
  }
}

/** Waits until something about the peer has changed, or for so long. */
const changeOf = (peer: Peer, millis: number): Effect.Effect<void> => {
  const changed = Effect.callback<void>((resume) => {
    const wake = (): void => resume(Effect.void)
    peer.waiting.add(wake)
    return Effect.sync(() => void peer.waiting.delete(wake))
  })
  return Effect.raceFirst(changed, Effect.sleep(Math.max(1, millis)))
}

const wakeNext = (peer: Peer): void => {
  const waiting = [...peer.waiting]
  peer.waiting.clear()
  for (const wake of waiting) wake()
}

/** Waits for a turn. Tells whether it came. */
const takeTurn = (owner: Owner, peer: Peer, { width }: PeerName): Effect.Effect<boolean> =>
  Effect.gen(function* () {
    const { host, limits } = owner
    const until = host.now() + limits.outboxPatienceMillis
    while (true) {
      const now = host.now()
      const turn = turnAt(peer, { limits, now, width })
      if (turn === "free") {
        peer.busy += 1
        peer.busySinceAt = now
        return true
      }
      if (turn === "away" || now >= until) return false // K3
      const lasts = peer.busySinceAt + limits.outboxPatienceMillis
      yield* changeOf(peer, Math.min(until, lasts) - now)
    }
  })

/** What a delivery learnt of its peer. */
export const answered = (peer: Peer): void => {
  peer.failures = 0
  peer.notBefore = 0
}

export const wasSilent = (owner: Owner, peer: Peer): void => {
  const { host, limits } = owner
  peer.failures += 1
  const curve = { baseMillis: limits.outboxRetryMillis, maxMillis: limits.outboxRetryMaxMillis }
  peer.notBefore = host.now() + jitteredMillis(curve, peer.failures, host.random())
}

/** Runs a delivery in the peer's turn; undefined, and nothing is run, where its turn does not come. */
export const inTurn = <A, E>(
  owner: Owner,
  life: Life,
  name: PeerName,
  deliver: (peer: Peer) => Effect.Effect<A, E>,
): Effect.Effect<A | undefined, E> =>
  Effect.suspend(() => {
    const peer = life.peers.get(name.key) ?? unknownPeer()
    life.peers.set(name.key, peer)
    const leave = Effect.sync(() => {
      peer.busy -= 1
      wakeNext(peer)
      tidy(life.peers, name.key, peer)
    })
    const given = Effect.sync(() => tidy(life.peers, name.key, peer))
    return Effect.uninterruptibleMask((restore) =>
      Effect.flatMap(
        Effect.onInterrupt(restore(takeTurn(owner, peer, name)), () => given),
        (came) =>
          came ? Effect.ensuring(restore(deliver(peer)), leave) : Effect.as(given, undefined),
      ),
    )
  })

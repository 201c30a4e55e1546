/**
 * Messages that go round a ring of threads while objects die, and the outside log that tells what every run saw.
 *
 * The threads belong to one owner or to several, by turns of two, so that half of the hops cross from one to another.
 * Where an object dies is drawn from a seed: after so many failpoints, counted over all objects of its kind.
 */
import { Effect } from "effect"
import { AgentId, IdempotencyKey, OwnerId, ThreadId } from "../../../contracts/Identifiers.ts"
import { connectionLost, inMemoryTarget } from "../../../contracts/transport/InMemory.ts"
import type { WireTarget } from "../../../contracts/transport/Wire.ts"
import { makeRandom, type Random } from "../../../testing/Random.ts"
import * as Agent from "../../../thread-actors/Agent.ts"
import { parts, type Seen, sentBy, Token } from "./Hops.ts"
import { makeLoom } from "./Loom.ts"

export interface RingOptions {
  readonly seed: number
  readonly owners: number
  readonly threads: number
  /** How many messages set out, from the first threads of the ring, and how often each is sent on. */
  readonly tokens: number
  readonly hops: number
  /** At the most so many failpoints are passed between two deaths. */
  readonly threadPoints: number
  readonly ownerPoints: number
}

const Hop = Agent.make("hop", { input: Token, output: Token })

/** What makes a crash cost milliseconds; nothing is given up sooner. */
const limits = {
  visitMillis: 5_000,
  recoverMillis: 5_000,
  claimMillis: 5_000,
  deliverMillis: 5_000,
  endedBackoffMillis: 2,
  endedBackoffMaxMillis: 20,
  lostBackoffMillis: 2,
  lostBackoffMaxMillis: 20,
  messageRetryMillis: 2,
  messageRetryMaxMillis: 20,
  faultRetryMillis: 5,
  faultRetryMaxMillis: 20,
}

/** Tells at which failpoint somebody dies: after as many as are drawn, then after as many again. */
const deathsEvery = (random: Random, most: number) => {
  const deaths = new Map<string, number>()
  let left = Infinity
  return {
    deaths,
    begin: () => void (left = random.between(1, most)),
    end: () => void (left = Infinity),
    isAt: (point: string): boolean => {
      left -= 1
      if (left > 0) return false
      left = random.between(1, most)
      deaths.set(point, (deaths.get(point) ?? 0) + 1)
      return true
    },
  }
}

type Loom = ReturnType<typeof makeLoom>

/** One owner of the ring. It dies where it is told to, and whoever has called it loses the connection. */
const mortalOwner = (loom: Loom, diesAt: (point: string) => boolean) => {
  let life = Promise.withResolvers<never>()
  const live = (): void => {
    const own = (life = Promise.withResolvers<never>())
    own.promise.catch(() => undefined)
    loom.setFailpoints({
      reach: (point) =>
        Effect.suspend(() => {
          if (own !== life) return Effect.never
          if (!diesAt(point)) return Effect.void
          loom.crash()
          live()
          own.reject(connectionLost())
          return Effect.never
        }),
    })
  }
  live()
  const target: WireTarget = {
    call: (message, sink) => {
      const { promise } = life // it may end in the call itself
      return Promise.race([loom.runtime().call(message, sink), promise])
    },
  }
  return { loom, target: inMemoryTarget(target) }
}

/** What the lanes of an owner that does not come to rest still want. */
const tellLanes = ({ loom }: { readonly loom: Loom }) => ({
  alarmAt: loom.storage.alarmAt(),
  lanes: loom.storage.sql.all("SELECT * FROM lanes WHERE work IS NOT NULL LIMIT 3"),
})

export const makeRing = (options: RingOptions) => {
  const random = makeRandom(options.seed)
  const ofThreads = deathsEvery(random.fork(), options.threadPoints)
  const ofOwners = deathsEvery(random.fork(), options.ownerPoints)
  const log: Array<Seen> = []
  const ownerOf = (thread: number) => Math.floor(thread / 2) % options.owners
  const idOf = (owner: number) => OwnerId.make(`owner-${owner}`)
  const addressOf = (thread: number) => ({
    ownerId: idOf(ownerOf(thread)),
    threadId: ThreadId.make(`t${thread}`),
  })

  const HopLive = Hop.handler(
    Effect.fn("Hop")(function* (token, run) {
      const thread = Number(run.info.threadId.slice(1))
      log.push({ ...token, thread, submissionId: run.info.submissionId })
      const next = addressOf((thread + 1) % options.threads)
      for (const input of sentBy(token))
        yield* run.send(`part ${input.part}`, { ...next, agent: Hop, input })
      return token
    }),
  )

  const owners = Array.from({ length: options.owners }, (_, index) => {
    const loom = makeLoom({
      name: idOf(index),
      agents: [HopLive],
      limits,
      threadDies: ofThreads.isAt,
      acceptMessages: () => true,
      peer: (peerId) => peerOf(peerId),
    })
    return mortalOwner(loom, ofOwners.isAt)
  })
  const peerOf = (peerId: OwnerId): WireTarget => {
    const peer = owners.find((_, index) => idOf(index) === peerId)
    if (peer === undefined) throw new Error(`there is no ${peerId}`)
    return peer.target
  }
  const loomOf = (thread: number): Loom => {
    const owner = owners[ownerOf(thread)]
    if (owner === undefined) throw new Error("the ring has no such owner")
    return owner.loom
  }

  return {
    log,
    deaths: { threads: ofThreads.deaths, owners: ofOwners.deaths },
    /** Has the tokens set out, and from then on objects die. */
    start: async () => {
      for (let token = 0; token < options.tokens; token++) {
        const thread = token % Math.ceil(options.threads / 10)
        await Effect.runPromise(
          loomOf(thread).client.submit({
            ...addressOf(thread),
            agent: AgentId.make("hop"),
            input: { token, left: options.hops, part: parts - 1 },
            idempotencyKey: IdempotencyKey.make(`token-${token}`),
          }),
        )
      }
      ofThreads.begin()
      ofOwners.begin()
    },
    /** Delivers the alarms of all owners until none is armed, nobody dying any more once `calm` holds. */
    untilQuiet: async (calm: () => boolean, patienceMillis: number) => {
      const until = Date.now() + patienceMillis
      while (owners.some(({ loom }) => loom.storage.alarmAt() !== null || loom.isDelivering())) {
        if (Date.now() > until)
          throw new Error(
            `not quiet after ${log.length} runs: ${JSON.stringify(owners.map(tellLanes))}`,
          )
        if (calm()) {
          ofThreads.end()
          ofOwners.end()
        }
        for (const { loom } of owners)
          // The platform delivers an alarm again whose object has died in it.
          if (!loom.isDelivering()) void loom.deliver().catch(() => undefined)
        await new Promise((resolve) => setImmediate(resolve))
      }
    },
    /** How a submission has ended. */
    settlementOf: async ({ submissionId, thread }: Seen) =>
      (await loomOf(thread).status(`t${thread}`, submissionId)).settlement,
    /** What the owners still owe. */
    obligations: async () => {
      const all = await Promise.all(
        owners.map(({ loom }, owner) =>
          Effect.runPromise(loom.client.obligations({ ownerId: idOf(owner) })),
        ),
      )
      return all.flatMap(({ obligations }) => obligations)
    },
  }
}

/**
 * The sink of a simulated deployment: a queue or a Worker outside, to which owners give the records of threads, and the
 * log of what it was given and has taken. Nothing here reads what the objects have recorded.
 *
 * - S1 A batch leaves its owner as any message does, and lands whether or not the owner lives to hear of it.
 * - S2 What it does to a batch is chance, until the world heals: it refuses, hangs with or without having taken it, takes it
 *   later than anybody waits, or takes it and its answer is lost. Then it takes all.
 */
import type { HeddleSink, PublishedBatch } from "../contracts/Publication.ts"
import { copyJson } from "./Copy.ts"
import { type Incarnation, leaveObject } from "./Incarnation.ts"
import type { Queue } from "./Queue.ts"

/** What may come of a batch besides that it is taken. */
export type SinkIll = "refuses" | "hangs" | "is late" | "answer lost"

/** How a sink does until the world heals. // S2 */
export interface SinkPlan {
  /** How often a batch does not go as it should, of 1, and what comes of those. */
  readonly share: number
  readonly ills: ReadonlyArray<SinkIll>
  /** Threads whose batches it treats so, by their places; all without it. */
  readonly of?: ReadonlyArray<number>
  /** Only the newer deployment publishes. */
  readonly newer?: boolean
}

/** What the sink has of one thread. */
export interface Published {
  /** The last record up to which it has all. */
  last: number
  /** The outcome of each submission whose settlement it has. */
  readonly settled: Map<string, string | undefined>
  /** Each record as it was taken first, as text. */
  readonly records: Map<number, string>
}

export interface Sink {
  /** As code in one incarnation has it. */
  readonly of: (incarnation: Incarnation) => HeddleSink
  /** By the name of a thread, with its owner's. */
  readonly taken: ReadonlyMap<string, Published>
  /** How often something went wrong. */
  readonly ills: () => number
}

export interface SinkOptions {
  readonly queue: Queue
  readonly plan: SinkPlan
  /** Names of threads whose batches fare ill; all without it. */
  readonly poorly: ReadonlySet<string> | undefined
  readonly isHealed: () => boolean
  readonly latency: () => number
  /** Told of each batch before it leaves its owner, and before it is taken. */
  readonly onGiven: (batch: PublishedBatch, published: Published) => void
  readonly onTaken: (batch: PublishedBatch, published: Published) => void
}

/** Longer than an owner waits. */
const lateMillis = 60_000

export const threadOf = ({ ownerId, threadId }: PublishedBatch): string => `${ownerId}/${threadId}`

const outcomeOf = (payload: unknown): string | undefined =>
  (payload as { readonly outcome?: string } | undefined)?.outcome

export const makeSink = (options: SinkOptions): Sink => {
  const { isHealed, latency, plan, poorly, queue } = options
  const { random } = queue
  const taken = new Map<string, Published>()
  let ills = 0

  const publishedOf = (batch: PublishedBatch): Published => {
    const name = threadOf(batch)
    const known = taken.get(name)
    if (known !== undefined) return known
    const made: Published = { last: 0, settled: new Map(), records: new Map() }
    taken.set(name, made)
    return made
  }

  const take = (batch: PublishedBatch): void => {
    const published = publishedOf(batch)
    queue.trace.note("sink takes", batch.id)
    options.onTaken(batch, published)
    for (const record of batch.records) {
      if (published.records.has(record.sequence)) continue
      published.records.set(record.sequence, JSON.stringify(record))
      if (record.kind === "Settled")
        published.settled.set(
          record.submissionId,
          outcomeOf("payload" in record ? record.payload : undefined),
        )
    }
    if (batch.first <= published.last + 1) published.last = Math.max(published.last, batch.last)
  }

  const drawn = (batch: PublishedBatch): SinkIll | "takes" => {
    if (isHealed() || poorly?.has(threadOf(batch)) === false) return "takes"
    if (!random.chance(plan.share)) return "takes"
    ills += 1
    return random.pick(plan.ills)
  }

  const publish = (incarnation: Incarnation, given: PublishedBatch): Promise<unknown> =>
    new Promise((resolve, reject) => {
      const batch = copyJson(given)
      options.onGiven(batch, publishedOf(batch))
      leaveObject(incarnation, () => {
        const does = drawn(batch) // S2
        queue.trace.note("sink", batch.id, does)
        const late = does === "is late" ? random.below(lateMillis) : 0
        const at = queue.now() + latency() + late
        const lands = does !== "refuses" && (does !== "hangs" || random.chance(0.5))
        if (lands) queue.at(at, undefined, "sink takes", () => take(batch)) // S1
        if (does === "hangs") return
        queue.at(at + latency() + 1, incarnation.runner, "sink answers", () =>
          does === "refuses" || does === "answer lost"
            ? reject(new Error("the sink is down"))
            : resolve(undefined),
        )
      })
    })

  return {
    of: (incarnation) => ({ publish: (batch) => publish(incarnation, batch) }),
    taken,
    ills: () => ills,
  }
}

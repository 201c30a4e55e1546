/**
 * Where the looms of the profile `published` publish: a real queue, whose consumer is this Worker. What is published and
 * consumed stays in the memory that tests and objects share.
 */
import { queueSink } from "../../heddle.ts"
import type { HeddleSink, PublishedBatch, PublishedRecord } from "../../contracts/Publication.ts"

/** What owners gave to the queue, and what its consumer got. */
export const given: Array<PublishedBatch> = []
export const consumed: Array<PublishedBatch> = []

/** Threads (`owner/thread`) whose batches are refused, until they are taken out. */
export const refused = new Set<string>()

const queue = queueSink((env: Cloudflare.Env) => env.LOOM_QUEUE)

export const loomSink = (env: Cloudflare.Env): HeddleSink => ({
  publish: async (batch) => {
    if (refused.has(`${batch.ownerId}/${batch.threadId}`)) throw new Error("the sink is down")
    await queue(env).publish(batch)
    given.push(batch)
  },
})

/** The consumer of the queue. */
export const consume: ExportedHandlerQueueHandler<Cloudflare.Env> = (batch) => {
  for (const message of batch.messages) consumed.push(message.body as PublishedBatch)
}

/** The records of a thread among these, each once, by sequence. */
export const recordsIn = (
  batches: ReadonlyArray<PublishedBatch>,
  ownerId: string,
  threadId = "a",
): ReadonlyArray<PublishedRecord> => {
  const found = new Map<number, PublishedRecord>()
  for (const batch of batches)
    if (batch.ownerId === ownerId && batch.threadId === threadId)
      for (const record of batch.records) found.set(record.sequence, record)
  return [...found.values()].toSorted((one, other) => one.sequence - other.sequence)
}

/** Queues and Workers as sinks: what they are given, and within which bounds. */
import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { callsOf, type QueueProducer, queueSink } from "../../../client/sinks/QueueSink.ts"
import { workerSink } from "../../../client/sinks/WorkerSink.ts"
import { OwnerId, SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import { makeBatch, PublishedBatch } from "../../../contracts/Publication.ts"

const thread = { ownerId: OwnerId.make("acme"), threadId: ThreadId.make("order-1") }
const submissionId = SubmissionId.make("01890000-0000-7000-8000-000000000001")

const recordOf = (sequence: number, payload: string) => ({
  sequence,
  submissionId,
  kind: "StepCompleted",
  name: `step-${sequence}`,
  epoch: 1,
  recordedAt: 7,
  payload,
})

const batchOf = (...payloads: ReadonlyArray<string>) =>
  makeBatch(
    thread,
    payloads.map((payload, at) => recordOf(at + 1, payload)),
  )

const bytesOf = (value: unknown) => new TextEncoder().encode(JSON.stringify(value)).length

interface Env {
  readonly EVENTS?: QueueProducer
}

/** A queue that keeps its calls, and refuses as many as a test says. */
const makeQueue = () => {
  const calls: Array<ReadonlyArray<PublishedBatch>> = []
  const queue = {
    refusals: 0,
    sendBatch: async (messages: Iterable<{ readonly body: PublishedBatch }>) => {
      if (queue.refusals-- > 0) throw new Error("Queue is overloaded")
      calls.push([...messages].map(({ body }) => body))
    },
  }
  return { calls, queue, sink: queueSink((env: Env) => env.EVENTS)({ EVENTS: queue }) }
}

describe("a queue as a sink", () => {
  it("gets a batch as one message, which decodes as what it is", async () => {
    const { calls, sink } = makeQueue()
    const batch = batchOf("a", "b")
    await sink.publish(batch)
    expect(calls).toEqual([[batch]])
    expect(batch).toMatchObject({ id: "acme/order-1/1-2", first: 1, last: 2 })
    expect(Schema.decodeUnknownSync(PublishedBatch)(JSON.parse(JSON.stringify(batch)))).toEqual(
      batch,
    )
  })

  it("gets what is more than a message in several, in order and without gaps", async () => {
    const { calls, sink } = makeQueue()
    await sink.publish(batchOf(...Array.from({ length: 40 }, () => "ä".repeat(20_000))))
    const messages = calls.flat()
    expect(messages.length).toBeGreaterThan(10)
    expect(messages.flatMap(({ records }) => records.map(({ sequence }) => sequence))).toEqual(
      Array.from({ length: 40 }, (_, at) => at + 1),
    )
    for (const { first, id, last, records } of messages) {
      expect(records[0]?.sequence).toBe(first)
      expect(records.at(-1)?.sequence).toBe(last)
      expect(id).toBe(`acme/order-1/${first}-${last}`)
    }
  })

  it("gets no message above 128 KB and no call above 256 KB or 100 messages", () => {
    const sizes = [1, 100, 30_000, 60_000, 119_000, 125_000, 250_000]
    const payloads = Array.from({ length: 700 }, (_, at) => "x".repeat(sizes[at % 7] ?? 0))
    const calls = callsOf(
      batchOf(...payloads, ...Array.from({ length: 400 }, () => "y".repeat(100))),
    )
    for (const call of calls) {
      expect(call.length).toBeLessThanOrEqual(100)
      expect(call.reduce((sum, { body }) => sum + bytesOf(body), 0)).toBeLessThanOrEqual(256_000)
      for (const { body } of call) expect(bytesOf(body)).toBeLessThanOrEqual(127_900)
    }
    const sequences = calls
      .flat()
      .flatMap(({ body }) => body.records.map(({ sequence }) => sequence))
    expect(sequences).toEqual(Array.from({ length: 1_100 }, (_, at) => at + 1))
  })

  it("gets a record that fits into no message without its payload, and with where it is", () => {
    const [call] = callsOf(batchOf("a", "z".repeat(200_000), "b"))
    const records = call?.flatMap(({ body }) => body.records) ?? []
    expect(records.map(({ sequence }) => sequence)).toEqual([1, 2, 3])
    const { payload: _p, ...rest } = recordOf(2, "")
    expect(records[1]).toEqual({ ...rest, omittedBytes: 200_002 })
    expect(records[0]).toHaveProperty("payload", "a")
    const message = call?.[0]?.body
    expect(Schema.decodeUnknownSync(PublishedBatch)(message)).toEqual(message)
  })

  it("that refuses has nothing acknowledged, and later messages are not sent before", async () => {
    const { calls, queue, sink } = makeQueue()
    const batch = batchOf(...Array.from({ length: 10 }, () => "x".repeat(100_000)))
    queue.refusals = 1
    await expect(sink.publish(batch)).rejects.toThrow("overloaded")
    expect(calls).toEqual([])
    await sink.publish(batch)
    expect(calls.flat()).toHaveLength(10)
  })

  it("that the environment lacks is told by where it belongs", () => {
    expect(() => queueSink((env: Env) => env.EVENTS)({})).toThrow("[[queues.producers]]")
  })
})

describe("a Worker as a sink", () => {
  it("gets each batch whole, and what it throws is a refusal", async () => {
    const seen: Array<PublishedBatch> = []
    const consumer = {
      isDown: true,
      publish: async (batch: PublishedBatch) => {
        if (consumer.isDown) throw new Error("down")
        seen.push(batch)
      },
    }
    const sink = workerSink((env: { CONSUMER: typeof consumer }) => env.CONSUMER)({
      CONSUMER: consumer,
    })
    const batch = batchOf("z".repeat(200_000))
    await expect(sink.publish(batch)).rejects.toThrow("down")
    consumer.isDown = false
    await sink.publish(batch)
    expect(seen).toEqual([batch])
  })

  it("that the environment lacks is told by where it belongs", () => {
    expect(() => workerSink(() => undefined)({})).toThrow("[[services]]")
  })
})

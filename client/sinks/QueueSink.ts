/**
 * A Cloudflare Queue as a sink: a batch goes as one message, of more than a message holds as several.
 *
 * A queue promises no order between messages, and may deliver one twice: a consumer tells by their sequences.
 *
 * - Q1 No message is larger than 128 KB, and no call has more than 100 of them or 256 KB: the platform's bounds.
 * - Q2 A record that fits into no message goes without its payload: its place in the thread points to it.
 * - Q3 Later records are not sent before the queue has taken earlier ones.
 */
import {
  makeBatch,
  type PublishedBatch,
  type PublishedRecord,
} from "../../contracts/Publication.ts"
import { bound, type SinkFrom } from "./Sink.ts"

/** One message as a producer sends it. */
interface QueueMessage {
  readonly body: PublishedBatch
  readonly contentType: "json"
}

/** What a `[[queues.producers]]` binding of a Worker is, as far as it is used. */
export interface QueueProducer {
  sendBatch(messages: Iterable<QueueMessage>): Promise<unknown>
}

/** Records of one message: what stands around them, and the platform's own words, take the rest of its 128 KB. // Q1 */
const messageBytesMax = 124_000
const messagesMax = 100
const callBytesMax = 248_000

const utf8 = new TextEncoder()

const bytesOf = (value: unknown): number => utf8.encode(JSON.stringify(value)).length

interface Sized<A> {
  readonly value: A
  readonly bytes: number
}

/** The record as a message has it. // Q2 */
const fitting = (record: PublishedRecord): Sized<PublishedRecord> => {
  const bytes = bytesOf(record) + 1
  if (bytes <= messageBytesMax || !("payload" in record)) return { value: record, bytes }
  const { payload, pruned: _p, ...rest } = record
  const omitted = { ...rest, omittedBytes: bytesOf(payload) }
  return { value: omitted, bytes: bytesOf(omitted) + 1 }
}

/** Groups in their order, each of so many and of so many bytes at most, and of one at least. */
const grouped = <A>(
  all: ReadonlyArray<Sized<A>>,
  maximum: { readonly count: number; readonly bytes: number },
): ReadonlyArray<ReadonlyArray<Sized<A>>> => {
  const groups: Array<Array<Sized<A>>> = []
  let bytes = 0
  for (const one of all) {
    const last = groups.at(-1)
    bytes += one.bytes
    if (last === undefined || last.length >= maximum.count || bytes > maximum.bytes) {
      groups.push([one])
      bytes = one.bytes
    } else {
      last.push(one)
    }
  }
  return groups
}

/** The messages of a batch, in the calls that send them. */
export const callsOf = (batch: PublishedBatch): ReadonlyArray<ReadonlyArray<QueueMessage>> => {
  const records = batch.records.map(fitting)
  const messages = grouped(records, { count: Infinity, bytes: messageBytesMax }).map(
    (group): Sized<QueueMessage> => {
      const body = makeBatch(
        batch,
        group.map(({ value }) => value),
      )
      return { value: { body, contentType: "json" }, bytes: bytesOf(body) }
    },
  )
  return grouped(messages, { count: messagesMax, bytes: callBytesMax }).map((call) =>
    call.map(({ value }) => value),
  )
}

/** Publishes to a queue: `queueSink((env: Env) => env.EVENTS)`. */
export const queueSink =
  <Env>(find: (env: Env) => QueueProducer | undefined): SinkFrom<Env> =>
  (env) => {
    const queue = bound(
      find(env),
      "The environment has no queue where `publication` looks: add it to [[queues.producers]]",
    )
    return {
      publish: async (batch) => {
        for (const messages of callsOf(batch)) await queue.sendBatch(messages) // Q3
      },
    }
  }

/**
 * A scene: threads that wait and talk, beside the documents of the demonstration and under the same crash.
 *
 * What a scene tells is read back from settlements and histories, not from what it has done.
 *
 * - C1 Every call goes on through the outage; a submission keeps its key through all its tries.
 */
import { Effect } from "effect"
import { HeddleClient } from "../../../client/HeddleClient.ts"
import {
  AgentId,
  IdempotencyKey,
  type JournalRecord,
  type OwnerId,
  type Receipt,
  type Settlement,
  ThreadId,
} from "../../../contracts/index.ts"
import { type CallFailure, throughOutage } from "../Client.ts"

export interface SceneResult {
  /** The file in `examples/`, without its ending. */
  readonly example: string
  readonly threads: number
  readonly submissions: number
  /** What happened, in a line. */
  readonly told: string
  /** What is not as it must be. */
  readonly findings: ReadonlyArray<string>
}

export type Scene = (stage: Stage) => Effect.Effect<SceneResult, CallFailure>

/** What a scene does to its threads. */
export interface Stage {
  readonly rpc: HeddleClient["Service"]["rpc"]
  readonly ownerId: OwnerId
  readonly submit: (work: {
    readonly threadId: ThreadId
    readonly agent: string
    readonly key: string
    readonly input: Parameters<HeddleClient["Service"]["submit"]>[0]["input"]
    readonly delivery?: "join"
    readonly title?: string
  }) => Effect.Effect<Receipt, CallFailure>
  readonly settled: (receipt: Receipt) => Effect.Effect<Settlement, CallFailure>
  /** All records of a thread. */
  readonly records: (threadId: ThreadId) => Effect.Effect<ReadonlyArray<JournalRecord>, CallFailure>
}

/** One wait; a settlement that takes longer is waited for again. */
const waitMillis = 20_000

export const makeStage = (ownerId: OwnerId): Effect.Effect<Stage, never, HeddleClient> =>
  Effect.map(HeddleClient, ({ rpc, submit }): Stage => ({
    rpc,
    ownerId,
    submit: ({ agent, key, ...work }) =>
      throughOutage(
        submit({
          ownerId,
          ...work,
          agent: AgentId.make(agent),
          idempotencyKey: IdempotencyKey.make(`demo:${key}`), // C1
        }),
      ),
    settled: Effect.fnUntraced(function* ({ submissionId, threadId }) {
      const wait = { ownerId, threadId, submissionId, timeoutMillis: waitMillis }
      for (;;) {
        const reply = yield* throughOutage(rpc.awaitSettlement(wait)) // C1
        if (reply._tag === "Settled") return reply.settlement
      }
    }),
    records: Effect.fnUntraced(function* (threadId) {
      const records: Array<JournalRecord> = []
      let after = 0
      for (;;) {
        const page = yield* throughOutage(rpc.history({ ownerId, threadId, after }))
        records.push(...page.records)
        if (page.next === undefined || page.next <= after) return records
        after = page.next
      }
    }),
  }))

/** So many threads, by a name and their number. */
export const threadsNamed = (name: string, count: number): ReadonlyArray<ThreadId> =>
  Array.from({ length: count }, (_, index) => ThreadId.make(`${name}-${index + 1}`))

/** A field of JSON, where there is one. */
export const field = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined

/** How many records of a kind a history has. */
export const countOf = (
  records: ReadonlyArray<JournalRecord>,
  kind: JournalRecord["kind"],
): number => records.filter((record) => record.kind === kind).length

/** All at once, but so many at a time. */
export const each = <A, B, E, R>(
  items: ReadonlyArray<A>,
  work: (item: A, index: number) => Effect.Effect<B, E, R>,
): Effect.Effect<Array<B>, E, R> => Effect.forEach(items, work, { concurrency: 8 })

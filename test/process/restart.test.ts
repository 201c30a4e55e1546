/** The whole process killed under load, and started again on the same disk. */
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Deferred, Effect, Fiber } from "effect"
import { AgentId, IdempotencyKey, OwnerId, ThreadId } from "../../contracts/Identifiers.ts"
import type { JournalRecord } from "../../contracts/JournalRecord.ts"
import type { WorkerBuild } from "../../scripts/workerBuild.ts"
import { build, startServer } from "./server.ts"

const ownerId = OwnerId.make("shop")
const threads = Array.from({ length: 10 }, (_, index) => ThreadId.make(`order-${index}`))
const each = 10

const submissions = Array.from({ length: each }, (_, round) =>
  threads.map((threadId) => ({
    ownerId,
    threadId,
    agent: AgentId.make("tally"),
    input: { workMillis: 20 },
    idempotencyKey: IdempotencyKey.make(`${threadId}-${round}`),
  })),
).flat()

let worker: WorkerBuild
beforeAll(async () => {
  worker = await build()
})

describe("a SIGKILL in the middle of the work", () => {
  it.live("loses no receipt: each settles exactly once and in order on the same disk", () =>
    Effect.gen(function* () {
      const { client, killAndStart } = yield* startServer(worker)
      let settled = 0
      const underWay = yield* Deferred.make<void>()
      // The caller's part: the same key again until there is a receipt, and waiting for its end.
      const work = (submission: (typeof submissions)[number]) =>
        client.submit(submission).pipe(
          Effect.retry({
            while: (error) => error._tag === "Unavailable" && error.retryable,
            times: 20,
          }),
          Effect.flatMap((receipt) =>
            Effect.map(client.awaitSettled(receipt), (settlement) => ({ receipt, settlement })),
          ),
          Effect.tap(() => {
            settled += 1
            return settled < 25 ? Effect.void : Deferred.succeed(underWay, undefined)
          }),
        )
      const all = yield* Effect.forkChild(Effect.forEach(submissions, work, { concurrency: 60 }), {
        startImmediately: true,
      })
      yield* Deferred.await(underWay)
      const before = settled
      yield* killAndStart
      const ends = yield* Fiber.join(all)
      expect(before).toBeLessThan(submissions.length)
      for (const { receipt, settlement } of ends)
        expect(settlement).toMatchObject({
          outcome: "completed",
          submissionId: receipt.submissionId,
          sequence: receipt.sequence,
        })
      // The keys have survived, too: nothing is accepted twice.
      const again = yield* Effect.forEach(submissions, (one) => client.submit(one), {
        concurrency: 20,
      })
      expect(again).toEqual(ends.map(({ receipt }) => ({ ...receipt, duplicate: true })))
      for (const threadId of threads) {
        const page = yield* client.rpc.history({ ownerId, threadId })
        const records: ReadonlyArray<JournalRecord> = page.records
        const accepted = ends
          .map(({ receipt }) => receipt)
          .filter((receipt) => receipt.threadId === threadId)
          .toSorted((first, second) => first.sequence - second.sequence)
        expect(accepted.map((receipt) => receipt.sequence)).toEqual(
          Array.from({ length: each }, (_, index) => index + 1),
        )
        const ids = accepted.map((receipt) => receipt.submissionId)
        const order = (kind: string) =>
          records.filter((record) => record.kind === kind).map((record) => record.submissionId)
        expect(order("InputApplied")).toEqual(ids)
        expect(order("StateChanged")).toEqual(ids)
        expect(order("StepCompleted")).toEqual(ids)
        expect(order("Settled")).toEqual(ids)
        expect(records.map((record) => record.sequence)).toEqual(records.map((_, at) => at + 1))
        expect(yield* client.rpc.readState({ ownerId, threadId })).toMatchObject({ value: each })
      }
    }),
  )
})

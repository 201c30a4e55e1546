/**
 * The whole process killed at random moments under load, and started again on the same disk.
 *
 * Each run draws another seed. `HEDDLE_RESTART_SEED` runs the one that a failure has printed.
 */
import { randomUUID } from "node:crypto"
import { beforeAll, describe, expect, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import type { HeddleClient } from "../../client/HeddleClient.ts"
import type { ThreadId } from "../../contracts/Identifiers.ts"
import type { JournalRecord } from "../../contracts/JournalRecord.ts"
import type { Receipt } from "../../contracts/Submission.ts"
import { type ThreadEvidence, verifyThread } from "../../scripts/demo/Verify.ts"
import type { WorkerBuild } from "../../scripts/workerBuild.ts"
import { type End, patienceMillis, runLoad } from "./restart-load.ts"
import { killsCount, ownerId, type Plan, planOf } from "./restart-plan.ts"
import { build, startServer } from "./server.ts"

type Client = HeddleClient["Service"]

const seed = process.env["HEDDLE_RESTART_SEED"] ?? randomUUID().slice(0, 8)

let worker: WorkerBuild
beforeAll(async () => {
  worker = await build()
})

const tell = (line: string) => void process.stdout.write(`${line}\n`)

const wholeHistory = Effect.fnUntraced(function* (client: Client, threadId: ThreadId) {
  const records: Array<JournalRecord> = []
  for (let after: number | undefined = 0; after !== undefined;) {
    const page: { records: ReadonlyArray<JournalRecord>; next?: number } =
      yield* client.rpc.history({ ownerId, threadId, after })
    records.push(...page.records)
    after = page.next
  }
  return records
})

const bySequence = (ends: ReadonlyArray<End>): ReadonlyArray<Receipt> =>
  ends
    .flatMap(({ receipts: [receipt] }) => receipt ?? [])
    .toSorted((first, second) => first.sequence - second.sequence)

/** What a thread holds, beside what its clients were told. */
const evidenceOf = Effect.fnUntraced(function* (
  client: Client,
  threadId: ThreadId,
  ends: ReadonlyArray<End>,
) {
  const receipts = bySequence(ends)
  return {
    threadId,
    name: threadId,
    receipts,
    settlements: new Map(ends.map(({ settlement }) => [settlement.submissionId, settlement])),
    statuses: yield* Effect.forEach(receipts, ({ submissionId }) =>
      client.rpc.status({ ownerId, threadId, submissionId }),
    ),
    records: yield* wholeHistory(client, threadId),
  } satisfies ThreadEvidence
})

/** The journal without what tells of losses, numbers and times. */
const normalised = ({ records, receipts }: ThreadEvidence) => {
  const sequences = new Map(receipts.map(({ submissionId, sequence }) => [submissionId, sequence]))
  return records
    .filter(({ kind }) => kind !== "AttemptInterrupted")
    .map(({ kind, name, submissionId }) =>
      [sequences.get(submissionId), kind, name ?? ""].join(" "),
    )
}

/** The journal of a thread that was never interrupted. */
const undisturbed = (submissions: number) =>
  Array.from({ length: submissions }, (_, index) => index + 1).flatMap((sequence) => [
    `${sequence} InputApplied `,
    `${sequence} StateChanged count`,
    `${sequence} StepCompleted work`,
    `${sequence} Settled `,
  ])

/** Waits until the owner owes nothing and holds no alarm, and says what it is like if it never does. */
const rest = (client: Client) => {
  let last: unknown
  return client.rpc.maintenanceStatus({ ownerId }).pipe(
    Effect.tap((status) => Effect.sync(() => (last = status))),
    Effect.repeat({
      schedule: Schedule.spaced("50 millis"),
      until: ({ nonterminal, alarmAt, dirty, processed }) =>
        nonterminal === 0 && alarmAt === undefined && dirty === processed,
    }),
    Effect.timeoutOrElse({
      duration: "8 seconds",
      orElse: () => Effect.die(new Error(`the owner does not rest: ${JSON.stringify(last)}`)),
    }),
  )
}

/** Each caller of a key has the same receipt, at most one of them the first. */
const expectOneReceiptEach = (plan: Plan, ends: ReadonlyArray<End>): void =>
  plan.submissions.forEach(({ submit }, index) => {
    const receipts = ends[index]?.receipts ?? []
    const [first] = receipts
    for (const receipt of receipts) {
      expect(receipt).toMatchObject({ ownerId, threadId: submit.threadId })
      expect({ ...receipt, duplicate: true }).toEqual({ ...first, duplicate: true })
    }
    expect(receipts.filter(({ duplicate }) => !duplicate).length).toBeLessThanOrEqual(1)
  })

describe(`a SIGKILL at ${killsCount} random moments of the work`, () => {
  it.live(
    "loses nothing, does nothing twice, and keeps the order of every thread",
    Effect.fnUntraced(function* () {
      tell(`HEDDLE_RESTART_SEED=${seed}`)
      const plan = planOf(seed)
      const { client, killAndStart } = yield* startServer(worker)
      const { ends, killed } = yield* runLoad(plan, { client, killAndStart })
      expect(killed).toHaveLength(killsCount)
      // Each came under load.
      for (const { settled } of killed) expect(settled).toBeLessThan(plan.submissions.length)
      expectOneReceiptEach(plan, ends)
      // The keys have survived, too: nothing is accepted twice.
      const again = yield* Effect.forEach(plan.submissions, ({ submit }) => client.submit(submit), {
        concurrency: 20,
      })
      expect(again).toEqual(ends.map(({ receipts }) => ({ ...receipts[0], duplicate: true })))
      let lost = 0
      for (const threadId of plan.threads) {
        const itsEnds = ends.filter(({ receipts }) => receipts[0]?.threadId === threadId)
        const evidence = yield* evidenceOf(client, threadId, itsEnds)
        expect(verifyThread(evidence)).toEqual([])
        expect(normalised(evidence)).toEqual(undisturbed(itsEnds.length))
        for (const { settlement } of itsEnds) {
          const output = { count: settlement.sequence }
          expect(settlement).toMatchObject({ outcome: "completed", output })
        }
        const state = yield* client.rpc.readState({ ownerId, threadId })
        expect(state).toMatchObject({ value: itsEnds.length })
        lost += evidence.records.filter(({ kind }) => kind === "AttemptInterrupted").length
      }
      // Else the kills have hit nothing, and all of this says nothing.
      expect(lost).toBeGreaterThan(0)
      tell(`${lost} attempts lost in ${killed.length} kills`)
      yield* rest(client)
    }),
    patienceMillis + 30_000,
  )
})

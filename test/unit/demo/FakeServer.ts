/**
 * Threads in memory for tests of the demonstration: idempotent, in order, and away for a while when
 * told to. `faults` break one promise each, as a broken server would.
 */
import { Effect, Schedule, Stream } from "effect"
import type {
  JournalRecord,
  ObserveFrame,
  Receipt,
  Settlement,
  ThreadId,
} from "../../../contracts/index.ts"
import { SubmissionId } from "../../../contracts/index.ts"
import type { CallFailure, DemoClient } from "../../../scripts/demo/Client.ts"

export interface Faults {
  /** A retry is accepted as new work. */
  readonly forgetsKeys?: boolean
  /** What was accepted before a restart is gone. */
  readonly forgetsWork?: boolean
  /** Names that are refused. */
  readonly refuses?: ReadonlyArray<string>
  /** Its runs are never seen between two of their steps; else one is, all the time. */
  readonly settlesAtOnce?: boolean
  /** A failure of every call, that no retry helps. */
  readonly denies?: boolean
}

/** What an observer is told of a record. */
export const frame = (kind: JournalRecord["kind"]): ObserveFrame => ({
  _tag: "Record",
  record: {
    sequence: 1,
    submissionId: SubmissionId.make("00000000-0000-7000-8000-000000000001"),
    kind,
    epoch: 1,
    recordedAt: 0,
    payload: null,
  },
})

interface FakeThread {
  readonly receipts: Map<string, Receipt>
  readonly settlements: Map<SubmissionId, Settlement>
  readonly records: Array<JournalRecord>
}

export class FakeServer {
  readonly threads = new Map<ThreadId, FakeThread>()
  readonly calls = { submit: 0, lostReplies: 0, refusedWhileAway: 0 }
  restarts = 0
  #away = false
  #ids = 0
  readonly #faults: Faults

  constructor(faults: Faults = {}) {
    this.#faults = faults
  }

  /** Away for `millis`; every call meanwhile fails. */
  restart(millis: number): Effect.Effect<void> {
    const leave = Effect.sync(() => {
      this.#away = true
      if (this.#faults.forgetsWork === true) this.threads.clear()
    })
    const comeBack = Effect.sync(() => {
      this.#away = false
      this.restarts += 1
    })
    return Effect.andThen(leave, Effect.andThen(Effect.sleep(millis), comeBack))
  }

  readonly client: DemoClient = {
    submit: (lane, { idempotencyKey, input }) =>
      this.#call(() => {
        this.calls.submit += 1
        if (this.#faults.refuses?.includes(input.name) === true) {
          return Effect.fail({ _tag: "InvalidInput", message: "no" })
        }
        const receipt = this.#admit(lane, idempotencyKey)
        // Every third reply is lost after the work was accepted.
        if (this.calls.submit % 3 === 0 && !receipt.duplicate) {
          this.calls.lostReplies += 1
          return Effect.fail({ _tag: "Unavailable" })
        }
        return Effect.succeed(receipt)
      }),
    awaitSettlement: ({ threadId }, submissionId) =>
      this.#call(() => {
        const settlement = this.#process(threadId).settlements.get(submissionId)
        return Effect.succeed(
          settlement === undefined
            ? ({ _tag: "Pending" } as const)
            : ({ _tag: "Settled", settlement } as const),
        )
      }),
    status: ({ threadId }, submissionId) =>
      this.#call(() => {
        const settlement = this.#thread(threadId).settlements.get(submissionId)
        if (settlement === undefined) return Effect.fail({ _tag: "SubmissionNotFound" })
        const { sequence } = settlement
        return Effect.succeed({ submissionId, state: "settled", sequence, attempts: 1, settlement })
      }),
    observe: () =>
      this.#faults.settlesAtOnce === true
        ? Stream.never
        : Stream.fromSchedule(Schedule.spaced("5 millis")).pipe(
            Stream.flatMap(() => Stream.make(frame("InputApplied"), frame("StepCompleted"))),
          ),
    // Two records a page.
    history: ({ threadId }, after) =>
      this.#call(() => {
        const { records } = this.#thread(threadId)
        const page = records.slice(after, after + 2)
        return Effect.succeed(
          after + 2 < records.length ? { records: page, next: after + 2 } : { records: page },
        )
      }),
  }

  #call<A>(answer: () => Effect.Effect<A, CallFailure>): Effect.Effect<A, CallFailure> {
    return Effect.andThen(
      Effect.sleep("10 millis"),
      Effect.suspend(() => {
        if (this.#faults.denies === true) return Effect.fail({ _tag: "OperationDenied" })
        if (!this.#away) return answer()
        this.calls.refusedWhileAway += 1
        return Effect.fail({ _tag: "RpcClientError" })
      }),
    )
  }

  #thread(threadId: ThreadId): FakeThread {
    const known = this.threads.get(threadId)
    if (known !== undefined) return known
    const thread = { receipts: new Map(), settlements: new Map(), records: [] }
    this.threads.set(threadId, thread)
    return thread
  }

  #admit(lane: Pick<Receipt, "ownerId" | "threadId">, key: string): Receipt {
    const { receipts } = this.#thread(lane.threadId)
    const known = receipts.get(key)
    if (known !== undefined && this.#faults.forgetsKeys !== true) {
      return { ...known, duplicate: true }
    }
    this.#ids += 1
    const receipt: Receipt = {
      ...lane,
      submissionId: SubmissionId.make(
        `00000000-0000-7000-8000-${String(this.#ids).padStart(12, "0")}`,
      ),
      sequence: receipts.size + 1,
      acceptedAt: 0,
      duplicate: false,
    }
    receipts.set(known === undefined ? key : `${key} again`, receipt)
    return receipt
  }

  /** Settles what a thread has accepted, in order. */
  #process(threadId: ThreadId): FakeThread {
    const thread = this.#thread(threadId)
    for (const { submissionId, sequence } of thread.receipts.values()) {
      if (thread.settlements.has(submissionId)) continue
      const write = (kind: JournalRecord["kind"], payload: JournalRecord["payload"]) =>
        thread.records.push({
          sequence: thread.records.length + 1,
          submissionId,
          kind,
          epoch: 1,
          recordedAt: 0,
          payload,
        })
      write("InputApplied", null)
      write("Settled", { outcome: "completed", output: sequence })
      thread.settlements.set(submissionId, {
        submissionId,
        sequence,
        outcome: "completed",
        output: sequence,
        settledAt: 0,
        attempts: 1,
      })
    }
    return thread
  }
}

/**
 * What a run of the demonstration has seen so far. Progress is read from it; the verdict is not: that
 * comes from the histories.
 */
import type { Receipt, Settlement, SubmissionId, ThreadId } from "../../contracts/index.ts"
import type { LeftOut } from "./Documents.ts"
import type { PlannedThread } from "./Plan.ts"

export interface SeenThread {
  /** Of its document. */
  readonly name: string
  readonly receipts: Array<Receipt>
  readonly settlements: Map<SubmissionId, Settlement>
}

/** How things stood when the process was killed. */
export interface Interruption {
  readonly settled: number
  readonly accepted: number
}

export class Ledger {
  /** What is still expected to be submitted, and what was. */
  planned: number
  accepted = 0
  settled = 0
  /** Calls that were repeated because the server was away. */
  retries = 0
  readonly threads = new Map<ThreadId, SeenThread>()
  readonly refused: Array<LeftOut> = []
  interruption: Interruption | undefined
  /** What has happened to the server, for people. */
  readonly news: Array<string> = []

  constructor(plan: ReadonlyArray<PlannedThread>) {
    this.planned = plan.reduce((sum, thread) => sum + thread.submissions.length, 0)
    for (const { threadId, name } of plan) {
      this.threads.set(threadId, { name, receipts: [], settlements: new Map() })
    }
  }

  seen(threadId: ThreadId): SeenThread {
    const thread = this.threads.get(threadId)
    if (thread === undefined) throw new Error(`${threadId} is not in the plan`)
    return thread
  }

  accept(receipt: Receipt): void {
    this.seen(receipt.threadId).receipts.push(receipt)
    this.accepted += 1
  }

  /** A submission was refused; it and what should have followed it will not come. */
  refuse(threadId: ThreadId, reason: string, submissions: number): void {
    this.refused.push({ name: this.seen(threadId).name, reason })
    this.planned -= submissions
  }

  settle(threadId: ThreadId, settlement: Settlement): void {
    this.seen(threadId).settlements.set(settlement.submissionId, settlement)
    this.settled += 1
  }

  /** About half has settled, and something accepted has not. */
  get isHalfWay(): boolean {
    return this.settled >= Math.floor(this.planned / 2) && this.accepted > this.settled
  }

  /** There will not be much under way for long. */
  get isLate(): boolean {
    return this.settled >= Math.floor((this.planned * 3) / 4)
  }
}

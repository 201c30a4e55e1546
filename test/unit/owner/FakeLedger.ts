/** What a fake thread holds, and what becomes of it. Its truth is in memory. */
import { Effect } from "effect"
import type { AbortReply } from "../../../contracts/Abort.ts"
import {
  AgentNotRegistered,
  SubmissionNotFound,
  Unavailable,
  WorkOwed,
} from "../../../contracts/Errors.ts"
import type { Generation } from "../../../contracts/Identifiers.ts"
import {
  type AgentId,
  type OwnerId,
  type SubmissionId,
  type ThreadId,
} from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import type { OutcomeText } from "../../../contracts/Outcomes.ts"
import type { Receipt } from "../../../contracts/Submission.ts"
import { type HeadAnswer } from "../../../contracts/ThreadRpc.ts"
import { fakeReport, type Held } from "./fakeAnswers.ts"
import { FakeOutbox } from "./FakeOutbox.ts"
import { FakePublication } from "./FakePublication.ts"
import type { Forgetting, Recovery, Turn, Visiting } from "./ways.ts"

/** A command as it reached the thread. */
export interface Command {
  readonly name: string
  readonly payload: Record<string, unknown> & { readonly generation: Generation }
}

let ids = 0

export const fenced = new Unavailable({ retryable: true, overloaded: false, reason: "fenced" })
export const gone = new Unavailable({ retryable: true, overloaded: false, reason: "gone" })

export class FakeLedger {
  readonly threadId: ThreadId
  readonly settled: Array<number> = []
  turn: Turn = "settle"
  recovery: Recovery = "repair"
  visiting: Visiting = "answer"
  /** How many heads one turn settles at most. */
  headsPerTurn = 1
  lost = false
  refuses = false
  born = "born-1"
  fence: Generation | undefined
  forgetting: Forgetting = "answer"
  forgottenAt: number | undefined
  paused = false
  /** Told instead of what is queued. */
  replaces: LaneReport | undefined
  /** Waits for somebody outside: its head has no time of its own. */
  waits: "suspended" | "unknown" | undefined
  /** A tool without which recovery cannot go on with a lost run. */
  lacks: string | undefined
  turns = 0
  visits = 0
  /** How often it was asked what is open. */
  asked = 0
  recoveries = 0
  /** The commands to abort that came this far, with who called. */
  readonly aborts: Array<{ readonly principal: string; readonly generation: Generation }> = []
  /** The other commands that came this far. */
  readonly commands: Array<Command> = []
  suspects: Array<boolean> = []
  /** What it has for others. */
  readonly outbox = new FakeOutbox()
  /** What a sink is to have of it. */
  readonly publication = new FakePublication()
  /** What was admitted here, in its order: the key and the whole payload. */
  readonly admitted: Array<Record<string, unknown>> = []
  /** Every admission that came this far, taken or not. */
  admissions = 0
  /** How it answers who brings something. */
  receiving: "answer" | "hang" | "fail" = "answer"
  /** How its outcomes are read; none by default. */
  readsOutcomes: (query: { readonly after: number; readonly limit: number }) => Effect.Effect<
    {
      readonly outcomes: ReadonlyArray<OutcomeText>
      readonly readTo: number
      readonly more: boolean
    },
    Unavailable
  > = ({ after }) => Effect.succeed({ outcomes: [], readTo: after, more: false })
  onTurn: (thread: FakeLedger) => void = () => undefined
  onRecover: (thread: FakeLedger) => void = () => undefined
  readonly queue: Array<Held> = []
  readonly keys = new Map<string, Receipt>()
  revision = 0
  sequence = 0
  running = false

  constructor(threadId: ThreadId) {
    this.threadId = threadId
  }

  get queued(): number {
    return this.queue.length
  }

  /** The run that goes on ends here. */
  endRun(): void {
    this.running = false
    this.settleOne()
  }

  report(): LaneReport {
    const outboxAt = this.outbox.at()
    const report = fakeReport(this, this.queue, this.revision, this.running)
    if (this.replaces !== undefined) return this.replaces
    return this.publication.told(outboxAt === undefined ? report : { ...report, outboxAt })
  }

  /** Records something for others; whoever owns it hears of it with the next report. */
  sends(...entries: FakeOutbox["entries"]): void {
    this.outbox.entries.push(...entries)
    this.revision += 1
  }

  /** A command of this name is noted, and refused by a fence that is not older. */
  noted(name: string, payload: Command["payload"]): Unavailable | undefined {
    this.commands.push({ name, payload })
    return this.fence !== undefined && payload.generation <= this.fence ? fenced : undefined
  }

  pauseAs(paused: boolean) {
    this.paused = paused
    this.revision += 1
    const pause = { author: "ann", reason: "audit", sinceAt: 7 }
    return paused ? { paused, pause } : { paused }
  }

  /** Deletes itself if it owes nothing. Aborts what does not run if it is told to. */
  forgetAs(abort: boolean): WorkOwed | number {
    if (abort) {
      this.revision += 1
      this.queue.splice(this.running ? 1 : 0)
    }
    const nonterminal = this.queue.length
    const outbox = this.outbox.entries.length
    const owes = nonterminal + outbox > 0 || this.publication.owes
    if (owes) return new WorkOwed({ nonterminal, outbox })
    this.forgottenAt = 7
    return this.forgottenAt
  }

  settleOne(): HeadAnswer | undefined {
    const head = this.queue.shift()
    if (head === undefined) return undefined
    this.settled.push(head.receipt.sequence)
    this.publication.record(head.receipt.submissionId, "InputApplied")
    this.publication.record(head.receipt.submissionId, "Settled")
    this.revision += 1
    return { _tag: "Settled", submissionId: head.receipt.submissionId, outcome: "completed" }
  }

  admitOne(payload: {
    readonly ownerId: OwnerId
    readonly generation: Generation
    readonly idempotencyKey: string
    readonly agent: AgentId
  }): Receipt | Unavailable | AgentNotRegistered {
    if (this.refuses) return new AgentNotRegistered({ agent: payload.agent })
    if (this.fence !== undefined && payload.generation <= this.fence) {
      return fenced
    }
    const known = this.keys.get(payload.idempotencyKey)
    if (known !== undefined) return { ...known, duplicate: true }
    this.sequence += 1
    this.revision += 1
    const receipt: Receipt = {
      ownerId: payload.ownerId,
      threadId: this.threadId,
      submissionId: `01890000-0000-7000-8000-${String(++ids).padStart(12, "0")}` as SubmissionId,
      sequence: this.sequence,
      acceptedAt: 0,
      duplicate: false,
    }
    this.keys.set(payload.idempotencyKey, receipt)
    this.admitted.push(payload)
    this.queue.push({ receipt, key: payload.idempotencyKey, agent: payload.agent })
    return receipt
  }

  abortOne(payload: {
    readonly submissionId: SubmissionId
    readonly author: string
    readonly reason: string
    readonly principal: string
    readonly generation: Generation
  }): AbortReply | Unavailable | SubmissionNotFound {
    const { author, generation, principal, reason, submissionId } = payload
    this.aborts.push({ principal, generation })
    if (this.fence !== undefined && generation <= this.fence) return fenced
    const index = this.queue.findIndex(({ receipt }) => receipt.submissionId === submissionId)
    const held = this.queue[index]
    if (held === undefined) return new SubmissionNotFound({ submissionId })
    if (this.running && index === 0) return { _tag: "Aborting" }
    this.queue.splice(index, 1)
    this.revision += 1
    const { sequence } = held.receipt
    const abort = { author, reason, forced: false }
    const settlement = { submissionId, sequence, outcome: "aborted", abort } as const
    return { _tag: "Settled", settlement: { ...settlement, settledAt: 0, attempts: 0 } }
  }

  processHeads(maxHeads: number): ReadonlyArray<HeadAnswer> {
    const head = this.queue[0]
    if (head === undefined) return []
    const { submissionId } = head.receipt
    if (this.publication.owes) return []
    if (this.lost) return [{ _tag: "NeedsRecovery", submissionId }]
    switch (this.turn) {
      case "suspend":
      case "park":
        this.waits = this.turn === "park" ? "unknown" : "suspended"
        this.revision += 1
        return [{ _tag: this.turn === "park" ? "Unknown" : "Suspended", submissionId }]
      case "unchanged":
        return []
      case "binding":
        return [{ _tag: "BindingUnavailable", submissionId, agent: head.agent }]
      case "run":
        this.revision += this.running ? 0 : 1
        this.running = true
        return [{ _tag: "Running", submissionId }]
      default: {
        const answers: Array<HeadAnswer> = []
        while (answers.length < Math.min(maxHeads, this.headsPerTurn) && !this.publication.owes) {
          const settled = this.settleOne()
          if (settled === undefined) break
          answers.push(settled)
        }
        return answers
      }
    }
  }
}

/** A thread that keeps its truth in memory and does on each turn what a test says. */
import { Context, Effect, Layer, Scope } from "effect"
import { callerMiddlewareLayer } from "../../../contracts/Authorization.ts"
import type { AbortReply } from "../../../contracts/Abort.ts"
import {
  AdmissionLimitExceeded,
  AgentNotRegistered,
  SubmissionNotFound,
  ThreadForgotten,
  ThreadUnreadable,
  Unavailable,
  WorkOwed,
} from "../../../contracts/Errors.ts"
import type { Generation } from "../../../contracts/Identifiers.ts"
import {
  type AgentId,
  type OwnerId,
  RecordId,
  type SubmissionId,
  type ThreadId,
} from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import type { OutcomeText } from "../../../contracts/Outcomes.ts"
import type { RecoveryReport } from "../../../contracts/Recovery.ts"
import type { Receipt, ThreadSubmission } from "../../../contracts/Submission.ts"
import { type HeadAnswer, ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import type { WireTarget } from "../../../contracts/transport/Wire.ts"
import { makeWireServer } from "../../../contracts/transport/WireServer.ts"
import { admitAll, fakeReport, type Held, openOf } from "./fakeAnswers.ts"
import { FakeOutbox } from "./FakeOutbox.ts"
import type { Forgetting, Recovery, Turn, Visiting } from "./ways.ts"

/** A command as it reached the thread. */
export interface Command {
  readonly name: string
  readonly payload: Record<string, unknown> & { readonly generation: Generation }
}

interface Reply<A, E = ThreadUnreadable> {
  readonly report: LaneReport
  readonly result:
    | { readonly _tag: "Success"; readonly value: A }
    | { readonly _tag: "Failure"; readonly error: E }
}

type AdmitAnswer = Reply<Receipt, AdmissionLimitExceeded | AgentNotRegistered | Unavailable>
type ForgetAnswer = Reply<{ readonly forgottenAt: number }, WorkOwed | Unavailable>

let ids = 0

const fakeRecordId = RecordId.make("ab".repeat(16))

const fenced = new Unavailable({ retryable: true, overloaded: false, reason: "fenced" })
const gone = new Unavailable({ retryable: true, overloaded: false, reason: "gone" })

export class FakeThread {
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
  onTurn: (thread: FakeThread) => void = () => undefined
  onRecover: (thread: FakeThread) => void = () => undefined
  readonly #queue: Array<Held> = []
  readonly #keys = new Map<string, Receipt>()
  #revision = 0
  #sequence = 0
  #running = false

  constructor(threadId: ThreadId) {
    this.threadId = threadId
  }

  get queued(): number {
    return this.#queue.length
  }

  /** The run that goes on ends here. */
  endRun(): void {
    this.#running = false
    this.#settleOne()
  }

  report(): LaneReport {
    const outboxAt = this.outbox.at()
    const report = fakeReport(this, this.#queue, this.#revision, this.#running)
    return this.replaces ?? (outboxAt === undefined ? report : { ...report, outboxAt })
  }

  /** Records something for others; whoever owns it hears of it with the next report. */
  sends(...entries: FakeOutbox["entries"]): void {
    this.outbox.entries.push(...entries)
    this.#revision += 1
  }

  /** A command of this name is noted, and refused by a fence that is not older. */
  #command(name: string, payload: Command["payload"]): Unavailable | undefined {
    this.commands.push({ name, payload })
    return this.fence !== undefined && payload.generation <= this.fence ? fenced : undefined
  }

  #pause(paused: boolean) {
    this.paused = paused
    this.#revision += 1
    const pause = { author: "ann", reason: "audit", sinceAt: 7 }
    return paused ? { paused, pause } : { paused }
  }

  /** Deletes itself if it owes nothing. Aborts what does not run if it is told to. */
  #forget(abort: boolean): WorkOwed | number {
    if (abort) {
      this.#revision += 1
      this.#queue.splice(this.#running ? 1 : 0)
    }
    const nonterminal = this.#queue.length
    const outbox = this.outbox.entries.length
    if (nonterminal + outbox > 0) return new WorkOwed({ nonterminal, outbox })
    this.forgottenAt = 7
    return this.forgottenAt
  }

  #settleOne(): HeadAnswer | undefined {
    const head = this.#queue.shift()
    if (head === undefined) return undefined
    this.settled.push(head.receipt.sequence)
    this.#revision += 1
    return { _tag: "Settled", submissionId: head.receipt.submissionId, outcome: "completed" }
  }

  #admit(payload: {
    readonly ownerId: OwnerId
    readonly generation: Generation
    readonly idempotencyKey: string
    readonly agent: AgentId
  }): Receipt | Unavailable | AgentNotRegistered {
    if (this.refuses) return new AgentNotRegistered({ agent: payload.agent })
    if (this.fence !== undefined && payload.generation <= this.fence) {
      return fenced
    }
    const known = this.#keys.get(payload.idempotencyKey)
    if (known !== undefined) return { ...known, duplicate: true }
    this.#sequence += 1
    this.#revision += 1
    const receipt: Receipt = {
      ownerId: payload.ownerId,
      threadId: this.threadId,
      submissionId: `01890000-0000-7000-8000-${String(++ids).padStart(12, "0")}` as SubmissionId,
      sequence: this.#sequence,
      acceptedAt: 0,
      duplicate: false,
    }
    this.#keys.set(payload.idempotencyKey, receipt)
    this.admitted.push(payload)
    this.#queue.push({ receipt, key: payload.idempotencyKey, agent: payload.agent })
    return receipt
  }

  #abort(payload: {
    readonly submissionId: SubmissionId
    readonly author: string
    readonly reason: string
    readonly principal: string
    readonly generation: Generation
  }): AbortReply | Unavailable | SubmissionNotFound {
    const { author, generation, principal, reason, submissionId } = payload
    this.aborts.push({ principal, generation })
    if (this.fence !== undefined && generation <= this.fence) return fenced
    const index = this.#queue.findIndex(({ receipt }) => receipt.submissionId === submissionId)
    const held = this.#queue[index]
    if (held === undefined) return new SubmissionNotFound({ submissionId })
    if (this.#running && index === 0) return { _tag: "Aborting" }
    this.#queue.splice(index, 1)
    this.#revision += 1
    const { sequence } = held.receipt
    const abort = { author, reason, forced: false }
    const settlement = { submissionId, sequence, outcome: "aborted", abort } as const
    return { _tag: "Settled", settlement: { ...settlement, settledAt: 0, attempts: 0 } }
  }

  #process(maxHeads: number): ReadonlyArray<HeadAnswer> {
    const head = this.#queue[0]
    if (head === undefined) return []
    const { submissionId } = head.receipt
    if (this.lost) return [{ _tag: "NeedsRecovery", submissionId }]
    switch (this.turn) {
      case "suspend":
      case "park":
        this.waits = this.turn === "park" ? "unknown" : "suspended"
        this.#revision += 1
        return [{ _tag: this.turn === "park" ? "Unknown" : "Suspended", submissionId }]
      case "unchanged":
        return []
      case "binding":
        return [{ _tag: "BindingUnavailable", submissionId, agent: head.agent }]
      case "run":
        this.#revision += this.#running ? 0 : 1
        this.#running = true
        return [{ _tag: "Running", submissionId }]
      default: {
        const answers: Array<HeadAnswer> = []
        while (answers.length < Math.min(maxHeads, this.headsPerTurn)) {
          const settled = this.#settleOne()
          if (settled === undefined) break
          answers.push(settled)
        }
        return answers
      }
    }
  }

  #unreadable() {
    const error = new ThreadUnreadable({ threadId: this.threadId, what: "journal" })
    return Effect.succeed({
      report: this.report(),
      result: { _tag: "Failure" as const, error },
    })
  }

  /** The thread behind the one native method. */
  target(): WireTarget {
    const success = <A>(value: A) => ({
      report: this.report(),
      result: { _tag: "Success" as const, value },
    })
    const failure = <E>(error: E) => ({
      report: this.report(),
      result: { _tag: "Failure" as const, error },
    })
    const unused = Effect.die("not part of this test")
    /** A thread that was forgotten answers nothing else. */
    const alive = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | ThreadForgotten> =>
      Effect.suspend((): Effect.Effect<A, E | ThreadForgotten> => {
        const { forgottenAt, threadId } = this
        return forgottenAt === undefined
          ? effect
          : Effect.fail(new ThreadForgotten({ threadId, forgottenAt }))
      })
    const answer = <A>(name: string, payload: Command["payload"], act: () => A) =>
      alive(
        Effect.sync(() => {
          const refused = this.#command(name, payload)
          return refused === undefined ? success(act()) : failure(refused)
        }),
      )
    const handlers = ThreadRpc.toLayer({
      admit: (payload) =>
        alive(
          Effect.suspend((): Effect.Effect<AdmitAnswer, Unavailable> => {
            this.admissions += 1
            if (this.receiving === "hang") return Effect.never
            if (this.receiving === "fail") return Effect.fail(gone)
            const { idempotencyKey, replayOnly } = payload
            if (replayOnly !== undefined && !this.#keys.has(idempotencyKey))
              return Effect.succeed(failure(new AdmissionLimitExceeded(replayOnly)))
            const receipt = this.#admit(payload)
            return Effect.succeed("_tag" in receipt ? failure(receipt) : success(receipt))
          }),
        ),
      admitMany: ({ submissions, ...payload }) =>
        alive(
          Effect.sync(() => {
            this.commands.push({ name: "admitMany", payload: { submissions, ...payload } })
            if (this.fence !== undefined && payload.generation <= this.fence) {
              return failure(fenced)
            }
            const admit = (submission: ThreadSubmission) =>
              this.#admit({ ...payload, ...submission })
            const isKnown = (key: string) => this.#keys.has(key)
            return success(admitAll(submissions, payload, { admit, isKnown }))
          }),
        ),
      resubmit: (payload) =>
        alive(
          Effect.sync(() => {
            this.commands.push({ name: "resubmit", payload })
            const { submissionId: resubmissionOf } = payload
            const receipt = this.#admit({ ...payload, agent: "agent" as AgentId })
            return "_tag" in receipt ? failure(receipt) : success({ ...receipt, resubmissionOf })
          }),
        ),
      readOutcomes: (query) => alive(Effect.suspend(() => this.readsOutcomes(query))),
      listOpen: (query) =>
        alive(
          Effect.suspend(() => {
            this.asked += 1
            if (this.visiting === "hang") return Effect.never
            if (this.visiting === "fail") return Effect.fail(gone)
            return Effect.succeed(openOf(this.#queue, query, this.#running))
          }),
        ),
      requestAbort: (payload) =>
        alive(
          Effect.sync(() => {
            const reply = this.#abort(payload)
            return reply._tag === "Settled" || reply._tag === "Aborting"
              ? success(reply)
              : failure(reply)
          }),
        ),
      resolveUnknown: (payload) =>
        answer("resolveUnknown", payload, () => {
          this.waits = undefined
          this.#revision += 1
          return { state: "ready" as const, undecided: 0 }
        }),
      resolveApproval: (payload) =>
        answer("resolveApproval", payload, () => {
          this.waits = undefined
          this.#revision += 1
          const { approved } = payload
          return { recordId: fakeRecordId, approved, decidedAt: 7, state: "ready" as const }
        }),
      signal: (payload) =>
        answer("signal", payload, () => {
          this.waits = undefined
          this.#revision += 1
          return { receivedAt: 7, duplicate: false, state: "ready" as const }
        }),
      schedule: (payload) =>
        answer("schedule", payload, () => {
          const { agent, cron, input, name } = payload
          return { name, cron, agent, input, createdAt: 7, collapsed: 0 }
        }),
      unschedule: (payload) => answer("unschedule", payload, () => ({ removed: true })),
      claimOutbox: (payload) => {
        const { way } = this.outbox
        if (way === "hang" || way === "fail") this.outbox.claims += 1
        if (way === "hang") return Effect.never
        if (way === "fail") return Effect.fail(gone)
        return answer("claimOutbox", payload, () => this.outbox.claim(payload.limit, payload.now))
      },
      acknowledgeOutbox: (payload) =>
        answer("acknowledgeOutbox", payload, () => {
          if (this.outbox.acknowledge(payload.results, payload.now)) this.#revision += 1
        }),
      settleChild: (payload) => answer("settleChild", payload, () => undefined),
      abortChild: (payload) => answer("abortChild", payload, () => undefined),
      retry: (payload) => answer("retry", payload, () => ({ state: "ready" as const, dueAt: 0 })),
      pause: (payload) => answer("pause", payload, () => this.#pause(true)),
      resume: (payload) => answer("resume", payload, () => this.#pause(false)),
      forget: (payload) =>
        alive(
          Effect.suspend((): Effect.Effect<ForgetAnswer, Unavailable> => {
            const refused = this.#command("forget", payload)
            if (this.forgetting === "hang") return Effect.never
            if (this.forgetting === "fail") return Effect.fail(gone)
            const done = refused ?? this.#forget(payload.abort)
            return Effect.succeed(
              typeof done === "number" ? success({ forgottenAt: done }) : failure(done),
            )
          }),
        ),
      inspect: ({ fence }) =>
        Effect.andThen(
          Effect.suspend(() => {
            this.visits += 1
            if (this.visiting === "hang") return Effect.never
            if (this.visiting === "defect") return Effect.die("a defect")
            return this.visiting === "fail" ? Effect.fail(gone) : Effect.void
          }),
          alive(
            Effect.sync(() => {
              if (fence !== undefined && (this.fence === undefined || fence > this.fence)) {
                this.fence = fence
                this.#revision += 1
              }
              return success(undefined)
            }),
          ),
        ),
      recover: () =>
        alive(
          Effect.suspend((): Effect.Effect<Reply<ReadonlyArray<RecoveryReport>>, Unavailable> => {
            this.recoveries += 1
            this.onRecover(this)
            if (this.recovery === "hang") return Effect.never
            if (this.recovery === "fail") return Effect.fail(gone)
            if (this.recovery === "unreadable") return this.#unreadable()
            const stays = this.lost && this.lacks !== undefined
            if (this.lost && !stays) this.#revision += 1
            this.lost = stays
            return Effect.succeed(success([]))
          }),
        ),
      processHead: ({ maxHeads, suspect }) =>
        alive(
          Effect.suspend((): Effect.Effect<Reply<ReadonlyArray<HeadAnswer>>, Unavailable> => {
            this.turns += 1
            this.suspects.push(suspect)
            this.onTurn(this)
            if (this.turn === "hang") return Effect.never
            if (this.turn === "fail") return Effect.fail(gone)
            if (this.turn === "unreadable") return this.#unreadable()
            return Effect.succeed(success(this.#process(maxHeads)))
          }),
        ),
      status: () => unused,
      schedules: () => unused,
      callback: () => unused,
      history: () => unused,
      observe: () => unused,
      awaitSettlement: () => unused,
      readState: () => unused,
      explain: () => unused,
      verify: () => unused,
    })
    return Effect.runSync(
      makeWireServer(ThreadRpc).pipe(
        Effect.provide(Layer.merge(handlers, callerMiddlewareLayer)),
        Effect.provideContext(Context.make(Scope.Scope, Scope.makeUnsafe())),
      ),
    )
  }
}

/** A thread that keeps its truth in memory and does on each turn what a test says. */
import { Context, Effect, Layer, Scope } from "effect"
import { callerMiddlewareLayer } from "../../../contracts/Authorization.ts"
import {
  AdmissionLimitExceeded,
  type AgentNotRegistered,
  ThreadForgotten,
  ThreadUnreadable,
  type Unavailable,
  type WorkOwed,
} from "../../../contracts/Errors.ts"
import { type AgentId, RecordId } from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import type { RecoveryReport } from "../../../contracts/Recovery.ts"
import type { Receipt, ThreadSubmission } from "../../../contracts/Submission.ts"
import { type HeadAnswer, ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import type { WireTarget } from "../../../contracts/transport/Wire.ts"
import { makeWireServer } from "../../../contracts/transport/WireServer.ts"
import { admitAll, openOf } from "./fakeAnswers.ts"
import { type Command, FakeLedger, fenced, gone } from "./FakeLedger.ts"

interface Reply<A, E = ThreadUnreadable> {
  readonly report: LaneReport
  readonly result:
    | { readonly _tag: "Success"; readonly value: A }
    | { readonly _tag: "Failure"; readonly error: E }
}

type AdmitAnswer = Reply<Receipt, AdmissionLimitExceeded | AgentNotRegistered | Unavailable>
type ForgetAnswer = Reply<{ readonly forgottenAt: number }, WorkOwed | Unavailable>

const fakeRecordId = RecordId.make("ab".repeat(16))

export class FakeThread extends FakeLedger {
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
          const refused = this.noted(name, payload)
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
            if (replayOnly !== undefined && !this.keys.has(idempotencyKey))
              return Effect.succeed(failure(new AdmissionLimitExceeded(replayOnly)))
            const receipt = this.admitOne(payload)
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
              this.admitOne({ ...payload, ...submission })
            const isKnown = (key: string) => this.keys.has(key)
            return success(admitAll(submissions, payload, { admit, isKnown }))
          }),
        ),
      resubmit: (payload) =>
        alive(
          Effect.sync(() => {
            this.commands.push({ name: "resubmit", payload })
            const { submissionId: resubmissionOf } = payload
            const receipt = this.admitOne({ ...payload, agent: "agent" as AgentId })
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
            return Effect.succeed(openOf(this.queue, query, this.running))
          }),
        ),
      requestAbort: (payload) =>
        alive(
          Effect.sync(() => {
            const reply = this.abortOne(payload)
            return reply._tag === "Settled" || reply._tag === "Aborting"
              ? success(reply)
              : failure(reply)
          }),
        ),
      resolveUnknown: (payload) =>
        answer("resolveUnknown", payload, () => {
          this.waits = undefined
          this.revision += 1
          return { state: "ready" as const, undecided: 0 }
        }),
      resolveApproval: (payload) =>
        answer("resolveApproval", payload, () => {
          this.waits = undefined
          this.revision += 1
          const { approved } = payload
          return { recordId: fakeRecordId, approved, decidedAt: 7, state: "ready" as const }
        }),
      signal: (payload) =>
        answer("signal", payload, () => {
          this.waits = undefined
          this.revision += 1
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
          if (this.outbox.acknowledge(payload.results, payload.now)) this.revision += 1
        }),
      claimPublication: (payload) =>
        this.publication.way === "hang"
          ? Effect.never
          : answer("claimPublication", payload, () => this.publication.claim(payload.limit)),
      acknowledgePublication: (payload) =>
        answer("acknowledgePublication", payload, () => {
          if (this.publication.acknowledge(payload.through)) this.revision += 1
        }),
      settleChild: (payload) => answer("settleChild", payload, () => undefined),
      abortChild: (payload) => answer("abortChild", payload, () => undefined),
      askChild: (payload) => answer("askChild", payload, () => undefined),
      retry: (payload) => answer("retry", payload, () => ({ state: "ready" as const, dueAt: 0 })),
      pause: (payload) => answer("pause", payload, () => this.pauseAs(true)),
      resume: (payload) => answer("resume", payload, () => this.pauseAs(false)),
      forget: (payload) =>
        alive(
          Effect.suspend((): Effect.Effect<ForgetAnswer, Unavailable> => {
            const refused = this.noted("forget", payload)
            if (this.forgetting === "hang") return Effect.never
            if (this.forgetting === "fail") return Effect.fail(gone)
            const done = refused ?? this.forgetAs(payload.abort)
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
                this.revision += 1
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
            if (this.lost && !stays) this.revision += 1
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
            return Effect.succeed(success(this.processHeads(maxHeads)))
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

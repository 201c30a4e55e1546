/**
 * Fake objects behind the edge: real wire servers with the real role check, and handlers that record
 * who called them and answer what the test says.
 */
import type { AbortManyReply } from "../../../contracts/Bulk.ts"
import { Effect, Layer, Option, type Scope, Stream } from "effect"
import {
  CurrentCaller,
  callerMiddlewareLayer,
  type Caller,
  type Grants,
} from "../../../contracts/Authorization.ts"
import { type CallbackToken, makeCallbackToken } from "../../../contracts/Callback.ts"
import {
  OperationDenied,
  SubmissionNotFound,
  type ThreadUnreadable,
  type Unavailable,
} from "../../../contracts/Errors.ts"
import {
  AgentId,
  IdempotencyKey,
  OwnerId,
  RecordId,
  StepName,
  SubmissionId,
  ThreadId,
} from "../../../contracts/Identifiers.ts"
import type { RecoveryExplanation } from "../../../contracts/Explain.ts"
import type { ObserveFrame } from "../../../contracts/JournalRecord.ts"
import type { LaneStatus, WatchFrame } from "../../../contracts/Maintenance.ts"
import { OwnerRpc } from "../../../contracts/OwnerRpc.ts"
import type { Schedule } from "../../../contracts/Schedule.ts"
import type { SearchHit } from "../../../contracts/Search.ts"
import type { SignalRefusal, SignalReply } from "../../../contracts/Signal.ts"
import type { AwaitSettlementReply } from "../../../contracts/Settlement.ts"
import type { Receipt, ThreadSubmission } from "../../../contracts/Submission.ts"
import type { SubmitManyReply } from "../../../contracts/SubmitMany.ts"
import { RegistryRpc } from "../../../contracts/RegistryRpc.ts"
import { ThreadRpc } from "../../../contracts/ThreadRpc.ts"
import {
  inMemoryTarget,
  makeWireServer,
  type WireServer,
} from "../../../contracts/transport/index.ts"
import { decodeGrants } from "../../../scripts/mintToken.ts"
import type { ObjectTargets } from "../../../client/ObjectTargets.ts"

export const ownerId = OwnerId.make("shop-1")
export const threadId = ThreadId.make("order-7")
export const submissionId = SubmissionId.make("018f0000-0000-7000-8000-000000000001")

export const submission = {
  ownerId,
  threadId,
  agent: AgentId.make("refund"),
  input: { order: 7 },
  idempotencyKey: IdempotencyKey.make("key-1"),
}

export const receipt: Receipt = {
  ownerId,
  threadId,
  submissionId,
  sequence: 1,
  acceptedAt: 1_000,
  duplicate: false,
}

export const settlement = {
  submissionId,
  sequence: 1,
  outcome: "completed" as const,
  output: { refunded: true },
  settledAt: 2_000,
  attempts: 1,
}

export const lane: LaneStatus = {
  threadId,
  known: true,
  mustVisit: false,
  suspect: false,
  paused: true,
  running: false,
  nonterminal: 3,
  unchangedTurns: 0,
}

export const recordId = RecordId.make("ab".repeat(16))
export const waitName = StepName.make("carrier")

/** The one token that the thread knows. */
export const token = makeCallbackToken({ ownerId, threadId, secret: "5e".repeat(16) })

export const signalled: SignalReply = { receivedAt: 1_000, duplicate: false, state: "ready" }

export const schedule: Schedule = {
  name: StepName.make("nightly"),
  cron: "0 3 * * *",
  agent: AgentId.make("refund"),
  input: { order: 7 },
  createdAt: 1_000,
  nextAt: 2_000,
  collapsed: 0,
}

export const hit: SearchHit = { threadId, title: "Refund", snippet: "[Refund]" }

/** What a paused thread says of itself. */
export const explanation: RecoveryExplanation = {
  submissionId,
  sequence: 1,
  agent: AgentId.make("refund"),
  state: "ready",
  acceptedAt: 1_000,
  attempts: 0,
  decision: "ApplyInput",
  disposition: "deferred",
  evidence: ["It is due."],
  wouldDo: "Its input is applied.",
  waits: [],
  heldBy: [{ blocker: "paused", sinceAt: 1_000, whoCanAct: "operator", message: "Paused by ann." }],
}

export const grants = (rest: Partial<Record<keyof Grants, unknown>> = {}): Grants =>
  decodeGrants({ principal: "ada", owners: ["shop-*"], ...rest })

/** One call that reached an object. */
export interface Call {
  readonly object: string
  readonly operation: string
  readonly caller: Caller
  readonly payload: unknown
}

interface SubmitManyPayload {
  readonly submissions: ReadonlyArray<ThreadSubmission>
}

export interface Answers {
  readonly observe?: Stream.Stream<ObserveFrame>
  readonly watch?: Stream.Stream<WatchFrame>
  readonly explain?: Effect.Effect<ReadonlyArray<RecoveryExplanation>, ThreadUnreadable>
  readonly laneStatus?: Effect.Effect<LaneStatus>
  readonly submit?: () => Effect.Effect<Receipt, Unavailable>
  readonly signal?: () => Effect.Effect<SignalReply, SignalRefusal>
  readonly abortMany?: () => Effect.Effect<AbortManyReply>
  readonly submitMany?: (payload: SubmitManyPayload) => Effect.Effect<SubmitManyReply, Unavailable>
  readonly awaitSettlement?: () => Effect.Effect<AwaitSettlementReply>
}

export interface Objects {
  readonly targets: ObjectTargets
  /** The calls that reached a handler, in order. */
  readonly calls: Array<Call>
  /** The names of the objects that were asked for, whether or not a call got through. */
  readonly reached: Array<string>
  readonly owner: WireServer
  readonly thread: WireServer
  /** How often the targets were closed. */
  readonly closed: () => number
}

const unused = Effect.die(new Error("no test calls this"))

/** The handlers of each kind of objects, and the real role check in front of them. */
export const objectHandlers = (calls: Array<Call>, answers: Answers = {}) => {
  const note = (object: string, operation: string, payload: unknown) =>
    Effect.map(CurrentCaller, (caller) => {
      calls.push({ object, operation, caller, payload })
    })
  const on = <P, A, E>(
    object: string,
    operation: string,
    answer: (payload: P) => Effect.Effect<A, E>,
  ) => {
    return (payload: P) =>
      Effect.andThen(
        note(object, operation, payload),
        Effect.suspend(() => answer(payload)),
      )
  }
  const ownerHandlers = OwnerRpc.toLayer({
    submit: on("owner", "submit", answers.submit ?? (() => Effect.succeed(receipt))),
    submitMany: on(
      "owner",
      "submitMany",
      answers.submitMany ??
        (() => Effect.succeed({ outcomes: [{ _tag: "Accepted" as const, receipt }] })),
    ),
    resubmit: on("owner", "resubmit", () =>
      Effect.succeed({ ...receipt, resubmissionOf: submissionId }),
    ),
    retryMany: on("owner", "retryMany", () => Effect.succeed({ results: [], unanswered: [] })),
    abortMany: on(
      "owner",
      "abortMany",
      answers.abortMany ?? (() => Effect.succeed({ results: [], unanswered: [] })),
    ),
    abort: on("owner", "abort", () => Effect.succeed({ _tag: "Aborting" as const })),
    resolveApproval: on("owner", "resolveApproval", () =>
      Effect.succeed({ recordId, approved: true, decidedAt: 1_000, state: "ready" as const }),
    ),
    signal: on("owner", "signal", () => Effect.succeed(signalled)),
    callback: on("owner", "callback", answers.signal ?? (() => Effect.succeed(signalled))),
    schedule: on("owner", "schedule", () => Effect.succeed(schedule)),
    unschedule: on("owner", "unschedule", () => Effect.succeed({ removed: true })),
    deliver: on("owner", "deliver", () => unused),
    resolveUnknown: on("owner", "resolveUnknown", () =>
      Effect.succeed({ state: "ready" as const, undecided: 0 }),
    ),
    retry: on("owner", "retry", () => Effect.succeed({ state: "ready" as const, dueAt: 0 })),
    pauseThread: on("owner", "pauseThread", () =>
      Effect.succeed({ paused: true, pause: { author: "ann", reason: "audit", sinceAt: 1_000 } }),
    ),
    resumeThread: on("owner", "resumeThread", () => Effect.succeed({ paused: false })),
    forgetThread: on("owner", "forgetThread", () => Effect.succeed({ _tag: "Condemned" as const })),
    obligations: on("owner", "obligations", () => Effect.succeed({ obligations: [] })),
    report: on("owner", "report", () => unused),
    wake: on("owner", "wake", () => Effect.succeed(lane)),
    laneStatus: on("owner", "laneStatus", () => answers.laneStatus ?? Effect.succeed(lane)),
    recoveryStatus: on("owner", "recoveryStatus", () => Effect.succeed(Option.none())),
    watch: (payload) =>
      Stream.unwrap(
        Effect.as(
          note("owner", "watch", payload),
          answers.watch ?? Stream.make({ _tag: "Opened" as const, faultedLanes: 0 }),
        ),
      ),
    reconcile: on("owner", "reconcile", () => Effect.succeed({ enrolled: 1 })),
    maintenanceStatus: on("owner", "maintenanceStatus", () =>
      Effect.succeed({
        ownerId,
        nonterminal: 3,
        lanes: 1,
        dueLanes: 0,
        runningLanes: 0,
        faultedLanes: 0,
        unfinishedPasses: 0,
      }),
    ),
    look: on("owner", "look", () => Effect.succeed({ owes: true })),
    runMaintenance: on("owner", "runMaintenance", () =>
      Effect.succeed({ _tag: "Pending" as const }),
    ),
    listThreads: on("owner", "listThreads", () => Effect.succeed({ threads: [] })),
    search: on("owner", "search", () => Effect.succeed({ hits: [hit] })),
    rebuildProjections: on("owner", "rebuildProjections", () => Effect.succeed({ lanes: 1 })),
  })
  const threadHandlers = ThreadRpc.toLayer({
    admit: on("thread", "admit", () => unused),
    admitMany: on("thread", "admitMany", () => unused),
    resubmit: on("thread", "resubmit", () => unused),
    listOpen: on("thread", "listOpen", () => unused),
    readOutcomes: on("thread", "readOutcomes", () => unused),
    requestAbort: on("thread", "requestAbort", () => unused),
    resolveApproval: on("thread", "resolveApproval", () => unused),
    resolveUnknown: on("thread", "resolveUnknown", () => unused),
    signal: on("thread", "signal", () => unused),
    schedule: on("thread", "schedule", () => unused),
    unschedule: on("thread", "unschedule", () => unused),
    claimOutbox: on("thread", "claimOutbox", () => unused),
    acknowledgeOutbox: on("thread", "acknowledgeOutbox", () => unused),
    claimPublication: on("thread", "claimPublication", () => unused),
    acknowledgePublication: on("thread", "acknowledgePublication", () => unused),
    settleChild: on("thread", "settleChild", () => unused),
    abortChild: on("thread", "abortChild", () => unused),
    askChild: on("thread", "askChild", () => unused),
    schedules: on("thread", "schedules", () => Effect.succeed({ schedules: [schedule] })),
    callback: on("thread", "callback", (payload: { readonly token: CallbackToken }) =>
      payload.token === token
        ? Effect.succeed({ submissionId, name: waitName })
        : Effect.fail(new OperationDenied({ operation: "callback" })),
    ),
    retry: on("thread", "retry", () => unused),
    pause: on("thread", "pause", () => unused),
    resume: on("thread", "resume", () => unused),
    forget: on("thread", "forget", () => unused),
    inspect: on("thread", "inspect", () => unused),
    recover: on("thread", "recover", () => unused),
    processHead: on("thread", "processHead", () => unused),
    status: on("thread", "status", (payload: { readonly submissionId: SubmissionId }) =>
      payload.submissionId === submissionId
        ? Effect.succeed({
            submissionId,
            state: "settled" as const,
            sequence: 1,
            attempts: 1,
            settlement,
          })
        : Effect.fail(new SubmissionNotFound({ submissionId: payload.submissionId })),
    ),
    history: on("thread", "history", () => Effect.succeed({ records: [] })),
    awaitSettlement: on(
      "thread",
      "awaitSettlement",
      answers.awaitSettlement ?? (() => Effect.succeed({ _tag: "Settled" as const, settlement })),
    ),
    readState: on("thread", "readState", () => Effect.succeed({ version: 0 })),
    explain: on("thread", "explain", () => answers.explain ?? Effect.succeed([explanation])),
    verify: on("thread", "verify", () => Effect.succeed({ checks: [], records: 0 })),
    observe: (payload) =>
      Stream.unwrap(Effect.as(note("thread", "observe", payload), answers.observe ?? Stream.empty)),
  })
  const registryHandlers = RegistryRpc.toLayer({
    enter: on("registry", "enter", () => unused),
    list: on("registry", "list", () => Effect.succeed({ owners: [], next: ownerId })),
    takeDue: on("registry", "takeDue", () => unused),
    looked: on("registry", "looked", () => unused),
  })
  // Apart: handlers are known by the names of their operations, and some of these are in two groups.
  return {
    owner: Layer.merge(ownerHandlers, callerMiddlewareLayer),
    thread: Layer.merge(threadHandlers, callerMiddlewareLayer),
    registry: Layer.merge(registryHandlers, callerMiddlewareLayer),
  }
}

/** A server over its handlers. */
export const provided = <A, R, RL>(server: Effect.Effect<A, never, R>, layer: Layer.Layer<RL>) =>
  Effect.flatMap(Layer.build(layer), (context) => Effect.provideContext(server, context))

export const makeObjects = Effect.fnUntraced(function* (
  answers: Answers = {},
): Effect.fn.Return<Objects, never, Scope.Scope> {
  const calls: Array<Call> = []
  const reached: Array<string> = []
  let closed = 0
  const handlers = objectHandlers(calls, answers)
  const ownerServer = yield* provided(makeWireServer(OwnerRpc), handlers.owner)
  const threadServer = yield* provided(makeWireServer(ThreadRpc), handlers.thread)
  const registryServer = yield* provided(makeWireServer(RegistryRpc), handlers.registry)
  const at = (name: string, server: WireServer) => {
    reached.push(name)
    return inMemoryTarget(server)
  }
  return {
    calls,
    reached,
    owner: ownerServer,
    thread: threadServer,
    closed: () => closed,
    targets: {
      owner: (id) => at(id, ownerServer),
      thread: (id, thread) => at(`${id}/${thread}`, threadServer),
      registry: () => at("registry", registryServer),
      close: () => {
        closed += 1
      },
    },
  }
})

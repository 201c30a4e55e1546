/**
 * `ThreadRpc` served: each operation enters the object, takes the owner's time, does its work, and
 * answers with the thread's report where its contract says so.
 *
 * - B1 Mutations and turns are uninterruptible: nobody's departure stops them.
 * - B2 Reads check identity and write nothing.
 * - B3 A refusal is data of the reply; only what kept the thread from looking at itself is an error.
 * - B4 What a call does is asked for once the object has started: before that it knows nothing of its thread.
 */
import { Effect, Result, Stream } from "effect"
import { Rpc } from "effect/rpc"
import {
  type OperationDenied,
  SubmissionNotFound,
  type ThreadUnreadable,
  Unavailable,
} from "../contracts/Errors.ts"
import type { CallbackToken } from "../contracts/Callback.ts"
import type { Generation, SubmissionId } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import { traceparentIn } from "../contracts/observability/TraceContext.ts"
import { ThreadRpc } from "../contracts/ThreadRpc.ts"
import { requestAbort } from "./Abort.ts"
import { type AbortChild, abortChild, type AskChild, askChild } from "./AbortChild.ts"
import { type Acknowledgement, acknowledgeOutbox } from "./AcknowledgeOutbox.ts"
import { type Admission, admit, type Sent } from "./Admission.ts"
import { type Admissions, admitMany } from "./AdmitMany.ts"
import { anyReport } from "./AnyReport.ts"
import { awaitSettlement } from "./AwaitSettlement.ts"
import { claimOutbox, type OutboxQuery } from "./ClaimOutbox.ts"
import { durable, looking, reading, type ReadFailure } from "./Durable.ts"
import { explain } from "./Explain.ts"
import { fence } from "./Fence.ts"
import { forget } from "./Forget.ts"
import { callbackTarget } from "./Callback.ts"
import { checkQuery, readPage } from "./History.ts"
import { listOpen, type OpenQuery } from "./ListOpen.ts"
import { observe } from "./Observe.ts"
import { readOutcomes } from "./Outcomes.ts"
import { pause, resume } from "./Pause.ts"
import {
  acknowledgePublication,
  claimPublication,
  type PublicationQuery,
  type Published,
} from "./Publication.ts"
import { recover } from "./Recovery.ts"
import { resolveApproval } from "./ResolveApproval.ts"
import { resolveUnknown } from "./ResolveUnknown.ts"
import { resubmit, type ResubmitOrder } from "./Resubmit.ts"
import { retry } from "./Retry.ts"
import {
  readSchedules,
  schedule,
  type ScheduleOrder,
  type SchedulesQuery,
  unschedule,
  type UnscheduleOrder,
} from "./Schedules.ts"
import { type SettleChild, settleChild } from "./SettleChild.ts"
import { enter, type EnterFailure } from "./Start.ts"
import { signal } from "./SignalCommand.ts"
import { readStatus } from "./Status.ts"
import type { Identity } from "./Identity.ts"
import { adoptClock, type Thread } from "./Thread.ts"
import { readThreadState } from "./ThreadState.ts"
import { processHead } from "./Turn.ts"
import { verify } from "./Verify.ts"

type Reply<A, E> = {
  readonly report: LaneReport
  readonly result:
    | { readonly _tag: "Success"; readonly value: A }
    | { readonly _tag: "Failure"; readonly error: E }
}

const success = <A>(value: A) => ({ _tag: "Success", value }) as const
const failure = <E>(error: E) => ({ _tag: "Failure", error }) as const

/** What keeps any call from looking at its thread. */
type Kept = Exclude<ReadFailure, ThreadUnreadable>

/** A block that decodes nothing finds nothing unreadable. */
const onlyKept = (error: ReadFailure): Effect.Effect<never, Kept> =>
  error._tag === "ThreadUnreadable" ? Effect.die(error) : Effect.fail(error)

const reportOf = (thread: Thread, identity: Identity): Effect.Effect<LaneReport, Kept> =>
  Effect.catch(
    looking(thread, "report", () => anyReport(thread, identity)),
    onlyKept,
  )

const withReport = <A, E>(
  thread: Thread,
  identity: Identity,
  result: Reply<A, E>["result"],
): Effect.Effect<Reply<A, E>, Kept> =>
  Effect.map(reportOf(thread, identity), (report) => ({ report, result }))

/** Each line of the log says whose thread it is about. */
const about = <A, E, R>(
  { ownerId, threadId }: Identity,
  work: Effect.Effect<A, E, R>,
): Effect.Effect<A, E, R> => Effect.annotateLogs(work, { ownerId, threadId })

/** Runs the work of a mutation or turn inside the object, at the owner's time or later. */
const entered = <A, E, R>(
  thread: Thread,
  call: Identity & { readonly now: number },
  work: () => Effect.Effect<A, E, R>,
) =>
  Rpc.uninterruptible(
    // B1
    about(
      call,
      Effect.andThen(
        enter(thread, call),
        Effect.andThen(
          Effect.sync(() => adoptClock(thread, call.now)),
          Effect.suspend(work), // B4
        ),
      ),
    ),
  )

/** An unreadable thread is told as data of the reply. */
const unreadableAsData = <A>(
  thread: Thread,
  identity: Identity,
  work: Effect.Effect<A, ReadFailure | Unavailable>,
): Effect.Effect<Reply<A, ThreadUnreadable>, Kept | Unavailable> =>
  Effect.matchEffect(work, {
    onSuccess: (value) => withReport<A, ThreadUnreadable>(thread, identity, success(value)),
    onFailure: (error) =>
      error._tag === "ThreadUnreadable"
        ? withReport<A, ThreadUnreadable>(thread, identity, failure(error)) // B3
        : Effect.fail(error),
  })

/** The reply of a mutation whose refusals are data. */
const answered = <A, E>(thread: Thread, identity: Identity, answer: Result.Result<A, E>) =>
  withReport<A, E>(
    thread,
    identity,
    Result.isSuccess(answer) ? success(answer.success) : failure(answer.failure), // B3
  )

const unreadable = (): Result.Result<never, Unavailable> =>
  Result.fail(
    new Unavailable({
      retryable: false,
      overloaded: false,
      reason: "What the thread has stored about this does not decode",
    }),
  )

/** One that looks at no submission but the one it is about: a refusal where that, or the thread's row, does not decode. */
const threadCall = <A, E>(
  thread: Thread,
  identity: Identity,
  work: Effect.Effect<Result.Result<A, E>, ReadFailure>,
) =>
  Effect.flatMap(
    Effect.catch(work, (error): Effect.Effect<Result.Result<A, E | Unavailable>, Kept> =>
      error._tag === "ThreadUnreadable" ? Effect.sync(unreadable) : Effect.fail(error),
    ),
    (answer) => answered(thread, identity, answer),
  )

/** One about a submission, whose row may not decode. */
const submissionCall = <A, E>(
  thread: Thread,
  identity: Identity,
  work: Effect.Effect<Result.Result<A, E>, ReadFailure>,
): Effect.Effect<Reply<A, E | ThreadUnreadable>, Kept> =>
  Effect.matchEffect(work, {
    onSuccess: (answer) => answered<A, E | ThreadUnreadable>(thread, identity, answer),
    onFailure: (error) =>
      error._tag === "ThreadUnreadable"
        ? withReport<A, E | ThreadUnreadable>(thread, identity, failure(error)) // B3
        : Effect.fail(error),
  })

/** The work of a call that knows in which trace it came. */
const inTrace = <A, E, R>(
  work: (trace: { readonly trace: string | undefined }) => Effect.Effect<A, E, R>,
) => Effect.withFiber<A, E, R>(({ context }) => work({ trace: traceparentIn(context) }))

const admitCall = (thread: Thread, call: Sent<Admission>) =>
  inTrace((trace) =>
    threadCall(
      thread,
      call,
      durable(thread, "admit", () => admit(thread, { ...call, ...trace })),
    ),
  )

const admitManyCall = (thread: Thread, call: Sent<Admissions>) =>
  inTrace((trace) =>
    threadCall(
      thread,
      call,
      durable(thread, "admitMany", () => admitMany(thread, { ...call, ...trace })),
    ),
  )

const resubmitCall = (thread: Thread, call: Sent<ResubmitOrder>) =>
  inTrace((trace) => submissionCall(thread, call, resubmit(thread, { ...call, ...trace })))

/** A look; with a fence it is a mutation, also of an untouched object. */
const inspectCall = (
  thread: Thread,
  call: Identity & {
    readonly fence?: Generation | undefined
    readonly anew?: boolean | undefined
  },
) => {
  const { fence: generation } = call
  const looked = Effect.suspend(() => withReport<void, never>(thread, call, success(undefined)))
  if (generation === undefined) return looked
  const visit = durable(thread, "fence", () => fence(thread, { ...call, generation }))
  return Effect.andThen(Effect.catch(visit, onlyKept), looked)
}

/** Lets a read in; it reads and writes nothing before that. */
const read = <A, E>(
  thread: Thread,
  call: Identity,
  work: () => Effect.Effect<A, E>,
): Effect.Effect<A, E | EnterFailure> =>
  about(call, Effect.andThen(enter(thread, call), Effect.suspend(work))) // B2, B4

const statusCall = (thread: Thread, submissionId: SubmissionId) =>
  Effect.flatMap(
    reading(thread, "status", () => readStatus(thread, submissionId)),
    (status) =>
      status === undefined
        ? Effect.fail(new SubmissionNotFound({ submissionId }))
        : Effect.succeed(status),
  )

const explainCall = (thread: Thread, call: { readonly submissionId?: SubmissionId | undefined }) =>
  Effect.flatMap(
    reading(thread, "explain", () => explain(thread, call)),
    Effect.fromResult,
  )

const callbackCall = (thread: Thread, call: { readonly token: CallbackToken }) =>
  Effect.catch(
    callbackTarget(thread, call),
    (error): Effect.Effect<never, Kept | OperationDenied | Unavailable> =>
      error._tag === "ThreadUnreadable" ? Effect.fromResult(unreadable()) : Effect.fail(error),
  )

const stateCall = (thread: Thread) =>
  reading(thread, "readState", () =>
    thread.hasTables ? readThreadState(thread.host.storage.sql) : { version: 0 },
  )

type Timed<Call> = Call & Identity & { readonly now: number }

/** What is between threads, or for a sink, and the owner carries. */
const carried = (thread: Thread) => ({
  claimOutbox: (call: Timed<OutboxQuery>) =>
    entered(thread, call, () =>
      threadCall(
        thread,
        call,
        reading(thread, "claimOutbox", () => claimOutbox(thread, call)),
      ),
    ),
  acknowledgeOutbox: (call: Timed<Acknowledgement>) =>
    entered(thread, call, () => threadCall(thread, call, acknowledgeOutbox(thread, call))),
  claimPublication: (call: Timed<PublicationQuery>) =>
    entered(thread, call, () =>
      threadCall(
        thread,
        call,
        reading(thread, "claimPublication", () => claimPublication(thread, call)),
      ),
    ),
  acknowledgePublication: (call: Timed<Published>) =>
    entered(thread, call, () => threadCall(thread, call, acknowledgePublication(thread, call))),
  settleChild: (call: Timed<SettleChild>) =>
    entered(thread, call, () => submissionCall(thread, call, settleChild(thread, call))),
  abortChild: (call: Timed<AbortChild>) =>
    entered(thread, call, () => submissionCall(thread, call, abortChild(thread, call))),
  askChild: (call: Timed<AskChild>) =>
    entered(thread, call, () => submissionCall(thread, call, askChild(thread, call))),
})

/** What a thread gives itself. */
const scheduled = (thread: Thread) => ({
  schedule: (call: Timed<ScheduleOrder>) =>
    entered(thread, call, () => threadCall(thread, call, schedule(thread, call))),
  unschedule: (call: Timed<UnscheduleOrder>) =>
    entered(thread, call, () => threadCall(thread, call, unschedule(thread, call))),
  schedules: (call: Identity & SchedulesQuery) =>
    read(thread, call, () => reading(thread, "schedules", () => readSchedules(thread, call))),
})

/** The handlers of one thread. */
export const handlers = (thread: Thread) =>
  ThreadRpc.toLayer(
    ThreadRpc.of({
      admit: (call) => entered(thread, call, () => admitCall(thread, call as Sent<Admission>)),
      admitMany: (call) => entered(thread, call, () => admitManyCall(thread, call)),
      resubmit: (call) =>
        entered(thread, call, () => resubmitCall(thread, call as Sent<ResubmitOrder>)),
      listOpen: (call) =>
        read(thread, call, () =>
          reading(thread, "listOpen", () => listOpen(thread, call as OpenQuery)),
        ),
      readOutcomes: (call) =>
        read(thread, call, () => reading(thread, "readOutcomes", () => readOutcomes(thread, call))),
      requestAbort: (call) =>
        entered(thread, call, () => submissionCall(thread, call, requestAbort(thread, call))),
      resolveApproval: (call) =>
        entered(thread, call, () => submissionCall(thread, call, resolveApproval(thread, call))),
      resolveUnknown: (call) =>
        entered(thread, call, () => submissionCall(thread, call, resolveUnknown(thread, call))),
      signal: (call) =>
        entered(thread, call, () => submissionCall(thread, call, signal(thread, call))),
      ...scheduled(thread),
      ...carried(thread),
      callback: (call) => read(thread, call, () => callbackCall(thread, call)),
      retry: (call) =>
        entered(thread, call, () => submissionCall(thread, call, retry(thread, call))),
      pause: (call) => entered(thread, call, () => threadCall(thread, call, pause(thread, call))),
      resume: (call) => entered(thread, call, () => threadCall(thread, call, resume(thread, call))),
      forget: (call) => entered(thread, call, () => threadCall(thread, call, forget(thread, call))),
      inspect: (call) => entered(thread, call, () => inspectCall(thread, call)),
      recover: (call) =>
        entered(thread, call, () => unreadableAsData(thread, call, recover(thread))),
      processHead: (call) =>
        entered(thread, call, () => unreadableAsData(thread, call, processHead(thread, call))),
      status: (call) => read(thread, call, () => statusCall(thread, call.submissionId)),
      history: (call) =>
        read(thread, call, () =>
          Effect.andThen(
            checkQuery(call),
            reading(thread, "history", () => readPage(thread, call)),
          ),
        ),
      observe: (call) =>
        Stream.unwrap(
          about(
            call,
            Effect.map(enter(thread, call), () => observe(thread, call.after ?? 0)),
          ),
        ),
      awaitSettlement: (call) => read(thread, call, () => awaitSettlement(thread, call)),
      readState: (call) => read(thread, call, () => stateCall(thread)),
      explain: (call) => read(thread, call, () => explainCall(thread, call)),
      verify: (call) =>
        read(thread, call, () => reading(thread, "verify", () => verify(thread, call))),
    }),
  )

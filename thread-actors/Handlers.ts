/**
 * `ThreadRpc` served: each operation enters the object, takes the owner's time, does its work, and
 * answers with the thread's report where its contract says so.
 *
 * - B1 Mutations and turns are uninterruptible: nobody's departure stops them.
 * - B2 Reads check identity and write nothing.
 * - B3 A refusal is data of the reply; only what kept the thread from looking at itself is an error.
 */
import { Effect, Result, Stream } from "effect"
import { Rpc } from "effect/rpc"
import {
  type IdentityMismatch,
  type StorageUnavailable,
  SubmissionNotFound,
  type ThreadUnreadable,
  type Unavailable,
} from "../contracts/Errors.ts"
import type { Generation, SubmissionId } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import { ThreadRpc } from "../contracts/ThreadRpc.ts"
import { type AbortCommand, requestAbort } from "./Abort.ts"
import { type Admission, admit } from "./Admission.ts"
import { awaitSettlement } from "./AwaitSettlement.ts"
import { durable, reading, type ReadFailure } from "./Durable.ts"
import { fence } from "./Fence.ts"
import { checkQuery, readPage } from "./History.ts"
import { readReport } from "./LaneReport.ts"
import { observe } from "./Observe.ts"
import { recover } from "./Recovery.ts"
import { enter } from "./Start.ts"
import { readStatus } from "./Status.ts"
import type { Identity } from "./Identity.ts"
import { adoptClock, type Thread } from "./Thread.ts"
import { readThreadState } from "./ThreadState.ts"
import { processHead } from "./Turn.ts"

type Reply<A, E> = {
  readonly report: LaneReport
  readonly result:
    | { readonly _tag: "Success"; readonly value: A }
    | { readonly _tag: "Failure"; readonly error: E }
}

type EnterFailure = Unavailable | IdentityMismatch

const success = <A>(value: A) => ({ _tag: "Success", value }) as const
const failure = <E>(error: E) => ({ _tag: "Failure", error }) as const

/** A block of admission or inspection decodes nothing that could be unreadable. */
const onlyStorage = (error: ReadFailure): Effect.Effect<never, StorageUnavailable> =>
  error._tag === "StorageUnavailable" ? Effect.fail(error) : Effect.die(error)

const reportOf = (
  thread: Thread,
  identity: Identity,
): Effect.Effect<LaneReport, StorageUnavailable> =>
  Effect.catch(
    reading(thread, "report", () => readReport(thread, identity)),
    onlyStorage,
  )

const withReport = <A, E>(
  thread: Thread,
  identity: Identity,
  result: Reply<A, E>["result"],
): Effect.Effect<Reply<A, E>, StorageUnavailable> =>
  Effect.map(reportOf(thread, identity), (report) => ({ report, result }))

/** Runs the work of a mutation or turn inside the object, at the owner's time or later. */
const entered = <A, E, R>(
  thread: Thread,
  call: Identity & { readonly now: number },
  work: Effect.Effect<A, E, R>,
) =>
  Rpc.uninterruptible(
    // B1
    Effect.andThen(
      enter(thread, call),
      Effect.andThen(
        Effect.sync(() => adoptClock(thread, call.now)),
        work,
      ),
    ),
  )

/** An unreadable thread is told as data of the reply. */
const unreadableAsData = <A>(
  thread: Thread,
  identity: Identity,
  work: Effect.Effect<A, StorageUnavailable | Unavailable | ThreadUnreadable>,
): Effect.Effect<Reply<A, ThreadUnreadable>, StorageUnavailable | Unavailable> =>
  Effect.matchEffect(work, {
    onSuccess: (value) => withReport<A, ThreadUnreadable>(thread, identity, success(value)),
    onFailure: (error) =>
      error._tag === "ThreadUnreadable"
        ? withReport<A, ThreadUnreadable>(thread, identity, failure(error)) // B3
        : Effect.fail(error),
  })

const admitCall = (thread: Thread, call: Admission) =>
  Effect.flatMap(
    Effect.catch(
      durable(thread, "admit", () => admit(thread, call)),
      onlyStorage,
    ),
    (result) =>
      withReport(
        thread,
        call,
        Result.isSuccess(result) ? success(result.success) : failure(result.failure), // B3
      ),
  )

const abortCall = (thread: Thread, call: AbortCommand) =>
  Effect.matchEffect(requestAbort(thread, call), {
    onSuccess: (answer) =>
      withReport(
        thread,
        call,
        Result.isSuccess(answer) ? success(answer.success) : failure(answer.failure), // B3
      ),
    onFailure: (error) =>
      error._tag === "ThreadUnreadable"
        ? withReport<never, ThreadUnreadable>(thread, call, failure(error)) // B3
        : Effect.fail(error),
  })

/** A look; with a fence it is a mutation, also of an untouched object. */
const inspectCall = (
  thread: Thread,
  call: Identity & { readonly fence?: Generation | undefined },
) => {
  const { fence: generation } = call
  const looked = Effect.suspend(() => withReport<void, never>(thread, call, success(undefined)))
  if (generation === undefined) return looked
  const visit = durable(thread, "fence", () => fence(thread, { ...call, generation }))
  return Effect.andThen(Effect.catch(visit, onlyStorage), looked)
}

/** Lets a read in; it reads and writes nothing before that. */
const read = <A, E>(
  thread: Thread,
  call: Identity,
  work: Effect.Effect<A, E>,
): Effect.Effect<A, E | EnterFailure> => Effect.andThen(enter(thread, call), work) // B2

const statusCall = (thread: Thread, submissionId: SubmissionId) =>
  Effect.flatMap(
    reading(thread, "status", () => readStatus(thread, submissionId)),
    (status) =>
      status === undefined
        ? Effect.fail(new SubmissionNotFound({ submissionId }))
        : Effect.succeed(status),
  )

const stateCall = (thread: Thread) =>
  reading(thread, "readState", () =>
    thread.hasTables ? readThreadState(thread.host.storage.sql) : { version: 0 },
  )

/** The handlers of one thread. */
export const handlers = (thread: Thread) =>
  ThreadRpc.toLayer(
    ThreadRpc.of({
      admit: (call) => entered(thread, call, admitCall(thread, call as Admission)),
      requestAbort: (call) => entered(thread, call, abortCall(thread, call)),
      inspect: (call) => entered(thread, call, inspectCall(thread, call)),
      recover: (call) => entered(thread, call, unreadableAsData(thread, call, recover(thread))),
      processHead: (call) =>
        entered(thread, call, unreadableAsData(thread, call, processHead(thread, call))),
      status: (call) => read(thread, call, statusCall(thread, call.submissionId)),
      history: (call) =>
        read(
          thread,
          call,
          Effect.andThen(
            checkQuery(call),
            reading(thread, "history", () => readPage(thread, call)),
          ),
        ),
      observe: (call) =>
        Stream.unwrap(Effect.as(enter(thread, call), observe(thread, call.after ?? 0))),
      awaitSettlement: (call) => read(thread, call, awaitSettlement(thread, call)),
      readState: (call) => read(thread, call, stateCall(thread)),
    }),
  )

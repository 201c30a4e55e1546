/**
 * The handlers of `OwnerRpc`: identity, start and alarm repair first, then the one thing each does.
 *
 * Invariants
 * - I1 A request for another owner is refused before anything is read.
 * - I2 Mutations are uninterruptible: nobody's departure stops them.
 */
import { Effect, Option, Stream } from "effect"
import { Rpc } from "effect/rpc"
import { CurrentCaller } from "../contracts/Authorization.ts"
import { IdentityMismatch, OperationDenied } from "../contracts/Errors.ts"
import type { OwnerId, ThreadId } from "../contracts/Identifiers.ts"
import { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { armNow, nextPassEnd } from "./Alarm.ts"
import * as Bulk from "./Bulk.ts"
import * as Command from "./Command.ts"
import { deliver, type DeliverPayload, mayDeliver } from "./Deliver.ts"
import { checkThreadQuery, listThreads } from "./Directory.ts"
import { forgetThread } from "./Forget.ts"
import * as Hints from "./Hints.ts"
import type { Life } from "./Life.ts"
import { obligations } from "./Obligations.ts"
import { inBlock, type Owner, quietBlock, repairAlarm, started } from "./Owner.ts"
import { catchUp, rebuildFailed, rebuildProjections } from "./Project.ts"
import { reading } from "./Reading.ts"
import { schedule, unschedule } from "./Schedule.ts"
import { signal } from "./Signal.ts"
import { checkSearch, search } from "./Search.ts"
import * as Status from "./Status.ts"
import { resubmit, submit } from "./Submit.ts"
import { submitMany } from "./SubmitMany.ts"
import { watch } from "./Watch.ts"

/** The present life, for a request that names this owner. // I1 */
const enter = (owner: Owner, ownerId: OwnerId) =>
  Effect.gen(function* () {
    const name = owner.host.name
    if (name !== undefined && name !== ownerId) return yield* new IdentityMismatch({ ownerId })
    const life = yield* started(owner, ownerId)
    if (life.ownerId !== ownerId) return yield* new IdentityMismatch({ ownerId })
    yield* repairAlarm(owner, life)
    return life
  })

const principalOf = (operation: string) =>
  Effect.flatMap(CurrentCaller, (caller) =>
    caller._tag === "Principal"
      ? Effect.succeed(caller.principal)
      : Effect.fail(new OperationDenied({ operation })),
  )

/** A request that changes something. // I2 */
const mutation = <A, E, R>(
  owner: Owner,
  { ownerId }: { readonly ownerId: OwnerId },
  work: (life: Life) => Effect.Effect<A, E, R>,
) => Rpc.uninterruptible(Effect.flatMap(enter(owner, ownerId), work))

/** A mutation that says who called. */
const command = <P extends { readonly ownerId: OwnerId }, A, E>(
  owner: Owner,
  operation: string,
  work: (caller: Command.Caller, payload: P) => Effect.Effect<A, E>,
) => {
  return (payload: P) =>
    mutation(owner, payload, (life) =>
      Effect.flatMap(principalOf(operation), (principal) =>
        work({ owner, life, principal }, payload),
      ),
    )
}

/** A request that only reads. */
const question = <A>(
  owner: Owner,
  operation: string,
  { ownerId }: { readonly ownerId: OwnerId },
  read: (life: Life) => A,
) => Effect.flatMap(enter(owner, ownerId), (life) => reading(operation, () => read(life)))

/** A question that the projections answer: they are brought up to date first, as far as one batch goes. */
const found = <A, E>(
  owner: Owner,
  operation: string,
  ownerId: OwnerId,
  check: (life: Life) => Effect.Effect<void, E>,
  read: (life: Life) => A,
) =>
  Effect.flatMap(enter(owner, ownerId), (life) =>
    Effect.andThen(
      catchUp(owner, life),
      Effect.andThen(
        check(life),
        Effect.tap(
          reading(operation, () => read(life)),
          rebuildFailed(owner, life),
        ),
      ),
    ),
  )

/** Arms, and waits for the end of a pass; never runs one itself. */
const runMaintenance = (owner: Owner, life: Life, timeoutMillis: number | undefined) =>
  Effect.gen(function* () {
    yield* armNow(owner, life)
    const millis = Math.min(timeoutMillis ?? owner.limits.waitMillis, owner.limits.waitMillis)
    const ended = yield* Effect.timeoutOption(nextPassEnd(owner), millis)
    return Option.match(ended, {
      onNone: () => ({ _tag: "Pending" as const }),
      onSome: (pass) => ({ _tag: "Finished" as const, pass }),
    })
  })

const reconcile = (owner: Owner, life: Life, threadIds: ReadonlyArray<ThreadId>) =>
  Effect.suspend(() => {
    const distinct = new Set(threadIds)
    const enrolled = quietBlock(owner, life, "reconcile", (block) => {
      for (const threadId of distinct) Hints.reconcile(block, threadId)
      Hints.countAnew(block)
    })
    return Effect.as(enrolled, { enrolled: distinct.size })
  })

/** A message of another owner: its target's rule comes before anything is read. // I2 */
const delivered = (owner: Owner, payload: DeliverPayload) =>
  Rpc.uninterruptible(
    mayDeliver(owner, payload).pipe(
      Effect.andThen(enter(owner, payload.ownerId)),
      Effect.flatMap((life) => deliver(owner, life, payload)),
    ),
  )

/** What somebody says to a thread. */
const commands = (owner: Owner) => ({
  submit: command(owner, "submit", submit),
  submitMany: command(owner, "submitMany", submitMany),
  resubmit: command(owner, "resubmit", resubmit),
  abort: command(owner, "abort", Command.abort),
  abortMany: command(owner, "abortMany", Bulk.abortMany),
  resolveApproval: command(owner, "resolveApproval", Command.resolveApproval),
  resolveUnknown: command(owner, "resolveUnknown", Command.resolveUnknown),
  signal: command(owner, "signal", signal),
  callback: command(owner, "callback", signal),
  schedule: command(owner, "schedule", schedule),
  unschedule: command(owner, "unschedule", unschedule),
  retry: command(owner, "retry", Command.retry),
  retryMany: command(owner, "retryMany", Bulk.retryMany),
  pauseThread: command(owner, "pauseThread", Command.pauseThread),
  resumeThread: command(owner, "resumeThread", Command.resumeThread),
  forgetThread: command(owner, "forgetThread", forgetThread),
})

export const handlersLayer = (owner: Owner) =>
  OwnerRpc.toLayer({
    ...commands(owner),
    deliver: (payload) => delivered(owner, payload),
    obligations: ({ ownerId, ...query }) =>
      question(owner, "obligations", { ownerId }, (life) =>
        obligations(owner.host, life, owner.limits, query),
      ),
    report: (payload) =>
      mutation(owner, payload, (life) =>
        inBlock(owner, life, "report", (block) =>
          Hints.takeReport(block, payload.threadId, payload.report),
        ),
      ),
    wake: (payload) =>
      mutation(owner, payload, (life) =>
        Effect.andThen(
          quietBlock(owner, life, "wake", (block) => Hints.wake(block, payload.threadId)),
          reading("wake", () => Status.statusOfThread(owner.host, life, payload.threadId)),
        ),
      ),
    reconcile: (payload) =>
      mutation(owner, payload, (life) => reconcile(owner, life, payload.threadIds)),
    laneStatus: (payload) =>
      question(owner, "laneStatus", payload, (life) =>
        Status.statusOfThread(owner.host, life, payload.threadId),
      ),
    recoveryStatus: (payload) =>
      question(owner, "recoveryStatus", payload, (life) =>
        Option.fromUndefinedOr(Status.faultOf(owner.host, life, payload.threadId)),
      ),
    maintenanceStatus: (payload) =>
      question(owner, "maintenanceStatus", payload, (life) =>
        Status.maintenanceStatus(owner.host, life),
      ),
    look: (payload) => question(owner, "look", payload, (life) => ({ owes: Status.owes(life) })),
    runMaintenance: (payload) =>
      Effect.flatMap(enter(owner, payload.ownerId), (life) =>
        runMaintenance(owner, life, payload.timeoutMillis),
      ),
    watch: (payload) =>
      Stream.unwrap(Effect.map(enter(owner, payload.ownerId), (life) => watch(owner, life))),
    listThreads: ({ ownerId, ...query }) =>
      found(
        owner,
        "listThreads",
        ownerId,
        () => checkThreadQuery(query),
        (life) => listThreads(owner.host, life, owner.limits, query),
      ),
    search: ({ ownerId, ...query }) =>
      found(
        owner,
        "search",
        ownerId,
        (life) => checkSearch(life, query),
        (life) => search(owner.host, life, owner.limits, query),
      ),
    rebuildProjections: (payload) =>
      mutation(owner, payload, (life) =>
        Effect.as(rebuildProjections(owner, life), { lanes: life.maintenance.lanes }),
      ),
  })

/**
 * The handlers of `OwnerRpc`: identity, start and alarm repair first, then the one thing each does.
 *
 * Invariants
 * - I1 A request for another owner is refused before anything is read.
 * - I2 Mutations are uninterruptible: nobody's departure stops them.
 */
import { Effect, Option } from "effect"
import { Rpc } from "effect/rpc"
import { CurrentCaller } from "../contracts/Authorization.ts"
import { IdentityMismatch, OperationDenied } from "../contracts/Errors.ts"
import type { OwnerId } from "../contracts/Identifiers.ts"
import { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { armNow, nextPassEnd } from "./Alarm.ts"
import * as Hints from "./Hints.ts"
import { inBlock, type Owner, quietBlock, repairAlarm, started } from "./Owner.ts"
import * as Status from "./Status.ts"
import { submit } from "./Submit.ts"

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

export const handlersLayer = (owner: Owner) =>
  OwnerRpc.toLayer({
    submit: (payload) =>
      Rpc.uninterruptible(
        Effect.gen(function* () {
          const principal = yield* principalOf("submit")
          const life = yield* enter(owner, payload.ownerId)
          return yield* submit(owner, life, payload, principal)
        }),
      ), // I2
    report: ({ ownerId, threadId, report }) =>
      Rpc.uninterruptible(
        Effect.gen(function* () {
          const life = yield* enter(owner, ownerId)
          yield* inBlock(owner, life, "report", (block) =>
            Hints.takeReport(block, threadId, report),
          )
        }),
      ),
    wake: ({ ownerId, threadId }) =>
      Rpc.uninterruptible(
        Effect.gen(function* () {
          const life = yield* enter(owner, ownerId)
          const lane = yield* quietBlock(owner, life, "wake", (block) =>
            Hints.wake(block, threadId),
          )
          return lane === undefined
            ? Status.statusOfThread(owner.host, life, threadId)
            : Status.laneStatus(threadId, lane, {
                now: owner.host.now(),
                fault: Status.faultOf(owner.host, life, threadId),
              })
        }),
      ),
    reconcile: ({ ownerId, threadIds }) =>
      Rpc.uninterruptible(
        Effect.gen(function* () {
          const life = yield* enter(owner, ownerId)
          const distinct = [...new Set(threadIds)]
          yield* quietBlock(owner, life, "reconcile", (block) => {
            for (const threadId of distinct) Hints.reconcile(block, threadId)
          })
          return { enrolled: distinct.length }
        }),
      ),
    laneStatus: ({ ownerId, threadId }) =>
      Effect.map(enter(owner, ownerId), (life) =>
        Status.statusOfThread(owner.host, life, threadId),
      ),
    recoveryStatus: ({ ownerId, threadId }) =>
      Effect.map(enter(owner, ownerId), (life) =>
        Option.fromUndefinedOr(Status.faultOf(owner.host, life, threadId)),
      ),
    maintenanceStatus: ({ ownerId }) =>
      Effect.map(enter(owner, ownerId), (life) => Status.maintenanceStatus(owner.host, life)),
    runMaintenance: ({ ownerId, timeoutMillis }) =>
      Effect.gen(function* () {
        const life = yield* enter(owner, ownerId)
        yield* armNow(owner, life)
        const millis = Math.min(timeoutMillis ?? owner.limits.waitMillis, owner.limits.waitMillis)
        const ended = yield* Effect.timeoutOption(nextPassEnd(life), millis)
        return Option.match(ended, {
          onNone: () => ({ _tag: "Pending" as const }),
          onSome: (pass) => ({ _tag: "Finished" as const, pass }),
        })
      }),
    listThreads: ({ ownerId, ...query }) =>
      Effect.map(enter(owner, ownerId), (life) =>
        Status.listThreads(owner.host, life, owner.limits, query),
      ),
  })

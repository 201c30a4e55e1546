/**
 * The `scheduled` handler: the last net under the alarms, run by the Worker's cron.
 *
 * An owner's alarm is lost only with its object's start failing for minutes, or by somebody's hand.
 * Any entry of an owner repairs it, so that each run looks at the owners that are due for a look:
 * within the hour those that owed anything at the last one, within the day the others.
 *
 * - S1 One owner that fails or hangs costs its own look, and no other's.
 * - S2 A run makes a bounded number of calls in a bounded time; the next one goes on with the rest,
 *   the longest due first.
 * - S3 Only a registry that cannot be reached, or does not answer in time, fails a run, and the platform shows it as failed.
 */
import { Clock, Effect, Result, type Scope } from "effect"
import { callerHeaders } from "../contracts/Authorization.ts"
import type { OwnerId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import { jsonLog } from "../contracts/observability/JsonLog.ts"
import { OwnerRpc } from "../contracts/OwnerRpc.ts"
import { type OwnerLook, RegistryRpc } from "../contracts/RegistryRpc.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import { makeWireClient } from "../contracts/transport/WireClient.ts"
import type { EdgeTargets } from "./ObjectClients.ts"
import type { ObjectTargets } from "./ObjectTargets.ts"

export interface ScheduledOptions {
  /** The objects, as this invocation reaches them. Throws when a binding is missing. */
  readonly targets: (env: unknown) => ObjectTargets
  readonly limits: Limits
}

/** What a Worker exports as `scheduled`. Rejects when the registry cannot be reached. */
export type ScheduledHandler = (controller: unknown, env: unknown) => Promise<void>

/** What one run did. */
export interface ScheduledReport {
  readonly looked: number
  readonly owing: number
  readonly failed: number
}

const headers = callerHeaders({ _tag: "Scheduler" })

/** Of the registry's calls, since a run ends with it; an owner is asked again at the next one. */
const retry = { times: 2 } as const

const makeClients = Effect.fnUntraced(function* (
  targets: EdgeTargets,
  registry: NonNullable<EdgeTargets["registry"]>,
) {
  const owners = yield* makeWireClient(OwnerRpc, {
    headers,
    target: (payload: { readonly ownerId: OwnerId }) => targets.owner(payload.ownerId),
  })
  return {
    owners,
    registry: yield* makeWireClient(RegistryRpc, { headers, target: registry, retry }),
  }
})

type Clients = Effect.Success<ReturnType<typeof makeClients>>

/** Looks at one owner; undefined when it did not answer. Never fails. // S1 */
const look = (clients: Clients, ownerId: OwnerId, limits: Limits) =>
  Effect.gen(function* () {
    const asked = Effect.timeout(clients.owners.look({ ownerId }), limits.lookMillis)
    const answer = yield* Effect.result(asked)
    if (Result.isSuccess(answer)) return { ownerId, owed: answer.success.owes }
    yield* Effect.annotateLogs(
      Effect.logWarning(`an owner did not answer: ${describeThrown(answer.failure)}`),
      { ownerId },
    )
    return undefined
  })

/** A page costs a call for its owners, one for its record, and one per owner: two, if it has to be let go. */
const pageCalls = 2
const ownerCalls = 2

/** One page; undefined when nobody is due any more. */
const lookAtPage = (clients: Clients, limit: number, limits: Limits) =>
  Effect.gen(function* () {
    const { owners } = yield* Effect.timeout(
      clients.registry.takeDue({ limit }),
      limits.registryMillis, // S2
    )
    if (owners.length === 0) return undefined
    const answers = yield* Effect.forEach(owners, (ownerId) => look(clients, ownerId, limits), {
      concurrency: limits.lookSlots,
    })
    const looks = answers.filter((answer): answer is OwnerLook => answer !== undefined)
    yield* Effect.timeout(clients.registry.looked({ looks }), limits.registryMillis) // S2
    return { asked: owners.length, looks }
  })

/** One run of the cron. Fails when the registry does. // S3 */
export const runScheduled = (
  targets: EdgeTargets,
  registry: NonNullable<EdgeTargets["registry"]>,
  limits: Limits,
) =>
  Effect.gen(function* () {
    const clients = yield* makeClients(targets, registry)
    const startedAt = yield* Clock.currentTimeMillis
    let callsLeft = limits.scheduledCalls
    let report: ScheduledReport = { looked: 0, owing: 0, failed: 0 }
    while (callsLeft >= pageCalls + ownerCalls) {
      if ((yield* Clock.currentTimeMillis) - startedAt >= limits.scheduledMillis) break // S2
      const most = Math.floor((callsLeft - pageCalls) / ownerCalls)
      const limit = Math.min(limits.pageOwners, most) // S2
      const page = yield* lookAtPage(clients, limit, limits)
      if (page === undefined) break
      const failed = page.asked - page.looks.length
      callsLeft -= pageCalls + page.asked + failed
      report = {
        looked: report.looked + page.looks.length,
        owing: report.owing + page.looks.filter(({ owed }) => owed).length,
        failed: report.failed + failed,
      }
    }
    return report
  })

const served = (options: ScheduledOptions, env: unknown): Effect.Effect<void, unknown> => {
  const targets = options.targets(env)
  const { registry } = targets
  const run: Effect.Effect<void, unknown, Scope.Scope> =
    registry === undefined
      ? Effect.logWarning("the cron has nothing to look at: this deployment has no owner registry")
      : Effect.flatMap(runScheduled(targets, registry, options.limits), (report) =>
          Effect.annotateLogs(Effect.logInfo("the cron has looked at the owners"), { ...report }),
        )
  return run.pipe(
    Effect.scoped,
    Effect.tapError((error) =>
      Effect.logError(`the owner registry cannot be reached: ${describeThrown(error)}`),
    ),
    Effect.ensuring(Effect.sync(targets.close)),
  )
}

/** The `scheduled` handler of a deployment. */
export const makeScheduledHandler =
  (options: ScheduledOptions): ScheduledHandler =>
  (_controller, env) =>
    Effect.runPromiseWith(jsonLog())(Effect.suspend(() => served(options, env)))

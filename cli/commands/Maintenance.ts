/** `heddle maintenance`: what an owner tells of its own work, and having a pass run. */
import { Clock, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { MaintenancePassReport, MaintenanceStatus } from "../../contracts/Maintenance.ts"
import type { OwnerId } from "../../contracts/Identifiers.ts"
import type { RunMaintenanceReply } from "../../contracts/OwnerRpc.ts"
import { ExitCode } from "../ExitCode.ts"
import type { CallError } from "../Remedies.ts"
import { durationFlag } from "../Root.ts"
import { type Session, withSession } from "../Session.ts"
import { Stopped, usage } from "../Stopped.ts"
import { fields } from "../Table.ts"
import { durationOf, isoOf } from "../Times.ts"
import { ticking } from "../Waiting.ts"

const passFields = (pass: MaintenancePassReport) => ({
  pass: pass.phase,
  "ended by": pass.endedBy,
  started: isoOf(pass.startedAt),
  took: `${pass.endedAt - pass.startedAt} ms`,
  recovered: pass.recovered,
  settled: pass.settled,
  "open then": pass.nonterminal,
  calls: pass.actorCalls,
  alarm: pass.alarm,
})

const totalFields = (totals: NonNullable<MaintenanceStatus["totals"]>) => ({
  accepted: totals.accepted,
  "settled so far": `${totals.completed} completed, ${totals.failed} failed, ${totals.aborted} aborted`,
  attempts: totals.attempts,
  "passes so far": totals.passes,
})

const statusText = (status: MaintenanceStatus): string =>
  fields({
    owner: status.ownerId,
    open: status.nonterminal,
    threads: status.lanes,
    due: status.dueLanes,
    running: status.runningLanes,
    faulted: status.faultedLanes,
    "alarm at": status.alarmAt === undefined ? "none" : isoOf(status.alarmAt),
    "unfinished passes": status.unfinishedPasses,
    ...(status.queueAgeMillis === undefined ? {} : { "queue age": `${status.queueAgeMillis} ms` }),
    ...(status.totals === undefined ? {} : totalFields(status.totals)),
    "newest change": status.dirty,
    "accounted to": status.processed,
    "last served": status.lastServedThreadId,
    "last recovered": status.lastRecoveredThreadId,
    ...(status.lastPass === undefined ? {} : passFields(status.lastPass)),
  })

/** A deployment that ends each wait at once is not asked again at once. */
const againMillis = 500

/** Waits for a pass for as long as it is told to: one call lasts a few minutes at most. */
const passWithin = (
  session: Session,
  ownerId: OwnerId,
  timeoutMillis: number,
): Effect.Effect<RunMaintenanceReply, CallError> =>
  Effect.gen(function* () {
    const endsAt = (yield* Clock.currentTimeMillis) + timeoutMillis
    for (let leftMillis = timeoutMillis; ;) {
      const reply = yield* session.client.rpc.runMaintenance({ ownerId, timeoutMillis: leftMillis })
      leftMillis = endsAt - (yield* Clock.currentTimeMillis)
      if (reply._tag === "Finished" || leftMillis <= 0) return reply
      yield* Effect.sleep(Math.min(againMillis, leftMillis))
      leftMillis = Math.max(0, endsAt - (yield* Clock.currentTimeMillis))
    }
  })

const runPass = Effect.fnUntraced(function* (session: Session, timeoutMillis: number | undefined) {
  const ownerId = yield* session.ownerId
  const reply = yield* ticking(
    session,
    (elapsed) => `Waiting for a pass of ${ownerId}: ${elapsed}`,
    timeoutMillis === undefined
      ? session.client.rpc.runMaintenance({ ownerId })
      : passWithin(session, ownerId, timeoutMillis),
  )
  if (session.json || reply._tag === "Finished") {
    yield* session.show(reply, () =>
      reply._tag === "Finished" ? fields(passFields(reply.pass)) : "",
    )
  }
  if (reply._tag === "Finished") return
  return yield* new Stopped({
    exitCode: ExitCode.timedOut,
    what: `No pass ended${timeoutMillis === undefined ? " in time" : ` within ${durationOf(timeoutMillis)}`}`,
    next: "The alarm is armed; heddle maintenance shows how it goes.",
  })
})

export const maintenance = Command.make(
  "maintenance",
  {
    run: Flag.Boolean("run").pipe(
      Flag.withDescription("Arm the alarm and wait for a pass"),
      Flag.withDefault(false),
    ),
    timeout: durationFlag("timeout", "How long to wait for the pass").pipe(Flag.optional),
  },
  ({ run, timeout }) =>
    withSession(
      Effect.fnUntraced(function* (session) {
        if (run) return yield* runPass(session, Option.getOrUndefined(timeout))
        if (Option.isSome(timeout)) return yield* usage("--timeout is for --run")
        const ownerId = yield* session.ownerId
        const status = yield* session.client.rpc.maintenanceStatus({ ownerId })
        yield* session.show(status, () => statusText(status))
      }),
    ),
).pipe(
  Command.withDescription(
    "Show an owner's alarm, lanes and last pass; docs/operate.md tells what each number means. With --run: arm the alarm and wait for a pass, 7 when none ended in time.",
  ),
  Command.withShortDescription("Show or run an owner's maintenance"),
  Command.withExamples([
    { command: "heddle maintenance" },
    { command: "heddle maintenance --run --timeout 30s" },
  ]),
)

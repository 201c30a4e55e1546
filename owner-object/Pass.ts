/**
 * The pass: the whole of one maintenance event. One at a time.
 *
 * begin (a block) → turns of: select (a block), calls, commits → letting go → close (a block).
 *
 * Invariants
 * - P1 A pass commits its own re-arm before it works, later with each pass in a row that did not
 *   finish; one that kills its object does not come back twenty times a second.
 * - P2 That nothing is left to do is checked and closed in one block, so no wake can be lost.
 * - P3 A pass ends: at its yield time, its ceiling, its budget of calls, or when all is quiet. At the first two it lets
 *   go of calls of threads; it interrupts nobody's attempt.
 * - P4 After every end the alarm is the earliest of all deadlines, or none; at once while something goes on, so that it is
 *   never left without an event.
 * - P5 Whatever else is under way at its end goes on, for its own time, and is the next pass's: a budget of calls says
 *   nothing of how long a call may take. Cut off with each pass, a slow one of a busy owner would never end.
 */
import { Effect, Exit, Fiber, Latch } from "effect"
import { delayMillis } from "../contracts/Backoff.ts"
import type { MaintenancePassReport } from "../contracts/Maintenance.ts"
import { annotate, spannedUnder, spans } from "../contracts/observability/Spans.ts"
import { freeTicket } from "./AgentLimits.ts"
import * as AlarmSlot from "./AlarmSlot.ts"
import { type Block, deadlinesOf, mayStart, openForWriting, readLane, writeLane } from "./Block.ts"
import { bindingsLeft, releaseBindings } from "./BindingRelease.ts"
import { chargeEntry, entryIsDue } from "./EnterRegistry.ts"
import { deadline } from "./Entry.ts"
import { hostIsDue, nextWaveAt, readDeadlines, selectHosts } from "./HostWave.ts"
import {
  launch,
  launchCarry,
  launchEntry,
  launchHost,
  launchPublication,
  launchRead,
  published,
} from "./Launch.ts"
import { earliestTicket, nextFutureTicket } from "./LaneTable.ts"
import type { Life, RunningPass } from "./Life.ts"
import { selectCarries, slotFreeAt } from "./OutboxFlight.ts"
import { earliestOutbox, nextFutureOutbox } from "./OutboxTable.ts"
import { inBlock, type Owner } from "./Owner.ts"
import { earliestPublication, nextFuturePublication } from "./PublicationTable.ts"
import { project } from "./Project.ts"
import { nextFutureRead, pickReads } from "./ReadOutcomes.ts"
import * as Projected from "./Projected.ts"
import { dueBefore, ticketMillis } from "./Rotation.ts"
import { select } from "./Select.ts"
import { tablesOf } from "./TicketIndex.ts"
import { tallied, type Tally } from "./Totals.ts"
import { goesOn, inFlightOf, letCallsGo } from "./UnderWay.ts"
import type { Waiters } from "./Waiters.ts"

type EndedBy = MaintenancePassReport["endedBy"]

/** Lanes whose call was under way when an earlier life ended, or was let go: looked at before believed. */
const takeBackFlights = (block: Block): void => {
  const { flights, letGo, marked } = block.life.underWay
  for (const threadId of letGo) {
    const lane = readLane(block, threadId)
    if (lane === undefined) continue
    const lost = { ...lane, mustVisit: true, suspect: true }
    writeLane(block, lane, lost, { afterTurn: true })
  }
  letGo.clear()
  for (const threadId of marked) if (!flights.has(threadId)) marked.delete(threadId)
  if (block.maintenance.inFlight.length === flights.size) return
  block.maintenance = { ...block.maintenance, inFlight: [...flights.keys()] }
}

const anythingDue = (block: Block, pass: RunningPass): boolean => {
  if (block.life.version === 0) return false
  if (entryIsDue(block) || hostIsDue(block, pass)) return true
  if ((Projected.deadlineOf(block) ?? Infinity) <= block.now) return true
  const { sql } = block.host.storage
  const ticket = earliestTicket(sql, mayStart(block))
  const free = mayStart(block) ? freeTicket(block) : undefined
  const tables = tablesOf(sql, block.life)
  const tickets = [ticket, free, earliestOutbox(tables), earliestPublication(tables)]
  const earliest = Math.min(...tickets.map((one) => one ?? Infinity))
  if (earliest >= dueBefore(block.now)) return false
  pass.dueSinceAt ??= ticketMillis(earliest)
  return true
}

const passTally = ({ now }: Block, pass: RunningPass): Tally => ({
  passes: 1,
  passMillis: now - pass.startedAt,
  passCalls: pass.calls,
})

/** Ends at once when nothing is due; else arms for the case that this pass never ends. */
const begin = (
  block: Block,
  pass: RunningPass,
  agentsDigest: string,
): MaintenancePassReport | undefined => {
  const { life, limits, now, host } = block
  takeBackFlights(block)
  releaseBindings(block, agentsDigest)
  if (!goesOn(life.underWay) && !anythingDue(block, pass) && !bindingsLeft(block)) {
    Projected.settle(block)
    const { alarm, sql } = host.storage
    const armed = AlarmSlot.armEarliest(alarm, sql, life, deadlinesOf(block))
    life.pass = undefined // P2
    block.tally = tallied(block.tally, passTally(block, pass))
    if (block.maintenance.unfinished > 0) {
      block.maintenance = { ...block.maintenance, unfinished: 0 }
    }
    return reportOf(block, pass, { phase: "caught-up", alarm: armed, endedBy: "quiescent" })
  }
  openForWriting(block)
  const unfinished = block.maintenance.unfinished + 1
  block.maintenance = { ...block.maintenance, unfinished }
  const curve = { baseMillis: limits.passRetryMillis, maxMillis: limits.passRetryMaxMillis }
  AlarmSlot.armRetry(host.storage.alarm, life, now + delayMillis(curve, unfinished), now) // P1
  return undefined
}

const reportOf = (
  block: Block,
  pass: RunningPass,
  end: Pick<MaintenancePassReport, "phase" | "alarm" | "endedBy">,
): MaintenancePassReport => ({
  ...end,
  recovered: pass.recovered,
  settled: pass.settled,
  nonterminal: block.maintenance.nonterminal,
  startedAt: pass.startedAt,
  endedAt: block.now,
  actorCalls: pass.calls,
})

/** Ends the pass in one block. For `quiescent`, only if nothing is left to do. // P2 */
const close = (
  block: Block,
  pass: RunningPass,
  endedBy: EndedBy,
): MaintenancePassReport | undefined => {
  const { life, host } = block
  if (endedBy === "quiescent") {
    if (goesOn(life.underWay) || anythingDue(block, pass) || bindingsLeft(block)) return undefined // P2
  }
  Projected.settle(block)
  const { alarm, sql } = host.storage
  const armed = AlarmSlot.armEarliest(alarm, sql, life, deadlinesOf(block)) // P4
  life.pass = undefined // P2
  const report = reportOf(block, pass, { phase: "actionable", alarm: armed, endedBy })
  block.tally = tallied(block.tally, passTally(block, pass))
  block.maintenance = {
    ...block.maintenance,
    unfinished: 0,
    inFlight: inFlightOf(life.underWay),
    lastPass: report,
  }
  return report
}

/** Waits for a wake, the next deadline after the last look, or the yield time. */
const pause = (
  owner: Owner,
  life: Life,
  pass: RunningPass,
  { latch, lookedAt }: { readonly latch: Latch.Latch; readonly lookedAt: number },
) =>
  Effect.suspend(() => {
    const now = owner.host.now()
    const { sql } = owner.host.storage
    const ticket = nextFutureTicket(sql, lookedAt)
    const tables = tablesOf(sql, life)
    const outbox = nextFutureOutbox(tables, lookedAt)
    const record = nextFuturePublication(tables, lookedAt)
    const laneAt = ticketMillis(
      Math.min(ticket ?? Infinity, outbox ?? Infinity, record ?? Infinity),
    )
    const slotAt = slotFreeAt(pass, now, owner.limits.outboxPatienceMillis) ?? Infinity
    const shownAt = Projected.projectionsAt(life) ?? Infinity
    const readAt = nextFutureRead(owner, life, lookedAt) ?? Infinity
    const entryAt = life.underWay.entering
      ? undefined
      : deadline(life.maintenance.entry, life.registers)
    const waveAt = nextWaveAt(life, pass, { limits: owner.limits, now }) ?? Infinity
    const at = Math.min(laneAt, slotAt, entryAt ?? Infinity, shownAt, readAt, waveAt, pass.yieldAt)
    pass.findsFrom = at
    return Effect.raceFirst(latch.await, Effect.sleep(Math.max(1, at - now)))
  })

/** Whether what has changed is shown now: at its time, and before the pass ends. */
const projectsNow = (life: Life, now: number): boolean => {
  const at = Projected.projectionsAt(life)
  if (at === undefined) return false
  const { failures, retryAt } = life.projecting
  return at <= now || (!goesOn(life.underWay) && (failures === 0 || retryAt <= now))
}

/** Turns until the pass has a reason to end. A quiet one is closed here. */
const turns = (owner: Owner, life: Life, pass: RunningPass, latch: Latch.Latch) =>
  Effect.gen(function* () {
    while (true) {
      if (owner.host.now() >= pass.yieldAt) return { endedBy: "yield" as const }
      if (pass.calls >= owner.limits.passCalls) return { endedBy: "calls" as const }
      latch.closeUnsafe()
      const { carries, entry, gifts, hosts, lookedAt, picks } = yield* inBlock(
        owner,
        life,
        "select",
        (block) => {
          pass.findsFrom = block.now + 1
          releaseBindings(block, owner.agentsDigest)
          return {
            lookedAt: block.now,
            picks: select(block, pass),
            carries: selectCarries(block, pass),
            gifts: published(owner, block, pass),
            entry: chargeEntry(block),
            hosts: selectHosts(block, pass),
          }
        },
      )
      for (const pick of picks) yield* launch(owner, life, pass, pick)
      for (const pick of carries) yield* launchCarry(owner, life, pass, pick)
      for (const gift of gifts) yield* launchPublication(owner, life, pass, gift)
      for (const lane of hosts) yield* launchHost(owner, life, pass, lane)
      if (entry !== undefined && owner.registry !== undefined) {
        yield* launchEntry(owner, life, pass, owner.registry, entry)
      }
      if (projectsNow(life, owner.host.now())) yield* project(owner, life)
      for (const pick of pickReads(owner, life, pass)) yield* launchRead(owner, life, pass, pick)
      if (
        goesOn(life.underWay) ||
        (Projected.projectionsAt(life) ?? Infinity) <= owner.host.now()
      ) {
        yield* pause(owner, life, pass, { latch, lookedAt })
        continue
      }
      const closed = yield* inBlock(owner, life, "close", (block) =>
        close(block, pass, "quiescent"),
      )
      if (closed !== undefined) return { endedBy: "quiescent" as const, report: closed }
    }
  })

/** Waits a moment for calls of threads, then stops waiting for them. // P3 */
const letGo = (owner: Owner, { underWay }: Life) =>
  Effect.gen(function* () {
    const waiting = [...underWay.flights.values()].flatMap(({ fiber }) => fiber ?? [])
    yield* Effect.timeoutOption(Fiber.awaitAll(waiting), owner.limits.letGoMillis)
    letCallsGo(underWay)
  })

const work = (owner: Owner, life: Life, pass: RunningPass, latch: Latch.Latch) =>
  Effect.gen(function* () {
    const end = yield* turns(owner, life, pass, latch)
    if ("report" in end && end.report !== undefined) return end.report
    if (end.endedBy === "yield") yield* letGo(owner, life) // P5
    return yield* inBlock(owner, life, "close", (block) => close(block, pass, end.endedBy))
  })

const makePass = (owner: Owner, latch: Latch.Latch, life: Life): RunningPass => {
  const startedAt = owner.host.now()
  const { limits } = owner
  const { entering: _e, ...shared } = life.underWay
  return {
    startedAt,
    yieldAt: startedAt + limits.passYieldMillis,
    oneSlot: life.maintenance.unfinished >= limits.unfinishedPassesBeforeOneSlot,
    ...shared,
    hostsFailed: new Set(),
    wake: () => void latch.openUnsafe(),
    findsFrom: Infinity,
    calls: 0,
    settled: 0,
    recovered: 0,
    dueSinceAt: undefined,
  }
}

/** What those who wait for a pass hear of one that failed; its retry is armed by whoever ran it. */
const failureReport = (owner: Owner, life: Life, pass: RunningPass): MaintenancePassReport => ({
  phase: "actionable",
  recovered: pass.recovered,
  settled: pass.settled,
  nonterminal: life.maintenance.nonterminal,
  alarm: "rearmed",
  startedAt: pass.startedAt,
  endedAt: owner.host.now(),
  actorCalls: pass.calls,
  endedBy: "failure",
})

const tellWaiters = ({ passes }: Waiters, report: MaintenancePassReport): void => {
  const waiting = [...passes]
  passes.clear()
  for (const tell of waiting) tell(report)
}

/** Remembers it for whoever looks. */
const remember = (owner: Owner, life: Life, report: MaintenancePassReport): void => {
  if (report.phase === "caught-up") return
  life.recentPasses = [report, ...life.recentPasses].slice(0, owner.limits.passesKept)
}

const toItsEnd = (owner: Owner, life: Life, pass: RunningPass, latch: Latch.Latch) =>
  Effect.gen(function* () {
    const caughtUp = yield* inBlock(owner, life, "begin", (block) =>
      begin(block, pass, owner.agentsDigest),
    )
    readDeadlines(owner, life)
    if (caughtUp !== undefined) return caughtUp
    const { passCeilingMillis } = owner.limits
    const done = yield* Effect.timeoutOption(work(owner, life, pass, latch), passCeilingMillis)
    if (done._tag === "Some" && done.value !== undefined) return done.value
    letCallsGo(life.underWay) // P3
    return yield* inBlock(owner, life, "close", (block) => close(block, pass, "ceiling"))
  })

/** What a pass came to, for whoever collects it. */
const told = (
  { telemetry }: Owner,
  pass: RunningPass,
  report: MaintenancePassReport | undefined,
): Effect.Effect<void> => {
  if (report !== undefined) {
    telemetry.tell("passDuration", report.endedAt - report.startedAt)
    telemetry.tell("passCalls", report.actorCalls)
    telemetry.tell("queueAge", Math.max(0, pass.startedAt - (pass.dueSinceAt ?? pass.startedAt)))
  }
  return annotate(() => ({
    "heddle.phase": report?.phase,
    "heddle.ended.by": report?.endedBy,
    "heddle.calls": report?.actorCalls,
    "heddle.settled": report?.settled,
    "heddle.recovered": report?.recovered,
  }))
}

/** Runs one pass to its end, and tells its caller and those who wait. The caller has made sure that none runs. */
export const runPass = (
  owner: Owner,
  life: Life,
  onEnded: (report: MaintenancePassReport) => void,
) =>
  Effect.suspend(() => {
    const latch = Latch.makeUnsafe(false)
    const pass = makePass(owner, latch, life)
    life.pass = pass
    const done = spannedUnder(
      undefined,
      () => ({ name: spans.pass, attributes: { "heddle.owner.id": life.ownerId } }),
      Effect.tap(toItsEnd(owner, life, pass, latch), (report) => told(owner, pass, report)),
    )
    return done.pipe(
      Effect.onExit((exit) =>
        Effect.sync(() => {
          if (life.pass === pass) life.pass = undefined
          const ended = Exit.isSuccess(exit) ? exit.value : undefined
          const report = ended ?? failureReport(owner, life, pass)
          remember(owner, life, report)
          onEnded(report)
          tellWaiters(owner.waiters, report)
        }),
      ),
    )
  })

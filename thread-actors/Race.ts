/**
 * `run.race`: several branches begin, and the one whose outcome came first is the outcome of all.
 *
 * - R1 The winner is recorded before its value is given, and what the others wait for is withdrawn in the same block.
 * - R2 An outcome came when its last record was written: where several are there, the one with the lowest such
 *   sequence wins, however late the run looks, and whichever fiber is the faster.
 * - R3 A branch that is one wait wins in the block of its answer; then the run waits for that branch, whatever else
 *   has ended meanwhile.
 * - R4 Once it is decided, only the winner's branch is entered again; names that the others used stay used.
 * - R5 While a race is being decided its run has not come to rest.
 * - R6 A defect is no outcome: it ends the race, as it ends the run.
 * - R7 A race inside a branch that has lost waits for nothing but its interruption: all it could wait for is withdrawn.
 */
import { Cause, Deferred, Effect, Exit, Fiber, Schema } from "effect"
import { StepName } from "../contracts/Identifiers.ts"
import type { Block } from "./Block.ts"
import {
  appendFact,
  type Boxed,
  giveUp,
  leave,
  readFact,
  recall,
  type Recorded,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { findNamed, lastSequence } from "./Journal.ts"
import { endBody, type Verdict } from "./LiveAttempt.ts"
import { asEffect, misuse } from "./Misuse.ts"
import { settleDown } from "./Quiet.ts"
import { CurrentRaceBranch, isWait, type RaceBranch } from "./RaceBranch.ts"
import { withdrawLost } from "./RaceEnd.ts"
import { winnerOf, winnerPayload } from "./RaceWinner.ts"

type Branch = Effect.Effect<unknown, unknown>

interface RaceCall {
  readonly name: string
  readonly branches: ReadonlyMap<string, Branch>
}

/** A branch that has come to its end. */
interface Ended {
  readonly scope: RaceBranch
  readonly exit: Exit.Exit<unknown, unknown>
}

/** A race under way. */
interface Contest {
  readonly name: string
  readonly scopes: ReadonlyArray<RaceBranch>
  readonly ended: Array<Ended>
  /** Rung by the next branch that ends. */
  bell: Deferred.Deferred<void>
  /** Whether it is being decided: from the first end of a branch on. */
  deciding: boolean
  /** Whether it stands in a branch that has lost. */
  lost: boolean
}

const isName = Schema.is(StepName)

const mismatch = (running: Running, name: string): Effect.Effect<never> =>
  leave(running, { _tag: "Mismatch", name })

const callOf = (name: string, branches: unknown): RaceCall | string => {
  if (Object(branches) !== branches) return "its branches must be an object of Effects"
  const entries = Object.entries(branches as object)
  const read = new Map<string, Branch>()
  for (const [branch, given] of entries) {
    const effect = asEffect(given)
    if (!isName(branch)) return "the name of a branch has 1 to 128 printable characters"
    if (effect === undefined) return "each branch must be an Effect"
    read.set(branch, effect)
  }
  return { name, branches: read }
}

/** Counts a branch's end, and keeps the run from coming to rest until the race is over. // R5 */
const arrive = ({ live }: Running, contest: Contest, end: Ended): void => {
  contest.ended.push(end)
  if (!contest.deciding) live.bodies += 1
  contest.deciding = true
  Deferred.doneUnsafe(contest.bell, Effect.void)
}

const begin = (running: Running, contest: Contest, scope: RaceBranch, branch: Branch) =>
  Effect.forkChild(
    Effect.flatMap(Effect.exit(Effect.provideService(branch, CurrentRaceBranch, scope)), (exit) =>
      Effect.sync(() => arrive(running, contest, { scope, exit })),
    ),
  )

/** What ends the race without an outcome, if a branch has come to that. // R6 */
const defectOf = ({ ended }: Contest): Cause.Cause<unknown> | undefined => {
  for (const { exit } of ended)
    if (Exit.isFailure(exit) && (Cause.hasDies(exit.cause) || Cause.hasInterrupts(exit.cause)))
      return exit.cause
  return undefined
}

/** The branch whose outcome came first, of those that have one. // R2 */
const firstOf = (running: Running, contest: Contest): Effect.Effect<string> =>
  readFact(running, (sql) => {
    const { sequence } = running.live
    const came = contest.ended.map(({ scope }) => ({
      branch: scope.branch,
      at: lastSequence(sql, sequence, [...scope.names]),
    }))
    return came.reduce((first, other) => (other.at < first.at ? other : first)).branch
  })

/** Records who has won, unless an answer has decided it. Gives the winner. // R1 R3 */
const decideIn = (
  block: Block,
  { live }: Running,
  contest: Contest,
  branch: string,
): Boxed<string> | Verdict => {
  const { name } = contest
  const decided = findNamed(block.sql, live.sequence, name)
  if (decided !== undefined) return { value: String(winnerOf(decided.payload)) }
  const lost = contest.scopes.filter((scope) => scope.branch !== branch)
  const payload = winnerPayload(
    branch,
    lost.flatMap(({ names }) => [...names]),
  )
  const full = appendFact(block, live, { kind: "WaitWithdrawn", name, payload })
  if (full !== undefined) return full
  withdrawLost(block, live.row, { race: name, branch })
  return { value: branch }
}

/** Waits for branches to end until the winner has. */
const winnerEnd = (running: Running, contest: Contest): Effect.Effect<Ended> =>
  Effect.gen(function* () {
    while (true) {
      yield* Deferred.await(contest.bell)
      if (contest.lost) return yield* Effect.interruptible(Effect.never) // R7
      contest.bell = Deferred.makeUnsafe()
      yield* settleDown(running) // R2
      const defect = defectOf(contest)
      if (defect !== undefined) return yield* Effect.failCause(defect as Cause.Cause<never>)
      const first = yield* firstOf(running, contest)
      const winner = yield* writeFact(running, "wait", (block) =>
        decideIn(block, running, contest, first),
      )
      const end = contest.ended.find(({ scope }) => scope.branch === winner)
      if (end !== undefined) return end
      if (!contest.scopes.some(({ branch }) => branch === winner))
        return yield* mismatch(running, contest.name)
    }
  })

const standsIn = (scope: RaceBranch | undefined, branch: RaceBranch): boolean => {
  for (let at = scope?.outer; at !== undefined; at = at.outer) if (at === branch) return true
  return false
}

/** Tells races inside its branches that they have lost; those in a branch that has ended go on. // R7 */
const loseInner = ({ live }: Running, contest: Contest): void => {
  const left = contest.scopes.filter((own) => !contest.ended.some(({ scope }) => scope === own))
  for (const { lose, scopes } of live.contests.values())
    if (left.some((branch) => standsIn(scopes[0], branch))) lose()
}

/** Ends what has lost, and then counts the race as decided. // R5 */
const leaveContest = (
  running: Running,
  contest: Contest,
  fibers: ReadonlyArray<Fiber.Fiber<unknown, unknown>>,
): Effect.Effect<void> => {
  const { live } = running
  loseInner(running, contest)
  return Effect.andThen(
    Fiber.interruptAll(fibers),
    Effect.sync(() => {
      live.contests.delete(contest.name)
      if (contest.deciding) endBody(live)
    }),
  )
}

/** Lists it as under way, for whoever decides it, or one around it. */
const enterContest = ({ live }: Running, contest: Contest): void => {
  const lose = () => {
    contest.lost = true
    Deferred.doneUnsafe(contest.bell, Effect.void)
  }
  live.contests.set(contest.name, { scopes: contest.scopes, lose })
}

const run = (running: Running, call: RaceCall, outer: RaceBranch | undefined): Branch =>
  Effect.suspend(() => {
    const { branches, name } = call
    const taken = { bytes: 0 }
    const entrants = [...branches].map(([branch, effect]) => ({
      effect,
      scope: { race: name, branch, isSole: isWait(effect), outer, names: new Set<string>(), taken },
    }))
    const contest: Contest = {
      name,
      scopes: entrants.map(({ scope }) => scope),
      ended: [],
      bell: Deferred.makeUnsafe(),
      deciding: false,
      lost: false,
    }
    enterContest(running, contest)
    const fibers: Array<Fiber.Fiber<unknown, unknown>> = []
    const started = Effect.forEach(
      entrants,
      ({ effect, scope }) =>
        Effect.map(begin(running, contest, scope, effect), (fiber) => void fibers.push(fiber)),
      { discard: true },
    )
    return Effect.flatMap(
      Effect.ensuring(
        Effect.andThen(started, winnerEnd(running, contest)),
        Effect.suspend(() => leaveContest(running, contest, fibers)),
      ),
      ({ exit, scope }): Branch => Effect.map(exit, (value) => ({ branch: scope.branch, value })),
    )
  })

/** Enters the branch that has won before. // R4 */
const again = (running: Running, { branches, name }: RaceCall, recorded: Recorded): Branch =>
  Effect.suspend(() => {
    const { names, winner } = recorded.payload
    const branch = typeof winner === "string" ? branches.get(winner) : undefined
    if (recorded.kind !== "WaitWithdrawn" || branch === undefined) return mismatch(running, name)
    if (Array.isArray(names)) for (const lost of names) running.live.names.add(String(lost))
    return Effect.map(branch, (value) => ({ branch: winner, value }))
  })

/** The race, as `Run` offers it. */
export const race = (running: Running, name: string, branches: unknown): Branch =>
  Effect.andThen(
    takeName(running, name),
    Effect.suspend(() => {
      const call = callOf(name, branches)
      if (typeof call === "string") return misuse(`race ${name}: ${call}`)
      if (call.branches.size === 0)
        return giveUp(running, "EmptyRace", `the race ${JSON.stringify(name)} has no branch`)
      return Effect.flatMap(recall(running, name), (recorded) =>
        recorded === undefined
          ? Effect.flatMap(Effect.service(CurrentRaceBranch), (outer) => run(running, call, outer))
          : again(running, call, recorded),
      )
    }),
  )

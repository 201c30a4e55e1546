/**
 * A wait as its handler sees it: asked for once, and answered once, in memory or after a suspension.
 *
 * - W1 A recorded answer is given again without waiting.
 * - W2 A branch is listed as waiting before it looks for its answer, and until it goes on with one: no answer falls
 *   between the look and the wait.
 * - W3 While any body runs, an answer resumes its branch in memory; when all branches wait, the attempt ends.
 * - W4 The request, and the row by which its answer is taken, are one block.
 * - W5 In a branch that has lost its race nothing is asked for any more: it waits to be interrupted.
 */
import { Deferred, Effect } from "effect"
import type { Block } from "./Block.ts"
import {
  appendFact,
  type Boxed,
  leave,
  type NewFact,
  readFact,
  recallPart,
  type Recorded,
  type Running,
  takeName,
  writeFact,
} from "./Fact.ts"
import { findPart } from "./Journal.ts"
import type { Verdict } from "./LiveAttempt.ts"
import { waitForQuiet } from "./Quiet.ts"
import { branchesAround, CurrentRaceBranch, type RaceBranch, storedBranches } from "./RaceBranch.ts"
import { hasLost } from "./RaceWinner.ts"
import { clockOf } from "./Thread.ts"
import { answerPart, earlyPart, findWait, openWait, type WaitKind } from "./WaitRows.ts"
import { fireDue } from "./Waits.ts"

/** What is asked for: its request's record, if it has one, and when the wait is over. */
export interface Request {
  readonly fact: Omit<NewFact, "name" | "part"> | undefined
  /** None if it waits as long as it takes. */
  readonly dueAt: number | null
}

export interface WaitCall {
  readonly name: string
  readonly kind: WaitKind
  /** The kind of its request's record. */
  readonly requestKind: NewFact["kind"]
  /** Made in the block that writes it, once. */
  readonly request: (now: number) => Request
  /** When a request that was recorded before is over. */
  readonly dueAtOf: (payload: Record<string, unknown>) => number | null
  /** What else the block of the request does. */
  readonly alongside?: (block: Block) => Verdict | undefined
  /** What is done once that block has committed. */
  readonly afterwards?: Effect.Effect<void>
}

const mismatch = (running: Running, { name }: Pick<WaitCall, "name">): Effect.Effect<never> =>
  leave(running, { _tag: "Mismatch", name })

/** The parts under which an answer may stand: a signal may have come before it was asked for. */
const answerParts = ({ kind }: WaitCall): ReadonlyArray<number> =>
  kind === "signal" ? [answerPart, earlyPart] : [answerPart]

/** The answer on record, if there is one; that of a race that was lost is for nobody. // W1 */
const answerOf = (running: Running, call: WaitCall): Effect.Effect<Recorded | undefined> =>
  Effect.gen(function* () {
    for (const part of answerParts(call)) {
      const answer = yield* recallPart(running, { name: call.name, part })
      if (answer !== undefined) return answer
    }
    return undefined
  })

const isAnswered = ({ sql }: Block, submission: number, call: WaitCall): boolean =>
  answerParts(call).some((part) => findPart(sql, submission, { name: call.name, part }))

/**
 * Writes the request, unless it stands already, and opens the wait, unless it was answered meanwhile. Gives whether
 * there is anything to wait for. // W4 W5
 */
const openIn = (
  block: Block,
  running: Running,
  call: WaitCall,
  scope: RaceBranch | undefined,
): Boxed<boolean> | Verdict => {
  const { live } = running
  const { name } = call
  const { sql } = block
  if (hasLost(sql, live.sequence, branchesAround(scope))) return { value: false } // W5
  const recorded = findPart(sql, live.sequence, { name, part: 0 })
  const made = recorded === undefined ? call.request(block.now) : undefined
  if (made?.fact !== undefined) {
    const full = appendFact(block, live, { ...made.fact, name })
    if (full !== undefined) return full
  }
  const more = recorded === undefined ? call.alongside?.(block) : undefined
  if (more !== undefined) return more
  const dueAt =
    made?.dueAt ?? (recorded === undefined ? null : call.dueAtOf(JSON.parse(recorded.payload)))
  if (!isAnswered(block, live.sequence, call))
    openWait(sql, {
      submission: live.sequence,
      name,
      kind: call.kind,
      sinceAt: block.now,
      dueAt,
      races: storedBranches(scope),
      sole: scope?.isSole === true ? 1 : 0,
    })
  return { value: true }
}

/** Opens the wait, in a block only if it is not open yet. Gives when it is over. */
const open = (
  running: Running,
  call: WaitCall,
  scope: RaceBranch | undefined,
): Effect.Effect<number | null> =>
  Effect.gen(function* () {
    const { live } = running
    const { name } = call
    const request = yield* recallPart(running, { name, part: 0 })
    if (request !== undefined && request.kind !== call.requestKind)
      return yield* mismatch(running, call)
    const standing = yield* readFact(running, (sql) => findWait(sql, live.sequence, name))
    if (standing !== undefined)
      return standing.kind === call.kind ? standing.dueAt : yield* mismatch(running, call)
    const isOpen = yield* writeFact(running, "wait", (b) => openIn(b, running, call, scope))
    if (!isOpen) return yield* Effect.interruptible(Effect.never) // W5
    if (call.afterwards !== undefined) yield* call.afterwards
    const opened = yield* readFact(running, (sql) => findWait(sql, live.sequence, name))
    return opened?.dueAt ?? null
  })

/** Fires what is due: the branches that wait for it are told. */
const fire = (running: Running): Effect.Effect<unknown> =>
  writeFact(running, "wait", (block) => ({ value: fireDue(block, running.live.row) }))

type Woken = "told" | "due" | "quiet"

/** Waits until there may be an answer, its time has come, or nothing else of the run goes on. // W3 */
const woken = (
  running: Running,
  bell: Deferred.Deferred<void>,
  dueAt: number | null,
): Effect.Effect<Woken> => {
  const told = Effect.as(Deferred.await(bell), "told" as const)
  const quiet = Effect.as(waitForQuiet(running), "quiet" as const)
  const first = Effect.raceFirst(told, quiet)
  if (dueAt === null) return first
  return Effect.suspend(() => {
    const left = dueAt - clockOf(running.thread)
    return left <= 0
      ? Effect.succeed("due" as const)
      : Effect.raceFirst(Effect.as(Effect.sleep(left), "due" as const), first)
  })
}

const list = ({ live, thread }: Running, name: string): Deferred.Deferred<void> => {
  const bell = Deferred.makeUnsafe<void>()
  const ring = () => void Deferred.doneUnsafe(bell, Effect.void)
  live.waiting.set(name, () => thread.host.macrotask(ring)) // W2
  return bell
}

const awaitAnswer = (
  running: Running,
  call: WaitCall,
  dueAt: number | null,
): Effect.Effect<Recorded> =>
  Effect.gen(function* () {
    const { live } = running
    const { name } = call
    while (true) {
      const bell = list(running, name)
      const answer = yield* answerOf(running, call) // W2
      if (answer !== undefined) {
        live.waiting.delete(name) // W2
        return answer
      }
      const why = yield* woken(running, bell, dueAt)
      if (why === "due") yield* fire(running)
      if (why === "quiet") return yield* leave(running, { _tag: "Waiting" })
    }
  }).pipe(Effect.onInterrupt(() => Effect.sync(() => running.live.waiting.delete(call.name))))

/** One that was withdrawn has lost its race: its branch is interrupted, and waits for that. */
const given = (
  running: Running,
  call: WaitCall,
  answer: Recorded,
  scope: RaceBranch | undefined,
): Effect.Effect<Recorded> => {
  if (answer.kind !== "WaitWithdrawn") return Effect.succeed(answer)
  return scope === undefined ? mismatch(running, call) : Effect.interruptible(Effect.never)
}

/** Waits for the answer of a wait that has its name already. */
export const waitNamed = (running: Running, call: WaitCall): Effect.Effect<Recorded> =>
  Effect.gen(function* () {
    const scope = yield* CurrentRaceBranch
    const answer = yield* answerOf(running, call)
    if (answer !== undefined) return yield* given(running, call, answer, scope) // W1
    const dueAt = yield* open(running, call, scope)
    const later = yield* awaitAnswer(running, call, dueAt)
    return yield* given(running, call, later, scope)
  })

/** A wait of this run: takes its name, asks, and gives the answer. */
export const waitFor = (running: Running, call: WaitCall): Effect.Effect<Recorded> =>
  Effect.andThen(takeName(running, call.name), waitNamed(running, call))

/**
 * Facts: how a running handler writes to its journal.
 *
 * - X1 Every write checks, in its own block, that the attempt still owns the run.
 * - X2 An operation that cannot go on in this attempt passes the verdict and waits to be interrupted:
 *   agent code never sees a value that is not recorded, and cannot catch the end of its attempt.
 * - X3 Code that is called after the end (a finalizer) gets `Superseded` and writes nothing.
 * - X4 A failure of our own storage settles nothing. No agent code runs inside a block, so that nothing
 *   an agent does can pass for one.
 * - X5 A name is taken once in an attempt, and not at all if anything is on record under it from a branch that has lost its
 *   race. In such a branch nothing is begun any more: it is about to be interrupted.
 * - X6 A block that ends the attempt instead of giving its value has written nothing: what it did before is taken back.
 * - X7 A race can always be decided: the names in its branches, which its record has to tell, fit into a row.
 */
import { Effect, Schema } from "effect"
import { describeThrown } from "../contracts/Thrown.ts"
import type { RecordKind } from "../contracts/JournalRecord.ts"
import { StepName } from "../contracts/Identifiers.ts"
import type { SystemFailureTag } from "../contracts/Settlement.ts"
import { bracket } from "../platform/Failpoint.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Block, transact } from "./Block.ts"
import { attempt, type Tried } from "./Durable.ts"
import { systemFailure } from "./Failures.ts"
import { append, bytesOf, findLast, findNamed, findPart, isProgress } from "./Journal.ts"
import { condemn, type LiveAttempt, type Verdict } from "./LiveAttempt.ts"
import { misuse } from "./Misuse.ts"
import { branchesAround, CurrentRaceBranch, type RaceBranch, storedBranches } from "./RaceBranch.ts"
import { hasLost, isLostName } from "./RaceWinner.ts"
import { holds } from "./Settle.ts"
import { hardCapBytes } from "./SizeLimit.ts"
import { clockOf, type Thread } from "./Thread.ts"
import { verdictOfThrown } from "./VerdictOfThrown.ts"
import { tokenPart } from "./WaitRows.ts"

/** The attempt no longer owns its run. A defect: nothing that catches it can write any more. */
export class Superseded extends Error {
  override readonly name = "Superseded"
}

/** The attempt and the object it runs in. */
export interface Running {
  readonly thread: Thread
  readonly live: LiveAttempt
}

const isName = Schema.is(StepName)

/** Passes the verdict, and waits for the interruption that follows it. */
export const leave = (running: Running, verdict: Verdict): Effect.Effect<never> =>
  Effect.suspend(() => {
    condemn(running.live, verdict)
    return Effect.interruptible(Effect.never) // X2
  })

/** Settles the run as failed with a tag of the system's own. */
export const giveUp = (
  running: Running,
  tag: SystemFailureTag,
  message: string,
): Effect.Effect<never> => leave(running, { _tag: "Failed", failure: systemFailure(tag, message) })

/** What a callback's name is told apart by from its wait's: no name of an operation begins so. */
export const callbackName = (name: string): string => `\ncallback ${name}`

interface NameUse {
  readonly name: string
  /** What it is told apart by, where an operation shares the name of another. */
  readonly taken: string
  readonly scope: RaceBranch | undefined
}

type Standing = "free" | "used" | "lost" | "tooMany"

/** What a name takes in the record of a race. */
const nameBytes = (taken: string): number => bytesOf(JSON.stringify(taken)) + 1

/** Whether a race that the name stands in could record no more with it who has lost. // X7 */
const isTooMany = ({ scope, taken }: NameUse): boolean => {
  const bytes = scope === undefined ? 0 : nameBytes(taken)
  for (let at = scope; at !== undefined; at = at.outer)
    if (at.taken.bytes + bytes > hardCapBytes) return true
  return false
}

/** Whether the name may be taken here. Looks at what earlier attempts have left only if there were some. // X5 */
const standingOf = ({ live, thread }: Running, { name, scope, taken }: NameUse): Standing => {
  const { sql } = thread.host.storage
  if (hasLost(sql, live.sequence, branchesAround(scope))) return "lost"
  if (live.names.has(taken)) return "used"
  const isToken = taken !== name
  if (live.row.attempts > 1 && isLostName(sql, live.sequence, { name, isToken })) return "used"
  return isTooMany({ name, scope, taken }) ? "tooMany" : "free"
}

/** A name belongs to each race's branch that its operation stands in. */
const enterName = ({ live }: Running, { scope, taken }: NameUse): void => {
  live.names.add(taken)
  if (scope !== undefined) live.branches.set(taken, scope)
  for (let at = scope; at !== undefined; at = at.outer) {
    at.names.add(taken)
    at.taken.bytes += nameBytes(taken) // X7
  }
}

const take = (running: Running, use: NameUse): Effect.Effect<void> => {
  const standing = attempt(() => standingOf(running, use))
  if (standing._tag === "Threw") return lost(running, standing.error)
  switch (standing.value) {
    case "lost":
      return Effect.interruptible(Effect.never)
    case "used":
      return giveUp(running, "DuplicateName", `the name ${JSON.stringify(use.name)} is used twice`)
    case "tooMany":
      return giveUp(running, "RunTooLarge", "the names in the branches of a race are too many")
    case "free":
      enterName(running, use) // In the turn of the look: X5
      return Effect.void
  }
}

/** Takes a name for an operation of this attempt. */
export const takeName = (
  running: Running,
  name: string,
  taken: string = name,
): Effect.Effect<void> =>
  Effect.flatMap(Effect.service(CurrentRaceBranch), (scope) => {
    const { live } = running
    if (live.ended) return Effect.die(new Superseded("the attempt has ended")) // X3
    if (live.changing !== undefined) {
      live.changing.entered = true
      return misuse("a change of the state must not use its run")
    }
    if (!isName(name)) return misuse("a name has 1 to 128 printable characters")
    return take(running, { name, taken, scope })
  })

export interface Recorded {
  readonly kind: RecordKind
  /** Parsed; `undefined` never. */
  readonly payload: Record<string, unknown>
}

const parse = (payload: string): Record<string, unknown> | undefined => {
  try {
    const value: unknown = JSON.parse(payload)
    return typeof value === "object" && value !== null
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

const lost = (running: Running, error: unknown): Effect.Effect<never> =>
  Effect.andThen(
    Effect.logWarning(`The thread's storage failed under a run: ${describeThrown(error)}`),
    leave(running, verdictOfThrown(error)), // X4
  )

/** Reads for an operation of this attempt, outside any block. */
export const readFact = <A>(running: Running, read: (sql: Sql) => A): Effect.Effect<A> =>
  Effect.suspend(() => {
    const tried = attempt(() => read(running.thread.host.storage.sql))
    return tried._tag === "Done" ? Effect.succeed(tried.value) : lost(running, tried.error)
  })

/** Comes back only if the run is still in the attempt's hands, by its row. Writes nothing. */
export const stillHeld = (running: Running): Effect.Effect<void> =>
  Effect.flatMap(
    readFact(running, (sql) => holds({ sql }, running.live)),
    (held) => (held ? Effect.void : leave(running, { _tag: "Superseded" })),
  )

/** The last record of an operation that may have several, and its part. */
export interface LastRecorded extends Recorded {
  readonly part: number
}

const recorded = <A extends { readonly kind: RecordKind; readonly payload: string }>(
  running: Running,
  found: A | undefined,
): Effect.Effect<(Omit<A, "payload"> & Recorded) | undefined> => {
  if (found === undefined) return Effect.undefined
  const payload = parse(found.payload)
  if (payload === undefined) return leave(running, { _tag: "Unreadable", what: "journal" })
  return Effect.succeed({ ...found, payload })
}

/** What this run has recorded under the name, or nothing. */
export const recall = (running: Running, name: string): Effect.Effect<Recorded | undefined> =>
  Effect.flatMap(
    readFact(running, (sql) => findNamed(sql, running.live.sequence, name)),
    (found) => recorded(running, found),
  )

/** The last record of this run under the name, or nothing. */
export const recallLast = (
  running: Running,
  name: string,
): Effect.Effect<LastRecorded | undefined> =>
  Effect.flatMap(
    readFact(running, (sql) => findLast(sql, running.live.sequence, name)),
    (found) => recorded(running, found),
  )

/** The record of this run under the name and part, or nothing. */
export const recallPart = (
  running: Running,
  record: { readonly name: string; readonly part: number },
): Effect.Effect<Recorded | undefined> =>
  Effect.flatMap(
    readFact(running, (sql) => findPart(sql, running.live.sequence, record)),
    (found) => recorded(running, found),
  )

export interface NewFact {
  readonly kind: RecordKind
  readonly name: string
  /** 0 the first record of an operation; later parts answer it. */
  readonly part?: number
  /** Canonical JSON. */
  readonly payload: string
}

/** The branches of races that its operation stands in. */
const racesOf = ({ branches }: LiveAttempt, { kind, name, part }: NewFact): string | null =>
  storedBranches(
    branches.get(kind === "ValueDrawn" && part === tokenPart ? callbackName(name) : name),
  )

/** Appends a fact in this block, however much the run has recorded. */
export const appendAnyway = (block: Block, live: LiveAttempt, fact: NewFact): void => {
  const bytes = bytesOf(fact.payload)
  const races = racesOf(live, fact)
  append(block, { ...fact, submission: live.sequence, epoch: live.epoch, races, bytes })
  live.records += 1
  live.bytes += bytes
  if (isProgress(fact.kind)) live.progressed = true
}

/** Appends a fact in this block, within what a run may record. */
export const appendFact = (block: Block, live: LiveAttempt, fact: NewFact): Verdict | undefined => {
  const { limits } = block.thread
  const bytes = bytesOf(fact.payload)
  if (live.records + 1 > limits.runRecords || live.bytes + bytes > limits.runBytes) {
    const message = `a run records at most ${limits.runRecords} facts of ${limits.runBytes} bytes`
    return { _tag: "Failed", failure: systemFailure("RunTooLarge", message) }
  }
  appendAnyway(block, live, fact)
  return undefined
}

/** Thrown by a block of ours: the attempt is to end, and nothing of the block stays. // X6 */
class Ending extends Error {
  readonly verdict: Verdict
  constructor(verdict: Verdict) {
    super(verdict._tag)
    this.verdict = verdict
  }
}

/** Runs the block of a fact, and takes back what memory says of it if it does not commit. */
const write = <A>(
  { live, thread }: Running,
  body: (block: Block) => Boxed<A> | Verdict,
): Tried<Boxed<A> | Verdict> => {
  const { records, bytes, progressed } = live
  const tried = attempt(() =>
    transact(thread, (block): Boxed<A> => {
      const answer = holds(block, live) ? body(block) : ({ _tag: "Superseded" } as const) // X1
      if (isVerdict(answer)) throw new Ending(answer) // X6
      return answer
    }),
  )
  if (tried._tag === "Done") return tried
  Object.assign(live, { records, bytes, progressed })
  const { error } = tried
  return error instanceof Ending ? { _tag: "Done", value: error.verdict } : tried
}

/** What a block of a fact answers: its value in a box, so that no value can pass for a verdict. */
export interface Boxed<A> {
  readonly value: A
}

const isVerdict = <A>(answer: Boxed<A> | Verdict): answer is Verdict => "_tag" in answer

/** Whether the attempt is past its yield time. */
export const isOver = ({ live, thread }: Running): boolean => clockOf(thread) >= live.yieldAt

/**
 * Runs the block of one fact at its failpoint. Comes back only if it has committed and the attempt goes on; a
 * fact that is committed past the attempt's yield time ends it. Not while an ordinary call is under way, or
 * about to be: its own outcome does.
 */
export const writeFact = <A>(
  running: Running,
  point:
    | "step"
    | "state"
    | "progress"
    | "prepare"
    | "settleTool"
    | "wait"
    | "send"
    | "child"
    | "join",
  body: (block: Block) => Boxed<A> | Verdict,
): Effect.Effect<A> =>
  Effect.suspend(() => {
    const { thread, live } = running
    if (live.ended) return Effect.die(new Superseded("the attempt has ended")) // X3
    return Effect.flatMap(
      bracket(thread.options.failpoints, point, () => write(running, body)),
      (tried): Effect.Effect<A> => {
        if (tried._tag === "Threw") return lost(running, tried.error)
        if (isVerdict(tried.value)) return leave(running, tried.value)
        const yields = isOver(running) && live.calls === 0 && point !== "prepare"
        return yields ? leave(running, { _tag: "Yielded" }) : Effect.succeed(tried.value.value)
      },
    )
  })

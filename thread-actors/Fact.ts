/**
 * Facts: how a running handler writes to its journal.
 *
 * - X1 Every write checks, in its own block, that the attempt still owns the run.
 * - X2 An operation that cannot go on in this attempt passes the verdict and waits to be interrupted:
 *   agent code never sees a value that is not recorded, and cannot catch the end of its attempt.
 * - X3 Code that is called after the end (a finalizer) gets `Superseded` and writes nothing.
 * - X4 A failure of our own storage settles nothing.
 */
import { Effect, Schema } from "effect"
import type { RecordKind } from "../contracts/JournalRecord.ts"
import { StepName } from "../contracts/Identifiers.ts"
import type { SystemFailureTag } from "../contracts/Settlement.ts"
import { bracket } from "../platform/Failpoint.ts"
import { type Block, transact } from "./Block.ts"
import { systemFailure } from "./Failures.ts"
import { append, bytesOf, findNamed } from "./Journal.ts"
import { condemn, type LiveAttempt, type Verdict } from "./LiveAttempt.ts"
import { holds } from "./Settle.ts"
import { clockOf, type Thread } from "./Thread.ts"

/** The attempt no longer owns its run. A defect: nothing that catches it can write any more. */
export class Superseded extends Error {
  override readonly name = "Superseded"
}

/** A second use of a name in one attempt. A defect; it settles the submission. */
export class DuplicateName extends Error {
  override readonly name = "DuplicateName"
  readonly used: string

  constructor(used: string) {
    super(`the name ${JSON.stringify(used)} is used twice in this run`)
    this.used = used
  }
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

/** Takes a name for an operation of this attempt. */
export const takeName = (running: Running, name: string): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { live } = running
    if (live.ended) return Effect.die(new Superseded("the attempt has ended")) // X3
    if (!isName(name)) return Effect.die(new TypeError("a name has 1 to 128 printable characters"))
    if (live.names.has(name)) return Effect.die(new DuplicateName(name))
    live.names.add(name)
    return Effect.void
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

/** What this run has recorded under the name, or nothing. */
export const recall = (running: Running, name: string): Effect.Effect<Recorded | undefined> =>
  Effect.suspend(() => {
    const { thread, live } = running
    let found: ReturnType<typeof findNamed>
    try {
      found = findNamed(thread.host.storage.sql, live.sequence, name)
    } catch (error) {
      return storageLost(running, error)
    }
    if (found === undefined) return Effect.undefined
    const payload = parse(found.payload)
    if (payload === undefined) return leave(running, { _tag: "Unreadable", what: "journal" })
    return Effect.succeed({ kind: found.kind, payload })
  })

const storageLost = (running: Running, error: unknown): Effect.Effect<never> =>
  Effect.andThen(
    Effect.logWarning("The thread's storage failed under a run", error),
    leave(running, { _tag: "StorageLost" }), // X4
  )

export interface NewFact {
  readonly kind: RecordKind
  readonly name: string
  /** Canonical JSON. */
  readonly payload: string
}

type Written<A> =
  | { readonly _tag: "Written"; readonly value: A }
  | { readonly _tag: "Refused"; readonly verdict: Verdict }
  | { readonly _tag: "Lost"; readonly error: unknown }

/** Appends a fact in this block, within what a run may record. */
export const appendFact = (block: Block, live: LiveAttempt, fact: NewFact): Verdict | undefined => {
  const { limits } = block.thread
  const bytes = bytesOf(fact.payload)
  if (live.records + 1 > limits.runRecords || live.bytes + bytes > limits.runBytes) {
    const message = `a run records at most ${limits.runRecords} facts of ${limits.runBytes} bytes`
    return { _tag: "Failed", failure: systemFailure("RunTooLarge", message) }
  }
  append(block, { ...fact, submission: live.sequence, epoch: live.epoch, bytes })
  live.records += 1
  live.bytes += bytes
  return undefined
}

const write = <A>(
  running: Running,
  body: (block: Block) => A | Verdict,
  isVerdict: (answer: A | Verdict) => answer is Verdict,
): Written<A> => {
  const { live, thread } = running
  const before = { records: live.records, bytes: live.bytes }
  try {
    const answer = transact<A | Verdict>(
      thread,
      (block) => (holds(block, live) ? body(block) : { _tag: "Superseded" }), // X1
    )
    return isVerdict(answer)
      ? { _tag: "Refused", verdict: answer }
      : { _tag: "Written", value: answer }
  } catch (error) {
    Object.assign(live, before)
    return { _tag: "Lost", error }
  }
}

const verdictTags: ReadonlySet<string> = new Set(["Failed", "Superseded", "Mismatch", "Unreadable"])

/** What a block of a fact answers: its value in a box, so that no value can pass for a verdict. */
export interface Boxed<A> {
  readonly value: A
}

const isVerdict = <A>(answer: Boxed<A> | Verdict): answer is Verdict =>
  "_tag" in answer && verdictTags.has(answer._tag)

/**
 * Runs the block of one fact at its failpoint. Comes back only if it has committed and the attempt
 * goes on; a fact that is committed past the attempt's yield time ends the attempt.
 */
export const writeFact = <A>(
  running: Running,
  point: "step" | "state" | "progress",
  body: (block: Block) => Boxed<A> | Verdict,
): Effect.Effect<A> =>
  Effect.suspend(() => {
    const { thread, live } = running
    if (live.ended) return Effect.die(new Superseded("the attempt has ended")) // X3
    return Effect.flatMap(
      bracket(thread.options.failpoints, point, () => write<Boxed<A>>(running, body, isVerdict)),
      (written): Effect.Effect<A> => {
        if (written._tag === "Lost") return storageLost(running, written.error)
        if (written._tag === "Refused") return leave(running, written.verdict)
        if (point !== "progress") live.progressed = true
        if (clockOf(thread) >= live.yieldAt) return leave(running, { _tag: "Yielded" })
        return Effect.succeed(written.value.value)
      },
    )
  })

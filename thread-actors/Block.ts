/**
 * One durable transition: a synchronous function in one transaction, and what the rest of the object
 * is told after it has committed.
 *
 * - B1 Nobody is told of what a block did unless it committed.
 * - B2 The header that a block sees is the database's, and every change of it is written by the block.
 * - B3 A forgotten thread has no block but the one that made its tombstone; whoever waits for it is woken.
 */
import { Deferred, Effect } from "effect"
import type { Outcome } from "../contracts/Submission.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { Forgotten } from "./Forgotten.ts"
import { checkHeader, type Header, insertHeader, readHeader, writeHeader } from "./Header.ts"
import { makeTables } from "./Tables.ts"
import type { Identity } from "./Identity.ts"
import { type AnsweredWait, tellAnswered } from "./LiveAttempt.ts"
import { clockOf, type Thread } from "./Thread.ts"

export interface Block {
  readonly thread: Thread
  readonly sql: Sql
  /** The thread's clock at the start of the block. */
  readonly now: number
  header: Header
  /** Whether the header's own row must be written. */
  touched: boolean
  /** Submissions that settled in this block. */
  readonly settled: Array<number>
  /** What this block has recorded as answers to waits. */
  readonly answered: Array<AnsweredWait>
}

/** Changes what the `meta` row holds; a change that shows in a report also counts a touch. */
export const patchHeader = (
  block: Block,
  change: Partial<
    Pick<
      Header,
      | "fence"
      | "refused"
      | "parked"
      | "paused"
      | "pause"
      | "pauseGeneration"
      | "title"
      | "failed"
      | "aborted"
    >
  >,
): void => {
  block.header = { ...block.header, ...change }
  block.touched = true
}

/** Counts a submission that has settled among those that have not completed. */
export const countOutcome = (block: Block, outcome: Outcome): void => {
  if (outcome === "failed" || outcome === "aborted")
    patchHeader(block, { [outcome]: block.header[outcome] + 1 })
}

/** Counts a change of the report that no admission and no record counts. */
export const touch = (block: Block): void => {
  block.header = { ...block.header, touches: block.header.touches + 1 }
  block.touched = true
}

const begin = (thread: Thread, known: Header | undefined): Block => {
  const header = known ?? readHeader(thread.host.storage.sql) // B2
  if (header.forgottenAt !== null) throw new Forgotten(header.forgottenAt) // B3
  return {
    thread,
    sql: thread.host.storage.sql,
    now: clockOf(thread),
    header,
    touched: false,
    settled: [],
    answered: [],
  }
}

const end = (block: Block): void => {
  if (block.touched) writeHeader(block.sql, block.header) // B2
}

const ring = (bells: Iterable<Deferred.Deferred<void>>): void => {
  for (const bell of bells) Deferred.doneUnsafe(bell, Effect.void)
}

const announceForgotten = (thread: Thread, forgottenAt: number): void => {
  thread.forgottenAt = forgottenAt
  for (const observer of thread.observers) observer.wake() // B3
  for (const waiters of thread.waiters.values()) ring(waiters) // B3
}

const announce = (block: Block): void => {
  const { thread } = block
  const { forgottenAt } = block.header
  if (forgottenAt !== null) return announceForgotten(thread, forgottenAt)
  if (block.header.tail.sequence > thread.tailSequence) {
    thread.tailSequence = block.header.tail.sequence
    for (const observer of thread.observers) observer.wake()
  }
  if (thread.live !== undefined) tellAnswered(thread.live, block.answered)
  for (const sequence of block.settled) ring(thread.waiters.get(sequence) ?? [])
}

const commit = <A>(thread: Thread, prepare: () => void, body: (block: Block) => A): A => {
  let committed: Block | undefined
  const { header } = thread
  thread.header = undefined // B2
  const answer = thread.host.storage.transaction(() => {
    prepare()
    const block = begin(thread, header)
    const result = body(block)
    end(block)
    committed = block
    return result
  })
  thread.hasTables = true
  thread.header = committed?.header // B2
  if (committed !== undefined) announce(committed) // B1
  return answer
}

/** Runs a block on a thread whose tables exist. Throws what the storage throws. */
export const transact = <A>(thread: Thread, body: (block: Block) => A): A =>
  commit(
    thread,
    () => undefined,
    (block) => {
      checkHeader(block.header)
      return body(block)
    },
  )

/** The same for a thread that may be untouched: makes its tables and takes its identity first. */
export const transactFirst = <A>(
  thread: Thread,
  identity: Identity,
  body: (block: Block) => A,
): A =>
  transactAnyhow(thread, identity, (block) => {
    checkHeader(block.header)
    return body(block)
  })

/** The same whatever the header holds: for the few that may act where it does not decode. */
export const transactAnyhow = <A>(
  thread: Thread,
  identity: Identity,
  body: (block: Block) => A,
): A =>
  commit(
    thread,
    () => {
      if (thread.hasTables) return
      const { sql } = thread.host.storage
      makeTables(sql, clockOf(thread))
      insertHeader(sql, { ...identity, born: thread.host.uuid() })
    },
    body,
  )

/**
 * The end of an attempt: one block that settles the submission or makes it ready again.
 *
 * - D1 A submission settles once: only a row in the attempt's epoch is written, and the block takes it
 *   out of that epoch.
 * - D2 Every way out of `running` bumps the epoch, so that nothing of the attempt can write any more.
 * - D3 Attempts that end without a new result, and attempts that vanish, are counted apart; a result
 *   starts both counts anew. What ends for a declared retry, a yield or a wait is not counted.
 * - D4 A run whose attempt ended without a result rests, longer each time: no run is a hot loop.
 * - D5 Where an abort was asked for, the block that ends an attempt settles `aborted`, whatever the
 *   attempt came to.
 * - D6 No run settles `completed` or `failed` while an ordinary call is open: it is suspended, and recovery
 *   asks. An abort settles it, and leaves a record of what nobody knows.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { Abort, Failure } from "../contracts/Settlement.ts"
import { type Block, patchHeader, touch } from "./Block.ts"
import type { Suspension } from "./Evidence.ts"
import { append, findPart } from "./Journal.ts"
import {
  type AbortIntent,
  abortOf,
  floorAfter,
  type StoredRetry,
  type SubmissionRow,
  undefer,
  unlist,
} from "./Ledger.ts"
import type { AttemptEnd, LiveAttempt, Verdict } from "./LiveAttempt.ts"
import { canonicalFailure, systemFailure } from "./Failures.ts"
import { closeCalls, endCalls, recordIdOf, soundCalls, storedCalls } from "./OpenCalls.ts"
import { unknownPayload } from "./ToolRecord.ts"

/** What a submission settles with. `output` is canonical JSON. */
export type SettlementContent =
  | { readonly outcome: "completed"; readonly output: string }
  | { readonly outcome: "failed"; readonly failure: Failure }
  | { readonly outcome: "aborted"; readonly abort: Abort }

/** The end that an intent brings. `forced`: its handler had to be fenced off. */
export const abortedBy = ({ author, reason }: AbortIntent, forced: boolean): SettlementContent => ({
  outcome: "aborted",
  abort: { author, reason, forced },
})

const settlementText = (row: SubmissionRow, content: SettlementContent): string => {
  const attempts = `"attempts":${row.attempts}`
  switch (content.outcome) {
    case "completed":
      return `{${attempts},"outcome":"completed","output":${content.output}}`
    case "failed":
      return `{${attempts},"failure":${canonicalFailure(content.failure)},"outcome":"failed"}`
    case "aborted": {
      const { author, forced, reason } = content.abort
      return `{"abort":${JSON.stringify({ author, forced, reason })},${attempts},"outcome":"aborted"}`
    }
  }
}

/** The floor once this submission is out of the queue; what cannot be below it is not looked at. */
export const floorBehind = (block: Block, row: SubmissionRow): number => {
  const { tail, lastSequence } = block.header
  if (tail.settled + 1 === lastSequence) return lastSequence + 1
  const from = row.sequence === tail.floor ? row.sequence + 1 : tail.floor
  return floorAfter(block.sql, from, lastSequence)
}

/** Keeps on record what nobody will ask about any more; what cannot be read keeps nobody from ending. // D6 */
const leaveInDoubt = (block: Block, row: SubmissionRow): void => {
  for (const call of soundCalls(block.sql, row.sequence)) {
    const asked = { name: call.name, part: call.part + 1 }
    if (call.unknownAt !== null || findPart(block.sql, row.sequence, asked) !== undefined) continue
    append(block, {
      ...asked,
      submission: row.sequence,
      kind: "ToolUnknown",
      epoch: row.epoch,
      payload: unknownPayload({
        tool: call.tool,
        recordId: recordIdOf(row.id, asked),
        why: "aborted",
      }),
    })
  }
  closeCalls(block.sql, row.sequence)
}

/** Whatever listed it beside the queue lists it no more. */
const leaveQueue = (block: Block, row: SubmissionRow): void => {
  if (row.attempts === 0) undefer(block.sql, row)
  else unlist(block.sql, row.sequence)
}

/** Settles a submission in this block. */
export const settle = (block: Block, row: SubmissionRow, content: SettlementContent): void => {
  if (content.outcome === "aborted" && row.attempts > 0) leaveInDoubt(block, row)
  const { tail } = block.header
  block.sql.run(
    `UPDATE submissions SET state = 'settled', epoch = ?, dueAt = NULL, suspension = NULL,
       outcome = ?, settledSequence = ? WHERE sequence = ?`,
    row.epoch + 1, // D2
    content.outcome,
    tail.sequence + 1,
    row.sequence,
  )
  append(
    block,
    {
      submission: row.sequence,
      kind: "Settled",
      epoch: row.epoch,
      payload: settlementText(row, content),
    },
    {
      open: tail.open === row.sequence ? null : tail.open,
      settled: tail.settled + 1,
      floor: floorBehind(block, row),
    },
  )
  if (tail.open !== row.sequence) leaveQueue(block, row)
  if (row.state === "unknown") patchHeader(block, { parked: block.header.parked - 1 })
  block.settled.push(row.sequence)
}

export interface Release {
  readonly ended: number
  readonly vanished: number
  readonly dueAt: number | null
  readonly retries: ReadonlyMap<string, StoredRetry> | undefined
}

const retriesText = (retries: Release["retries"]): string | null =>
  retries === undefined || retries.size === 0 ? null : JSON.stringify(Object.fromEntries(retries))

/** Makes a submission ready again in this block. An open run stays the open run. */
export const release = (block: Block, row: SubmissionRow, change: Release): void => {
  block.sql.run(
    `UPDATE submissions SET state = 'ready', epoch = ?, ended = ?, vanished = ?, dueAt = ?,
       retries = ?, suspension = NULL WHERE sequence = ?`,
    row.epoch + 1, // D2
    change.ended,
    change.vanished,
    change.dueAt,
    retriesText(change.retries),
    row.sequence,
  )
  touch(block)
}

/** Suspends a running submission in this block; `dueAt` is when it may be claimed once it is resumed. */
const suspend = (
  block: Block,
  row: SubmissionRow,
  change: Release & { readonly kind: Suspension["kind"] },
): void => {
  const { dueAt, kind } = change
  block.sql.run(
    `UPDATE submissions SET state = 'suspended', epoch = ?, ended = ?, vanished = ?, dueAt = NULL,
       retries = ?, suspension = ? WHERE sequence = ?`,
    row.epoch + 1, // D2
    change.ended,
    change.vanished,
    retriesText(change.retries),
    JSON.stringify({ kind, dueAt } satisfies Suspension),
    row.sequence,
  )
  touch(block)
}

/** The row while it is in the attempt's hands. */
const held = (
  { sql }: Pick<Block, "sql">,
  live: LiveAttempt,
): Pick<SubmissionRow, "abort"> | undefined => {
  const [row] = sql.all<{ epoch: number; state: string; abort: string | null }>(
    "SELECT epoch, state, abort FROM submissions WHERE sequence = ?",
    live.sequence,
  )
  return row?.epoch === live.epoch && row.state === "running" ? row : undefined
}

/** Whether the row is still in the attempt's hands. */
export const holds = (block: Pick<Block, "sql">, live: LiveAttempt): boolean =>
  held(block, live) !== undefined

const settled = (block: Block, live: LiveAttempt, content: SettlementContent): AttemptEnd => {
  settle(block, live.row, content)
  return {
    _tag: "Answered",
    answer: { _tag: "Settled", submissionId: live.row.id, outcome: content.outcome },
  }
}

/** The counts of an attempt that wrote its end; the claim's charge is taken back. */
const counted = (live: LiveAttempt): Pick<Release, "ended" | "vanished"> =>
  live.progressed
    ? { ended: 0, vanished: 0 } // D3
    : { ended: live.row.ended, vanished: Math.max(0, live.row.vanished - 1) } // D3

const released = (block: Block, live: LiveAttempt, change: Partial<Release>): void =>
  release(block, live.row, { ...counted(live), dueAt: null, retries: live.retries, ...change })

/** How often it has ended without a result, and until when it rests. // D3 D4 */
const rested = (block: Block, live: LiveAttempt): Pick<Release, "ended" | "dueAt"> => {
  const ended = live.progressed ? 0 : live.row.ended + 1
  const { endedBackoffMillis, endedBackoffMaxMillis } = block.thread.limits
  const curve = { baseMillis: endedBackoffMillis, maxMillis: endedBackoffMaxMillis }
  return { ended, dueAt: ended === 0 ? null : block.now + delayMillis(curve, ended) }
}

/** The failure of a run whose attempts, so many in a row, ended without a result. */
export const exhausted = (ended: number): SettlementContent => ({
  outcome: "failed",
  failure: systemFailure("AttemptsExhausted", `${ended} attempts ended without a result`),
})

const withoutResult = (block: Block, live: LiveAttempt): AttemptEnd => {
  const rest = rested(block, live)
  if (rest.ended >= block.thread.limits.attemptsExhausted)
    return settled(block, live, exhausted(rest.ended))
  released(block, live, rest)
  return { _tag: "Answered", answer: { _tag: "Yielded", submissionId: live.row.id } }
}

/** What an attempt that may not settle leaves to the next one. */
const restOf = (block: Block, live: LiveAttempt, verdict: Verdict): Partial<Release> => {
  switch (verdict._tag) {
    case "Retrying":
      return { dueAt: firstDueAt(verdict.pending), retries: retriesWith(live, verdict.pending) }
    case "StorageLost":
      return { dueAt: block.now + block.thread.limits.lostBackoffMillis }
    case "Yielded":
    case "Mismatch":
    case "Unreadable":
      return {}
    default:
      return { ...rested(block, live), retries: retriesWith(live, live.pending) }
  }
}

/** Leaves an open call to recovery, whatever else the attempt came to. // D6 */
const suspendOpen = (block: Block, live: LiveAttempt, verdict: Verdict): AttemptEnd => {
  const { oldInstanceMillis } = block.thread.limits
  endCalls(block.sql, live.sequence, live.endedCalls, { now: block.now, oldInstanceMillis })
  const rest = { ...counted(live), dueAt: null, retries: live.retries }
  suspend(block, live.row, { ...rest, ...restOf(block, live, verdict), kind: "call" })
  return verdict._tag === "Unreadable"
    ? { _tag: "Unreadable", what: verdict.what }
    : { _tag: "Answered", answer: { _tag: "Suspended", submissionId: live.row.id } }
}

const firstDueAt = (pending: ReadonlyMap<string, StoredRetry>): number =>
  Math.min(...[...pending.values()].map((retry) => retry.dueAt))

const retriesWith = (live: LiveAttempt, pending: ReadonlyMap<string, StoredRetry>) =>
  new Map([...live.retries, ...pending])

/** Ends an attempt in this block, as the verdict says. */
export const conclude = (block: Block, live: LiveAttempt, verdict: Verdict): AttemptEnd => {
  const submissionId = live.row.id
  const row = held(block, live)
  if (row === undefined) return { _tag: "Gone" } // D1
  const intent = abortOf(row)
  if (intent !== undefined)
    return settled(block, live, abortedBy(intent, verdict._tag === "OutOfTime")) // D5
  if (storedCalls(block.sql, live.sequence).length > 0) return suspendOpen(block, live, verdict) // D6
  switch (verdict._tag) {
    case "Completed":
      return settled(block, live, { outcome: "completed", output: verdict.output })
    case "Failed":
      return settled(block, live, { outcome: "failed", failure: verdict.failure })
    case "CallOpen":
    case "OutOfTime":
    case "WithoutResult":
      return withoutResult(block, live)
    case "Yielded":
      released(block, live, {})
      return { _tag: "Answered", answer: { _tag: "Yielded", submissionId } }
    case "Retrying": {
      const dueAt = firstDueAt(verdict.pending)
      released(block, live, { dueAt, retries: retriesWith(live, verdict.pending) })
      return { _tag: "Answered", answer: { _tag: "Retrying", submissionId, dueAt } }
    }
    case "Mismatch": {
      const { agent } = live.row
      released(block, live, {})
      return {
        _tag: "Answered",
        answer: { _tag: "BindingUnavailable", submissionId, agent, name: verdict.name },
      }
    }
    case "Unreadable":
      released(block, live, {})
      return { _tag: "Unreadable", what: verdict.what }
    case "StorageLost": {
      const dueAt = block.now + block.thread.limits.lostBackoffMillis
      released(block, live, { dueAt })
      return { _tag: "Answered", answer: { _tag: "Retrying", submissionId, dueAt } }
    }
    case "Superseded":
      return { _tag: "Gone" }
  }
}

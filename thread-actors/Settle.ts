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
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { Abort, Failure } from "../contracts/Settlement.ts"
import { type Block, patchHeader, touch } from "./Block.ts"
import { append } from "./Journal.ts"
import {
  type AbortIntent,
  abortOf,
  floorAfter,
  type StoredRetry,
  type SubmissionRow,
  undefer,
} from "./Ledger.ts"
import type { AttemptEnd, LiveAttempt, Verdict } from "./LiveAttempt.ts"
import { canonicalFailure, systemFailure } from "./Failures.ts"

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

/** The floor once this submission has settled; what cannot be below it is not looked at. */
const floorBehind = (block: Block, row: SubmissionRow): number => {
  const { tail, lastSequence } = block.header
  if (tail.settled + 1 === lastSequence) return lastSequence + 1
  const from = row.sequence === tail.floor ? row.sequence + 1 : tail.floor
  return floorAfter(block.sql, from, lastSequence)
}

/** Settles a submission in this block. */
export const settle = (block: Block, row: SubmissionRow, content: SettlementContent): void => {
  const { tail } = block.header
  block.sql.run(
    `UPDATE submissions SET state = 'settled', epoch = ?, dueAt = NULL, outcome = ?,
       settledSequence = ? WHERE sequence = ?`,
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
  if (tail.open !== row.sequence) undefer(block.sql, row)
  if (row.state === "unknown") patchHeader(block, { parked: block.header.parked - 1 })
  block.settled.push(row.sequence)
}

export interface Release {
  readonly ended: number
  readonly vanished: number
  readonly dueAt: number | null
  readonly retries: ReadonlyMap<string, StoredRetry> | undefined
}

/** Makes a running submission ready again in this block. It stays the open run. */
export const release = (block: Block, row: SubmissionRow, change: Release): void => {
  const retries =
    change.retries === undefined || change.retries.size === 0
      ? null
      : JSON.stringify(Object.fromEntries(change.retries))
  block.sql.run(
    `UPDATE submissions SET state = 'ready', epoch = ?, ended = ?, vanished = ?, dueAt = ?,
       retries = ? WHERE sequence = ?`,
    row.epoch + 1, // D2
    change.ended,
    change.vanished,
    change.dueAt,
    retries,
    row.sequence,
  )
  touch(block)
}

/** The row while it is in the attempt's hands. */
const held = (block: Block, live: LiveAttempt): Pick<SubmissionRow, "abort"> | undefined => {
  const [row] = block.sql.all<{ epoch: number; state: string; abort: string | null }>(
    "SELECT epoch, state, abort FROM submissions WHERE sequence = ?",
    live.sequence,
  )
  return row?.epoch === live.epoch && row.state === "running" ? row : undefined
}

/** Whether the row is still in the attempt's hands. */
export const holds = (block: Block, live: LiveAttempt): boolean => held(block, live) !== undefined

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

const withoutResult = (block: Block, live: LiveAttempt): AttemptEnd => {
  const ended = live.progressed ? 0 : live.row.ended + 1 // D3
  if (ended >= block.thread.limits.attemptsExhausted)
    return settled(block, live, {
      outcome: "failed",
      failure: systemFailure("AttemptsExhausted", `${ended} attempts ended without a result`),
    })
  const { endedBackoffMillis, endedBackoffMaxMillis } = block.thread.limits
  const curve = { baseMillis: endedBackoffMillis, maxMillis: endedBackoffMaxMillis }
  const dueAt = ended === 0 ? null : block.now + delayMillis(curve, ended) // D4
  released(block, live, { ended, dueAt })
  return { _tag: "Answered", answer: { _tag: "Yielded", submissionId: live.row.id } }
}

/** Ends an attempt in this block, as the verdict says. */
export const conclude = (block: Block, live: LiveAttempt, verdict: Verdict): AttemptEnd => {
  const submissionId = live.row.id
  const row = held(block, live)
  if (row === undefined) return { _tag: "Gone" } // D1
  const intent = abortOf(row)
  if (intent !== undefined)
    return settled(block, live, abortedBy(intent, verdict._tag === "OutOfTime")) // D5
  switch (verdict._tag) {
    case "Completed":
      return settled(block, live, { outcome: "completed", output: verdict.output })
    case "Failed":
      return settled(block, live, { outcome: "failed", failure: verdict.failure })
    case "OutOfTime":
    case "WithoutResult":
      return withoutResult(block, live)
    case "Yielded":
      released(block, live, {})
      return { _tag: "Answered", answer: { _tag: "Yielded", submissionId } }
    case "Retrying": {
      const dueAt = Math.min(...[...verdict.pending.values()].map((retry) => retry.dueAt))
      const retries = new Map([...live.retries, ...verdict.pending])
      released(block, live, { dueAt, retries })
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

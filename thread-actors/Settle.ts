/**
 * The end of an attempt: one block that settles the submission or makes it ready again.
 *
 * - D1 A submission settles once: only a row in the attempt's epoch is written, and the block takes it
 *   out of that epoch.
 * - D2 Every way out of `running` bumps the epoch, so that nothing of the attempt can write any more.
 * - D3 Attempts that end without a new result, and attempts that vanish, are counted apart; a result
 *   starts both counts anew. What ends for a declared retry, a yield or a wait is not counted; an open call beside the
 *   wait is: it would be begun again for ever.
 * - D4 A run whose attempt ended without a result rests, longer each time: no run is a hot loop.
 * - D5 Where an abort was asked for, the block that ends an attempt settles `aborted`, whatever the
 *   attempt came to.
 * - D6 No run settles `completed` or `failed` while an ordinary call is open: it is suspended, and recovery
 *   asks. An abort settles it, and leaves a record of what nobody knows.
 * - D7 No run settles while a child of it is open: its end is kept, its children are told to end, and the settlement
 *   of the last one settles it. Its handler is not entered again.
 * - D9 The row goes on naming the record that has kept an end: what it says is the settlement's, and goes with it.
 * - D8 A run is suspended for its waits only if none of them has an answer by then: the block looks once more.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { Abort, Failure } from "../contracts/Settlement.ts"
import { abortChildren } from "./AbortChildren.ts"
import { type Block, countOutcome, patchHeader } from "./Block.ts"
import { noticeParent } from "./ChildNotice.ts"
import { hasOpenChildren } from "./ChildRows.ts"
import { settleJoined } from "./Joined.ts"
import { append, findPart } from "./Journal.ts"
import {
  type AbortIntent,
  abortOf,
  floorAfter,
  type SubmissionRow,
  undefer,
  unlist,
} from "./Ledger.ts"
import type { AttemptEnd, LiveAttempt, Verdict } from "./LiveAttempt.ts"
import { canonicalFailure, systemFailure } from "./Failures.ts"
import { closeCalls, endCalls, recordIdOf, soundCalls, storedCalls } from "./OpenCalls.ts"
import { firstDueAt, isOfRun, type Retries, retriesWith, retryTimes } from "./PendingRetries.ts"
import { type Release, release, suspend, suspendForChildren } from "./Release.ts"
import { suspensionOf } from "./Suspension.ts"
import { unknownPayload } from "./ToolRecord.ts"
import { parsed, Unreadable } from "./Unreadable.ts"
import { closeWaits, findWait, firstTimerAt } from "./WaitRows.ts"
import { fireDue } from "./Waits.ts"

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

/** What waited for the run, or was taken by it, ends with it. */
const leaveConversation = (block: Block, row: SubmissionRow, content: End): void => {
  closeWaits(block.sql, row.sequence)
  settleJoined(block, row, content.outcome)
}

/** An end as its record holds it. */
interface End {
  readonly outcome: SettlementContent["outcome"]
  /** Canonical JSON. */
  readonly text: string
}

const endOf = (row: SubmissionRow, content: SettlementContent): End => ({
  outcome: content.outcome,
  text: settlementText(row, content),
})

/** The record that keeps the end of a run already; what does not decode names none. */
const reachedBy = (row: SubmissionRow): number | null => {
  try {
    const suspension = suspensionOf(row)
    return suspension?.kind === "children" ? suspension.reached : null
  } catch (error) {
    if (error instanceof Unreadable) return null
    throw error
  }
}

/** A mistake of ours: its block is taken back, and the settlement stands as it was. // D1 */
class SettledBefore extends Error {
  override readonly name = "SettledBefore"
  constructor() {
    super("a submission settles once")
  }
}

/** Settles a submission that has no open children. */
const settleNow = (block: Block, row: SubmissionRow, end: End): void => {
  if (row.state === "settled" || block.settled.includes(row.sequence)) throw new SettledBefore() // D1
  if (end.outcome === "aborted" && row.attempts > 0) leaveInDoubt(block, row)
  const { tail } = block.header
  block.sql.run(
    `UPDATE submissions SET state = 'settled', epoch = ?, dueAt = NULL, outcome = ?,
       settledSequence = ?, suspension = ? WHERE sequence = ?`,
    row.epoch + 1, // D2
    end.outcome,
    tail.sequence + 1,
    reachedBy(row) === null ? null : row.suspension, // D9
    row.sequence,
  )
  append(
    block,
    { submission: row.sequence, kind: "Settled", epoch: row.epoch, payload: end.text },
    {
      open: tail.open === row.sequence ? null : tail.open,
      settled: tail.settled + 1,
      floor: floorBehind(block, row),
    },
  )
  if (tail.open !== row.sequence) leaveQueue(block, row)
  if (row.state === "unknown") patchHeader(block, { parked: block.header.parked - 1 })
  countOutcome(block, end.outcome)
  block.settled.push(row.sequence)
  leaveConversation(block, row, end)
  if (row.parent !== null) noticeParent(block, row)
}

/** Keeps an end until the children have settled, and has them aborted. // D7 */
const awaitChildren = (block: Block, row: SubmissionRow, content: SettlementContent): void => {
  closeWaits(block.sql, row.sequence)
  if (content.outcome === "aborted") {
    abortChildren(block, row, content.abort)
    const { forced } = content.abort
    return suspendForChildren(block, row, { reached: reachedBy(row), forced }) // D9
  }
  const { text } = endOf(row, content)
  const reached = append(block, {
    submission: row.sequence,
    kind: "ResultReached",
    epoch: row.epoch,
    payload: text,
  })
  abortChildren(block, row, { author: "heddle", reason: `the parent ${content.outcome}` })
  suspendForChildren(block, row, { reached, forced: false })
}

/**
 * Ends a submission in this block: it settles, or, while children of it are open, has them aborted and settles with
 * the last of them. Gives whether it has settled. // D7
 */
export const settle = (block: Block, row: SubmissionRow, content: SettlementContent): boolean => {
  if (row.attempts > 0 && hasOpenChildren(block.sql, row.sequence)) {
    awaitChildren(block, row, content)
    return false
  }
  settleNow(block, row, endOf(row, content))
  return true
}

const reachedOf = (block: Block, reached: number): End => {
  const [record] = block.sql.all<{ payload: string }>(
    "SELECT payload FROM journal WHERE sequence = ? AND kind = 'ResultReached'",
    reached,
  )
  if (record === undefined) throw new Unreadable("journal")
  const { outcome } = parsed(record.payload, "journal") as { readonly outcome?: unknown }
  if (outcome !== "completed" && outcome !== "failed") throw new Unreadable("journal")
  return { outcome, text: record.payload }
}

/** Settles a submission whose end waited for its children, now that none is open. // D5 D7 */
export const settleAfterChildren = (block: Block, row: SubmissionRow): void => {
  const suspension = suspensionOf(row)
  if (suspension?.kind !== "children" || hasOpenChildren(block.sql, row.sequence)) return
  const intent = abortOf(row)
  if (intent !== undefined)
    return settleNow(block, row, endOf(row, abortedBy(intent, suspension.forced)))
  if (suspension.reached === null) throw new Unreadable("submissions")
  settleNow(block, row, reachedOf(block, suspension.reached))
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

const suspendedAnswer = (live: LiveAttempt): AttemptEnd => ({
  _tag: "Answered",
  answer: { _tag: "Suspended", submissionId: live.row.id },
})

const settled = (block: Block, live: LiveAttempt, content: SettlementContent): AttemptEnd =>
  settle(block, live.row, content)
    ? {
        _tag: "Answered",
        answer: { _tag: "Settled", submissionId: live.row.id, outcome: content.outcome },
      }
    : suspendedAnswer(live)

/** The counts of an attempt that wrote its end; the claim's charge is taken back. */
const counted = (live: LiveAttempt): Pick<Release, "ended" | "vanished"> =>
  live.progressed
    ? { ended: 0, vanished: 0 } // D3
    : { ended: live.row.ended, vanished: Math.max(0, live.row.vanished - 1) } // D3

const released = (block: Block, live: LiveAttempt, change: Partial<Release>): void =>
  release(block, live.row, {
    ...counted(live),
    dueAt: null,
    retries: retriesWith(live),
    ...change,
  })

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
      return rested(block, live) // D3
  }
}

/** Leaves an open call to recovery, whatever else the attempt came to. // D6 */
const suspendOpen = (block: Block, live: LiveAttempt, verdict: Verdict): AttemptEnd => {
  const { oldInstanceMillis } = block.thread.limits
  endCalls(block.sql, live.sequence, live.endedCalls, { now: block.now, oldInstanceMillis })
  const rest = { ...counted(live), dueAt: null, retries: retriesWith(live) }
  suspend(block, live.row, { ...rest, ...restOf(block, live, verdict), kind: "call" })
  return verdict._tag === "Unreadable"
    ? { _tag: "Unreadable", what: verdict.what }
    : suspendedAnswer(live)
}

/** What a branch waits for was answered, or its time has come: its wait is closed, or due. // D8 */
const isAnswered = (block: Block, live: LiveAttempt): boolean =>
  [...live.waiting.keys()].some((name) => {
    const wait = findWait(block.sql, live.sequence, name)
    return wait === undefined || (wait.dueAt !== null && wait.dueAt <= block.now)
  })

/** Suspends a run all of whose branches wait, unless something for one of them is there. // D8 */
const suspendWaiting = (block: Block, live: LiveAttempt, pending: Retries): AttemptEnd => {
  const { row } = live
  fireDue(block, row) // A wait that this code comes to no more fires, too: it brings the run back once, not for ever.
  const retries = retriesWith(live, pending)
  const times = [firstTimerAt(block.sql, live.sequence), ...retryTimes(pending)]
  const dueAt = Math.min(...times.filter((time) => time !== undefined))
  if (dueAt <= block.now || isAnswered(block, live)) {
    released(block, live, { retries })
    return { _tag: "Answered", answer: { _tag: "Yielded", submissionId: row.id } }
  }
  const at = dueAt === Infinity ? null : dueAt
  suspend(block, row, { ...counted(live), dueAt: at, retries, kind: "wait" })
  return suspendedAnswer(live)
}

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
    case "Waiting":
      return suspendWaiting(block, live, live.pending)
    case "Retrying": {
      if (live.waiting.size > 0 && !isOfRun(verdict.pending))
        return suspendWaiting(block, live, verdict.pending)
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

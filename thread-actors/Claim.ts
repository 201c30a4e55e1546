/**
 * The claim: the block by which an attempt takes the head.
 *
 * - C1 The attempt is charged, and counted as vanished until it has written its end, before anything
 *   of the submission is decoded.
 * - C2 No claim starts at or after `yieldAt`, of a head that is not ready and due, of a paused thread,
 *   or for an agent that this deployment lacks.
 * - C3 The first claim of a submission records `InputApplied` and opens the run in the same block. One that
 *   was parked, and about which somebody's word was given, is opened again by its claim.
 * - C4 A suspended run whose time has come is claimed by the block that fires its due timers.
 * - C5 In a deployment that publishes nothing is claimed while its sink lacks a record of this thread: the report tells
 *   no time then but that of the publication, after which there is a turn.
 * - C6 What is claimed right behind a run that had been begun before is flushed before it runs: if it kills its object, the
 *   end of that run would be lost with it again, and the run charged for it, time after time.
 */
import type { AgentId, AttemptId } from "../contracts/Identifiers.ts"
import type { HeadAnswer } from "../contracts/ThreadRpc.ts"
import { type Block, touch } from "./Block.ts"
import { readHead } from "./Head.ts"
import { append, bytesOf, runSize } from "./Journal.ts"
import { retriesOf, type SubmissionRow, undefer, unlist } from "./Ledger.ts"
import type { Claimed } from "./LiveAttempt.ts"
import { owesRecords } from "./Publication.ts"
import { startsAt } from "./Suspension.ts"
import { fireDue } from "./Waits.ts"

export type ClaimAnswer =
  | { readonly _tag: "Claimed"; readonly claimed: Claimed }
  /** Nothing is ready and due, or the time for claims is over. */
  | { readonly _tag: "Nothing" }
  | { readonly _tag: "Refused"; readonly answer: HeadAnswer }

const nothing: ClaimAnswer = { _tag: "Nothing" }
const refused = (answer: HeadAnswer): ClaimAnswer => ({ _tag: "Refused", answer })

/** Whether a claim of this head may start. Pure. */
export const mayClaim = (
  head: SubmissionRow,
  facts: {
    readonly now: number
    readonly yieldAt: number
    readonly paused: boolean
    /** Whether the deployment's sink lacks records of this thread. */
    readonly unpublished: boolean
    readonly agentKnown: boolean
  },
): ClaimAnswer | undefined => {
  if (facts.paused) return refused({ _tag: "Paused" })
  if (head.state === "running") return refused({ _tag: "NeedsRecovery", submissionId: head.id })
  if (startsAt(head) > facts.now) return nothing // C2
  if (facts.now >= facts.yieldAt) return nothing // C2
  if (facts.unpublished) return nothing // C5
  if (!facts.agentKnown)
    return refused({ _tag: "BindingUnavailable", submissionId: head.id, agent: head.agent }) // C2
  return undefined
}

const charge = (block: Block, row: SubmissionRow): SubmissionRow => {
  const version = block.thread.options.codeVersion
  const charged: SubmissionRow = {
    ...row,
    state: "running",
    epoch: row.epoch + 1,
    attempts: row.attempts + 1,
    vanished: row.vanishedVersion === version ? row.vanished + 1 : 1, // C1
    vanishedVersion: version,
    dueAt: null,
    suspension: null,
  }
  block.sql.run(
    `UPDATE submissions SET state = 'running', epoch = ?, attempts = ?, vanished = ?,
       vanishedVersion = ?, dueAt = NULL, suspension = NULL WHERE sequence = ?`,
    charged.epoch,
    charged.attempts,
    charged.vanished,
    charged.vanishedVersion,
    charged.sequence,
  )
  return charged
}

const applyInput = (block: Block, row: SubmissionRow): void => {
  const { acceptedAt, agent, inputDigest, principal } = row
  const payload = JSON.stringify({ acceptedAt, agent, inputDigest, principal })
  append(
    block,
    {
      submission: row.sequence,
      kind: "InputApplied",
      epoch: row.epoch,
      payload,
      bytes: bytesOf(payload) + row.inputBytes,
    },
    { open: row.sequence }, // C3
  )
  undefer(block.sql, row)
}

/** Opens a run again that was parked. */
const reopen = (block: Block, row: SubmissionRow): void => {
  append(
    block,
    {
      submission: row.sequence,
      kind: "Recovered",
      epoch: row.epoch,
      payload: `{"decision":"Resume"}`,
    },
    { open: row.sequence }, // C3
  )
  unlist(block.sql, row.sequence)
}

/** Claims this head. It must be ready, or suspended and due. */
const claim = (block: Block, head: SubmissionRow, flushFirst: boolean): Claimed => {
  const row = charge(block, head)
  if (head.state === "suspended") fireDue(block, row) // C4
  const first = row.attempts === 1
  if (first) applyInput(block, row)
  else if (block.header.tail.open === row.sequence) touch(block)
  else reopen(block, row)
  return {
    identity: { ownerId: block.header.ownerId, threadId: block.header.threadId },
    row,
    attemptId: block.thread.host.uuid() as AttemptId,
    claimedAt: block.now,
    flushFirst: flushFirst || row.attempts > 1,
    size: first ? { records: 0, bytes: 0 } : runSize(block.sql, row.sequence),
    retries: retriesOf(row),
  }
}

/** Claims the head if there is one to claim; `behind` is the run that the same turn has settled before. */
export const claimNext = (
  block: Block,
  turn: {
    readonly yieldAt: number
    readonly suspect: boolean
    readonly notAgents: ReadonlyArray<AgentId>
  },
  behind: Claimed | undefined,
): ClaimAnswer => {
  const { head } = readHead(block.sql, block.header, block.now)
  if (head === undefined) return nothing
  // The report tells its agent, and the owner gives it a turn of its own once one more may run.
  if (head.state !== "running" && turn.notAgents.includes(head.agent)) return nothing
  const answer = mayClaim(head, {
    now: block.now,
    yieldAt: turn.yieldAt,
    paused: block.header.paused,
    unpublished: owesRecords(block.thread, block.header),
    agentKnown: block.thread.options.agents.has(head.agent),
  })
  const { begunEndedAt } = block.thread
  const isBehind =
    (behind !== undefined && behind.row.attempts > 1) ||
    (begunEndedAt !== undefined && block.now - begunEndedAt < block.thread.limits.coverMillis)
  const flushFirst = turn.suspect || isBehind // C6
  return answer ?? { _tag: "Claimed", claimed: claim(block, head, flushFirst) }
}

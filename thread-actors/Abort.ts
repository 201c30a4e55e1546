/**
 * An abort in its thread: one block that takes the command, or says why not; then the live attempt is told.
 *
 * - T1 The intent is durable before anybody acts on it. What does not run settles in the same block.
 * - T2 The first command decides. The same words again get the state of the first; others are refused.
 * - T3 A live attempt is interrupted at once. What it still records within its grace counts; then it is
 *   fenced off, whatever its handler does.
 * - T4 A run whose attempt was lost is left to recovery, which the report asks for.
 */
import { Effect, Option, Result } from "effect"
import type { AbortRefusal, AbortReply } from "../contracts/Abort.ts"
import { JoinedToHost, ResolutionConflict, SettlementConflict } from "../contracts/Errors.ts"
import type { Generation, Principal, SubmissionId } from "../contracts/Identifiers.ts"
import type { Outcome } from "../contracts/Submission.ts"
import { type Block, transact } from "./Block.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import type { Identity } from "./Identity.ts"
import { append } from "./Journal.ts"
import {
  type AbortIntent,
  abortOf,
  readHost,
  readRow,
  sequenceOf,
  type SubmissionRow,
  writeAbort,
} from "./Ledger.ts"
import { condemn, interrupt, type LiveAttempt } from "./LiveAttempt.ts"
import { abortedBy, settle } from "./Settle.ts"
import { readSettlement } from "./Status.ts"
import { submissionOf, whereKnown } from "./SubmissionCommand.ts"
import type { Thread } from "./Thread.ts"
import { within } from "./Within.ts"

export interface AbortCommand extends Identity {
  readonly submissionId: SubmissionId
  readonly author: string
  readonly reason: string
  readonly principal: Principal
  readonly generation: Generation
}

type Answer = Result.Result<AbortReply, AbortRefusal>

/** What the block is to do with a command. */
export type Judgement =
  /** It was said before: its state is the answer. */
  | { readonly _tag: "Known" }
  /** It runs: the intent is written, and the attempt or recovery acts on it. */
  | { readonly _tag: "Intend" }
  /** It does not run: it settles here. */
  | { readonly _tag: "Settle" }
  | { readonly _tag: "Refuse"; readonly error: SettlementConflict | ResolutionConflict }
  | { readonly _tag: "Joined" }

const firstMax = 256

/** The first command, in so many characters. */
const told = ({ author, reason }: AbortIntent): string =>
  `${author}: ${reason}`.slice(0, firstMax).toWellFormed()

/** Judges a command by the row it means. Pure. */
export const judge = (
  row: Pick<SubmissionRow, "id" | "state" | "outcome">,
  first: AbortIntent | undefined,
  command: Pick<AbortCommand, "author" | "reason">,
): Judgement => {
  const same = first?.author === command.author && first.reason === command.reason
  if (same) return { _tag: "Known" } // T2
  if (row.state === "settled") {
    const outcome = row.outcome as Outcome
    return { _tag: "Refuse", error: new SettlementConflict({ submissionId: row.id, outcome }) }
  }
  if (row.state === "joined") return { _tag: "Joined" }
  if (first !== undefined)
    return { _tag: "Refuse", error: new ResolutionConflict({ first: told(first) }) } // T2
  return row.state === "running" ? { _tag: "Intend" } : { _tag: "Settle" }
}

/** Writes what was said. */
export const intend = (
  block: Block,
  row: SubmissionRow,
  command: Pick<AbortCommand, "author" | "reason" | "principal">,
): AbortIntent => {
  const { author, principal, reason } = command
  const intent = { author, principal, reason }
  writeAbort(block.sql, row.sequence, intent) // T1
  append(block, {
    submission: row.sequence,
    kind: "AbortRequested",
    epoch: row.epoch,
    payload: JSON.stringify(intent),
  })
  return intent
}

/** Where it stands now. */
const stateOf = (block: Block, sequence: number): AbortReply => {
  const row = readRow(block.sql, sequence)
  const settlement = row === undefined ? undefined : readSettlement(block.sql, row)
  return settlement === undefined ? { _tag: "Aborting" } : { _tag: "Settled", settlement }
}

const joined = (block: Block, row: SubmissionRow): JoinedToHost =>
  new JoinedToHost({ submissionId: row.id, hostSubmissionId: readHost(block.sql, row) })

const abortIn = (block: Block, command: AbortCommand): Answer => {
  const found = submissionOf(block, command)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const row = found.success
  const judgement = judge(row, abortOf(row), command)
  switch (judgement._tag) {
    case "Refuse":
      return Result.fail(judgement.error)
    case "Joined":
      return Result.fail(joined(block, row))
    case "Intend":
      intend(block, row, command) // T4
      break
    case "Settle":
      settle(block, row, abortedBy(intend(block, row, command), false)) // T1
      break
    case "Known":
      break
  }
  return Result.succeed(stateOf(block, row.sequence))
}

/** Ends the attempt when its grace is over, unless it has ended by then. Leaves no timer behind. */
const endAfterGrace = (thread: Thread, live: LiveAttempt): Effect.Effect<void> =>
  Effect.flatMap(within(live.done, thread.limits.abortGraceMillis), (end) =>
    Effect.sync(() => {
      if (Option.isNone(end)) condemn(live, { _tag: "OutOfTime" }) // T3
    }),
  )

/** Tells the attempt that runs this submission here, once; there may be none. */
export const tell = (thread: Thread, submissionId: SubmissionId): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { live } = thread
    if (live === undefined || live.aborting || live.sequence !== sequenceOf(submissionId))
      return Effect.void
    live.aborting = true
    interrupt(live) // T3
    return Effect.asVoid(Effect.forkDetach(endAfterGrace(thread, live)))
  })

/** Takes the command. A refusal is an answer; what kept the thread from looking is a failure. */
export const requestAbort = (
  thread: Thread,
  command: AbortCommand,
): Effect.Effect<Answer, ReadFailure> =>
  whereKnown(thread, command, () =>
    Effect.tap(
      durable(thread, "abort", () => transact(thread, (block) => abortIn(block, command))),
      (answer) =>
        Result.isSuccess(answer) && answer.success._tag === "Aborting"
          ? tell(thread, command.submissionId)
          : Effect.void,
    ),
  )

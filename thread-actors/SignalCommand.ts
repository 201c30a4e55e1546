/**
 * The command `signal`: one block that takes a value for a wait of a run, or says why not; then the live attempt is
 * told.
 *
 * - G1 The first value stands. The same again is a duplicate, also after the run has settled; another one is told that
 *   there is one.
 * - G2 What has expired by the thread's clock is over, whoever asks first.
 * - G3 A value for a wait that has not begun is kept until it does, within a bound of its own: it wakes nobody, takes
 *   nothing of what its run may record, and is nothing to an operation of another kind that has its name.
 * - G4 A value makes a run that waits ready in its block; one that runs is told after it.
 */
import { Effect, Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import {
  AdmissionLimitExceeded,
  InvalidInput,
  JoinedToHost,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
} from "../contracts/Errors.ts"
import type { Generation, Principal, SubmissionId } from "../contracts/Identifiers.ts"
import type { SignalRefusal, SignalReply } from "../contracts/Signal.ts"
import type { Outcome } from "../contracts/Submission.ts"
import { type Block, transact } from "./Block.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import type { Identity } from "./Identity.ts"
import { append, bytesOf, findPart, findRecordedAt, unreadSize } from "./Journal.ts"
import { readHost, readRow, type SubmissionRow } from "./Ledger.ts"
import { sizeLimit } from "./SizeLimit.ts"
import { kept, submissionOf, whereKnown } from "./SubmissionCommand.ts"
import { suspensionOf } from "./Suspension.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"
import { answerPart, earlyPart, findWait } from "./WaitRows.ts"
import { fireDue, recordAnswer, resumeWaiting } from "./Waits.ts"

export interface SignalOrder extends Identity {
  readonly submissionId: SubmissionId
  readonly name: string
  readonly payload: unknown
  readonly principal: Principal
  readonly generation: Generation
}

type Answer = Result.Result<SignalReply, SignalRefusal>

/** A command with its value as its record begins: canonical JSON. */
interface Said extends SignalOrder {
  readonly start: string
}

const atPayload = (why: AdmissionLimitExceeded | InvalidInput) =>
  why._tag === "InvalidInput"
    ? new InvalidInput({
        path: why.path === "" ? "payload" : `payload.${why.path}`,
        reason: why.reason,
      })
    : new AdmissionLimitExceeded({
        limit: "recordBytes",
        actual: why.actual,
        maximum: why.maximum,
      })

const saidOf = (
  { limits }: Thread,
  order: SignalOrder,
): Result.Result<Said, AdmissionLimitExceeded | InvalidInput> => {
  const maxBytes = sizeLimit(limits, "recordBytes")
  const text = canonicalJson(order.payload, { maxBytes, maxNesting: limits.jsonNesting })
  return Result.map(
    Result.mapError(text, (why) => atPayload(why)),
    (canonical) => ({ ...order, start: `{"payload":${canonical.text},"principal":` }),
  )
}

const receivedAtOf = ({ sql }: Block, row: SubmissionRow, name: string): number | undefined =>
  findRecordedAt(sql, row.sequence, { name, part: answerPart }) ??
  findRecordedAt(sql, row.sequence, { name, part: earlyPart })

const received = (block: Block, row: SubmissionRow, name: string, duplicate: boolean): Answer => {
  const receivedAt = receivedAtOf(block, row, name)
  const now = readRow(block.sql, row.sequence)
  if (receivedAt === undefined || now === undefined) throw new Unreadable("journal")
  return Result.succeed({ receivedAt, duplicate, state: now.state })
}

/** What the first value gets again, and every other one. None where no value came yet. // G1 */
const first = (block: Block, row: SubmissionRow, { name, start }: Said): Answer | undefined => {
  const answer =
    findPart(block.sql, row.sequence, { name, part: answerPart }) ??
    findPart(block.sql, row.sequence, { name, part: earlyPart })
  if (answer?.kind !== "SignalReceived") return undefined
  if (answer.payload.startsWith(start)) return received(block, row, name, true)
  const at = receivedAtOf(block, row, name) ?? 0
  const told = `another value came at ${new Date(at).toISOString()}`
  return Result.fail(new ResolutionConflict({ first: told }))
}

/** Why the run takes no value under this name, if it does not. */
const refusal = (block: Block, row: SubmissionRow, name: string): SignalRefusal | undefined => {
  const submissionId = row.id
  if (row.state === "settled")
    return new SettlementConflict({ submissionId, outcome: row.outcome as Outcome })
  if (row.state === "joined")
    return new JoinedToHost({ submissionId, hostSubmissionId: readHost(block.sql, row) })
  if (findWait(block.sql, row.sequence, name)?.kind === "signal") return undefined
  const isOver = row.abort !== null || suspensionOf(row)?.kind === "children"
  const isOther =
    findPart(block.sql, row.sequence, { name, part: 0 }) !== undefined ||
    findPart(block.sql, row.sequence, { name, part: answerPart }) !== undefined ||
    findWait(block.sql, row.sequence, name) !== undefined
  return isOver || isOther ? new NotAwaiting({ submissionId, name }) : undefined
}

/** What keeping a value would exceed. // G3 */
const full = (block: Block, row: SubmissionRow, payload: string) => {
  const { earlySignalBytes, earlySignals } = block.thread.limits
  const size = unreadSize(block.sql, row.sequence)
  const bytes = size.bytes + bytesOf(payload)
  if (size.records + 1 > earlySignals)
    return new AdmissionLimitExceeded({
      limit: "earlySignals",
      actual: size.records + 1,
      maximum: earlySignals,
    })
  return bytes > earlySignalBytes
    ? new AdmissionLimitExceeded({
        limit: "earlySignalBytes",
        actual: bytes,
        maximum: earlySignalBytes,
      })
    : undefined
}

/** Keeps a value whose wait has not begun. // G3 */
const keep = (block: Block, row: SubmissionRow, said: Said, payload: string): Answer => {
  const over = full(block, row, payload)
  if (over !== undefined) return Result.fail(over)
  append(block, {
    submission: row.sequence,
    kind: "SignalReceived",
    name: said.name,
    part: earlyPart,
    epoch: row.epoch,
    payload,
  })
  return received(block, row, said.name, false)
}

const takeIn = (block: Block, row: SubmissionRow, said: Said): Answer => {
  const { name, principal, start } = said
  const why = refusal(block, row, name)
  if (why !== undefined) return Result.fail(why)
  const payload = `${start}${JSON.stringify(principal)}}`
  if (findWait(block.sql, row.sequence, name) === undefined) return keep(block, row, said, payload)
  recordAnswer(block, row, name, { kind: "SignalReceived", payload })
  return received(block, row, name, false)
}

const signalIn = (block: Block, said: Said): Answer => {
  const found = submissionOf(block, said)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const row = found.success
  const before = first(block, row, said)
  if (before !== undefined) return before
  const fired = fireDue(block, row) // G2
  const isAwaited = findWait(block.sql, row.sequence, said.name) !== undefined
  const answer = kept(block, said, takeIn(block, row, said))
  if (fired.length === 0 && !(isAwaited && Result.isSuccess(answer))) return answer
  resumeWaiting(block, row) // G4
  const state = readRow(block.sql, row.sequence)?.state ?? row.state
  return Result.map(answer, (reply) => ({ ...reply, state }))
}

/** Takes the command. A refusal is an answer; what kept the thread from looking is a failure. */
export const signal = (thread: Thread, order: SignalOrder): Effect.Effect<Answer, ReadFailure> =>
  whereKnown(thread, order, (): Effect.Effect<Answer, ReadFailure> => {
    const said = saidOf(thread, order)
    if (Result.isFailure(said)) return Effect.succeed(Result.fail(said.failure))
    return durable(thread, "decide", () =>
      transact(thread, (block) => signalIn(block, said.success)),
    )
  })

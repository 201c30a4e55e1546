/**
 * `resolveUnknown` in its thread: somebody's word on a call of which nobody knows whether it happened.
 *
 * - U1 The word names the record it answers. The first decides; the same words again get what the first one
 *   would get now, others are told the first.
 * - U2 A result is read by the tool's schema before it is written: agent code, and so outside the block, which
 *   looks whether the call is still the one it was read for.
 * - U3 The block that decides the last call of a parked submission makes it ready: no word needs a second
 *   transition to count.
 * - U4 A result that is refused for what this deployment knows of its tool stays refused: another one may know better.
 * - U5 What is to be aborted runs no more, whatever is said about its calls: it stays parked until its children have
 *   settled, and holds nobody meanwhile.
 */
import { Effect, Result } from "effect"
import {
  AgentNotRegistered,
  InvalidInput,
  NotAwaiting,
  ResolutionConflict,
  SettlementConflict,
} from "../contracts/Errors.ts"
import type { Generation, Principal, RecordId, SubmissionId } from "../contracts/Identifiers.ts"
import type {
  Resolution,
  ResolveUnknownRefusal,
  ResolveUnknownReply,
} from "../contracts/ResolveUnknown.ts"
import type { Outcome } from "../contracts/Submission.ts"
import { sha256 } from "../platform/Digest.ts"
import { intend } from "./Abort.ts"
import { type Block, transact } from "./Block.ts"
import { durable, reading, type ReadFailure } from "./Durable.ts"
import { describeError } from "./Failures.ts"
import type { Identity } from "./Identity.ts"
import { append, findPart, unknownRecords } from "./Journal.ts"
import { jsonCoder } from "./JsonCoder.ts"
import { findRow, readRow, retriesOf, type SubmissionRow } from "./Ledger.ts"
import { closeCall, recordIdOf, storedCalls, type StoredCall } from "./OpenCalls.ts"
import { resume } from "./Park.ts"
import { settleAborted } from "./Repair.ts"
import { readSettlement } from "./Status.ts"
import { kept, submissionOf, whereKnown } from "./SubmissionCommand.ts"
import { storable, textOf } from "./StoredValue.ts"
import type { Thread } from "./Thread.ts"
import type { AnyTool } from "./Tool.ts"
import { failurePayload, resolvedPayload, resultPayload, type Teller } from "./ToolRecord.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

export interface UnknownCommand extends Identity {
  readonly submissionId: SubmissionId
  readonly recordId: RecordId
  readonly resolution: Resolution
  readonly author: string
  readonly reason: string
  readonly principal: Principal
  readonly generation: Generation
}

const invalid = (reason: string) => new InvalidInput({ path: "resolution.result", reason })

/** A command with the digest of its resolution: what the same words are known by. */
interface Said extends UnknownCommand {
  readonly content: string
}

/** What is given has the limits of what a run would record, for itself. */
const saidOf = (thread: Thread, command: UnknownCommand): Result.Result<Said, InvalidInput> => {
  const { resolution } = command
  const [given, isFailure] =
    resolution._tag === "CompletedWithResult"
      ? [resolution.result, resolution.isFailure === true]
      : [null, false]
  const size = isFailure ? "recordBytes" : "stepResultBytes"
  const text = textOf(given, { limits: thread.limits, size })
  if (Result.isFailure(text)) {
    const why = text.failure
    return Result.fail(
      invalid(why._tag === "TooLarge" ? `it exceeds ${why.maxBytes} bytes` : why.reason),
    )
  }
  const content = sha256(resolution._tag, "\n", String(isFailure), "\n", text.success).slice(0, 32)
  return Result.succeed({ ...command, content })
}

type Answer = Result.Result<ResolveUnknownReply, ResolveUnknownRefusal>

/** The call that a command is about, as it was read before the block, and what is to be recorded. */
interface Prepared {
  readonly call: StoredCall
  readonly record: { readonly kind: "ToolSettled" | "ToolResolved"; readonly payload: string }
}

const callOf = (
  calls: ReadonlyArray<StoredCall>,
  { recordId, submissionId }: UnknownCommand,
): StoredCall | undefined =>
  calls.find((call) => call.unknownAt !== null && recordIdOf(submissionId, call) === recordId)

/** What a tool reads a given outcome as; canonical JSON. // U2 */
const outcomeOf = (
  thread: Thread,
  tool: AnyTool,
  given: { readonly value: unknown; readonly isFailure: boolean },
  teller: Teller,
): Result.Result<string, InvalidInput> => {
  const { limits } = thread
  const schema = given.isFailure ? tool.error : tool.result
  if (schema === undefined) return Result.fail(invalid("the tool declares no failure"))
  const value = jsonCoder(schema).decode(given.value)
  if (Result.isFailure(value)) return Result.fail(invalid(value.failure))
  const size = given.isFailure ? "recordBytes" : "stepResultBytes"
  const stored = storable(schema, value.success, { limits, size })
  if (Result.isFailure(stored))
    return Result.fail(
      invalid(
        stored.failure._tag === "TooLarge"
          ? `it exceeds ${stored.failure.maxBytes} bytes`
          : stored.failure.reason,
      ),
    )
  const { text } = stored.success
  return Result.succeed(
    given.isFailure
      ? failurePayload(tool.name, describeError(value.success, limits), text, teller)
      : resultPayload(tool.name, text, teller),
  )
}

const prepare = (
  thread: Thread,
  row: SubmissionRow,
  call: StoredCall,
  command: Said,
): Result.Result<Prepared, InvalidInput | AgentNotRegistered> => {
  const { author, content, principal, reason, resolution } = command
  const teller = { author, content, principal, reason }
  if (resolution._tag !== "CompletedWithResult") {
    const payload = resolvedPayload(call.tool, resolution._tag, teller)
    return Result.succeed({ call, record: { kind: "ToolResolved", payload } })
  }
  const tool = thread.options.agents.get(row.agent)?.tools.get(call.tool)
  if (tool === undefined) return Result.fail(new AgentNotRegistered({ agent: row.agent }))
  const given = { value: resolution.result, isFailure: resolution.isFailure === true }
  return Result.map(outcomeOf(thread, tool, given, teller), (payload) => ({
    call,
    record: { kind: "ToolSettled", payload },
  }))
}

/** What was read of a command before its block; nothing where nothing waits. */
type Read = Result.Result<Prepared | undefined, InvalidInput | AgentNotRegistered>

/** Reads what the command is about, and the result that it gives. */
const readCommand = (thread: Thread, command: Said): Read => {
  const { sql } = thread.host.storage
  const row = findRow(sql, command.submissionId)
  const call = row === undefined ? undefined : callOf(storedCalls(sql, row.sequence), command)
  return row === undefined || call === undefined
    ? Result.succeed(undefined)
    : prepare(thread, row, call, command)
}

/** An answer as its record holds it. */
interface FirstWord {
  readonly by?: { readonly author?: unknown; readonly reason?: unknown; readonly content?: unknown }
  readonly resolution?: unknown
}

/** The first word on a record that waits no more: the record behind it. */
const firstWord = (
  sql: Block["sql"],
  row: SubmissionRow,
  recordId: RecordId,
): FirstWord | undefined => {
  const asked = unknownRecords(sql, row.sequence).find(
    (record) => recordIdOf(row.id, record) === recordId,
  )
  if (asked === undefined) return undefined
  const answer = findPart(sql, row.sequence, { name: asked.name, part: asked.part + 1 })
  return answer === undefined ? undefined : (parsed(answer.payload, "journal") as FirstWord)
}

const text = (value: unknown, otherwise: string): string =>
  typeof value === "string" ? value : otherwise

const told = ({ by, resolution }: FirstWord): string => {
  const said = text(resolution, "CompletedWithResult")
  return `${text(by?.author, "")}: ${text(by?.reason, "")} (${said})`.slice(0, 256).toWellFormed()
}

const isSame = ({ by }: FirstWord, { author, content, reason }: Said): boolean =>
  by?.author === author && by.reason === reason && by.content === content

const stateOf = (block: Block, submissionId: SubmissionId): ResolveUnknownReply => {
  const row = findRow(block.sql, submissionId)
  if (row === undefined) throw new Unreadable("submissions")
  const settlement = readSettlement(block.sql, row)
  const undecided = storedCalls(block.sql, row.sequence).filter(
    ({ unknownAt }) => unknownAt !== null,
  )
  return {
    state: row.state,
    undecided: undecided.length,
    ...(settlement === undefined ? {} : { settlement }),
  }
}

/** A record that does not wait: decided before, or never asked. */
const decided = (block: Block, row: SubmissionRow, command: Said): Answer => {
  const first = firstWord(block.sql, row, command.recordId)
  if (first !== undefined)
    return isSame(first, command)
      ? Result.succeed(stateOf(block, row.id)) // U1
      : Result.fail(new ResolutionConflict({ first: told(first) })) // U1
  if (row.state === "settled")
    return Result.fail(
      new SettlementConflict({ submissionId: row.id, outcome: row.outcome as Outcome }),
    )
  return Result.fail(new NotAwaiting({ submissionId: row.id, name: command.recordId }))
}

const record = (block: Block, row: SubmissionRow, { call, record: said }: Prepared): void => {
  append(block, {
    submission: row.sequence,
    name: call.name,
    part: call.part + 1,
    epoch: row.epoch,
    ...said,
  })
  closeCall(block.sql, row.sequence, call.name)
}

/** Ends the submission, on the word of whoever wanted that first. */
const abort = (block: Block, row: SubmissionRow, command: Said): void => {
  if (row.abort === null) intend(block, row, command)
  settleAborted(block, readRow(block.sql, row.sequence) ?? row)
}

/** A decision is progress: what ended or vanished before it counts no more. The lost attempt itself stays one. */
const countAnew = (block: Block, row: SubmissionRow): void =>
  block.sql.run(
    "UPDATE submissions SET ended = 0, vanished = min(vanished, 1) WHERE sequence = ?",
    row.sequence,
  )

const resolveIn = (block: Block, command: Said, read: Read): Answer => {
  const found = submissionOf(block, command)
  if (Result.isFailure(found)) return Result.fail(found.failure)
  const row = found.success
  const call = callOf(storedCalls(block.sql, row.sequence), command)
  if (call === undefined) return decided(block, row, command)
  if (Result.isFailure(read)) return kept(block, command, Result.fail(read.failure)) // U4
  const prepared = read.success
  if (prepared?.call.part !== call.part) return decided(block, row, command) // U2
  record(block, row, prepared)
  if (command.resolution._tag === "AbortSubmission") abort(block, row, command)
  else if (row.state !== "unknown") countAnew(block, row)
  else if (row.abort === null && storedCalls(block.sql, row.sequence).length === 0)
    resume(block, row, retriesOf(row)) // U3 U5
  return Result.succeed(stateOf(block, row.id))
}

/** Takes the word. A refusal is an answer; what kept the thread from looking is a failure. */
export const resolveUnknown = (
  thread: Thread,
  command: UnknownCommand,
): Effect.Effect<Answer, ReadFailure> =>
  whereKnown(thread, command, (): Effect.Effect<Answer, ReadFailure> => {
    const said = saidOf(thread, command)
    if (Result.isFailure(said)) return Effect.succeed(Result.fail(said.failure))
    return Effect.flatMap(
      reading(thread, "resolve", () => readCommand(thread, said.success)),
      (read) =>
        durable(thread, "resolve", () =>
          transact(thread, (block) => resolveIn(block, said.success, read)),
        ),
    )
  })

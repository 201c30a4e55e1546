/**
 * The open calls: ordinary tool calls whose outcome is not recorded, a row each beside the journal.
 *
 * - O1 A row stands exactly while the last record of its call is `ToolPrepared` or `ToolUnknown`, and is
 *   written in the block of that record.
 * - O2 Reading the calls of a submission costs as many rows as it has open ones.
 * - O3 A record's id is a hash of what it names, so that a word about it can mean no other.
 * - O4 A row that does not decode is told as such.
 * - O5 A call is over at its promised end, later by what clocks may be apart, and by what an object that was
 *   replaced may go on, unless its body ended here.
 */
import { type AgentId, RecordId, type SubmissionId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import { sha256 } from "../platform/Digest.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Agents } from "./Agent.ts"
import {
  type Check,
  holds,
  isCount,
  isMillis,
  isName,
  isSubmissionId,
  maybe,
} from "./StoredColumns.ts"
import { Unreadable } from "./Unreadable.ts"

/** As it is stored. */
export interface StoredCall {
  readonly submission: number
  /** The agent's name of the call. */
  readonly name: string
  /** The name of its tool. */
  readonly tool: string
  /** Of its last record. */
  readonly part: number
  readonly preparedAt: number
  /** From then on nothing of the call is under way any more. */
  readonly deadlineAt: number
  /** How often its reconciler could not tell. */
  readonly tries: number
  /** Since when a word about it is waited for. */
  readonly unknownAt: number | null
}

export interface OpenCall extends StoredCall {
  /** Whether this deployment's agent declares the tool. */
  readonly declared: boolean
}

type Raw = { readonly [K in keyof StoredCall]: string | number | null }

const callChecks: { readonly [K in keyof StoredCall]: Check } = {
  submission: isCount,
  name: isName,
  tool: isName,
  part: isCount,
  preparedAt: isMillis,
  deadlineAt: isMillis,
  tries: isCount,
  unknownAt: maybe(isMillis),
}

/** Whether a row decodes. // O4 */
export const isSoundCall = (row: Raw): boolean => holds(row, callChecks)

const decode = (row: Raw): StoredCall => {
  if (!isSoundCall(row)) throw new Unreadable("calls") // O4
  return row as unknown as StoredCall
}

const columns = "submission, name, tool, part, preparedAt, deadlineAt, tries, unknownAt"

const rowsOf = (sql: Sql, submission: number): ReadonlyArray<Raw> =>
  sql.all<Raw>(`SELECT ${columns} FROM calls WHERE submission = ? ORDER BY name`, submission)

/** The open calls of a submission. // O2 */
export const storedCalls = (sql: Sql, submission: number): ReadonlyArray<StoredCall> =>
  rowsOf(sql, submission).map(decode)

/** Those of them that decode: what ends needs nothing to be readable. */
export const soundCalls = (sql: Sql, submission: number): ReadonlyArray<StoredCall> =>
  rowsOf(sql, submission).filter(isSoundCall).map(decode)

/** The same, with what this deployment knows of their tools. */
export const openCalls = (
  sql: Sql,
  agents: Agents,
  row: { readonly sequence: number; readonly agent: AgentId },
): ReadonlyArray<OpenCall> =>
  storedCalls(sql, row.sequence).map((call) => ({
    ...call,
    declared: agents.get(row.agent)?.tools.has(call.tool) === true,
  }))

/** The first rows of the table, as they are. */
export const rawCalls = (sql: Sql, limit: number): ReadonlyArray<Raw> =>
  sql.all<Raw>(`SELECT ${columns} FROM calls ORDER BY submission, name LIMIT +?`, limit)

/** A call that is unknown, with its submission's id. */
export interface WaitingCall {
  readonly submissionId: SubmissionId
  readonly name: string
  readonly part: number
  readonly unknownAt: number
}

const waitingChecks = {
  submissionId: isSubmissionId,
  name: isName,
  part: isCount,
  unknownAt: isMillis,
}

/** The calls that wait for a word, the oldest first. */
export const waitingCalls = (sql: Sql, limit: number): ReadonlyArray<WaitingCall> =>
  sql
    .all<{ submissionId: SubmissionId; name: string; part: number; unknownAt: number }>(
      `SELECT s.id AS submissionId, c.name, c.part, c.unknownAt
       FROM calls c JOIN submissions s ON s.sequence = c.submission
       WHERE c.unknownAt IS NOT NULL ORDER BY c.unknownAt, c.submission, c.name LIMIT +?`,
      limit,
    )
    .map((call) => {
      if (!holds(call, waitingChecks)) throw new Unreadable("calls") // O4
      return call
    })

/** Writes a call as its last record leaves it. // O1 */
export const writeCall = (sql: Sql, call: StoredCall): void =>
  sql.run(
    `INSERT OR REPLACE INTO calls (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    call.submission,
    call.name,
    call.tool,
    call.part,
    call.preparedAt,
    Math.ceil(call.deadlineAt), // An agent may declare a part of a millisecond.
    call.tries,
    call.unknownAt,
  )

/** The outcome of a call is recorded. // O1 */
export const closeCall = (sql: Sql, submission: number, name: string): void =>
  sql.run("DELETE FROM calls WHERE submission = ? AND name = ?", submission, name)

/** All calls of a submission, when it settles. */
export const closeCalls = (sql: Sql, submission: number): void =>
  sql.run("DELETE FROM calls WHERE submission = ?", submission)

/** When a call that begins now is over, whatever becomes of its object. // O5 */
export const callEnd = (
  now: number,
  timeoutMillis: number,
  { clockAllowanceMillis, oldInstanceMillis }: Limits,
): number => now + timeoutMillis + clockAllowanceMillis + oldInstanceMillis

/**
 * The bodies of these calls ended here, so that no replaced object is to be waited for. What they sent may be
 * under way until their timeout all the same, and the clock's allowance: that an answer was lost is no proof of
 * anything, and they may have left later than this object's clock showed. // O5
 */
export const endCalls = (
  sql: Sql,
  submission: number,
  names: Iterable<string>,
  end: { readonly now: number; readonly oldInstanceMillis: number },
): void => {
  for (const name of names)
    sql.run(
      `UPDATE calls SET deadlineAt = max(?, deadlineAt - ?)
       WHERE submission = ? AND name = ? AND deadlineAt > ?`,
      end.now,
      end.oldInstanceMillis,
      submission,
      name,
      end.now,
    )
}

/** The id of a record of a named operation. // O3 */
export const recordIdOf = (
  submissionId: SubmissionId,
  record: { readonly name: string; readonly part: number },
): RecordId =>
  RecordId.make(sha256(submissionId, "\n", String(record.part), "\n", record.name).slice(0, 32))

/** The same on every try of one call: what a provider may be given to know it by. */
export const callKeyOf = (submissionId: SubmissionId, name: string): string =>
  sha256(submissionId, "\n", "call", "\n", name).slice(0, 32)

/**
 * The ledger: a row per submission, keyed by its sequence.
 *
 * - L1 A submission's id tells its sequence, so that ids need no index: the last eight hexadecimal
 *   digits are the sequence. The rest of the id is the host's.
 * - L2 The input is read by the claim's run and by history only: never to look at a row.
 * - L3 A row that does not decode is told as such, not guessed: each column that can reach a report, an answer or a
 *   decision is looked at when it is read, and the texts of intents, retries and waits where they are used.
 */
import type { AgentId, Principal, SubmissionId } from "../contracts/Identifiers.ts"
import type { Sql, SqlValue } from "../platform/ObjectStorage.ts"
import {
  type Check,
  holds,
  isAgentId,
  isCount,
  isMillis,
  isName,
  isSubmissionId,
  isText,
  maybe,
  oneOf,
} from "./StoredColumns.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

const states = ["ready", "running", "suspended", "unknown", "joined", "settled"] as const
const outcomes = ["completed", "failed", "aborted"] as const
export type StoredState = (typeof states)[number]

export interface SubmissionRow {
  readonly sequence: number
  readonly id: SubmissionId
  readonly principal: Principal
  readonly agent: AgentId
  readonly acceptedAt: number
  readonly notBefore: number | null
  readonly inputDigest: string
  readonly state: StoredState
  readonly epoch: number
  /** Claims so far, whatever their end. */
  readonly attempts: number
  /** Attempts in a row that ended without a new result. */
  readonly ended: number
  /** Attempts in a row that were claimed under `vanishedVersion` and have written no end. */
  readonly vanished: number
  readonly vanishedVersion: string | null
  /** Declared retries as JSON, by step name; the empty name is the run itself. */
  readonly retries: string | null
  readonly dueAt: number | null
  /** What it was suspended for, as JSON; none unless it is suspended, or its end was kept for its children. */
  readonly suspension: string | null
  /** The intent to abort it, as JSON; none unless somebody said so. */
  readonly abort: string | null
  readonly outcome: string | null
  readonly settledSequence: number | null
  readonly delivery: string
  /** The run whose child it is, as JSON. */
  readonly parent: string | null
  /** The trace that it continues, as `traceparent` has it; what is damaged is none. */
  readonly trace: unknown
  readonly inputBytes: number
}

const columns = `sequence, id, principal, agent, acceptedAt, notBefore, inputDigest, state, epoch,
  attempts, ended, vanished, vanishedVersion, retries, dueAt, suspension, abort, outcome,
  settledSequence, delivery, parent, trace, inputBytes` // L2

const rowChecks: { readonly [K in keyof SubmissionRow]: Check } = {
  sequence: isCount,
  id: isSubmissionId,
  principal: isName,
  agent: isAgentId,
  acceptedAt: isMillis,
  notBefore: maybe(isMillis),
  inputDigest: isText,
  state: oneOf(states),
  epoch: isCount,
  attempts: isCount,
  ended: isCount,
  vanished: isCount,
  vanishedVersion: maybe(isText),
  retries: maybe(isText),
  dueAt: maybe(isMillis),
  suspension: maybe(isText),
  abort: maybe(isText),
  outcome: maybe(oneOf(outcomes)),
  settledSequence: maybe(isCount),
  delivery: oneOf(["queue", "join"]),
  parent: maybe(isText),
  trace: () => true,
  inputBytes: isCount,
}

type Raw = { readonly [K in keyof SubmissionRow]: SqlValue }

/** The columns that are looked at whenever a row is read. */
export const checkedColumns = columns

/** Whether a row of these columns decodes, but for what its texts hold. // L3 */
export const isSoundRow = (row: { readonly [K in keyof SubmissionRow]: unknown }): boolean =>
  holds(row, rowChecks) && (row.state === "settled") === (row.outcome !== null)

const decode = (row: Raw | undefined): SubmissionRow | undefined => {
  if (row === undefined) return undefined
  if (!isSoundRow(row)) throw new Unreadable("submissions") // L3
  return row as unknown as SubmissionRow
}

/** The id of the submission with this sequence: the host's, with the sequence in its last digits. */
export const submissionIdOf = (uuid: string, sequence: number): SubmissionId =>
  (uuid.slice(0, -8) + sequence.toString(16).padStart(8, "0")) as SubmissionId // L1

/** The sequence inside an id; the row decides whether the id is its own. */
export const sequenceOf = (id: SubmissionId): number => Number.parseInt(id.slice(-8), 16) // L1

export const readRow = (sql: Sql, sequence: number): SubmissionRow | undefined =>
  decode(sql.all<Raw>(`SELECT ${columns} FROM submissions WHERE sequence = ?`, sequence)[0])

/** By its id; none when this thread has no such submission. */
export const findRow = (sql: Sql, id: SubmissionId): SubmissionRow | undefined => {
  const row = readRow(sql, sequenceOf(id))
  return row?.id === id ? row : undefined
}

const keyChecks = {
  sequence: isCount,
  id: isSubmissionId,
  acceptedAt: isMillis,
  inputDigest: isText,
  resubmissionOf: maybe(isSubmissionId),
}

interface KeyUse extends Pick<SubmissionRow, "sequence" | "id" | "acceptedAt" | "inputDigest"> {
  /** The submission whose work it does again; none unless a resubmission used the key. */
  readonly resubmissionOf: SubmissionId | null
}

/** What an idempotency key of a principal was used for. */
export const findKey = (sql: Sql, key: string, principal: string): KeyUse | undefined => {
  const [first] = sql.all<{ [K in keyof KeyUse]: KeyUse[K] }>(
    `SELECT s.sequence, s.id, s.acceptedAt, s.inputDigest, r.original AS resubmissionOf
     FROM submissions s LEFT JOIN resubmissions r ON r.sequence = s.sequence
     WHERE s.idempotencyKey = ? AND s.principal = ?`,
    key,
    principal,
  )
  if (first !== undefined && !holds(first, keyChecks)) throw new Unreadable("submissions") // L3
  return first
}

/** Notes whose work a submission does again. */
export const linkOriginal = (sql: Sql, sequence: number, original: SubmissionId): void =>
  sql.run("INSERT INTO resubmissions (sequence, original) VALUES (?, ?)", sequence, original)

/** The submission whose work this one does again, if it does. */
export const readOriginal = (sql: Sql, sequence: number): SubmissionId | undefined => {
  const [link] = sql.all<{ original: SubmissionId }>(
    "SELECT original FROM resubmissions WHERE sequence = ?",
    sequence,
  )
  if (link !== undefined && !isSubmissionId(link.original)) throw new Unreadable("resubmissions") // L3
  return link?.original
}

/** The canonical text of an input. */
export const readInput = (sql: Sql, sequence: number): string =>
  sql.all<{ input: string }>("SELECT input FROM submissions WHERE sequence = ?", sequence)[0]
    ?.input ?? ""

/** What an attempt starts from: the input, and the abort that came between its claim and its start. */
export const readStart = (
  sql: Sql,
  sequence: number,
): { readonly input: string; readonly abort: string | null } =>
  sql.all<{ input: string; abort: string | null }>(
    "SELECT input, abort FROM submissions WHERE sequence = ?",
    sequence,
  )[0] ?? { input: "", abort: null }

/**
 * The first ready submission of the queue proper: those without a time of their own, that nobody's word is
 * waited for. A state that means nothing here is found too, so that it is told and holds its place.
 */
export const firstQueued = (sql: Sql, floor: number): SubmissionRow | undefined =>
  decode(
    sql.all<Raw>(
      `SELECT ${columns} FROM submissions
       WHERE sequence >= ? AND state <> 'settled' AND state <> 'unknown'
         AND state <> 'joined' AND notBefore IS NULL ORDER BY sequence LIMIT 1`,
      floor,
    )[0],
  )

/**
 * The queue behind a submission, in order: what has neither settled nor joined, is not parked, and whose time has
 * come.
 */
export const waitingBehind = (
  sql: Sql,
  { after, limit, now }: { readonly after: number; readonly now: number; readonly limit: number },
): ReadonlyArray<SubmissionRow> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM submissions
       WHERE sequence > ? AND state <> 'settled' AND state <> 'unknown' AND state <> 'joined'
         AND (notBefore IS NULL OR notBefore <= ?) ORDER BY sequence LIMIT +?`,
      after,
      now,
      limit,
    )
    .flatMap((row) => decode(row) ?? [])

/**
 * The first queued submission that has neither settled nor joined, and is not parked; the next one if there is none.
 * What is parked holds the queue back for nobody, however long it waits; nor does what the parked one has taken.
 */
export const floorAfter = (sql: Sql, floor: number, lastSequence: number): number =>
  sql.all<{ sequence: number }>(
    `SELECT sequence FROM submissions
     WHERE sequence >= ? AND state <> 'settled' AND notBefore IS NULL AND state <> 'unknown'
       AND state <> 'joined' ORDER BY sequence LIMIT 1`,
    floor,
  )[0]?.sequence ?? lastSequence + 1

/** A sequence that a list beside the ledger names. */
const listed = (table: "parked" | "deferred", sequence: unknown): number => {
  if (!isCount(sequence)) throw new Unreadable(table) // L3
  return sequence as number
}

/** The lowest submission about which somebody's word was given: it goes on before the queue does. */
export const firstResolved = (sql: Sql): SubmissionRow | undefined => {
  const [first] = sql.all<{ sequence: number }>(
    "SELECT sequence FROM parked WHERE resolved = 1 ORDER BY sequence LIMIT 1",
  )
  return first === undefined ? undefined : readRow(sql, listed("parked", first.sequence))
}

/** Takes a submission out of the queue until somebody's word is given. */
export const park = (sql: Sql, sequence: number): void =>
  sql.run("INSERT INTO parked (resolved, sequence) VALUES (0, ?)", sequence)

/** The word was given: it is next after the open run. */
export const unpark = (sql: Sql, sequence: number): void => {
  sql.run("DELETE FROM parked WHERE resolved = 0 AND sequence = ?", sequence)
  sql.run("INSERT INTO parked (resolved, sequence) VALUES (1, ?)", sequence)
}

/** It was claimed again, or has settled. */
export const unlist = (sql: Sql, sequence: number): void =>
  sql.run("DELETE FROM parked WHERE resolved IN (0, 1) AND sequence = ?", sequence)

/** The lowest deferred submission whose time has come. */
export const firstDue = (sql: Sql, now: number): SubmissionRow | undefined => {
  const [due] = sql.all<{ sequence: number | null }>(
    "SELECT min(sequence) AS sequence FROM deferred WHERE notBefore <= ?",
    now,
  )
  const sequence = due?.sequence ?? null
  return sequence === null ? undefined : readRow(sql, listed("deferred", sequence))
}

const deferredAt = (sql: Sql, order: "ASC" | "DESC"): number | undefined => {
  const [found] = sql.all<{ notBefore: number }>(
    `SELECT notBefore FROM deferred ORDER BY notBefore ${order} LIMIT 1`,
  )
  if (found !== undefined && !isMillis(found.notBefore)) throw new Unreadable("deferred") // L3
  return found?.notBefore
}

/** When the next deferred submission takes its place, or took it. Where none is deferred no row is read. */
export const nextDeferredAt = (sql: Sql): number | undefined => {
  const first = deferredAt(sql, "ASC")
  // One that is no time stands behind all that are: the last one tells whether there is any.
  if (first !== undefined) deferredAt(sql, "DESC")
  return first
}

/** A submission that was claimed or settled waits for no time any more. */
export const undefer = (sql: Sql, row: SubmissionRow): void => {
  if (row.notBefore !== null)
    sql.run(
      "DELETE FROM deferred WHERE notBefore = ? AND sequence = ?",
      row.notBefore,
      row.sequence,
    )
}

/** Every submission without a settlement, by sequence. Never its input. */
export const nonterminalRows = (
  sql: Sql,
  tail: { readonly floor: number; readonly open: number | null },
): ReadonlyArray<SubmissionRow> =>
  sql
    .all<Raw>(
      `SELECT ${columns} FROM submissions WHERE sequence >= ? AND state <> 'settled'
       UNION SELECT ${columns} FROM submissions WHERE sequence = ? AND state <> 'settled'
       UNION SELECT ${columns} FROM submissions
       WHERE sequence IN (SELECT sequence FROM deferred) AND state <> 'settled'
       UNION SELECT ${columns} FROM submissions
       WHERE sequence IN (SELECT sequence FROM parked) AND state <> 'settled'
       UNION SELECT ${columns} FROM submissions
       WHERE sequence IN (SELECT sequence FROM joined) AND state <> 'settled'
       ORDER BY sequence`,
      tail.floor,
      tail.open,
    )
    .flatMap((row) => decode(row) ?? [])

/** What is kept of a declared retry: tries used, and when the next one may start. */
export interface StoredRetry {
  readonly tries: number
  readonly dueAt: number
}

/** The object that a column holds as text. */
const objectOf = (text: string): Readonly<Record<string, unknown>> => {
  const value = parsed(text, "submissions")
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw new Unreadable("submissions") // L3
  return value as Readonly<Record<string, unknown>>
}

/** Declared retries, by name. */
export const retriesOf = (row: SubmissionRow): Map<string, StoredRetry> => {
  if (row.retries === null) return new Map()
  const retries = new Map<string, StoredRetry>()
  for (const [name, retry] of Object.entries(objectOf(row.retries))) {
    const { dueAt, tries } = (retry ?? {}) as Partial<StoredRetry>
    if (!isMillis(dueAt) || !isCount(tries)) throw new Unreadable("submissions") // L3
    retries.set(name, retry as StoredRetry)
  }
  return retries
}

/** An abort as it was asked for. */
export interface AbortIntent {
  readonly author: string
  readonly reason: string
  /** Who called. */
  readonly principal: Principal
}

/** The intent in a row. */
export const abortOf = (row: Pick<SubmissionRow, "abort">): AbortIntent | undefined => {
  if (row.abort === null) return undefined
  const { author, principal, reason } = objectOf(row.abort)
  if (![author, principal, reason].every(isText)) throw new Unreadable("submissions") // L3
  return { author, principal, reason } as AbortIntent
}

/** Writes the intent into its row. */
export const writeAbort = (sql: Sql, sequence: number, intent: AbortIntent): void => {
  const { author, principal, reason } = intent
  const text = JSON.stringify({ author, principal, reason })
  sql.run("UPDATE submissions SET abort = ? WHERE sequence = ?", text, sequence)
}

/** The submission that took this one. A joined row names it. */
export const readHost = (sql: Sql, row: SubmissionRow): SubmissionId => {
  const [host] = sql.all<{ id: SubmissionId }>(
    `SELECT id FROM submissions
     WHERE sequence = (SELECT host FROM submissions WHERE sequence = ?)`,
    row.sequence,
  )
  if (host === undefined || !isSubmissionId(host.id)) throw new Unreadable("submissions") // L3
  return host.id
}

/** Whether the submission that took this one has settled. */
export const hostIsSettled = (sql: Sql, row: SubmissionRow): boolean => {
  const host = findRow(sql, readHost(sql, row))
  if (host === undefined) throw new Unreadable("submissions") // L3
  return host.state === "settled"
}

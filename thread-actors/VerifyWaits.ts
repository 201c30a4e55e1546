/**
 * The rows of waits and callbacks against the journal. Pure but for its reads, of which each is bounded.
 *
 * - W1 A row of a wait is there exactly while its run has not settled and nothing answers it.
 * - W2 A request that nothing answers has its row, while its run goes on.
 * - W3 A suspension's time is that of the earliest wait or retry, and a run that waits has something to wait for.
 * - W4 A row of a callback has its record.
 */
import type { Sql } from "../platform/ObjectStorage.ts"
import { findPart } from "./Journal.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { branchesOf } from "./RaceBranch.ts"
import { isCount, isName } from "./StoredColumns.ts"
import { suspensionOf } from "./Suspension.ts"
import { Unreadable } from "./Unreadable.ts"
import {
  answerPart,
  earlyPart,
  firstTimerAt,
  isSoundWait,
  rawWaits,
  type StoredWait,
  tokenPart,
} from "./WaitRows.ts"

type Open = ReadonlyMap<number, SubmissionRow>

const requestKinds: { readonly [K in StoredWait["kind"]]: string } = {
  approval: "ApprovalRequested",
  signal: "SignalAwaited",
  timer: "TimerSet",
  child: "ChildRequested",
}

/** Whether the wait has its answer, which of a signal may have come early. */
const isAnswered = (sql: Sql, { kind, name, submission }: StoredWait): boolean =>
  [answerPart, ...(kind === "signal" ? [earlyPart] : [])].some(
    (part) => findPart(sql, submission, { name, part }) !== undefined,
  )

const decodes = (wait: StoredWait): boolean => {
  try {
    branchesOf(wait.races)
    return true
  } catch (error) {
    if (error instanceof Unreadable) return false
    throw error
  }
}

const wrongWith = (sql: Sql, wait: StoredWait, open: Open): string | undefined => {
  const { kind, name, submission } = wait
  if (!open.has(submission)) return "its submission has settled" // W1
  if (!decodes(wait)) return "its races do not decode"
  if (isAnswered(sql, wait)) return "it is answered" // W1
  const request = findPart(sql, submission, { name, part: 0 })
  if (request === undefined) return "it was never asked for"
  return request.kind === requestKinds[kind] ? undefined : "it was asked for as something else"
}

const rowPlaces = (sql: Sql, open: Open, limit: number): ReadonlyArray<string> =>
  rawWaits(sql, limit).flatMap((raw) => {
    if (!isSoundWait(raw)) return ["a wait: a column holds what it is not for"]
    const wait = raw as unknown as StoredWait
    const what = wrongWith(sql, wait, open)
    return what === undefined ? [] : [`a wait of submission ${wait.submission}: ${what}`]
  })

/** Requests of runs that go on, which nothing answers and no row takes an answer for. // W2 */
const requestPlaces = (sql: Sql, open: Open, limit: number): ReadonlyArray<string> =>
  [...open.keys()].flatMap((submission) =>
    isOver(open.get(submission))
      ? []
      : sql
          .all<{ sequence: number; kind: string }>(
            `SELECT j.sequence, j.kind FROM journal j WHERE j.submission = ? AND j.name IS NOT NULL
               AND j.part = 0 AND j.kind IN ('ApprovalRequested', 'SignalAwaited', 'TimerSet')
               AND NOT EXISTS (SELECT 1 FROM journal k WHERE k.submission = j.submission
                 AND k.name = j.name AND (k.part = ${answerPart}
                   OR (k.part = ${earlyPart} AND j.kind = 'SignalAwaited')))
               AND NOT EXISTS (SELECT 1 FROM waits w WHERE w.submission = j.submission
                 AND w.name = j.name) LIMIT +?`,
            submission,
            limit,
          )
          .map(({ kind, sequence }) => `record ${sequence} (${kind}): no wait takes its answer`),
  )

/** Whether only children are waited for: then all else it waited for has ended. */
const isOver = (row: SubmissionRow | undefined): boolean =>
  row === undefined || kindOf(row) === "children"

const kindOf = (row: SubmissionRow): string | undefined => {
  try {
    return suspensionOf(row)?.kind
  } catch (error) {
    if (error instanceof Unreadable) return undefined // The ledger's to tell.
    throw error
  }
}

/** What a suspension for waits promises. // W3 */
const suspensionPlace = (sql: Sql, row: SubmissionRow): string | undefined => {
  if (kindOf(row) !== "wait") return undefined
  const { dueAt } = suspensionOf(row) as { readonly dueAt: number | null }
  const timerAt = firstTimerAt(sql, row.sequence)
  if (timerAt !== undefined && (dueAt === null || dueAt > timerAt))
    return "it is suspended beyond its first timer"
  const waits = sql.all("SELECT 1 FROM waits WHERE submission = ? LIMIT 1", row.sequence)
  return waits.length === 0 && dueAt === null && row.retries === null
    ? "it is suspended and waits for nothing"
    : undefined
}

const callbackPlaces = (sql: Sql, limit: number): ReadonlyArray<string> =>
  sql
    .all<{ submission: number; name: string; digest: string }>(
      "SELECT submission, name, digest FROM callbacks LIMIT +?",
      limit,
    )
    .flatMap(({ digest, name, submission }) => {
      if (!isCount(submission) || !isName(name))
        return ["a callback: a column holds what it is not for"]
      const record = findPart(sql, submission, { name, part: tokenPart })
      return record?.payload === JSON.stringify({ callback: digest })
        ? []
        : [`a callback of submission ${submission}: its record is another`] // W4
    })

/** Where the rows of waits and callbacks, and what suspensions say, are not what the journal leaves open. */
export const waitPlaces = (sql: Sql, open: Open, limit: number): ReadonlyArray<string> => [
  ...rowPlaces(sql, open, limit),
  ...requestPlaces(sql, open, limit),
  ...[...open.values()].flatMap((row) => {
    const what = suspensionPlace(sql, row)
    return what === undefined ? [] : [`submission ${row.sequence}: ${what}`]
  }),
  ...callbackPlaces(sql, limit),
]

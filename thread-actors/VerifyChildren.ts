/**
 * The rows of children, and the aborts that came before one, against the ledger and the journal. Pure but for its
 * reads, of which each is bounded.
 *
 * - C1 A child has the id and the thread that follow from its run and name, on its request, its row and its answer.
 * - C2 A run has a row for each child that it has asked for, is to see settled, and has no settlement of, as long as
 *   it goes on itself; no other child has one.
 * - C3 A run that only waits for its children has told each of them to end, and so has one that lost a race for it.
 * - C4 A run that goes on and has no answer of a child has a wait that takes it.
 * - C5 On the last page the first rows are looked at, whatever leads to them.
 */
import type { Sql, SqlRow, SqlValue } from "../platform/ObjectStorage.ts"
import { isSoundChild, rawChild, rawChildren } from "./ChildRows.ts"
import { findPart } from "./Journal.ts"
import { messageIdOf } from "./Outbox.ts"
import { isCount, isText } from "./StoredColumns.ts"
import { fieldsOf, type LedgerRow, type PageRecord, type VerifyPage } from "./VerifyPage.ts"
import { at, besideRest, type Found } from "./VerifyRecords.ts"
import { answerPart } from "./WaitRows.ts"

/** A request of this page, with the row of its run. */
interface Asked {
  readonly sql: Sql
  readonly record: PageRecord
  readonly name: string
  readonly said: Readonly<Record<string, unknown>>
  readonly run: LedgerRow
}

const threadOf = (childId: string): string => `child:${childId}`

const isForChildren = ({ suspension }: Pick<LedgerRow, "suspension">): boolean =>
  fieldsOf(suspension)["kind"] === "children"

const hasWait = (sql: Sql, submission: number, name: string): boolean =>
  sql.all(
    "SELECT 1 FROM waits WHERE submission = ? AND name = ? AND kind = 'child'",
    submission,
    name,
  ).length > 0

/** What is wrong with the row of a child that is to have one, or with its absence. // C2 C3 C4 */
const openPlace = ({ name, record, run, said, sql }: Asked): string | undefined => {
  const row = rawChild(sql, record.submission, name)
  const answer = findPart(sql, record.submission, { name, part: answerPart })
  if (answer?.kind === "ChildSettled")
    return row === undefined ? undefined : "it has settled and is waited for"
  if (row === undefined)
    return answer === undefined ? "nothing waits for its settlement" : undefined // C2
  if (row["childId"] !== said["childId"] || row["threadId"] !== said["threadId"])
    return "its row names another child" // C1
  if (row["aborted"] !== 1 && (answer !== undefined || isForChildren(run)))
    return "it was not told to end" // C3
  const isAwaited = answer === undefined && !isForChildren(run)
  return isAwaited === hasWait(sql, record.submission, name)
    ? undefined
    : isAwaited
      ? "no wait takes its answer" // C4
      : "a wait takes an answer that came"
}

const askedPlace = (asked: Asked): string | undefined => {
  const { name, record, run, said, sql } = asked
  const hasRow = rawChild(sql, record.submission, name) !== undefined
  if (said["refused"] !== undefined) return hasRow ? "it was refused and has a row" : undefined
  const childId = messageIdOf("Child", run.id, name)
  if (said["childId"] !== childId) return "its id is not that of its run and name" // C1
  if (said["threadId"] !== threadOf(childId)) return "its thread is not that of its id" // C1
  if (said["detached"] === true) return hasRow ? "it is detached and has a row" : undefined // C2
  if (run.state === "settled") return hasRow ? "its parent has settled before it" : undefined // C2
  return openPlace(asked)
}

const answeredPlace = ({ name, run, said }: Asked): string | undefined =>
  said["childId"] === messageIdOf("Child", run.id, name) ? undefined : "it is of another child" // C1

const recordPlaces = (sql: Sql, page: VerifyPage): ReadonlyArray<string> =>
  page.records.flatMap((record) => {
    const { isSound, kind, name, value } = record
    const run = page.rows.get(record.submission)
    if (!isSound || name === null || value === undefined || run === undefined) return []
    if (!isText(run.id)) return []
    const asked: Asked = { sql, record, name, said: value, run }
    const isAnswer = kind === "ChildSettled"
    if (!isAnswer && kind !== "ChildRequested") return []
    const what = isAnswer ? answeredPlace(asked) : askedPlace(asked)
    return what === undefined ? [] : [at(record, what)]
  })

const strayPlace = (sql: Sql, row: ReturnType<typeof rawChildren>[number]): string | undefined => {
  if (!isSoundChild(row)) return "a column holds what it is not for"
  const submission = Number(row.submission)
  const [run] = sql.all<{ state: SqlValue } & SqlRow>(
    "SELECT state FROM submissions WHERE sequence = ?",
    submission,
  )
  if (run === undefined) return "its submission is not in the ledger"
  const request = findPart(sql, submission, { name: String(row.name), part: 0 })
  if (request?.kind !== "ChildRequested")
    return run.state === "settled" ? "its parent has settled before it" : "it was never asked for"
  return undefined // Its request tells the rest.
}

const markPlaces = (sql: Sql, limit: number): ReadonlyArray<string> =>
  sql
    .all<{ childId: SqlValue; abort: SqlValue }>(
      "SELECT childId, abort FROM abortMarks LIMIT ?",
      limit,
    )
    .flatMap(({ abort, childId }) => {
      const { author, principal, reason } = fieldsOf(abort)
      const isSound = isText(childId) && [author, principal, reason].every(isText)
      return isSound ? [] : ["an abort that came before its child does not decode"]
    })

/** The rows that no record of this page leads to. // C5 */
const strayPlaces = (sql: Sql, rows: ReturnType<typeof rawChildren>): ReadonlyArray<string> =>
  rows.flatMap((row) => {
    const what = strayPlace(sql, row)
    const of = isCount(row.submission) ? ` of submission ${row.submission}` : ""
    return what === undefined ? [] : [`a child${of}: ${what}`]
  })

/** The children that are waited for are those that the records of this page leave open. */
export const children = (sql: Sql, page: VerifyPage, limit: number): Found => {
  const rows = page.isLast ? rawChildren(sql, limit + 1) : []
  const rest = page.isLast ? [...strayPlaces(sql, rows), ...markPlaces(sql, limit)] : []
  return besideRest([...recordPlaces(sql, page), ...rest], rows.length > limit, limit)
}

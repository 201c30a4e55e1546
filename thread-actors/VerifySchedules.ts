/**
 * The rows of schedules. Pure but for its reads, of which each is bounded.
 *
 * - H1 A schedule with a next occurrence is listed as one that comes, and has a time at which it is looked at: that of
 *   the occurrence, or a later one where it could not be accepted, and then it says for what it waits.
 * - H2 What it says could be submitted: its expression means something, or it says that it does not; its input is what
 *   was stored.
 * - H3 The submission that it names is in the ledger.
 */
import { Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import type { SubmissionId } from "../contracts/Identifiers.ts"
import { nextOccurrence } from "../platform/Cron.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { sequenceOf } from "./Ledger.ts"
import { isSoundSchedule, rawSchedules, type ScheduleRow } from "./ScheduleRows.ts"
import type { VerifyPage } from "./VerifyPage.ts"
import { besideRest, type Found, readable, skipped } from "./VerifyRecords.ts"

type Row = ScheduleRow & { readonly comes: number }

/** What is wrong with when it is looked at. // H1 */
const untimely = ({ comes, dueAt, nextAt, tries, waitsFor }: Row): string | undefined => {
  if (comes !== (nextAt === null ? 0 : 1)) return "it is not listed as its next time has it"
  if (nextAt === null) return dueAt === null ? undefined : "it is looked at and never comes"
  if (dueAt === null) return "it comes and nobody looks at it"
  if (tries > 0 !== (waitsFor !== null)) return "it does not say whether, or for what, it waits"
  if (dueAt < nextAt) return "it is looked at before it comes"
  return tries > 0 || dueAt === nextAt ? undefined : "it is looked at later than it comes"
}

const isCanonical = (text: string): boolean => {
  try {
    const again = canonicalJson(JSON.parse(text), readable)
    return Result.isSuccess(again) && again.success.text === text
  } catch {
    return false
  }
}

const isKnown = (sql: Sql, id: SubmissionId): boolean =>
  sql.all("SELECT 1 FROM submissions WHERE sequence = ? AND id = ?", sequenceOf(id), id).length > 0

const wrongWith = (sql: Sql, row: Row): string | undefined => {
  const late = untimely(row)
  if (late !== undefined) return late
  if (row.waitsFor !== "InvalidInput" && Result.isFailure(nextOccurrence(row, row.createdAt)))
    return "its expression means nothing" // H2
  if (!isCanonical(row.input)) return "its input is not canonical JSON" // H2
  if ((row.lastAt === null) !== (row.lastSubmissionId === null))
    return "it does not say when, or what, it gave last"
  return row.lastSubmissionId === null || isKnown(sql, row.lastSubmissionId)
    ? undefined
    : "what it gave last is not in the ledger" // H3
}

/** Schedules decode, and each that comes has a time. They belong to no record: the last page looks at all. */
export const schedules = (sql: Sql, page: VerifyPage, limit: number): Found => {
  if (!page.isLast) return skipped("the last page looks at them")
  const rows = rawSchedules(sql, limit + 1)
  const places = rows.flatMap((row, index) => {
    const what = isSoundSchedule(row)
      ? wrongWith(sql, row as unknown as Row)
      : "a column holds what it is not for"
    return what === undefined ? [] : [`schedule ${index + 1} by name: ${what}`]
  })
  return besideRest(places, rows.length > limit, limit)
}

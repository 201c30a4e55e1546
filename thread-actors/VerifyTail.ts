/**
 * The ledger as a whole, at the end of the journal: what has not settled is all that is left over, and the
 * lists beside the ledger say the same as its rows.
 *
 * - T1 Settled rows are compared with their records page by page; here their number must leave exactly those
 *   that have not settled. So the cost is that of the open ones, whatever the history.
 * - T2 A row of a list is there exactly while its submission is in the state that the list is of.
 * - T3 Whatever a reader of these rows would refuse is a place here.
 */
import { suspensionOf } from "./Suspension.ts"
import { type Header, nonterminalOf } from "./Header.ts"
import type { Sql, SqlValue } from "../platform/ObjectStorage.ts"
import { findLast } from "./Journal.ts"
import { abortOf, nonterminalRows, retriesOf, type SubmissionRow } from "./Ledger.ts"
import { isSoundCall, rawCalls, type StoredCall } from "./OpenCalls.ts"
import { pauseOf } from "./Pause.ts"
import { isCount } from "./StoredColumns.ts"
import { Unreadable } from "./Unreadable.ts"
import { waitPlaces } from "./VerifyWaits.ts"
import { inputHolds } from "./VerifyPage.ts"

interface Lists {
  readonly parked: ReadonlyMap<number, number>
  readonly deferred: ReadonlyMap<number, number>
  readonly joined: ReadonlyMap<number, number>
}

const readLists = (sql: Sql): Lists => ({
  parked: new Map(
    sql
      .all<{ sequence: number; resolved: number }>("SELECT sequence, resolved FROM parked")
      .map((row) => [row.sequence, row.resolved]),
  ),
  deferred: new Map(
    sql
      .all<{ sequence: number; notBefore: number }>("SELECT sequence, notBefore FROM deferred")
      .map((row) => [row.sequence, row.notBefore]),
  ),
  joined: new Map(
    sql
      .all<{ sequence: number; host: number }>("SELECT sequence, host FROM joined")
      .map((row) => [row.sequence, row.host]),
  ),
})

/** What the state of an open row promises. */
const misplaced = (row: SubmissionRow, header: Header, lists: Lists): string | undefined => {
  const isOpen = header.tail.open === row.sequence
  const resolved = lists.parked.get(row.sequence)
  const isClaimed = row.attempts > 0
  if (row.settledSequence !== null || row.outcome !== null) return "it names a settlement"
  const deferredTo = isClaimed || row.state === "joined" ? null : row.notBefore
  if ((lists.deferred.get(row.sequence) ?? null) !== deferredTo)
    return "the list of the deferred ones tells something else" // T2
  switch (row.state) {
    case "unknown":
      if (isOpen) return "it is unknown and its run is open"
      return resolved === 0 ? undefined : "it is unknown and not parked" // T2
    case "ready":
      if (isOpen) return resolved === undefined ? undefined : "it is open and parked"
      return (resolved === 1) === isClaimed && resolved !== 0
        ? undefined
        : "it is ready and its place is not the list's" // T2
    case "running":
    case "suspended":
      if (!isOpen) return `it is ${row.state} and its run is not open`
      return resolved === undefined ? undefined : `it is ${row.state} and parked` // T2
    case "joined":
      return lists.joined.has(row.sequence) ? undefined : "it has joined, and no run has taken it" // T2
    default:
      return undefined
  }
}

/** What an open call and the last record of it disagree about. */
const callPlace = (
  sql: Sql,
  call: StoredCall,
  open: ReadonlyMap<number, SubmissionRow>,
): string | undefined => {
  if (!open.has(call.submission)) return "its submission has settled" // T2
  const last = findLast(sql, call.submission, call.name)
  const kind = call.unknownAt === null ? "ToolPrepared" : "ToolUnknown"
  return last?.kind === kind && last.part === call.part
    ? undefined
    : "the last record of it is another" // T2
}

const callPlaces = (
  sql: Sql,
  open: ReadonlyMap<number, SubmissionRow>,
  limit: number,
): ReadonlyArray<string> =>
  rawCalls(sql, limit).flatMap((call) => {
    if (!isSoundCall(call)) return ["an open call: a column holds what it is not for"] // T3
    const what = callPlace(sql, call as unknown as StoredCall, open)
    return what === undefined ? [] : [`an open call of submission ${call.submission}: ${what}`]
  })

/** Whether the read finds what decodes. */
const decodes = (read: () => unknown): boolean => {
  try {
    read()
    return true
  } catch (error) {
    if (error instanceof Unreadable) return false
    throw error
  }
}

/** Whether the texts in an open row mean something. // T3 */
const textsDecode = (row: SubmissionRow): boolean =>
  decodes(() => [abortOf(row), retriesOf(row), suspensionOf(row)])

/** What does not decode in the thread's own row, and in the counters of its last record. // T3 */
const headerPlaces = (sql: Sql, header: Header): ReadonlyArray<string> => {
  const [meta] = sql.all<{ pause: SqlValue; title: SqlValue }>(
    "SELECT pause, title FROM meta WHERE id = 1",
  )
  const pauseHolds = (meta?.pause ?? null) === null || pauseOf(header) !== undefined
  return [
    ...(header.unreadable === "meta" ? ["the row of the thread does not decode"] : []),
    ...(header.unreadable === "journal" ? ["the counters of the last record do not decode"] : []),
    ...(pauseHolds ? [] : ["who paused the thread does not decode"]),
    ...((meta?.title ?? null) === header.title ? [] : ["the title does not decode"]),
  ]
}

/** Rows of the lists beside the ledger that name nothing. // T3 */
const listPlaces = ({ deferred, joined, parked }: Lists): ReadonlyArray<string> =>
  [...parked, ...deferred, ...joined].every((entry) => entry.every(isCount))
    ? []
    : ["a list beside the ledger holds what does not decode"]

const readOpen = (sql: Sql, header: Header): ReadonlyArray<SubmissionRow> | undefined => {
  try {
    return nonterminalRows(sql, header.tail)
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

/** The places where the ledger as a whole is not what the journal leaves over. */
export const tailPlaces = (sql: Sql, header: Header, limit: number): ReadonlyArray<string> => {
  const rows = readOpen(sql, header)
  const broken = headerPlaces(sql, header)
  if (rows === undefined) return [...broken, "a submission that has not settled does not decode"]
  const open = new Map(rows.map((row) => [row.sequence, row]))
  const lists = readLists(sql)
  const found: Array<string> = [...broken, ...listPlaces(lists)]
  const expected = nonterminalOf(header)
  if (rows.length !== expected)
    found.push(`${rows.length} submissions have not settled, and ${expected} should`) // T1
  const parked = rows.filter((row) => row.state === "unknown").length
  if (parked !== header.parked)
    found.push(`${parked} submissions are unknown, not ${header.parked}`)
  const { open: openRun } = header.tail
  if (openRun !== null && !open.has(openRun))
    found.push(`submission ${openRun}: its run is open, and it has settled`)
  for (const sequence of [lists.parked, lists.deferred, lists.joined].flatMap((one) => [
    ...one.keys(),
  ]))
    if (!open.has(sequence)) found.push(`submission ${sequence}: it is listed, and has settled`) // T2
  for (const sequence of lists.joined.keys())
    if ((open.get(sequence)?.state ?? "joined") !== "joined")
      found.push(`submission ${sequence}: it is taken, and has not joined`) // T2
  for (const row of rows) {
    const what = misplaced(row, header, lists)
    if (!textsDecode(row)) found.push(`submission ${row.sequence}: a text in it does not decode`)
    if (what !== undefined) found.push(`submission ${row.sequence}: ${what}`)
    else if (row.attempts === 0 && !inputHolds(sql, row))
      found.push(`submission ${row.sequence}: its input is another than its digest's`)
  }
  return [...found, ...callPlaces(sql, open, limit), ...waitPlaces(sql, open, limit)]
}

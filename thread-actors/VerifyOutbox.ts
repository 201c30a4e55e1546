/**
 * The rows of the outbox against the ledger and the journal. Pure but for its reads, of which each is bounded.
 *
 * - X1 A row is compared on the page that has the record it carries; on the last page the first rows are, whatever
 *   leads to them, so that one which carries nothing is found, too.
 * - X2 An entry carries one fact: its id is that of the fact, the fact is there, and it goes where the fact says.
 * - X3 Of each target the first row that is not parked has a time and no other has, so that none of them waits for
 *   ever; and those of one target stand in the order of their facts, unless somebody had one carried again.
 * - X4 Only messages and detached children are parked, and each says why; only messages have a deadline.
 *
 * What was carried and acknowledged leaves nothing behind: that a row is missing cannot be told from that.
 */
import type { MessageId } from "../contracts/Identifiers.ts"
import type { Sql, SqlRow } from "../platform/ObjectStorage.ts"
import { bytesOf, findPart, findRecordedAt } from "./Journal.ts"
import {
  isSoundEntry,
  messageIdOf,
  type OutboxKind,
  rawEntries,
  rawEntriesOf,
  type StoredEntry,
  targetOf,
} from "./Outbox.ts"
import { isText } from "./StoredColumns.ts"
import { fieldsOf, type PageRecord, type VerifyPage } from "./VerifyPage.ts"
import { besideRest, type Found } from "./VerifyRecords.ts"

type Fields = Readonly<Record<string, unknown>>

/** What a row of the ledger says of who sends. */
interface SenderRow extends SqlRow {
  readonly id: string
  readonly state: string
  readonly parent: string | null
  readonly principal: string
}

interface Sent {
  readonly sql: Sql
  readonly ownerId: string
  readonly entry: StoredEntry
  readonly row: SenderRow
}

/** The ids that what a record says could have been queued under. // X2 */
const idsOf = (record: PageRecord, page: VerifyPage): ReadonlyArray<MessageId> => {
  const id = page.rows.get(record.submission)?.id
  if (!isText(id) || id === undefined) return []
  const under = (kind: OutboxKind) => messageIdOf(kind, id, record.name ?? "")
  switch (record.kind) {
    case "MessageQueued":
      return [under("Message")]
    case "ChildRequested":
      return [under("Child"), under("ChildAbort"), under("ChildAsk")]
    case "Settled":
      return [under("ChildNotice")]
    default:
      return []
  }
}

const recordOf = ({ entry, sql }: Sent) =>
  findPart(sql, entry.submission, { name: entry.name, part: 0 })

/** Whether it goes where a fact has it go. */
const goesTo = ({ entry }: Sent, ownerId: unknown, threadId: unknown): boolean =>
  entry.target === targetOf({ ownerId, threadId } as Parameters<typeof targetOf>[0])

const otherMessage = (sent: Sent): string | undefined => {
  const record = recordOf(sent)
  if (record?.kind !== "MessageQueued") return "no record says that it was sent"
  const said = fieldsOf(record.payload)
  if (!goesTo(sent, said["ownerId"], said["threadId"])) return "its record names another target"
  return sent.entry.bytes === bytesOf(record.payload) ? undefined : "its size is another"
}

/** The request of the child that an entry is about. */
const requestOf = (sent: Sent): Fields | string => {
  const record = recordOf(sent)
  if (record?.kind !== "ChildRequested") return "no record asks for the child"
  const said = fieldsOf(record.payload)
  if (said["refused"] !== undefined) return "its child was refused"
  return goesTo(sent, sent.ownerId, said["threadId"]) ? said : "its record names another target"
}

const otherChild = (sent: Sent): string | undefined => {
  const said = requestOf(sent)
  if (typeof said === "string") return said
  const waits = said["detached"] !== true && sent.entry.parkedAt !== null
  return waits ? "it is parked, and its run waits for it" : undefined // X4
}

const otherAbort = (sent: Sent): string | undefined => {
  const said = requestOf(sent)
  if (typeof said === "string") return said
  if (said["detached"] === true) return "its child is detached"
  const { entry, row, sql } = sent
  const words = fieldsOf(entry.payload)
  const { author, principal, reason } = words
  if (![author, reason].every(isText) || principal !== row.principal)
    return "its words do not decode"
  if (words["childId"] !== said["childId"]) return "it names another child"
  const [child] = sql.all<{ aborted: number }>(
    "SELECT aborted FROM children WHERE submission = ? AND name = ?",
    entry.submission,
    entry.name,
  )
  return child === undefined || child.aborted === 1
    ? undefined
    : "its child was not told to end by then"
}

const otherAsk = (sent: Sent): string | undefined => {
  const said = requestOf(sent)
  if (typeof said === "string") return said
  if (said["detached"] === true) return "its child is detached"
  const { childId, principal } = fieldsOf(sent.entry.payload)
  if (principal !== sent.row.principal) return "its words do not decode"
  return childId === said["childId"] ? undefined : "it names another child"
}

const otherNotice = (sent: Sent): string | undefined => {
  const { entry, ownerId, row } = sent
  if (row.state !== "settled") return "its submission has not settled"
  if (entry.name !== "") return "it has a name"
  const { childId, threadId } = fieldsOf(row.parent)
  if (!isText(childId)) return "its submission is nobody's child"
  return goesTo(sent, ownerId, threadId) ? undefined : "its submission has another parent"
}

const others: { readonly [K in OutboxKind]: (sent: Sent) => string | undefined } = {
  Message: otherMessage,
  Child: otherChild,
  ChildAbort: otherAbort,
  ChildAsk: otherAsk,
  ChildNotice: otherNotice,
}

/** What a parked entry, or one that is to be carried, promises. // X4 */
const misparked = ({ deadlineAt, kind, nextAt, parkedAt, parkedFor }: StoredEntry) => {
  if ((kind === "Message") !== (deadlineAt !== null))
    return kind === "Message" ? "it has no deadline" : "it has a deadline"
  if ((parkedAt === null) !== (parkedFor === null) || parkedFor === "")
    return "it does not say whether, or for what, it is parked"
  if (parkedAt === null) return undefined
  if (kind !== "Message" && kind !== "Child") return "it is parked, and neither message nor child"
  return nextAt === null ? undefined : "it is parked and to be carried"
}

/** The entry of the same target that is carried before this one. */
const before = (sql: Sql, { sequence, target }: StoredEntry) =>
  sql.all<{ submission: number; name: string; kind: string }>(
    `SELECT submission, name, kind FROM outbox
     WHERE target = ? AND sequence < ? AND parkedAt IS NULL ORDER BY sequence DESC LIMIT 1`,
    target,
    sequence,
  )[0]

/** Whether it was queued with its fact, and stands behind one of a later time. // X3 */
const isOvertaken = (
  sql: Sql,
  entry: StoredEntry,
  other: { readonly submission: number; readonly name: string },
): boolean => {
  const own = findRecordedAt(sql, entry.submission, { name: entry.name, part: 0 })
  const first = findRecordedAt(sql, other.submission, { name: other.name, part: 0 })
  if (own === undefined || first === undefined) return false
  return own === entry.queuedAt && first > own
}

const misordered = (sql: Sql, entry: StoredEntry): string | undefined => {
  if (entry.parkedAt !== null) return undefined
  const first = before(sql, entry)
  if ((first === undefined) !== (entry.nextAt !== null))
    return first === undefined
      ? "it is the first of its target and nobody is to carry it"
      : "it is to be carried before the first of its target"
  return first?.kind === "Message" && entry.kind === "Message" && isOvertaken(sql, entry, first)
    ? "it stands behind what was sent later"
    : undefined
}

const wrongWith = (sql: Sql, ownerId: string, entry: StoredEntry): string | undefined => {
  const [row] = sql.all<SenderRow>(
    "SELECT id, state, parent, principal FROM submissions WHERE sequence = ?",
    entry.submission,
  )
  if (row === undefined) return "its submission is not in the ledger"
  if (entry.id !== messageIdOf(entry.kind, row.id, entry.name)) return "its id is not its fact's" // X2
  return (
    others[entry.kind]({ sql, ownerId, entry, row }) ?? misparked(entry) ?? misordered(sql, entry)
  )
}

/** The entries of this page: those of its records, and on the last the first of all. // X1 */
const entriesFor = (sql: Sql, page: VerifyPage, limit: number) => {
  const ids = page.records.flatMap((record) => (record.isSound ? idsOf(record, page) : []))
  const rows = [...rawEntriesOf(sql, ids), ...(page.isLast ? rawEntries(sql, limit + 1) : [])]
  const found = [...new Map(rows.map((row) => [row.sequence, row])).values()].toSorted(
    (one, other) => Number(one.sequence) - Number(other.sequence),
  )
  return { found, isMore: page.isLast && found.length > limit }
}

/** What is to be carried is what the records of this page say. */
export const outbox = (sql: Sql, ownerId: string, page: VerifyPage, limit: number): Found => {
  const { found, isMore } = entriesFor(sql, page, limit)
  const places = found.flatMap((raw) => {
    if (!isSoundEntry(raw)) return ["an entry: a column holds what it is not for"]
    const entry = raw as unknown as StoredEntry
    const what = wrongWith(sql, ownerId, entry)
    return what === undefined ? [] : [`entry ${entry.sequence} (${entry.kind}): ${what}`]
  })
  return besideRest(places, isMore, limit)
}

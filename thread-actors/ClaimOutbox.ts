/**
 * What the outbox has for its owner to carry now.
 *
 * - C1 It is a look: nothing is lent, and nothing changes. Whoever was given an entry may carry it late, or beside
 *   somebody else: its target takes it once by its id, and those of one target are given in their order each time.
 * - C2 What an entry says is read from the record, or the settlement, that it carries.
 */
import { Result } from "effect"
import type { Unavailable } from "../contracts/Errors.ts"
import type { Generation, ThreadId } from "../contracts/Identifiers.ts"
import type { OutboxEntry } from "../contracts/Outbox.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { behindFence } from "./Fence.ts"
import { type Header, readHeader } from "./Header.ts"
import { findPart } from "./Journal.ts"
import { readRow, type SubmissionRow } from "./Ledger.ts"
import { dueTargets, entriesOf, type StoredEntry, traceOfEntry } from "./Outbox.ts"
import { parentOf } from "./Parent.ts"
import { readSettlement } from "./Status.ts"
import { clockOf, type Thread } from "./Thread.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

export interface OutboxQuery {
  readonly limit: number
  readonly generation: Generation
}

type Entry = Exclude<OutboxEntry, { readonly _tag: "Unrecognized" }>
type Fields = Readonly<Record<string, never>>

const rowOf = (sql: Sql, entry: StoredEntry): SubmissionRow => {
  const row = readRow(sql, entry.submission)
  if (row === undefined) throw new Unreadable("outbox")
  return row
}

/** What the record says that asked for it. // C2 */
const recordedIn = (sql: Sql, entry: StoredEntry): Fields => {
  const record = findPart(sql, entry.submission, { name: entry.name, part: 0 })
  if (record === undefined) throw new Unreadable("outbox")
  return parsed(record.payload, "journal") as Fields
}

const message = (sql: Sql, header: Header, entry: StoredEntry): Entry => {
  const { submission: _s, ...said } = recordedIn(sql, entry)
  const row = rowOf(sql, entry)
  const { ownerId, threadId } = header
  const from = { ownerId, threadId, submissionId: row.id }
  return {
    _tag: "Message",
    id: entry.id,
    principal: row.principal,
    from,
    ...said,
    ...traceOfEntry(entry),
  } as unknown as Entry
}

const child = (sql: Sql, header: Header, entry: StoredEntry): Entry => {
  const row = rowOf(sql, entry)
  const { agent, depth, input, threadId, title } = recordedIn(sql, entry)
  const { name } = entry
  return {
    _tag: "Child",
    id: entry.id,
    agent,
    input,
    threadId,
    ...(title === undefined ? {} : { title }),
    principal: row.principal,
    parent: { depth, name, submissionId: row.id, threadId: header.threadId },
    ...traceOfEntry(entry),
  } as unknown as Entry
}

/** A word about a child, in which its thread is not said. */
const aboutChild = (entry: StoredEntry, _tag: "ChildAbort" | "ChildAsk"): Entry => {
  const said = parsed(entry.payload, "outbox") as Fields
  const threadId = entry.target.split("/")[1] as ThreadId
  return { _tag, id: entry.id, threadId, ...said } as unknown as Entry
}

/** None for one that is nobody's child, or has no settlement: then there is nothing to tell. */
const childNotice = (sql: Sql, entry: StoredEntry): Entry => {
  const row = rowOf(sql, entry)
  const parent = parentOf(row)
  const settlement = readSettlement(sql, row)
  if (parent === undefined || settlement === undefined) throw new Unreadable("outbox")
  const { childId, name, submissionId, threadId } = parent
  return {
    _tag: "ChildNotice",
    id: entry.id,
    threadId,
    submissionId,
    name,
    childId,
    settlement,
  } as unknown as Entry
}

const entryOf = (sql: Sql, header: Header, entry: StoredEntry): Entry => {
  switch (entry.kind) {
    case "Message":
      return message(sql, header, entry)
    case "Child":
      return child(sql, header, entry)
    case "ChildAbort":
    case "ChildAsk":
      return aboutChild(entry, entry.kind)
    case "ChildNotice":
      return childNotice(sql, entry)
  }
}

/** What one answer holds at most, unless a single entry is larger. */
const bytesMax = 1_048_576

/** The rows to be given: due targets in the order of their times, each from its first row on. */
const chosen = (sql: Sql, now: number, limit: number): ReadonlyArray<StoredEntry> => {
  const entries: Array<StoredEntry> = []
  let bytes = 0
  for (const target of dueTargets(sql, now, limit))
    for (const entry of entriesOf(sql, target, limit - entries.length)) {
      bytes += entry.bytes
      if (entries.length > 0 && bytes > bytesMax) return entries
      entries.push(entry)
    }
  return entries
}

/** What is to be carried now, in order for each target. // C1 */
export const claimOutbox = (
  thread: Thread,
  { generation, limit }: OutboxQuery,
): Result.Result<ReadonlyArray<OutboxEntry>, Unavailable> => {
  if (!thread.hasTables) return Result.succeed([])
  const { sql } = thread.host.storage
  const header = thread.header ?? readHeader(sql)
  if (header.fence !== null && generation <= header.fence) return Result.fail(behindFence)
  return Result.succeed(
    chosen(sql, clockOf(thread), limit).map((entry) => entryOf(sql, header, entry)),
  )
}

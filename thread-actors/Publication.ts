/**
 * Publication: what a sink of the deployment is to have of this thread, and what waits for that.
 *
 * - P1 In a deployment that publishes no attempt is claimed while the sink lacks a record. That is decided in the
 *   block that claims, from rows alone.
 * - P2 A claim of records is a look: nothing is lent, and nothing changes. The cursor moves by the acknowledgement.
 * - P3 The cursor only rises. A word about records that are not here, as after a restored backup, moves nothing.
 * - P4 What a run records goes once its attempt has come to rest: not a message for every step.
 */
import { type Effect, Result } from "effect"
import type { Unavailable } from "../contracts/Errors.ts"
import type { Generation } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { FullRecord } from "../contracts/Publication.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { type Block, touch, transactFirst } from "./Block.ts"
import { publicationCursor, writeCursor } from "./Cursors.ts"
import { durable, type ReadFailure } from "./Durable.ts"
import { behindFence, fenced } from "./Fence.ts"
import { type Header, readHeader } from "./Header.ts"
import { recordsAfter } from "./History.ts"
import type { Identity } from "./Identity.ts"
import { bytesOf } from "./Journal.ts"
import type { SubmissionRow } from "./Ledger.ts"
import { startsAt } from "./Suspension.ts"
import { clockOf, type Thread } from "./Thread.ts"

/** How many records the sink lacks; none in a deployment that does not publish. */
export const countUnpublished = (
  { options }: Pick<Thread, "options">,
  { published, tail, unreadable }: Header,
): number =>
  options.publishes === true && unreadable === undefined
    ? Math.max(0, tail.sequence - published)
    : 0

/** Whether no attempt may be claimed, for the records that the sink lacks. // P1 */
export const owesRecords = (thread: Pick<Thread, "options">, header: Header): boolean =>
  countUnpublished(thread, header) > 0

/** Whether an attempt may record something yet. One whose end is written does not, though it is the live one for a moment. */
const isAtWork = ({ host, live }: Thread): boolean =>
  live !== undefined &&
  host.storage.sql.all(
    "SELECT 1 FROM submissions WHERE sequence = ? AND epoch = ? AND state = 'running'",
    live.sequence,
    live.epoch,
  ).length > 0

/** When records want to be published: now, unless an attempt makes some. // P4 */
export const publishAt = (thread: Thread, header: Header): number | undefined =>
  owesRecords(thread, header) && !isAtWork(thread) ? 0 : undefined

/** Since when the sink lacks the first of the records that it lacks; none where it lacks none. */
export const publicationSince = (thread: Thread, header: Header): number | undefined =>
  publishAt(thread, header) === undefined
    ? undefined
    : thread.host.storage.sql.all<{ recordedAt: number }>(
        "SELECT recordedAt FROM journal WHERE sequence = ?",
        header.published + 1,
      )[0]?.recordedAt

/** The wait of a head for it that could start otherwise, as a report tells it. */
export const publicationWaits = (
  thread: Thread,
  header: Header,
  head: SubmissionRow | undefined,
): LaneReport["waits"] => {
  if (head === undefined || startsAt(head) > clockOf(thread)) return []
  const since = publicationSince(thread, header)
  return since === undefined
    ? []
    : [
        {
          submissionId: head.id,
          blocker: "publication",
          sinceAt: Math.max(since, head.acceptedAt),
        },
      ]
}

export interface PublicationQuery {
  readonly limit: number
  readonly bytes: number
  readonly generation: Generation
}

/** The first records that the sink lacks: as many as their size as JSON lets be, one at least. */
export const unpublished = (
  sql: Sql,
  { published }: Header,
  { bytes, limit }: Pick<PublicationQuery, "limit" | "bytes">,
): ReadonlyArray<FullRecord> => {
  const chosen: Array<FullRecord> = []
  let size = 0
  for (const record of recordsAfter(sql, published, { records: limit, bytes })) {
    size += bytesOf(JSON.stringify(record)) + 1
    if (chosen.length > 0 && size > bytes) break
    chosen.push(record)
  }
  return chosen
}

/** What is to be published next, in its order. // P2 */
export const claimPublication = (
  thread: Thread,
  query: PublicationQuery,
): Result.Result<ReadonlyArray<FullRecord>, Unavailable> => {
  if (!thread.hasTables) return Result.succeed([])
  const { sql } = thread.host.storage
  const header = thread.header ?? readHeader(sql)
  if (header.fence !== null && query.generation <= header.fence) return Result.fail(behindFence)
  return Result.succeed(
    publishAt(thread, header) === undefined ? [] : unpublished(sql, header, query),
  )
}

export interface Published extends Identity {
  readonly through: number
  readonly generation: Generation
}

const acknowledgeIn = (
  block: Block,
  { generation, through }: Published,
): Result.Result<void, Unavailable> => {
  const late = fenced(block, generation)
  if (late !== undefined) return Result.fail(late)
  const { published, tail } = block.header
  if (through > published && through <= tail.sequence) {
    writeCursor(block.sql, publicationCursor, through) // P3
    block.header = { ...block.header, published: through }
    touch(block)
  }
  return Result.succeed(undefined)
}

/** Takes the word that the sink has every record up to one. */
export const acknowledgePublication = (
  thread: Thread,
  call: Published,
): Effect.Effect<Result.Result<void, Unavailable>, ReadFailure> =>
  durable(thread, "publish", () =>
    transactFirst(thread, call, (block) => acknowledgeIn(block, call)),
  )

/**
 * What a bulk command means: a page of open submissions, by thread id and, rising or falling, by sequence. The owner's
 * rows tell which threads may have some, the threads tell which. Nothing is written.
 *
 * - K1 A page looks at a bounded number of lanes and asks a bounded number of threads, a few at once.
 * - K2 A thread that does not answer is told as such, and the page goes on behind it.
 * - K3 What is behind the end of a page is found by the next one, and nothing twice. A cursor adds no thread to those
 *   that are named: it came from the caller.
 * - K4 A page that begins in the midst of a thread does not ask again what holds it: the commands of the page before
 *   may have ended that.
 */
import { Effect, Result } from "effect"
import type { BulkCursor, BulkFilter, OpenSubmission } from "../contracts/Bulk.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import { within } from "./Call.ts"
import type { Caller } from "./Command.ts"
import { readFault } from "./FaultTable.ts"
import type { Lane } from "./Lane.ts"
import { pageLanes, readLane } from "./LaneTable.ts"
import { unanswered } from "./Mutation.ts"
import { heldBy } from "./Obligations.ts"
import { addressOf } from "./Owner.ts"
import { reading } from "./Reading.ts"

export interface BulkQuery {
  readonly filter: BulkFilter
  readonly after?: BulkCursor
  readonly limit?: number
  /** Whether the last of a thread comes first. */
  readonly falling?: boolean
}

/** An open submission that is meant, and where. */
export interface Meant extends OpenSubmission {
  readonly threadId: ThreadId
}

/** The threads of a page that may have open submissions, and where the next page goes on. */
interface Candidates {
  readonly threadIds: ReadonlyArray<ThreadId>
  readonly next: BulkCursor | undefined
}

/** Whether the owner's row allows that something is open there. What is being forgotten ends with it. */
const mayOwe = ({ enrolled, marks, mustVisit, report }: Lane): boolean =>
  marks.condemned === undefined &&
  (report === undefined || report.nonterminal > 0 || enrolled !== undefined || mustVisit)

const isHeldBy = ({ owner }: Caller, lane: Lane, blocker: BulkFilter["blocker"]): boolean => {
  if (blocker === undefined) return true
  const { sql } = owner.host.storage
  const fault = lane.marks.faultRetryAt === undefined ? undefined : readFault(sql, lane.threadId)
  return heldBy(lane, { fault, now: owner.host.now() })?.blocker === blocker
}

/** Lanes read at a time. */
const batch = 128

/** The lanes behind a thread, by its id: all, or those that are named. */
function* lanesFrom({ owner }: Caller, { filter }: BulkQuery, from: string, limit: number) {
  const { sql } = owner.host.storage
  if (filter.threadIds !== undefined) {
    const named = [...new Set(filter.threadIds)].filter((threadId) => threadId > from)
    for (const threadId of named.toSorted()) yield { threadId, lane: readLane(sql, threadId) }
    return
  }
  let after = from
  for (let looked = 0; looked < limit;) {
    const lanes = pageLanes(sql, { after, limit: Math.min(batch, limit - looked) })
    for (const lane of lanes) yield { threadId: lane.threadId, lane }
    looked += lanes.length
    const last = lanes.at(-1)
    if (last === undefined) return
    after = last.threadId
  }
}

/** The thread in which the page before ended, if it is meant: it is asked again. */
const beganIn = ({ after, filter: { threadIds } }: BulkQuery) =>
  after?.sequence === undefined || threadIds?.includes(after.threadId) === false // K3
    ? []
    : [after.threadId]

const candidatesOf = (caller: Caller, query: BulkQuery): Candidates => {
  const { life, owner } = caller
  const { bulkLanes, bulkThreads } = owner.limits
  const { after, filter } = query
  if (life.version === 0) return { threadIds: [], next: undefined }
  const threadIds = beganIn(query).filter((threadId) => {
    const lane = readLane(owner.host.storage.sql, threadId)
    return lane !== undefined && mayOwe(lane) // K4
  })
  let looked = 0
  for (const { lane, threadId } of lanesFrom(caller, query, after?.threadId ?? "", bulkLanes)) {
    looked += 1
    if (lane !== undefined && mayOwe(lane) && isHeldBy(caller, lane, filter.blocker))
      threadIds.push(threadId)
    if (threadIds.length >= bulkThreads || looked >= bulkLanes)
      return { threadIds, next: { threadId } } // K1
  }
  return { threadIds, next: undefined }
}

const ask = ({ life, owner }: Caller, query: BulkQuery, threadId: ThreadId, limit: number) => {
  const { acceptedBefore, agent, state } = query.filter
  const sequence = query.after?.threadId === threadId ? query.after.sequence : undefined
  const call = owner.threads.listOpen({
    ...addressOf(life, threadId),
    ...(acceptedBefore === undefined ? {} : { acceptedBefore }),
    ...(agent === undefined ? {} : { agent }),
    ...(state === undefined ? {} : { state }),
    ...(query.falling === true ? { falling: true } : {}),
    ...(sequence === undefined ? {} : { after: sequence }),
    limit,
  })
  const answer = Effect.catchTag(within(owner.limits.visitMillis, call), "NoAnswer", () =>
    Effect.fail(unanswered),
  )
  return Effect.map(Effect.result(answer), (page) => ({ threadId, page }))
}

type Asked = Effect.Success<ReturnType<typeof ask>>

const meantOf = ({ page, threadId }: Asked): ReadonlyArray<Meant> =>
  Result.isSuccess(page)
    ? page.success.submissions.map((submission) => ({ threadId, ...submission }))
    : []

const isMore = (page: Asked["page"]): boolean => Result.isSuccess(page) && page.success.more

/** Asks threads, a few at once and in their order, until a page is full. */
const askUntilFull = (
  caller: Caller,
  query: BulkQuery,
  threadIds: ReadonlyArray<ThreadId>,
  limit: number,
) =>
  Effect.gen(function* () {
    const { bulkSlots } = caller.owner.limits
    const asked: Array<Asked> = []
    let found = 0
    for (let from = 0; from < threadIds.length && found < limit; from += bulkSlots) {
      const some = threadIds.slice(from, from + bulkSlots)
      const answers = yield* Effect.forEach(
        some,
        (threadId) => ask(caller, query, threadId, limit),
        { concurrency: "unbounded" },
      )
      asked.push(...answers)
      found += answers.reduce((sum, answer) => sum + meantOf(answer).length, 0)
    }
    return asked
  })

/** What makes a page out of the answers, and where the next one goes on. Pure. // K3 */
const pageOf = (asked: ReadonlyArray<Asked>, { next, threadIds }: Candidates, limit: number) => {
  const all = asked.flatMap(meantOf)
  const meant = all.slice(0, limit)
  const isCut = all.length > limit || asked.some(({ page }) => isMore(page))
  const end = isCut ? meant.at(-1) : undefined
  const lastAsked = asked.length < threadIds.length ? asked.at(-1)?.threadId : undefined
  const on: BulkCursor | undefined =
    end === undefined
      ? lastAsked === undefined
        ? next
        : { threadId: lastAsked }
      : { threadId: end.threadId, sequence: end.sequence }
  const silent = asked.flatMap(({ page, threadId }) =>
    Result.isFailure(page) && (end === undefined || threadId < end.threadId)
      ? [{ threadId, error: page.failure }]
      : [],
  ) // K2
  return { meant, unanswered: silent, ...(on === undefined ? {} : { next: on }) }
}

/** One page of what is meant. */
export const look = (caller: Caller, query: BulkQuery) =>
  Effect.gen(function* () {
    const { bulkSubmissions } = caller.owner.limits
    const limit = Math.max(1, Math.min(query.limit ?? bulkSubmissions, bulkSubmissions))
    const candidates = yield* reading("bulk", () => candidatesOf(caller, query))
    const asked = yield* askUntilFull(caller, query, candidates.threadIds, limit)
    return pageOf(asked, candidates, limit)
  })

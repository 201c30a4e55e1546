/**
 * `listThreads`: all lanes by id, or those that are asked for, found in the directory.
 *
 * The directory only finds; what is told of a thread is read from its lane, and one that no longer matches is not
 * told.
 *
 * Invariants
 * - Y1 A page looks at a bounded number of rows, and says where the next one goes on.
 * - Y2 A list by id needs no directory: where there is none, or none that holds everything, the lanes are looked at.
 * - Y3 A cursor names a place, not a page: rows that come and go move nobody else.
 */
import { Effect } from "effect"
import { InvalidInput } from "../contracts/Errors.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { ThreadCondition, ThreadPage } from "../contracts/ListThreads.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import { type Sql, type SqlValue, StorageFailure } from "../platform/ObjectStorage.ts"
import type { Lane } from "./Lane.ts"
import { pageLanes, readLane } from "./LaneTable.ts"
import type { Life } from "./Life.ts"
import { failed } from "./Projected.ts"
import { isBuilt, isUsable } from "./Projections.ts"
import { folded } from "./ProjectionTables.ts"
import { conditionOf, summaryOf, toTheMinute } from "./Shown.ts"

export interface ThreadQuery {
  readonly after?: string
  readonly limit?: number
  readonly state?: ThreadCondition
  readonly text?: string
  readonly activeAfter?: number
  readonly activeBefore?: number
  readonly order?: "thread" | "activity"
}

/** A place in the order of activity; an id alone is one in the order of ids. */
interface Place {
  readonly activeAt: number
  readonly threadId: string
}

const placeOf = (cursor: string): Place | undefined => {
  const at = cursor.indexOf("~")
  const activeAt = Number(cursor.slice(0, at))
  if (at < 1 || !Number.isSafeInteger(activeAt) || activeAt < 0) return undefined
  return { activeAt, threadId: cursor.slice(at + 1) }
}

const cursorOf = ({ activeAt, threadId }: Place): string => `${activeAt}~${threadId}`

/** A cursor of the other order is no place in this one. */
export const checkThreadQuery = ({
  after,
  order,
}: ThreadQuery): Effect.Effect<void, InvalidInput> =>
  order === "activity" && after !== undefined && placeOf(after) === undefined
    ? Effect.fail(
        new InvalidInput({
          path: "after",
          reason: "it is not the `next` of a list in the order of activity",
        }),
      )
    : Effect.void

/** Whether a lane is one of those that are asked for. Pure. */
const matches = (lane: Lane, { activeAfter, activeBefore, state, text }: ThreadQuery): boolean => {
  const { activeAt = 0 } = lane
  if (state !== undefined && conditionOf(lane) !== state) return false
  if (activeAfter !== undefined && activeAt <= activeAfter) return false
  if (activeBefore !== undefined && activeAt >= activeBefore) return false
  if (text === undefined) return true
  return folded(`${lane.report?.title ?? ""}\n${lane.threadId}`).includes(folded(text))
}

/** Where a page stands while it is made. */
interface Found {
  readonly lanes: Array<Lane>
  /** The last row that was looked at. */
  last: Place | undefined
}

const pageOf = (found: Found, more: boolean, order: ThreadQuery["order"]): ThreadPage => {
  const { last, lanes } = found
  const threads = lanes.map(summaryOf)
  if (!more || last === undefined) return { threads }
  return { threads, next: order === "activity" ? cursorOf(last) : last.threadId }
}

/** By id, from the lanes themselves. // Y2 */
const fromLanes = (sql: Sql, query: ThreadQuery, limit: number, looksMax: number): ThreadPage => {
  const found: Found = { lanes: [], last: undefined }
  let after = query.after ?? ""
  for (let looked = 0; looked < looksMax;) {
    const asked = Math.min(limit + 1, looksMax - looked)
    const lanes = pageLanes(sql, { after, limit: asked })
    for (const lane of lanes) {
      if (found.lanes.length === limit) return pageOf(found, true, "thread")
      if (matches(lane, query)) found.lanes.push(lane)
      after = lane.threadId
      found.last = { activeAt: 0, threadId: after }
    }
    if (lanes.length < asked) return pageOf(found, false, "thread")
    looked += asked
  }
  return pageOf(found, true, "thread") // Y1
}

interface Part {
  readonly text: string
  readonly values: ReadonlyArray<SqlValue>
}

const allOf = (parts: ReadonlyArray<Part>): Part =>
  parts.length === 0
    ? { text: "1", values: [] }
    : {
        text: parts.map(({ text }) => text).join(" AND "),
        values: parts.flatMap(({ values }) => values),
      }

const part = (text: string, ...values: ReadonlyArray<SqlValue>): ReadonlyArray<Part> => [
  { text, values },
]

/** The times, as far as the directory tells them; the lane tells exactly. */
const times = ({ activeAfter, activeBefore }: ThreadQuery): ReadonlyArray<Part> => [
  ...(activeAfter === undefined ? [] : part("active_at >= ?", toTheMinute(activeAfter))),
  ...(activeBefore === undefined ? [] : part("active_at < ?", activeBefore)),
]

/** The rows that are looked at, in their order: by an index, from the place where the last page ended. // Y3 */
const rangeOf = (query: ThreadQuery): { readonly where: Part; readonly by: string } => {
  const { after, order, state } = query
  if (order === "activity") {
    const place = after === undefined ? undefined : placeOf(after)
    const from =
      place === undefined
        ? []
        : part("(active_at, thread_id) < (?, ?)", place.activeAt, place.threadId)
    return { where: allOf([...from, ...times(query)]), by: "active_at DESC, thread_id DESC" }
  }
  const from = after === undefined ? [] : part("thread_id > ?", after)
  // By the partial index, which does not have those at rest.
  const inState =
    state === undefined || state === "idle" ? [] : part("state <> 'idle' AND state = ?", state)
  return { where: allOf([...from, ...inState]), by: "thread_id" }
}

/** Which of the rows that are looked at may match. */
const hitOf = (query: ThreadQuery): Part =>
  allOf([
    ...times(query),
    ...(query.state === undefined ? [] : part("state = ?", query.state)),
    ...(query.text === undefined ? [] : part("instr(folded, ?) > 0", folded(query.text))),
  ])

type LookedAt = {
  readonly thread_id: string
  readonly active_at: number
  readonly hit: number
}

const fromDirectory = (
  sql: Sql,
  query: ThreadQuery,
  limit: number,
  looksMax: number,
): ThreadPage => {
  const { by, where } = rangeOf(query)
  const hit = hitOf(query)
  const rows = sql.all<LookedAt>(
    `SELECT thread_id, active_at, (${hit.text}) AS hit FROM
      (SELECT * FROM directory WHERE ${where.text} ORDER BY ${by} LIMIT +?)
     ORDER BY ${by}`,
    ...hit.values,
    ...where.values,
    looksMax,
  )
  const found: Found = { lanes: [], last: undefined }
  for (const row of rows) {
    if (found.lanes.length === limit) return pageOf(found, true, query.order)
    found.last = { activeAt: row.active_at, threadId: row.thread_id }
    if (row.hit !== 1) continue
    const lane = readLane(sql, row.thread_id as ThreadId)
    if (lane !== undefined && matches(lane, query)) found.lanes.push(lane)
  }
  return pageOf(found, rows.length === looksMax, query.order) // Y1
}

const isNarrowed = ({ activeAfter, activeBefore, state, text }: ThreadQuery): boolean =>
  [activeAfter, activeBefore, state, text].some((asked) => asked !== undefined)

/** A page of threads; at most `pageThreads`. */
export const listThreads = (
  host: ObjectHost,
  life: Life,
  limits: Limits,
  query: ThreadQuery,
): ThreadPage => {
  if (life.version === 0) return { threads: [] }
  const { sql } = host.storage
  const limit = Math.max(1, Math.min(query.limit ?? limits.pageThreads, limits.pageThreads))
  const byId = query.order !== "activity"
  if (byId && !isNarrowed(query)) return fromLanes(sql, query, limit, limit + 1)
  const { projections } = life.maintenance
  const complete = isBuilt(projections, life.projecting)
  const lanesInstead = () => fromLanes(sql, query, limit, limits.obligationLanes)
  if (byId && !complete) return lanesInstead() // Y2
  if (!isUsable(projections, life.projecting)) return { threads: [], behind: true }
  try {
    const page = fromDirectory(sql, query, limit, limits.directoryRows)
    return complete ? page : { ...page, behind: true }
  } catch (cause) {
    if (!(cause instanceof StorageFailure)) throw cause
    failed(life, cause, { limits, now: host.now() })
    return byId ? lanesInstead() : { threads: [], behind: true } // Y2
  }
}

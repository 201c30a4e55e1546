/**
 * What is noted for the projections: by a block, which also takes out of them what is no more, and by whoever finds that
 * their tables fail. It never makes a block fail.
 *
 * Invariants
 * - V3 Falling behind is noted in the maintenance row, which blocks that change what is shown write anyway.
 * - V4 A thread that is no more is in no projection from the block on that deletes its lane.
 * - V5 What an unbelieved lane would show is not shown: its visit tells.
 * - V6 Tables that fail are logged once, and a block that finds it so, or hears of it from a read, makes it durable: a
 *   life to come builds them anew, too.
 */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import { describeThrown } from "../contracts/Thrown.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import type { Lane } from "./Lane.ts"
import type { Life } from "./Life.ts"
import type { MaintenanceRow } from "./Maintenance.ts"
import {
  isBuilt,
  noteChanged,
  noteFailed,
  projectAt,
  projectionVersion,
  readAt,
} from "./Projections.ts"
import { nextUnreadAt, removeShown } from "./ProjectionTables.ts"
import { isBelieved, sameShown, type Shown, shownOf } from "./Shown.ts"
import { projectionsSince } from "./Tables.ts"

/** What of a block the projections need. */
interface Described {
  readonly host: ObjectHost
  readonly life: Life
  readonly limits: Limits
  readonly now: number
  maintenance: MaintenanceRow
  readonly shown: Map<ThreadId, Shown | undefined>
  readonly afterwards: Array<() => void>
}

/** When the projections want a batch; undefined when they are up to date. */
export const projectionsAt = ({ maintenance, projecting, version }: Life): number | undefined =>
  version < projectionsSince ? undefined : projectAt(maintenance.projections, projecting)

/** When the projections want anything, as this block leaves them: a batch, or outcomes of a thread. */
export const deadlineOf = ({ life, limits, maintenance, now, shown }: Described) => {
  if (life.version < projectionsSince) return undefined
  const at = projectAt(maintenance.projections, life.projecting)
  const unreadAt = readAt(maintenance.projections, life.projecting) ?? Infinity
  const shownAt =
    at === undefined && shown.size > 0
      ? Math.max(now + limits.projectionMillis, life.projecting.retryAt)
      : (at ?? Infinity)
  const first = Math.min(shownAt, unreadAt)
  return first === Infinity ? undefined : first
}

/** Notes a lane that is to be shown otherwise. */
const change = (block: Described, lane: Lane, shown: Shown): void => {
  block.shown.set(lane.threadId, shown)
  const { projections } = block.maintenance
  if (projections.behind) return
  block.maintenance = { ...block.maintenance, projections: { ...projections, behind: true } } // V3
}

/** Notes what a lane shows that was written. */
export const note = (block: Described, before: Lane | undefined, written: Lane): void => {
  if (!isBelieved(written)) return // V5
  const { searchesOutcomes } = block.life
  const shown = shownOf(written, searchesOutcomes)
  const was =
    before !== undefined && isBelieved(before) ? shownOf(before, searchesOutcomes) : undefined
  if (shown !== undefined && !sameShown(was, shown)) change(block, written, shown)
}

/** What has failed is tried again after a while, and told to the log by the next block. // V6 */
export const failed = (
  { notices, projecting }: Pick<Life, "notices" | "projecting">,
  cause: unknown,
  at: { readonly limits: Limits; readonly now: number },
): void => {
  noteFailed(projecting, at)
  const level = projecting.failures === 1 ? "Error" : "Debug"
  const line = `the directory failed and is built anew: ${describeThrown(cause)}`
  notices.push({ level, line })
}

/** Has the tables built anew by the alarm, in whatever life it rings. Tells when. // V6 */
export const discard = (block: Described): number => {
  const { life, maintenance } = block
  const projections = { ...maintenance.projections, version: 0 }
  block.maintenance = { ...maintenance, projections }
  return life.projecting.retryAt
}

/** Takes a thread whose lane goes out of the projections. Tells when those are to be built anew, if they failed. // V4 */
export const leave = (block: Described, lane: Lane): number | undefined => {
  const { host, life, limits, now } = block
  const { projecting } = life
  block.shown.delete(lane.threadId)
  projecting.known.delete(lane.threadId)
  block.afterwards.push(() => void projecting.changed.delete(lane.threadId))
  if (block.maintenance.projections.version !== projectionVersion) return undefined
  try {
    const { sql } = host.storage
    removeShown(sql, lane.threadId)
    if (projecting.unreadAt !== undefined) projecting.unreadAt = nextUnreadAt(sql)
    return undefined
  } catch (cause) {
    failed(life, cause, { limits, now })
    return discard(block)
  }
}

/** Keeps what a committed block has changed. */
export const keep = ({ life, limits, now, shown }: Described): void => {
  if (shown.size > 0) noteChanged(life.projecting, shown, { limits, now })
}

/** The end of a pass says that nothing is behind, in a row that it writes anyway. // V3 */
export const settle = (block: Described): void => {
  const { life, maintenance } = block
  const { projections } = maintenance
  if (!projections.behind || life.projecting.changed.size > 0 || block.shown.size > 0) return
  if (!isBuilt(projections, life.projecting)) return
  block.maintenance = { ...maintenance, projections: { ...projections, behind: false } }
}

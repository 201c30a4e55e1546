/**
 * Projections: what is kept for lists and searches alone, how far it is, and what this life knows of it. Pure.
 *
 * A disposable read model: the lanes are the truth, and of outcomes the threads. What is stored of its progress is
 * a part of the maintenance row, so that falling behind and catching up write no row of their own.
 *
 * Invariants
 * - N1 Which lanes have changed is known in memory only; that some have is durable. A life that finds it so looks
 *   at all lanes, a batch at a time.
 * - N2 Tables of another version, and those that failed, are thrown away and built anew.
 * - N3 A projection that fails waits longer each time, and nothing else waits for it.
 */
import { delayMillis } from "../contracts/Backoff.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { Shown } from "./Shown.ts"

/** Of the projections' own tables. // N2 */
export const projectionVersion = 1

/** How far the projections are, as stored. */
export interface Projections {
  /** Of the tables that there are; 0 for none. */
  readonly version: number
  /** How often they were built: a cursor of an earlier one means nothing. */
  readonly built: number
  /** Up to which thread all lanes were looked at; undefined when no look is under way. */
  readonly sweptTo?: string
  /** Whether lanes have changed that are not shown yet. // N1 */
  readonly behind: boolean
}

export const noProjections: Projections = { version: 0, built: 0, behind: false }

/** What this life knows; it only narrows. */
export interface Projecting {
  /** The lanes that changed, as they are to be shown now; undefined for one that is no more. */
  readonly changed: Map<ThreadId, Shown | undefined>
  /** When the first of them is to be shown. */
  showAt: number
  /** What is shown of some lanes: those need not be read to know that nothing differs. */
  readonly known: Map<ThreadId, Shown>
  /** Whether lanes have changed of which this life does not know which. // N1 */
  lost: boolean
  /** Whether the tables are not to be believed. // N2 */
  broken: boolean
  failures: number
  retryAt: number
  /** The earliest time in the directory at which outcomes are to be read; undefined when all that are known of were. */
  unreadAt: number | undefined
}

/** What a life begins with: what it must look at waits until `lookAt`, or for the end of a pass. */
export const beginProjecting = (stored: Projections, lookAt: number): Projecting => ({
  changed: new Map(),
  showAt: 0,
  known: new Map(),
  lost: stored.behind, // N1
  broken: false,
  failures: 0,
  retryAt: lookAt,
  unreadAt: undefined,
})

/** Whether the tables are of use, though they may not hold every lane. */
export const isUsable = (stored: Projections, { broken }: Pick<Projecting, "broken">): boolean =>
  stored.version === projectionVersion && !broken

/** Whether the tables hold every lane, but for those that changed just now. */
export const isBuilt = (stored: Projections, { broken, lost }: Projecting): boolean =>
  isUsable(stored, { broken }) && stored.sweptTo === undefined && !lost

/** When outcomes are to be read next; undefined without any, and while there are no tables to read them into. */
export const readAt = (stored: Projections, life: Projecting): number | undefined =>
  isUsable(stored, life) ? life.unreadAt : undefined

/** When the projections want to be brought up to date; undefined when they are. */
export const projectAt = (stored: Projections, life: Projecting): number | undefined => {
  if (!isBuilt(stored, life)) return life.retryAt
  return life.changed.size === 0 ? undefined : Math.max(life.showAt, life.retryAt)
}

/** Whether nothing is to be done for them, now or later. */
export const wantsNothing = (stored: Projections, life: Projecting): boolean =>
  projectAt(stored, life) === undefined && readAt(stored, life) === undefined

/** Notes lanes that changed, by a committed block. */
export const noteChanged = (
  life: Projecting,
  changed: ReadonlyMap<ThreadId, Shown | undefined>,
  { limits, now }: { readonly limits: Limits; readonly now: number },
): void => {
  if (life.changed.size === 0) life.showAt = now + limits.projectionMillis
  for (const [threadId, shown] of changed) life.changed.set(threadId, shown)
  if (life.changed.size <= limits.projectionBehind) return
  life.changed.clear()
  life.lost = true // N1
}

/** Notes that the tables failed: the next batch builds them anew. // N2 N3 */
export const noteFailed = (
  life: Projecting,
  { limits, now }: { readonly limits: Limits; readonly now: number },
): void => {
  life.broken = true
  life.failures += 1
  life.known.clear()
  const { projectionRetryMaxMillis, projectionRetryMillis } = limits
  const curve = { baseMillis: projectionRetryMillis, maxMillis: projectionRetryMaxMillis }
  life.retryAt = now + delayMillis(curve, life.failures)
}

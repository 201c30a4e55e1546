/**
 * Bringing the projections up to date: a batch in a transaction of its own.
 *
 * Invariants
 * - V1 The rows of a batch and how far it brought the projections are one transaction, and no part of any other.
 * - V2 What fails here ends no life and no pass: the tables are thrown away at the next try.
 * - V3 A batch that changes nothing that is shown writes nothing; the pass that ends says that nothing is behind.
 * - V6 Tables that a read found failing are built anew also where nothing else has the alarm ring.
 * - V7 Tables are made in a block of their own. SQLite tells a virtual table of the savepoints around it only as one begins:
 *   one that is made and filled inside a savepoint, and taken back with it, fails the commit of all that is around.
 */
import { Effect } from "effect"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { noteDeadline } from "./Block.ts"
import { pageLanes } from "./LaneTable.ts"
import type { Life } from "./Life.ts"
import { writeMaintenance } from "./Maintenance.ts"
import { type Owner, quietBlock } from "./Owner.ts"
import * as Tables from "./ProjectionTables.ts"
import { discard, failed, projectionsAt } from "./Projected.ts"
import { isBuilt, type Projections, projectionVersion } from "./Projections.ts"
import { toTicket } from "./Rotation.ts"
import { isBelieved, sameShown, type Shown, shownOf } from "./Shown.ts"

/** What one batch does to one thread. */
interface Change {
  readonly threadId: ThreadId
  readonly before: Shown | undefined
  readonly shown: Shown | undefined
}

const write = (sql: Sql, { before, shown, threadId }: Change): void => {
  if (shown === undefined) {
    Tables.removeShown(sql, threadId)
    return
  }
  Tables.writeShown(sql, threadId, shown)
  if (before?.title === shown.title) return
  if (shown.title === undefined || shown.title === "") {
    Tables.removeTitle(sql, threadId)
    return
  }
  const none = { submissionId: undefined, outcome: undefined, at: undefined }
  Tables.writeText(sql, { threadId, sequence: 0, ...none, body: shown.title })
}

/** The lanes that changed and differ from what is shown; those that do not are done with. */
const changesOf = (life: Life, sql: Sql, limit: number): ReadonlyArray<Change> => {
  const { changed, known } = life.projecting
  const changes: Array<Change> = []
  for (const [threadId, shown] of changed) {
    if (changes.length === limit) break
    if (shown !== undefined && sameShown(known.get(threadId), shown)) {
      changed.delete(threadId)
      continue
    }
    changes.push({ threadId, before: Tables.readShown(sql, threadId), shown })
  }
  return changes
}

/** The next lanes of a look at all of them, and up to which it has come; undefined at the end. */
const sweepOf = (life: Life, sql: Sql, after: string, limit: number) => {
  const lanes = pageLanes(sql, { after, limit })
  const upTo = lanes.length < limit ? undefined : lanes.at(-1)?.threadId
  const rows = new Map(
    Tables.rowsBetween(sql, { after, upTo }).map(({ shown, threadId }) => [threadId, shown]),
  )
  const changes = lanes.map((lane): Change => {
    const before = rows.get(lane.threadId)
    rows.delete(lane.threadId)
    // What is shown of a lane that is to be visited stays until then.
    const kept = isBelieved(lane) ? undefined : before
    return { threadId: lane.threadId, before, shown: kept ?? shownOf(lane, life.searchesOutcomes) }
  })
  const gone = [...rows].map(([threadId, before]): Change => ({
    threadId,
    before,
    shown: undefined,
  }))
  return { changes: [...changes, ...gone], upTo }
}

const differs = ({ before, shown }: Change): boolean => !sameShown(before, shown)

const withoutSweep = ({ sweptTo: _s, ...stored }: Projections): Projections => stored

/** Makes new tables where the old ones are of no use, in a block of their own. // V7 */
const makeTables = (owner: Owner, life: Life): void => {
  const { maintenance, projecting } = life
  const stored = maintenance.projections
  if (stored.version === projectionVersion && !projecting.broken) return
  const { sql, transaction } = owner.host.storage
  const built = stored.built + 1
  const projections = { version: projectionVersion, built, sweptTo: "", behind: true }
  transaction(() => {
    Tables.makeProjectionTables(sql)
    writeMaintenance(sql, { ...maintenance, projections }) // V1
  })
  life.maintenance = { ...life.maintenance, projections }
  projecting.broken = false
}

/** The progress from which this batch goes on. */
const startOf = ({ maintenance, projecting }: Life): Projections =>
  projecting.lost ? { ...maintenance.projections, sweptTo: "" } : maintenance.projections

interface Batch {
  readonly stored: Projections
  readonly changes: ReadonlyArray<Change>
}

const writeBatch = (life: Life, sql: Sql, limit: number): Batch => {
  const start = startOf(life)
  const changed = changesOf(life, sql, limit)
  const { sweptTo } = start
  const sweep = sweptTo === undefined ? undefined : sweepOf(life, sql, sweptTo, limit)
  const changes = [...(sweep?.changes ?? []), ...changed]
  for (const change of changes) if (differs(change)) write(sql, change)
  const { upTo } = sweep ?? {}
  const left = life.projecting.changed.size > changed.length || upTo !== undefined
  const stored = { ...withoutSweep(start), ...(upTo === undefined ? {} : { sweptTo: upTo }) }
  return { stored: { ...stored, behind: left }, changes }
}

/** What a committed batch leaves in memory. */
const remember = (life: Life, { changes, stored }: Batch, knownMax: number): void => {
  const { changed, known } = life.projecting
  life.projecting.lost = false
  life.projecting.broken = false
  life.projecting.failures = 0
  life.projecting.retryAt = 0
  life.maintenance = { ...life.maintenance, projections: stored }
  if (known.size > knownMax) known.clear()
  for (const { shown, threadId } of changes) {
    if (sameShown(changed.get(threadId), shown)) changed.delete(threadId)
    if (shown !== undefined) known.set(threadId, shown)
  }
}

/** Whether the batch has nothing to write: what changed meanwhile is shown as it is. // V3 */
const isIdle = (life: Life, sql: Sql, limit: number): boolean => {
  if (!isBuilt(life.maintenance.projections, life.projecting)) return false
  const changes = changesOf(life, sql, limit)
  if (changes.some(differs)) return false
  for (const { shown, threadId } of changes) {
    life.projecting.changed.delete(threadId)
    if (shown !== undefined) life.projecting.known.set(threadId, shown)
  }
  return true
}

const runBatch = (owner: Owner, life: Life): void => {
  const { sql } = owner.host.storage
  const limit = owner.limits.projectionLanes
  if (isIdle(life, sql, limit)) return
  makeTables(owner, life)
  const batch = owner.host.storage.transaction(() => {
    const written = writeBatch(life, sql, limit)
    writeMaintenance(sql, { ...life.maintenance, projections: written.stored }) // V1
    return written
  })
  remember(life, batch, owner.limits.projectionBehind)
  if (life.searchesOutcomes) life.projecting.unreadAt = Tables.nextUnreadAt(sql)
}

/** One batch, if the projections want one and this life is still the present one. Never fails. // V2 */
export const project = (owner: Owner, life: Life): Effect.Effect<void> =>
  Effect.gen(function* () {
    yield* owner.failpoints.reach("project:before")
    if (owner.life !== life || projectionsAt(life) === undefined) return
    try {
      runBatch(owner, life)
    } catch (cause) {
      failed(life, cause, { limits: owner.limits, now: owner.host.now() })
    }
    yield* owner.failpoints.reach("project:after")
  })

/** Brings up to date what this life knows to have changed, for one who asks; a look at all lanes is left to the alarm. */
export const catchUp = (owner: Owner, life: Life): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { maintenance, projecting } = life
    const asks = projecting.changed.size > 0 && projecting.retryAt <= owner.host.now()
    return asks && isBuilt(maintenance.projections, projecting) ? project(owner, life) : Effect.void
  })

/** Has everything built anew, at once. */
export const rebuildProjections = (owner: Owner, life: Life) =>
  quietBlock(owner, life, "rebuild", (block) => {
    if (life.version === 0) return
    life.projecting.broken = true
    life.projecting.retryAt = 0
    discard(block)
    noteDeadline(block, toTicket(block.now))
  })

/** Behind a read that found the tables failing, has them built anew. What fails here fails nobody's read. // V6 */
export const rebuildFailed = (owner: Owner, life: Life): Effect.Effect<void> =>
  Effect.suspend(() => {
    const { maintenance, projecting } = life
    if (!projecting.broken || maintenance.projections.version !== projectionVersion)
      return Effect.void
    const noted = quietBlock(owner, life, "rebuild", (block) =>
      noteDeadline(block, toTicket(discard(block))),
    )
    return Effect.ignore(noted)
  })

/**
 * The cloth: what each lane did lately, one row a lane, as far as this page has seen it. Pure.
 *
 * An owner tells lanes as they change; what lies between two changes is a stretch in one condition. Rows keep their place
 * while they are shown, so that the eye sees who is served after whom.
 *
 * - W1 The rows are bounded, and so are the stretches of each.
 * - W2 A row gives way only to a lane that changes when all are taken, and of those at rest the one that changed longest ago.
 *   Who wants a person gives way last.
 * - W3 A row says no more than was told: what was missed is found again, and a lane that may be in any condition is in none.
 */
import type { LaneStatus } from "../../client/sdk/index.ts"
import { conditionOf } from "./Condition.ts"

export interface Stretch {
  readonly condition: string
  readonly fromAt: number
}

export interface ClothRow {
  readonly threadId: string
  /** Ordered, the last one goes on. */
  readonly stretches: ReadonlyArray<Stretch>
  /** When the owner told of it, the last time last: each is a turn, a visit or a word that reached it. */
  readonly told: ReadonlyArray<number>
  /** When it is looked at next, if at a time. */
  readonly workAt?: number | undefined
}

export interface Cloth {
  readonly rows: ReadonlyArray<ClothRow>
  /** Lanes that changed and found no row. */
  readonly unseen: number
}

export const rowsMax = 40
const stretchesMax = 64
const toldMax = 128

export const emptyCloth: Cloth = { rows: [], unseen: 0 }

/** What a row tells of its lane now. */
export const presentOf = ({ stretches }: ClothRow): Stretch =>
  stretches.at(-1) ?? { condition: "idle", fromAt: 0 }

const lastTold = ({ told }: ClothRow): number => told.at(-1) ?? 0

const wants = ["condemned", "faulted", "unknown", "paused"]

/** How much a row is worth its place: at rest, at work, in want of a person. */
const worthOf = (row: ClothRow): number => {
  const { condition } = presentOf(row)
  if (condition === "idle") return 0
  return wants.includes(condition) ? 2 : 1
}

/** The row that gives way, if any may. // W2 */
const leastOf = (rows: ReadonlyArray<ClothRow>): ClothRow | undefined =>
  rows
    .filter((row) => worthOf(row) < 2)
    .toSorted((a, b) => worthOf(a) - worthOf(b) || lastTold(a) - lastTold(b))[0]

/** In its place: the others stay where they are. */
const instead = (
  rows: ReadonlyArray<ClothRow>,
  least: ClothRow,
  fresh: ClothRow,
): ReadonlyArray<ClothRow> => rows.map((row) => (row === least ? fresh : row))

const grown = (row: ClothRow, told: Stretch, workAt: number | undefined): ClothRow => {
  const same = presentOf(row).condition === told.condition && row.stretches.length > 0
  const stretches = same ? row.stretches : [...row.stretches, told].slice(-stretchesMax) // W1
  return {
    threadId: row.threadId,
    stretches,
    told: [...row.told, told.fromAt].slice(-toldMax), // W1
    workAt,
  }
}

interface Told {
  readonly threadId: string
  readonly condition: string
  readonly at: number
  readonly workAt?: number | undefined
}

/** Weaves what was told of one lane into the cloth. */
export const weave = (cloth: Cloth, { at, condition, threadId, workAt }: Told): Cloth => {
  const told = { condition, fromAt: at }
  const { rows } = cloth
  const known = rows.find((row) => row.threadId === threadId)
  if (known !== undefined) {
    return { ...cloth, rows: rows.map((row) => (row === known ? grown(row, told, workAt) : row)) }
  }
  const fresh: ClothRow = { threadId, stretches: [told], told: [at], workAt }
  if (rows.length < rowsMax) return { ...cloth, rows: [...rows, fresh] }
  const least = leastOf(rows)
  if (least === undefined || worthOf(least) > worthOf(fresh))
    return { ...cloth, unseen: cloth.unseen + 1 } // W1
  return { ...cloth, rows: instead(rows, least, fresh) } // W2
}

/** Lanes as they were found by how they stand. */
export interface Found {
  readonly lanes: ReadonlyArray<Omit<Told, "workAt">>
  /** Whether every lane that is not at rest is among them. */
  readonly isWhole: boolean
  /** When they began to be read: what was told later is newer. */
  readonly at: number
}

/** A row that was not told of since. // W3 */
const foundAgain = (row: ClothRow, { at, isWhole, lanes }: Found): ClothRow => {
  if (lastTold(row) >= at) return row
  const lane = lanes.find(({ threadId }) => threadId === row.threadId)
  const condition = lane?.condition ?? (isWhole ? "idle" : "untold")
  if (condition === presentOf(row).condition) return row
  const stretches = [...row.stretches, { condition, fromAt: at }].slice(-stretchesMax) // W1
  return { threadId: row.threadId, stretches, told: row.told }
}

/** Begins the cloth with lanes as they were found, without a mark, and takes up again what was missed of those that are here. */
export const begin = (cloth: Cloth, found: Found): Cloth => {
  const here = new Set(cloth.rows.map(({ threadId }) => threadId))
  const fresh = found.lanes
    .filter(({ threadId }) => !here.has(threadId))
    .map(({ at, condition, threadId }): ClothRow => ({
      threadId,
      stretches: [{ condition, fromAt: at }],
      told: [],
    }))
  let rows: ReadonlyArray<ClothRow> = cloth.rows.map((row) => foundAgain(row, found))
  const first = fresh.slice(0, Math.max(0, rowsMax - rows.length)) // W1
  for (const row of fresh.slice(first.length)) {
    const least = leastOf(rows)
    if (least !== undefined && worthOf(least) < worthOf(row)) rows = instead(rows, least, row) // W2
  }
  return { ...cloth, rows: [...first, ...rows] }
}

/** Weaves a lane as the owner's stream tells it. A lane that is no more is at rest. */
export const weaveLane = (cloth: Cloth, lane: LaneStatus, at: number): Cloth =>
  weave(cloth, {
    threadId: lane.threadId,
    condition: lane.known ? conditionOf(lane) : "idle",
    at,
    workAt: lane.workAt,
  })

/** A stretch as it is drawn: from and to as fractions of the window. */
export interface Drawn {
  readonly condition: string
  readonly from: number
  readonly to: number
}

/** A place in the window as a fraction of it; outside of 0 to 1 it is not seen. */
export const placeOf = (
  at: number,
  { now, windowMillis }: { readonly now: number; readonly windowMillis: number },
): number => (at - now + windowMillis) / windowMillis

/** What of a row lies within the window that ends now. */
export const drawnOf = (
  { stretches }: ClothRow,
  window: { readonly now: number; readonly windowMillis: number },
): ReadonlyArray<Drawn> => {
  const fraction = (at: number) => Math.min(1, Math.max(0, placeOf(at, window)))
  return stretches.flatMap(({ condition, fromAt }, index) => {
    const from = fraction(fromAt)
    const to = fraction(stretches[index + 1]?.fromAt ?? window.now)
    return to <= 0 ? [] : [{ condition, from, to }]
  })
}

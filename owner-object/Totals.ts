/**
 * What an owner has counted since its tables were made: a text in the maintenance row, written when that row is written
 * anyway. Pure.
 *
 * - N1 Submissions are counted by how reports of one database differ: whatever is lost or comes twice counts once. A report
 *   that was forgotten on purpose, or of another database, counts nothing.
 * - N2 What does not decode counts as nothing so far; no total ever falls.
 */
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { HeadAnswer } from "../contracts/ThreadRpc.ts"
import type { RowCounts } from "../platform/ObjectStorage.ts"
import type { Lane } from "./Lane.ts"

export const totalNames = [
  "accepted",
  "completed",
  "failed",
  "aborted",
  "attempts",
  "faults",
  "passes",
  "passMillis",
  "passCalls",
  "rowsRead",
  "rowsWritten",
  "alarmWrites",
] as const
export type TotalName = (typeof totalNames)[number]

export type Totals = { readonly [Name in TotalName]: number }

/** What comes to them. */
export type Tally = { readonly [Name in TotalName]?: number }

export const noTally: Tally = {}

/** A tally with another one added. */
export const tallied = (tally: Tally, more: Tally): Tally => {
  if (more === noTally) return tally
  if (tally === noTally) return more
  const sum: { [Name in TotalName]?: number } = { ...tally }
  for (const name of totalNames) {
    const by = more[name]
    if (by !== undefined) sum[name] = (sum[name] ?? 0) + by
  }
  return sum
}

/** As they are stored: numbers in the order of their names. */
export const totalsText = (totals: Tally): string =>
  JSON.stringify(totalNames.map((name) => totals[name] ?? 0))

/** The totals of a text. // N2 */
export const readTotals = (text: unknown): Tally => {
  if (typeof text !== "string") return noTally
  try {
    const stored: unknown = JSON.parse(text)
    if (!Array.isArray(stored)) return noTally
    const known = totalNames.flatMap((name, at) => {
      const value: unknown = stored[at]
      return Number.isSafeInteger(value) && Number(value) > 0 ? [[name, Number(value)]] : []
    })
    return Object.fromEntries(known) as Tally
  } catch {
    return noTally
  }
}

/** Rows of one object between two looks at what it has counted. */
export const rowsBetween = (before: RowCounts, after: RowCounts): Tally => ({
  rowsRead: after.read - before.read,
  rowsWritten: after.written - before.written,
  alarmWrites: after.alarmWrites - before.alarmWrites,
})

const settledIn = ({ aborted = 0, accepted = 0, failed = 0, nonterminal }: LaneReport) => ({
  accepted,
  aborted,
  failed,
  completed: accepted - nonterminal - failed - aborted,
})

const none = { accepted: 0, aborted: 0, failed: 0, completed: 0 }

/** What a lane's reports have told since the one before. // N1 */
export const toldBetween = (before: Lane | undefined, after: Lane | undefined): Tally => {
  const report = after?.report
  const known = before?.report
  if (report === known || report?.accepted === undefined) return noTally
  if (known === undefined && before?.activeAt !== undefined) return noTally // N1
  if (known !== undefined && known.accepted === undefined) return noTally
  if (known !== undefined && known.born !== "" && known.born !== report.born) return noTally // N1
  const [from, to] = [known === undefined ? none : settledIn(known), settledIn(report)]
  const moved = (name: keyof typeof none) => Math.max(0, to[name] - from[name]) // N2
  if (from.accepted === to.accepted && known?.nonterminal === report.nonterminal) return noTally
  return {
    accepted: moved("accepted"),
    completed: moved("completed"),
    failed: moved("failed"),
    aborted: moved("aborted"),
  }
}

const ofAttempts: ReadonlySet<string> = new Set([
  "Settled",
  "Suspended",
  "Unknown",
  "Yielded",
  "Retrying",
  "Running",
])

/** How many attempts a turn has started: one that ran before it is none of them. */
export const attemptsOf = (heads: ReadonlyArray<HeadAnswer>, runBefore: string | undefined) =>
  heads.filter(
    (head) =>
      ofAttempts.has(head._tag) && "submissionId" in head && head.submissionId !== runBefore,
  ).length

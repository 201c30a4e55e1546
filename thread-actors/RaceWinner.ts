/**
 * The record of a race, under the race's own name: which branch has won, and the names that the others had taken.
 *
 * - L1 A branch has lost once its race, or one around it, is decided for another: that never changes.
 * - L2 What was recorded in a branch that has lost is for no other operation: its names stay used.
 */
import type { Sql } from "../platform/ObjectStorage.ts"
import { findNamed, type RecordedName, recordedRaces } from "./Journal.ts"
import { branchesOf, type StoredBranch } from "./RaceBranch.ts"
import { parsed } from "./Unreadable.ts"

/** What the record says. `names` are those of operations in the branches that have lost. */
export const winnerPayload = (branch: string, names: Iterable<string> = []): string =>
  JSON.stringify({ names: [...new Set(names)].sort(), winner: branch })

/** The winner that such a record names. */
export const winnerOf = (payload: string): unknown =>
  (parsed(payload, "journal") as { readonly winner?: unknown } | undefined)?.winner

/** Whether what stands in these branches has lost. // L1 */
export const hasLost = (
  sql: Sql,
  submission: number,
  branches: ReadonlyArray<StoredBranch>,
): boolean =>
  branches.some(([race, branch]) => {
    const decided = findNamed(sql, submission, race)
    return decided !== undefined && winnerOf(decided.payload) !== branch
  })

/** Whether this name was used in a branch that has lost, by what is on record. // L2 */
export const isLostName = (
  sql: Sql,
  submission: number,
  named: Omit<RecordedName, "races">,
): boolean =>
  recordedRaces(sql, submission, named).some((races) => hasLost(sql, submission, branchesOf(races)))

/**
 * What a run was suspended for, as its row holds it.
 */
import type { SubmissionRow } from "./Ledger.ts"
import { isCount, isMillis, maybe } from "./StoredColumns.ts"
import { parsed, Unreadable } from "./Unreadable.ts"

export type Suspension =
  /** An ordinary call is open, and recovery asks about it; `dueAt` is when the run may be claimed after that. */
  | { readonly kind: "call"; readonly dueAt: number | null }
  /** All its branches wait; `dueAt` is its earliest timer or retry, none without one. */
  | { readonly kind: "wait"; readonly dueAt: number | null }
  /**
   * Its end is known, and its children are to be settled first: `reached` is the record of its result, none where it
   * was to be aborted before it had one; `forced`, that its handler had to be fenced off. It stays in the row of what
   * has settled since where there is such a record.
   */
  | { readonly kind: "children"; readonly reached: number | null; readonly forced: boolean }

const isTime = maybe(isMillis)
const isRecord = maybe(isCount)

/** The suspension in a row. */
export const suspensionOf = (row: Pick<SubmissionRow, "suspension">): Suspension | undefined => {
  if (row.suspension === null) return undefined
  const value = (parsed(row.suspension, "submissions") ?? {}) as Readonly<Record<string, unknown>>
  const { dueAt = null, forced, kind, reached = null } = value
  if ((kind === "call" || kind === "wait") && isTime(dueAt))
    return { kind, dueAt: dueAt as number | null }
  if (kind === "children" && isRecord(reached) && typeof forced === "boolean")
    return { kind, reached: reached as number | null, forced }
  throw new Unreadable("submissions")
}

/** From when on a head may be claimed: a ready one, or a suspended one by a time of its own. */
export const startsAt = (
  head: Pick<SubmissionRow, "state" | "abort" | "suspension" | "dueAt">,
): number => {
  if (head.state === "ready") return head.dueAt ?? 0
  return claimableAt(head) ?? Infinity
}

/** When a suspended run may be claimed by its own time; none while it waits for something else. */
export const claimableAt = (
  row: Pick<SubmissionRow, "state" | "abort" | "suspension">,
): number | undefined => {
  if (row.state !== "suspended" || row.abort !== null) return undefined
  const suspension = suspensionOf(row)
  return suspension?.kind === "wait" ? (suspension.dueAt ?? undefined) : undefined
}

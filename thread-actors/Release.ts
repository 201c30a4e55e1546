/**
 * How a submission goes back to `ready`, or is suspended, in the block of whoever decides it.
 *
 * - R1 Every way out of `running` bumps the epoch, so that nothing of the attempt can write any more.
 */
import { type Block, touch } from "./Block.ts"
import type { StoredRetry, SubmissionRow } from "./Ledger.ts"
import type { Suspension } from "./Suspension.ts"

export interface Release {
  readonly ended: number
  readonly vanished: number
  readonly dueAt: number | null
  readonly retries: ReadonlyMap<string, StoredRetry> | undefined
}

const retriesText = (retries: Release["retries"]): string | null =>
  retries === undefined || retries.size === 0 ? null : JSON.stringify(Object.fromEntries(retries))

/** Makes a submission ready again in this block. An open run stays the open run. */
export const release = (block: Block, row: SubmissionRow, change: Release): void => {
  block.sql.run(
    `UPDATE submissions SET state = 'ready', epoch = ?, ended = ?, vanished = ?, dueAt = ?,
       retries = ?, suspension = NULL WHERE sequence = ?`,
    row.epoch + 1, // R1
    change.ended,
    change.vanished,
    change.dueAt,
    retriesText(change.retries),
    row.sequence,
  )
  touch(block)
}

/** Suspends a running submission in this block; `dueAt` is what the kind of the suspension says it is. */
export const suspend = (
  block: Block,
  row: SubmissionRow,
  change: Release & { readonly kind: "call" | "wait" },
): void => {
  const { dueAt, kind } = change
  block.sql.run(
    `UPDATE submissions SET state = 'suspended', epoch = ?, ended = ?, vanished = ?, dueAt = NULL,
       retries = ?, suspension = ? WHERE sequence = ?`,
    row.epoch + 1, // R1
    change.ended,
    change.vanished,
    retriesText(change.retries),
    JSON.stringify({ kind, dueAt } satisfies Suspension),
    row.sequence,
  )
  touch(block)
}

/**
 * Keeps a submission from running again until its children have settled. A parked one stays parked: it holds nobody
 * meanwhile.
 */
export const suspendForChildren = (
  block: Block,
  row: SubmissionRow,
  end: { readonly reached: number | null; readonly forced: boolean },
): void => {
  block.sql.run(
    `UPDATE submissions SET state = ?, epoch = ?, dueAt = NULL, retries = NULL, suspension = ?
     WHERE sequence = ?`,
    row.state === "unknown" ? "unknown" : "suspended",
    row.epoch + 1, // R1
    JSON.stringify({ kind: "children", ...end } satisfies Suspension),
    row.sequence,
  )
  touch(block)
}

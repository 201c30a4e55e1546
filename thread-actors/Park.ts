/**
 * Parking: a submission about whose call nobody knows waits for somebody's word, and holds nobody meanwhile.
 *
 * - P1 The block that parks a run closes it, so that later input runs; the block that resolves its last call
 *   makes it the next one after the open run.
 */
import { type Block, patchHeader } from "./Block.ts"
import { append } from "./Journal.ts"
import { park as list, type SubmissionRow, unpark } from "./Ledger.ts"
import { type Release, release } from "./Release.ts"
import { floorBehind } from "./Settle.ts"

/** Parks a submission whose open calls all wait for a word. */
export const park = (block: Block, row: SubmissionRow): void => {
  block.sql.run(
    `UPDATE submissions SET state = 'unknown', epoch = ?, dueAt = NULL, suspension = NULL
     WHERE sequence = ?`,
    row.epoch + 1,
    row.sequence,
  )
  list(block.sql, row.sequence)
  patchHeader(block, { parked: block.header.parked + 1 })
  const { open } = block.header.tail
  append(
    block,
    {
      submission: row.sequence,
      kind: "Recovered",
      epoch: row.epoch,
      payload: `{"decision":"MarkUnknown"}`,
    },
    { open: open === row.sequence ? null : open, floor: floorBehind(block, row) }, // P1
  )
}

/** Makes a parked submission ready: its last call was decided. A decision starts all counts anew. */
export const resume = (block: Block, row: SubmissionRow, retries: Release["retries"]): void => {
  unpark(block.sql, row.sequence) // P1
  patchHeader(block, { parked: block.header.parked - 1 })
  release(block, row, { ended: 0, vanished: 0, dueAt: null, retries })
}

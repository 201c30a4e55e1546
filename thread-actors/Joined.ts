/**
 * Inputs that a run has taken: they settle with it, with its outcome, once.
 */
import type { Block } from "./Block.ts"
import type { SubmissionRow } from "./Ledger.ts"
import type { SettlementContent } from "./Settle.ts"

/** Settles what a run has taken, in the block that settles the run. */
export const settleJoined = (
  _block: Block,
  _host: SubmissionRow,
  _outcome: SettlementContent["outcome"],
): void => undefined

/** The lane of a thread whose work beside its turns was seen to, as the block finds it that commits the end. */
import type { LaneReport } from "../contracts/LaneReport.ts"
import { acceptReport } from "./AcceptReport.ts"
import { type Block, readLane } from "./Block.ts"
import { removeForgotten } from "./Forgotten.ts"
import type { Lane } from "./Lane.ts"
import type { RunningPass } from "./Life.ts"

interface EndAside {
  /** What the last claim reported; undefined when nobody answered it. */
  readonly claimed: LaneReport | undefined
  /** Set when the thread said that it was forgotten. */
  readonly forgottenAt: number | undefined
}

/** The lane with what was reported; none where its thread was forgotten meanwhile: what is left does not come back. */
export const landAside = (
  block: Block,
  pass: RunningPass,
  { lane: { report: sentUnder, threadId } }: { readonly lane: Lane },
  { claimed, forgottenAt }: EndAside,
): { readonly before: Lane; readonly lane: Lane } | undefined => {
  const before = readLane(block, threadId)
  if (before === undefined) return undefined
  const underWay = pass.flights.has(threadId)
  if (forgottenAt !== undefined && removeForgotten(block, threadId, { forgottenAt, underWay }))
    return undefined
  const lane =
    claimed === undefined
      ? before
      : acceptReport(block, before, claimed, { fenced: false, sentUnder }).lane
  return { before, lane }
}

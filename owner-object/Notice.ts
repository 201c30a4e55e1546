/**
 * Notices: what a block has for the log, or what is no effect and so cannot tell it. Told once a block is committed,
 * never before, and never from within it.
 */
import { Effect } from "effect"
import type { ThreadId } from "../contracts/Identifiers.ts"

export interface Notice {
  readonly level: "Error" | "Warning" | "Debug"
  /** Which thread it is about; absent for one about the owner. */
  readonly threadId?: ThreadId
  readonly line: string
}

const logAs = {
  Error: Effect.logError,
  Warning: Effect.logWarning,
  Debug: Effect.logDebug,
}

const tellOne = ({ level, line, threadId }: Notice) =>
  Effect.annotateLogs(logAs[level](line), threadId === undefined ? {} : { threadId })

export const tellNotices = (notices: ReadonlyArray<Notice>): Effect.Effect<void> =>
  Effect.forEach(notices, tellOne, { discard: true })

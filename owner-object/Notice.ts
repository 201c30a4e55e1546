/**
 * Notices: what a block has for the log. Told once the block is committed, never before, and never from
 * within it.
 */
import { Effect } from "effect"
import type { ThreadId } from "../contracts/Identifiers.ts"

export interface Notice {
  readonly level: "Error" | "Warning"
  readonly threadId: ThreadId
  readonly line: string
}

const tellOne = ({ level, line, threadId }: Notice) =>
  Effect.annotateLogs(level === "Error" ? Effect.logError(line) : Effect.logWarning(line), {
    threadId,
  })

export const tellNotices = (notices: ReadonlyArray<Notice>): Effect.Effect<void> =>
  Effect.forEach(notices, tellOne, { discard: true })

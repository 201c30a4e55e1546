/**
 * The report of a thread, whatever its rows hold: one that does not decode is told by `recoverAt` alone, so that its
 * owner has recovery find out what it is.
 */
import { readHeader } from "./Header.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { Identity } from "./Identity.ts"
import { laneReport, readReport } from "./LaneReport.ts"
import type { Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"

const unreadableReport = (thread: Thread, { threadId }: Identity): LaneReport =>
  laneReport({
    threadId,
    agentsDigest: thread.options.agentsDigest,
    codeVersion: thread.options.codeVersion,
    header: thread.header ?? readHeader(thread.host.storage.sql),
    view: undefined,
    live: thread.live,
    calls: [],
    askedUntilAt: undefined,
    waits: [],
    outboxAt: undefined,
    publishAt: undefined,
    upkeepAt: undefined,
  })

/** The report of this thread now. */
export const anyReport = (thread: Thread, identity: Identity): LaneReport => {
  try {
    return readReport(thread, identity)
  } catch (error) {
    if (error instanceof Unreadable) return unreadableReport(thread, identity)
    throw error
  }
}

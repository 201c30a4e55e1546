/**
 * The lane report: what the owner is told of this thread. A pure function of rows, the live attempt
 * and the time.
 *
 * - R1 If no time is given, no call would change anything until a mutation arrives; if `dueAt` is
 *   given, a call then would, unless a run is live, the thread is paused or its agent is missing.
 * - R2 A lost attempt is told by `recoverAt` alone.
 */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import { type HeadView, readHead } from "./Head.ts"
import { type Header, nonterminalOf, readHeader, revisionOf } from "./Header.ts"
import type { SubmissionRow } from "./Ledger.ts"
import type { Identity } from "./Identity.ts"
import { clockOf, type Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"

export interface ReportFacts {
  readonly threadId: ThreadId
  readonly agentsDigest: string
  readonly codeVersion: string
  /** None for an untouched thread. */
  readonly header: Header | undefined
  /** None when the row of the head does not decode. */
  readonly view: HeadView | undefined
  /** The submission and epoch of the attempt that this incarnation runs. */
  readonly live: { readonly sequence: number; readonly epoch: number } | undefined
}

type Times = Pick<LaneReport, "dueAt" | "recoverAt">

/** When a call would change something, by the state of the head. */
export const timesOf = (view: HeadView, live: ReportFacts["live"]): Times => {
  const { head, nextDeferredAt } = view
  if (head === undefined) return nextDeferredAt === undefined ? {} : { dueAt: nextDeferredAt }
  switch (head.state) {
    case "ready":
      return { dueAt: head.dueAt ?? 0 }
    case "running":
      return isLive(head, live) ? { dueAt: 0 } : { recoverAt: 0 } // R2
    case "suspended":
      return head.dueAt === null ? {} : { dueAt: head.dueAt }
    case "unknown":
    case "joined":
    case "settled":
      return {}
  }
}

export const isLive = (head: SubmissionRow, live: ReportFacts["live"]): boolean =>
  live !== undefined && live.sequence === head.sequence && live.epoch === head.epoch

/** The report of these facts. */
export const laneReport = (facts: ReportFacts): LaneReport => {
  const { header, view, threadId, agentsDigest, codeVersion } = facts
  const common = { threadId, agentsDigest, codeVersion, waits: [] }
  if (header === undefined)
    return {
      ...common,
      born: "",
      revision: 0,
      nonterminal: 0,
      parked: 0,
      paused: false,
      tailSequence: 0,
    }
  return {
    ...common,
    born: header.born,
    ...(header.fence === null ? {} : { fence: header.fence }),
    revision: revisionOf(header),
    nonterminal: nonterminalOf(header),
    parked: header.parked,
    ...(view?.head === undefined
      ? {}
      : {
          head: {
            submissionId: view.head.id,
            sequence: view.head.sequence,
            state: view.head.state,
            agent: view.head.agent,
            attempted: view.head.attempts > 0,
          },
        }),
    // A head that does not decode is recovery's to tell.
    ...(view === undefined ? { recoverAt: 0 } : timesOf(view, facts.live)), // R1
    paused: header.paused,
    tailSequence: header.tail.sequence,
    ...(header.title === null ? {} : { title: header.title }),
  }
}

const readView = (thread: Thread, header: Header): HeadView | undefined => {
  try {
    return readHead(thread.host.storage.sql, header, clockOf(thread))
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

const headerOf = (thread: Thread): Header => (thread.header ??= readHeader(thread.host.storage.sql))

/** The report of this thread now. Reads a constant number of rows, writes none. */
export const readReport = (thread: Thread, identity: Identity): LaneReport => {
  const header = thread.hasTables ? headerOf(thread) : undefined
  return laneReport({
    threadId: identity.threadId,
    agentsDigest: thread.options.agentsDigest,
    codeVersion: thread.options.codeVersion,
    header,
    view: header === undefined ? undefined : readView(thread, header),
    live: thread.live,
  })
}

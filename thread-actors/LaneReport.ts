/**
 * The lane report: what the owner is told of this thread. A pure function of rows, the live attempt
 * and the time.
 *
 * - R1 If no time is given, no call would change anything until a mutation arrives; if `dueAt` is
 *   given, a call then would, unless a run is live, the thread is paused or its agent is missing.
 * - R2 A lost attempt, and a run that waits for the end of an open call, is told by `recoverAt` alone.
 * - R3 A run that waits for somebody else, or for its children, gives no time but that of its first timer.
 * - R4 While records want to be published no run may start: `publishAt` is told and no `dueAt`, which the
 *   acknowledgement brings back.
 */
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { callsDueAt, isLive, isUnknown } from "./Decision.ts"
import { openChildren } from "./ChildRows.ts"
import { type HeadView, readHead } from "./Head.ts"
import { type Header, nonterminalOf, readHeader, revisionOf } from "./Header.ts"
import type { SubmissionRow } from "./Ledger.ts"
import type { Identity } from "./Identity.ts"
import { findRecordedAt } from "./Journal.ts"
import { openCalls, type OpenCall, recordIdOf, waitingCalls } from "./OpenCalls.ts"
import { outboxAt, parkedMessages } from "./Outbox.ts"
import { parentOf } from "./Parent.ts"
import { pauseOf } from "./Pause.ts"
import { publicationWaits, publishAt } from "./Publication.ts"
import { suspensionOf } from "./Suspension.ts"
import { clockOf, type Thread } from "./Thread.ts"
import { Unreadable } from "./Unreadable.ts"
import { upkeepAt } from "./Upkeep.ts"
import { oldestWaits } from "./WaitRows.ts"

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
  /** The open calls of a head that has no attempt here. */
  readonly calls: ReadonlyArray<OpenCall>
  /** Until when reconcilers of the head look; none if none does. */
  readonly askedUntilAt: number | undefined
  readonly waits: LaneReport["waits"]
  /** When what it has for others wants to be carried, and when its upkeep is due. */
  readonly outboxAt: number | undefined
  readonly upkeepAt: number | undefined
  /** When its records want to be published. */
  readonly publishAt: number | undefined
}

type Times = Pick<LaneReport, "dueAt" | "recoverAt">

/** When recovery would do something for a run without an attempt here. // R2 */
const recoverAtOf = (
  head: SubmissionRow,
  { askedUntilAt, calls }: Pick<ReportFacts, "calls" | "askedUntilAt">,
): number => {
  if (head.abort !== null) return 0
  return askedUntilAt ?? callsDueAt(calls) ?? 0
}

/** A run that waits is due at its own time; for its children, at none. // R3 */
const suspendedTimes = (
  head: SubmissionRow,
  facts: Pick<ReportFacts, "calls" | "askedUntilAt">,
): Times => {
  const suspension = suspensionOf(head)
  if (suspension?.kind === "children") return {}
  if (suspension?.kind !== "wait" || head.abort !== null)
    return { recoverAt: recoverAtOf(head, facts) }
  const { dueAt } = suspension
  return dueAt === null ? {} : { dueAt }
}

/** When a call would change something, by the state of the head. */
export const timesOf = (
  view: HeadView,
  facts: Pick<ReportFacts, "calls" | "live" | "askedUntilAt" | "publishAt">,
): Times => {
  const { dueAt, ...rest } = startTimesOf(view, facts)
  return dueAt === undefined || facts.publishAt !== undefined ? rest : { ...rest, dueAt } // R4
}

const startTimesOf = (
  view: HeadView,
  facts: Pick<ReportFacts, "calls" | "live" | "askedUntilAt">,
): Times => {
  const { head, nextDeferredAt } = view
  if (head === undefined) return nextDeferredAt === undefined ? {} : { dueAt: nextDeferredAt }
  switch (head.state) {
    case "ready":
      return { dueAt: head.dueAt ?? 0 }
    case "running":
      return isLive(head, facts.live) ? { dueAt: 0 } : { recoverAt: recoverAtOf(head, facts) }
    case "suspended":
      return suspendedTimes(head, facts)
    case "unknown":
    case "joined":
    case "settled":
      return {}
  }
}

const pausedAtOf = (header: Header): Pick<LaneReport, "pausedAt"> => {
  const pause = header.paused ? pauseOf(header) : undefined
  return pause === undefined ? {} : { pausedAt: pause.sinceAt }
}

const parentIn = (head: SubmissionRow): { readonly parent?: ThreadId } => {
  const parent = head.parent === null ? undefined : parentOf(head)
  return parent === undefined ? {} : { parent: parent.threadId }
}

/** The report of these facts. */
export const laneReport = (facts: ReportFacts): LaneReport => {
  const { header, view, threadId, agentsDigest, codeVersion } = facts
  const common = { threadId, agentsDigest, codeVersion, waits: facts.waits }
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
    accepted: header.lastSequence,
    ...(header.failed === 0 ? {} : { failed: header.failed }),
    ...(header.aborted === 0 ? {} : { aborted: header.aborted }),
    ...(view?.head === undefined
      ? {}
      : {
          head: {
            submissionId: view.head.id,
            sequence: view.head.sequence,
            state: view.head.state,
            agent: view.head.agent,
            attempted: view.head.attempts > 0,
            acceptedAt: view.head.acceptedAt,
            ...parentIn(view.head),
          },
        }),
    // A head that does not decode is recovery's to tell.
    ...(view === undefined ? { recoverAt: 0 } : timesOf(view, facts)), // R1
    ...(facts.outboxAt === undefined ? {} : { outboxAt: facts.outboxAt }),
    ...(facts.publishAt === undefined ? {} : { publishAt: facts.publishAt }),
    ...(facts.upkeepAt === undefined ? {} : { upkeepAt: facts.upkeepAt }),
    paused: header.paused,
    ...pausedAtOf(header),
    tailSequence: header.tail.sequence,
    ...(header.title === null ? {} : { title: header.title }),
  }
}

const readView = (thread: Thread, header: Header): HeadView | undefined => {
  try {
    const view = readHead(thread.host.storage.sql, header, clockOf(thread))
    // These must decode, too.
    if (view.head?.state === "suspended") suspensionOf(view.head)
    if (view.head !== undefined) parentIn(view.head)
    return view
  } catch (error) {
    if (error instanceof Unreadable) return undefined
    throw error
  }
}

const headerOf = (thread: Thread): Header => (thread.header ??= readHeader(thread.host.storage.sql))

/** How many waits a report tells. */
const waitsMax = 8

/** The calls that wait for a word, the oldest first. Read only where there are some. */
const unknownWaits = (
  thread: Thread,
  header: Header,
  ofHead: ReadonlyArray<OpenCall>,
): LaneReport["waits"] =>
  header.parked === 0 && !ofHead.some(isUnknown)
    ? []
    : waitingCalls(thread.host.storage.sql, waitsMax).map((call) => ({
        submissionId: call.submissionId,
        blocker: "unknown" as const,
        name: call.name,
        recordId: recordIdOf(call.submissionId, call),
        sinceAt: call.unknownAt,
      }))

/** The tools that this deployment lacks, and without which nobody can be asked about a call of the head. */
const toolWaits = (
  head: SubmissionRow | undefined,
  calls: ReadonlyArray<OpenCall>,
): LaneReport["waits"] =>
  head === undefined
    ? []
    : calls
        .filter((call) => !call.declared && !isUnknown(call))
        .map((call) => ({
          submissionId: head.id,
          blocker: "binding" as const,
          name: call.tool,
          sinceAt: call.preparedAt,
        }))

/** The messages that nobody took in time, and that wait for somebody's word. */
const parkedWaits = (thread: Thread): LaneReport["waits"] =>
  parkedMessages(thread, waitsMax).map(({ name, parkedAt, submissionId }) => ({
    submissionId,
    blocker: "outbox" as const,
    name,
    sinceAt: parkedAt,
  }))

/** The children whose ends a known end waits for: the first by name, as it may have hundreds. */
const childWaits = (sql: Sql, head: SubmissionRow): LaneReport["waits"] =>
  openChildren(sql, head.sequence, waitsMax).map(({ name }) => ({
    submissionId: head.id,
    blocker: "child" as const,
    name,
    sinceAt: findRecordedAt(sql, head.sequence, { name, part: 0 }) ?? head.acceptedAt,
  }))

/** What a suspended head waits for outside, the oldest first. */
const headWaits = (thread: Thread, head: SubmissionRow | undefined): LaneReport["waits"] => {
  if (head?.state !== "suspended") return []
  const { sql } = thread.host.storage
  if (suspensionOf(head)?.kind === "children") return childWaits(sql, head)
  return oldestWaits(sql, head.sequence, waitsMax).map((wait) => ({
    submissionId: head.id,
    blocker: wait.kind,
    name: wait.name,
    ...(wait.kind === "approval"
      ? { recordId: recordIdOf(head.id, { name: wait.name, part: 0 }) }
      : {}),
    sinceAt: wait.sinceAt,
  }))
}

/** The open calls of the head, where the report depends on them. */
const readCalls = (thread: Thread, head: SubmissionRow | undefined): ReadonlyArray<OpenCall> =>
  head === undefined || head.state === "ready" || isLive(head, thread.live)
    ? []
    : openCalls(thread.host.storage.sql, thread.options.agents, head)

const askedUntil = (thread: Thread, head: SubmissionRow | undefined): number | undefined =>
  head === undefined ? undefined : thread.asking.get(head.sequence)?.untilAt

/** The report of this thread now. Reads a constant number of rows, writes none. */
export const readReport = (thread: Thread, identity: Identity): LaneReport => {
  const header = thread.hasTables ? headerOf(thread) : undefined
  const view = header === undefined ? undefined : readView(thread, header)
  const calls = readCalls(thread, view?.head)
  // Whether there is anything in the outbox is known after this.
  const carriedAt = header === undefined ? undefined : outboxAt(thread)
  return laneReport({
    threadId: identity.threadId,
    agentsDigest: thread.options.agentsDigest,
    codeVersion: thread.options.codeVersion,
    header,
    view,
    live: thread.live,
    calls,
    askedUntilAt: askedUntil(thread, view?.head),
    waits:
      header === undefined
        ? []
        : [
            ...toolWaits(view?.head, calls),
            ...publicationWaits(thread, header, view?.head),
            ...unknownWaits(thread, header, calls),
            ...headWaits(thread, view?.head),
            ...parkedWaits(thread),
          ].slice(0, waitsMax),
    outboxAt: carriedAt,
    upkeepAt: header === undefined ? undefined : upkeepAt(thread),
    publishAt: header === undefined ? undefined : publishAt(thread, header),
  })
}

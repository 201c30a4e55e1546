/**
 * Obligations: everything still owed, with what is in its way and since when. From the owner's own rows
 * alone: no thread is called, nothing is written.
 *
 * - O1 What is in the way of the whole lane is told once; each wait of a submission is told for itself.
 * - O2 Work that is merely ready or running is told once it is old, if nothing else is in its way.
 * - O3 A page looks at a bounded number of lanes, and never parts those of one thread.
 * - O4 Where a thread has more parked than its report tells, one more entry says so.
 */
import type { Blocker } from "../contracts/LaneReport.ts"
import type { ThreadId } from "../contracts/Identifiers.ts"
import type { Limits } from "../contracts/Limits.ts"
import type { Obligation, ObligationPage } from "../contracts/Obligation.ts"
import type { RecoveryFault } from "../contracts/Recovery.ts"
import type { ObjectHost } from "../platform/ObjectHost.ts"
import { agentWait, isHeld, type Lane } from "./Lane.ts"
import { pageLanes } from "./LaneTable.ts"
import type { Life } from "./Life.ts"
import { readFault } from "./FaultTable.ts"
import { ticketMillis } from "./Rotation.ts"

/** Lanes read at a time. */
const batch = 128

/** Work this many times as old as what is aging is overdue. */
const overdueFactor = 4

export interface Facts {
  readonly now: number
  readonly agedAfterMillis: number
  readonly fault: RecoveryFault | undefined
}

/** Something in the way, before it is known how old it is. */
type Owed = Omit<Obligation, "threadId" | "ageMillis" | "severity" | "nonterminal">

type Head = Pick<Obligation, "submissionId" | "agent" | "state">

const headOf = ({ report }: Lane): Head =>
  report?.head === undefined
    ? {}
    : {
        submissionId: report.head.submissionId,
        agent: report.head.agent,
        state: report.head.state,
      }

/** What holds the lane as a whole, the strongest first: only that one is told. // O1 */
export const heldBy = (
  lane: Lane,
  { fault, now }: Pick<Facts, "fault" | "now">,
): Owed | undefined => {
  const { marks, report } = lane
  const head = headOf(lane)
  const by = (blocker: Blocker, sinceAt: number, name?: string): Owed => ({
    ...head,
    blocker,
    sinceAt,
    ...(name === undefined ? {} : { name }),
  })
  if (fault !== undefined) return by("fault", fault.firstFailedAt, fault.failure.tag)
  // Once it was visited it answers again, whatever its turns come to.
  if (lane.mustVisit && marks.failures !== undefined)
    return by("backoff", marks.failingSinceAt ?? now)
  if (report === undefined) return undefined
  if (report.paused && report.nonterminal > 0) {
    return by(
      "paused",
      report.pausedAt ?? report.head?.acceptedAt ?? report.waits[0]?.sinceAt ?? now,
    )
  }
  if (report.head === undefined) return undefined
  const { acceptedAt = now } = report.head
  if (marks.stalledUntilAt !== undefined) return by("stalled", marks.stalledSinceAt ?? acceptedAt)
  const binding = agentWait(lane)
  // A tool that is missing is told by the report, one wait for each call.
  if (binding !== undefined && binding.ofTool !== true) {
    return by("binding", binding.sinceAt ?? binding.reportedAt, binding.name)
  }
  if (isHeld(lane.work)) {
    const name = lane.work === "held" ? undefined : marks.heldOf
    return by("held", lane.nextAt === undefined ? acceptedAt : ticketMillis(lane.nextAt), name)
  }
  return undefined
}

/** What the head waits for itself, as far as no wait of its own is told. // O2 */
const headWaits = (lane: Lane, { agedAfterMillis, now }: Facts): ReadonlyArray<Owed> => {
  const { report } = lane
  if (report === undefined) return []
  if (report.head === undefined) {
    // Deferred work alone: it has no head before its time.
    const timed = report.nonterminal > report.parked && report.dueAt !== undefined
    return timed ? [{ blocker: "timer", sinceAt: Math.min(report.dueAt, now) }] : []
  }
  const { acceptedAt = now, state, submissionId } = report.head
  const owed = { ...headOf(lane), sinceAt: acceptedAt }
  if (report.waits.some((wait) => wait.submissionId === submissionId)) return []
  switch (state) {
    case "suspended": {
      const timed = report.dueAt !== undefined || report.recoverAt !== undefined
      return timed ? [{ ...owed, blocker: "timer" }] : []
    }
    case "ready":
      return now - acceptedAt >= agedAfterMillis ? [{ ...owed, blocker: "ready-aged" }] : []
    case "running":
      return now - acceptedAt >= agedAfterMillis ? [{ ...owed, blocker: "running-aged" }] : []
    default:
      return []
  }
}

/** The waits that the report tells, and that there are more. */
const toldWaits = ({ report }: Lane): ReadonlyArray<Owed> => {
  if (report === undefined) return []
  const told = report.waits.map((wait): Owed => {
    const { head } = report
    const ofHead = head?.submissionId === wait.submissionId ? head : undefined
    const state = ofHead?.state ?? (wait.blocker === "unknown" ? "unknown" : undefined)
    return {
      ...wait,
      ...(ofHead === undefined ? {} : { agent: ofHead.agent }),
      ...(state === undefined ? {} : { state }),
    }
  })
  const unknown = report.waits.filter((wait) => wait.blocker === "unknown")
  const parkedTold = new Set(unknown.map((wait) => wait.submissionId)).size
  const last = unknown.at(-1)
  return report.parked > parkedTold && last !== undefined
    ? [...told, { state: "unknown", blocker: "unknown", sinceAt: last.sinceAt }] // O4
    : told
}

/** What the thread has for others, since it could not be claimed, or since it is due. */
const outboxOf = ({ marks, outboxTicket, report }: Lane, { now }: Facts): ReadonlyArray<Owed> => {
  if (report?.outboxAt === undefined) return []
  const dueAt = outboxTicket === undefined ? now : ticketMillis(outboxTicket)
  return [{ blocker: "outbox", sinceAt: Math.min(marks.outbox?.sinceAt ?? dueAt, now) }]
}

/** The records that the sink lacks, where no submission is told to wait for them. */
const publicationOf = ({ marks, publishTicket, report }: Lane, { now }: Facts) => {
  if (report?.publishAt === undefined) return []
  if (report.waits.some(({ blocker }) => blocker === "publication")) return []
  const dueAt = publishTicket === undefined ? now : ticketMillis(publishTicket)
  const sinceAt = Math.min(marks.publication?.sinceAt ?? dueAt, now)
  return [{ blocker: "publication" as const, sinceAt }]
}

const owedBy = (lane: Lane, facts: Facts): ReadonlyArray<Owed> => {
  const { marks } = lane
  if (marks.condemned !== undefined) {
    return [{ ...headOf(lane), blocker: "condemned", sinceAt: marks.condemned.sinceAt }]
  }
  const held = heldBy(lane, facts)
  const waits = held === undefined ? headWaits(lane, facts) : [held]
  return [...waits, ...toldWaits(lane), ...outboxOf(lane, facts), ...publicationOf(lane, facts)]
}

const severityOf = (ageMillis: number, agedAfterMillis: number): Obligation["severity"] => {
  if (ageMillis < agedAfterMillis) return "ok"
  return ageMillis < overdueFactor * agedAfterMillis ? "aging" : "overdue"
}

/** What is owed to one thread, with its age. Pure. */
export const obligationsOf = (lane: Lane, facts: Facts): ReadonlyArray<Obligation> =>
  owedBy(lane, facts).map((owed) => {
    const ageMillis = Math.max(0, facts.now - owed.sinceAt)
    return {
      ...owed,
      threadId: lane.threadId,
      ageMillis,
      severity: severityOf(ageMillis, facts.agedAfterMillis),
      nonterminal: lane.report?.nonterminal ?? 0,
    }
  })

export interface ObligationQuery {
  readonly agedAfterMillis?: number
  readonly after?: ThreadId
  readonly limit?: number
}

/** A page of obligations by thread id. */
export const obligations = (
  host: ObjectHost,
  life: Life,
  limits: Limits,
  query: ObligationQuery,
): ObligationPage => {
  if (life.version === 0) return { obligations: [] }
  const { sql } = host.storage
  const now = host.now()
  const limit = Math.max(1, Math.min(query.limit ?? limits.pageThreads, limits.pageThreads))
  const agedAfterMillis = query.agedAfterMillis ?? limits.obligationAgedMillis
  const found: Array<Obligation> = []
  let after: ThreadId | undefined = query.after
  for (let looked = 0; looked < limits.obligationLanes;) {
    const asked = Math.min(batch, limits.obligationLanes - looked)
    const lanes = pageLanes(sql, { after: after ?? "", limit: asked })
    for (const lane of lanes) {
      const faulted = lane.marks.faultRetryAt !== undefined
      const fault = faulted ? readFault(sql, lane.threadId) : undefined
      found.push(...obligationsOf(lane, { now, agedAfterMillis, fault }))
      after = lane.threadId
      if (found.length >= limit) return { obligations: found, next: after } // O3
    }
    if (lanes.length < asked) return { obligations: found }
    looked += asked
  }
  return { obligations: found, ...(after === undefined ? {} : { next: after }) } // O3
}

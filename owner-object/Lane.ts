/**
 * A lane: what the owner keeps about one thread, as a value.
 *
 * The report is what the thread last said; the rest are the owner's own marks. A lane that might have
 * changed since its report is enrolled or must be visited, and is looked at before it is believed.
 */
import type {
  AgentId,
  Generation,
  Principal,
  SubmissionId,
  ThreadId,
} from "../contracts/Identifiers.ts"
import type { LaneReport } from "../contracts/LaneReport.ts"

/** The kinds of work a lane can need. Each kind that calls a thread has slots of its own. */
export type Work =
  | "forget"
  | "visit"
  | "recover"
  | "dispatch"
  | "binding"
  | "held"
  | `held:${string}`

/** What a lane needs that its agent's limit holds: the end of a run of that agent. */
export const heldOf = (agent: AgentId): Work => `held:${agent}`

/** Whether it waits for the end of another's run. */
export const isHeld = (work: Work | undefined): boolean =>
  work === "held" || work?.startsWith("held:") === true

/** The works that want a call at their time. A held lane waits for the end of another's run. */
export const timedWorks: ReadonlyArray<Work> = ["forget", "visit", "recover", "dispatch", "binding"]

/** A kind of call; each has slots of its own. */
export type CallKind = "dispatch" | "visit" | "recover" | "forget"

/** A wait for an agent, or a tool, that is not in this deployment. Of one head: another head ends it. */
export interface BindingWait {
  readonly submissionId: SubmissionId
  readonly attempts: number
  /** Of the first attempt; absent in rows of before it was kept. */
  readonly sinceAt?: number
  readonly notBefore: number
  readonly reportedAt: number
  /** The agents of the owner's deployment when the wait was set: another one ends it. */
  readonly agentsDigest: string
  readonly name?: string
  /** A tool without which a lost call cannot be asked about: the report tells it, and ends it. */
  readonly ofTool?: true
}

/** Somebody's word that the thread is to be forgotten. */
export interface Condemned {
  readonly author: string
  readonly reason: string
  readonly principal: Principal
  /** Whether what it owes is aborted first. */
  readonly abort: boolean
  readonly sinceAt: number
  /** Answers in a row that it still owes work. */
  readonly refusals: number
  readonly retryAt: number
  /** Its thread has not answered for so long that nothing of it is believed to run. */
  readonly unheard?: true
}

/** Visits in a row that nobody answered, and when the first of them ended. */
export interface Unseen {
  readonly visits: number
  readonly sinceAt: number
}

/** Claims of an outbox, or of records, in a row that came to nothing, since when, and when the next is made. */
export interface CarryWait {
  readonly failures: number
  readonly sinceAt: number
  readonly untilAt: number
}

/** Retries and waits of a lane. Absent means none. */
export interface Marks {
  /** Calls in a row that failed. */
  readonly failures?: number
  /** When the first of them failed. */
  readonly failingSinceAt?: number
  /** Answers in a row that changed nothing. */
  readonly unchanged?: number
  readonly backoffUntilAt?: number
  /** How often the lane stalled in a row. */
  readonly stalls?: number
  /** When it stalled for the first time in a row. */
  readonly stalledSinceAt?: number
  readonly stalledUntilAt?: number
  readonly binding?: BindingWait
  /** Looks in a row at a run that goes on, and when to look next. */
  readonly watches?: number
  readonly watchAt?: number
  /** Its recovery failed; nothing else happens for the lane until one succeeds. */
  readonly faultRetryAt?: number
  /** Its recovery succeeded, but a turn had failed: a turn is the trial that ends the fault. */
  readonly faultTrial?: true
  /** Its fault is that visits were not answered: a visit, at its retry, is what ends it. */
  readonly faultVisit?: true
  /** Visits in a row without an answer. */
  readonly unseen?: Unseen
  /** Its thread is to be forgotten; nothing else happens for the lane. */
  readonly condemned?: Condemned
  /** It would start one attempt too many: it keeps its ticket until another's run ends. */
  readonly held?: true
  /** As many attempts of this agent run as may: it keeps its ticket until one of them ends. */
  readonly heldOf?: AgentId
  /** Its report was forgotten, and by it an attempt of this agent ran: as much is believed until it is visited. */
  readonly mayRun?: AgentId
  /** Its outbox could not be carried. No wait of the lane itself. */
  readonly outbox?: CarryWait
  /** Its records could not be published. No wait of the lane itself. */
  readonly publication?: CarryWait
}

export interface Lane {
  readonly threadId: ThreadId
  readonly report: LaneReport | undefined
  /** The newest mutation whose fate the report may not account for. */
  readonly enrolled: Generation | undefined
  readonly mustVisit: boolean
  readonly suspect: boolean
  readonly marks: Marks
  readonly work: Work | undefined
  /** Whether it is in backoff; such lanes take at most half of the slots. */
  readonly slow: boolean
  /** The ticket: thousandths of a millisecond. The smallest is served next. */
  readonly nextAt: number | undefined
  /** The ticket of its outbox, which is carried whatever else the lane does or waits for. */
  readonly outboxTicket: number | undefined
  /** The ticket of its records that are to be published, likewise. */
  readonly publishTicket: number | undefined
  /** When something was last heard of it: an input, a record, a settlement. */
  readonly activeAt: number | undefined
  /** Its row says more than could be read; the next block that meets it mends it. */
  readonly damaged?: boolean
}

/** A thread nobody has heard of yet. */
export const emptyLane = (threadId: ThreadId): Lane => ({
  threadId,
  report: undefined,
  enrolled: undefined,
  mustVisit: false,
  suspect: false,
  marks: {},
  work: undefined,
  slow: false,
  nextAt: undefined,
  outboxTicket: undefined,
  publishTicket: undefined,
  activeAt: undefined,
})

/** Whether its outbox is in backoff; such lanes take at most half of the slots that carry. */
export const isOutboxSlow = ({ marks, outboxTicket }: Lane): boolean =>
  outboxTicket !== undefined && marks.outbox !== undefined

/** Whether its records are in backoff; such lanes take at most half of the slots that publish. */
export const isPublicationSlow = ({ marks, publishTicket }: Lane): boolean =>
  publishTicket !== undefined && marks.publication !== undefined

/** Whether an attempt runs in the thread, as far as its report tells. */
export const isRunning = (lane: Lane): boolean =>
  lane.report?.head?.state === "running" && lane.report.recoverAt === undefined

/** Whether nobody can say when its thread answers again: it would hold up others for ever. */
const isOut = ({ marks, mustVisit }: Lane): boolean =>
  marks.condemned?.unheard === true ||
  // A trial whose thread was visited since runs, or does not, as its report says.
  (marks.faultRetryAt !== undefined && (marks.faultTrial !== true || mustVisit))

/** Whether it takes one of the places of `runningPerOwner`. */
export const takesPlace = (lane: Lane | undefined): boolean => agentAtWork(lane) !== undefined

/**
 * The wait for an agent that keeps the head from starting. A head that starts at no time waits for something else: an
 * attempt has had its agent since, and its answer was lost.
 */
export const agentWait = ({ marks, report }: Lane): BindingWait | undefined => {
  const { binding } = marks
  const isOfHead = binding !== undefined && binding.submissionId === report?.head?.submissionId
  return isOfHead && report?.dueAt !== undefined ? binding : undefined
}

/** Of which agent an attempt may run in the thread; a turn that nobody answered may have started one. */
export const agentAtWork = (lane: Lane | undefined): AgentId | undefined => {
  const head = lane?.report?.head
  if (lane === undefined || isOut(lane)) return undefined
  if (head === undefined) return lane.report === undefined ? lane.marks.mayRun : undefined
  return isRunning(lane) || (lane.mustVisit && lane.suspect) ? head.agent : undefined
}

/** The lane without its report, which is asked for anew. */
export const withoutReport = (lane: Lane): Lane => {
  const mayRun = agentAtWork(lane)
  return {
    ...lane,
    report: undefined,
    marks: mayRun === undefined ? lane.marks : { ...lane.marks, mayRun },
  }
}

/** The marks without backoff, stall and counts: what any mutation or a fresh success leaves. */
export const withoutBackoff = (marks: Marks): Marks => {
  const { failures: _f, failingSinceAt: _s, unchanged: _u, backoffUntilAt: _b, ...rest } = marks
  return rest
}

/** The marks of a lane whose visit was answered. */
export const withoutUnseen = (marks: Marks): Marks => {
  const { unseen: _u, ...rest } = marks
  return rest
}

/** The marks of a lane that was given its turn. */
export const withoutHold = (marks: Marks): Marks => {
  const { held: _h, heldOf: _o, ...rest } = marks
  return rest
}

/** The marks without a stall. */
export const withoutStall = (marks: Marks): Marks => {
  const { stalls: _s, stalledSinceAt: _a, stalledUntilAt: _u, ...rest } = marks
  return rest
}

/** The marks of a lane whose thread was heard of. */
export const withoutUnheard = (marks: Marks): Marks => {
  if (marks.condemned?.unheard === undefined) return marks
  const { unheard: _u, ...condemned } = marks.condemned
  return { ...marks, condemned }
}

/** The marks of a lane that was condemned and is not to be forgotten after all. */
export const withoutCondemned = (marks: Marks): Marks => {
  const { condemned: _c, ...rest } = marks
  return rest
}

/** The marks of a lane whose outbox is to be tried now. */
export const withoutOutboxWait = (marks: Marks): Marks => {
  const { outbox: _o, ...rest } = marks
  return rest
}

/** The marks of a lane whose records are to be published now. */
export const withoutPublicationWait = (marks: Marks): Marks => {
  const { publication: _p, ...rest } = marks
  return rest
}

/** The marks of a lane of which whatever is carried is to be tried now. */
export const withoutCarryWaits = (marks: Marks): Marks =>
  withoutPublicationWait(withoutOutboxWait(marks))

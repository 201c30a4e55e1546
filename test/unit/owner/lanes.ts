/** Lanes and reports as tests need them. */
import type { Generation, SubmissionId, ThreadId } from "../../../contracts/Identifiers.ts"
import { AgentId, makeGeneration, Principal } from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import { makeLimits } from "../../../contracts/Limits.ts"
import { type Condemned, emptyLane, type Lane } from "../../../owner-object/Lane.ts"

export const limits = makeLimits()
export const now = 1_800_000_000_000
export const threadId = "t" as ThreadId
export const submissionId = "01890000-0000-7000-8000-000000000001" as SubmissionId

export const generation = (counter: number): Generation =>
  makeGeneration({ incarnation: 1, counter })

export const reportOf = (fields: Partial<LaneReport> = {}): LaneReport => ({
  threadId,
  born: "database-1",
  revision: 1,
  nonterminal: 0,
  parked: 0,
  paused: false,
  tailSequence: 0,
  agentsDigest: "agents",
  codeVersion: "v1",
  waits: [],
  ...fields,
})

export const headOf = (
  state: "ready" | "running" | "suspended",
): NonNullable<LaneReport["head"]> => ({
  submissionId,
  sequence: 1,
  state,
  agent: AgentId.make("agent"),
  attempted: state !== "ready",
})

export const ready = (fields: Partial<LaneReport> = {}): LaneReport =>
  reportOf({ nonterminal: 1, head: headOf("ready"), dueAt: 0, ...fields })

export const running = (fields: Partial<LaneReport> = {}): LaneReport =>
  reportOf({ nonterminal: 1, head: headOf("running"), dueAt: 0, ...fields })

/** The mark of a thread that is to be forgotten. */
export const condemnedBy = (fields: Partial<Condemned> = {}): Condemned => ({
  author: "ann",
  reason: "asked to",
  principal: Principal.make("tester"),
  abort: true,
  sinceAt: now,
  refusals: 0,
  retryAt: now,
  ...fields,
})

export const laneOf = (fields: Partial<Lane> = {}): Lane => ({ ...emptyLane(threadId), ...fields })

/** What a fake thread says of itself, and how it takes several submissions. Pure but for what it is given. */
import {
  AdmissionLimitExceeded,
  type AgentNotRegistered,
  type Unavailable,
} from "../../../contracts/Errors.ts"
import type { AgentId, Generation, ThreadId } from "../../../contracts/Identifiers.ts"
import type { LaneReport } from "../../../contracts/LaneReport.ts"
import type { Receipt, ThreadSubmission } from "../../../contracts/Submission.ts"
import type { AdmitOutcome } from "../../../contracts/ThreadRpc.ts"
import type { OpenQuery } from "../../../thread-actors/ListOpen.ts"

export interface Held {
  readonly receipt: Receipt
  readonly key: string
  readonly agent: AgentId
}

interface Facts {
  readonly threadId: ThreadId
  readonly born: string
  readonly fence: Generation | undefined
  readonly waits: "suspended" | "unknown" | undefined
  readonly lost: boolean
  readonly lacks: string | undefined
  readonly paused: boolean
}

const waitsOf = ({ lacks, lost, waits }: Facts, first: Held | undefined): LaneReport["waits"] => {
  if (first === undefined) return []
  const { submissionId } = first.receipt
  if (lost && lacks !== undefined) {
    return [{ submissionId, blocker: "binding", name: lacks, sinceAt: 0 }]
  }
  if (waits === undefined) return []
  const blocker = waits === "unknown" ? "unknown" : "approval"
  return [{ submissionId, blocker, sinceAt: 0 }]
}

export const fakeReport = (
  facts: Facts,
  queue: ReadonlyArray<Held>,
  revision: number,
  runs: boolean,
): LaneReport => {
  const { fence, lost, waits } = facts
  const first = queue[0]
  const head = waits === "unknown" ? queue[1] : first
  const running = head !== undefined && runs
  const state = running || lost ? "running" : "ready"
  return {
    threadId: facts.threadId,
    born: revision === 0 ? "" : facts.born,
    ...(fence === undefined ? {} : { fence }),
    revision,
    nonterminal: queue.length,
    parked: waits === "unknown" ? 1 : 0,
    ...(head === undefined
      ? {}
      : {
          head: {
            submissionId: head.receipt.submissionId,
            sequence: head.receipt.sequence,
            state: waits === "suspended" ? "suspended" : state,
            agent: head.agent,
            attempted: running,
          },
        }),
    ...(head === undefined || lost || waits === "suspended" ? {} : { dueAt: 0 }),
    ...(head !== undefined && lost ? { recoverAt: 0 } : {}),
    paused: facts.paused,
    tailSequence: revision,
    agentsDigest: "agents",
    codeVersion: "v1",
    waits: waitsOf(facts, first),
  }
}

interface Room {
  readonly room?: number
  readonly replayOnly?: {
    readonly limit: string
    readonly actual: number
    readonly maximum: number
  }
}

interface Taking {
  readonly admit: (submission: ThreadSubmission) => Receipt | Unavailable | AgentNotRegistered
  readonly isKnown: (key: string) => boolean
}

/** Takes them in their order, new ones as far as there is room. */
export const admitAll = (
  submissions: ReadonlyArray<ThreadSubmission>,
  { replayOnly, room = Infinity }: Room,
  { admit, isKnown }: Taking,
): ReadonlyArray<AdmitOutcome> => {
  let left = room
  return submissions.map((submission) => {
    const known = isKnown(submission.idempotencyKey)
    if (!known && left <= 0 && replayOnly !== undefined) {
      return { _tag: "Refused", error: new AdmissionLimitExceeded(replayOnly) }
    }
    const receipt = admit(submission)
    if ("_tag" in receipt) return { _tag: "Refused", error: receipt }
    if (!known) left -= 1
    return { _tag: "Accepted", receipt }
  })
}

/** What is open behind a sequence. */
export const openOf = (
  queue: ReadonlyArray<Held>,
  { acceptedBefore = Infinity, after, agent, falling = false, limit, state }: OpenQuery,
  runs: boolean,
) => {
  const stateOf = (held: Held) =>
    held === queue[0] && runs ? ("running" as const) : ("ready" as const)
  const isBehind = (sequence: number): boolean =>
    after === undefined || (falling ? sequence < after : sequence > after)
  const rising = queue.filter(
    (held) =>
      isBehind(held.receipt.sequence) &&
      held.receipt.acceptedAt < acceptedBefore &&
      (state === undefined || stateOf(held) === state) &&
      (agent === undefined || held.agent === agent),
  )
  const open = falling ? rising.toReversed() : rising
  const submissions = open.slice(0, limit).map((held) => ({
    submissionId: held.receipt.submissionId,
    sequence: held.receipt.sequence,
    agent: held.agent,
    state: stateOf(held),
    acceptedAt: held.receipt.acceptedAt,
  }))
  return { submissions, more: open.length > limit }
}

/**
 * The open submissions of a thread that a filter means, by sequence, rising or falling. Reads only rows of the ledger that have not
 * settled, never an input.
 */
import type { OpenPage } from "../contracts/Bulk.ts"
import type { AgentId } from "../contracts/Identifiers.ts"
import type { SubmissionState } from "../contracts/Submission.ts"
import { checkHeader, readHeader } from "./Header.ts"
import { nonterminalRows, type SubmissionRow } from "./Ledger.ts"
import type { Thread } from "./Thread.ts"

export interface OpenQuery {
  readonly agent?: AgentId
  readonly state?: SubmissionState
  readonly acceptedBefore?: number
  readonly falling?: boolean
  readonly after?: number
  readonly limit: number
}

/** Whether a submission is all that is asked for. Pure. */
export const isMeant = (
  row: Pick<SubmissionRow, "acceptedAt" | "agent" | "sequence" | "state">,
  { acceptedBefore = Infinity, after, agent, falling = false, state }: Omit<OpenQuery, "limit">,
): boolean =>
  (after === undefined || (falling ? row.sequence < after : row.sequence > after)) &&
  row.acceptedAt < acceptedBefore &&
  (agent === undefined || row.agent === agent) &&
  (state === undefined || row.state === state)

/** None for an untouched thread. */
export const listOpen = (thread: Thread, query: OpenQuery): OpenPage => {
  if (!thread.hasTables) return { submissions: [], more: false }
  const { sql } = thread.host.storage
  const header = readHeader(sql)
  checkHeader(header)
  const rising = nonterminalRows(sql, header.tail).filter((row) => isMeant(row, query))
  const meant = query.falling === true ? rising.toReversed() : rising
  const submissions = meant
    .slice(0, query.limit)
    .map(({ acceptedAt, agent, id, sequence, state }) => ({
      submissionId: id,
      sequence,
      agent,
      state,
      acceptedAt,
    }))
  return { submissions, more: meant.length > submissions.length }
}

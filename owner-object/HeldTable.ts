/** The lanes that the limit of an agent holds, as rows: a row or two are read for each such agent, none without one. */
import type { AgentId } from "../contracts/Identifiers.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import { heldOf } from "./Lane.ts"

/** An agent whose limit holds lanes, and the first of their tickets. */
export interface HeldAgent {
  readonly agent: AgentId
  readonly ticket: number
}

const prefix = heldOf("" as AgentId)

/** The first ticket of the lanes that have this work. */
export const firstHeld = (sql: Sql, work: string): number | undefined => {
  const [row] = sql.all<{ ticket: number | null }>(
    `SELECT MIN(first) AS ticket FROM (
       SELECT * FROM (SELECT next_at AS first FROM lanes WHERE work = ?1 AND slow = 0 ORDER BY next_at LIMIT 1)
       UNION ALL
       SELECT * FROM (SELECT next_at AS first FROM lanes WHERE work = ?1 AND slow = 1 ORDER BY next_at LIMIT 1))`,
    work,
  )
  return row?.ticket ?? undefined
}

/** The agents of which lanes are held, each with the first of their tickets. */
export const heldAgents = (sql: Sql): ReadonlyArray<HeldAgent> => {
  const found: Array<HeldAgent> = []
  for (let after: string = prefix; ;) {
    const [row] = sql.all<{ work: string }>(
      "SELECT work FROM lanes WHERE work > ? AND work < 'held;' ORDER BY work LIMIT 1",
      after,
    )
    if (row === undefined) return found
    after = row.work
    const ticket = firstHeld(sql, after)
    if (ticket !== undefined) found.push({ agent: after.slice(prefix.length) as AgentId, ticket })
  }
}

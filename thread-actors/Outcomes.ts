/**
 * The outcomes of a thread as texts to be searched: what its owner's index reads. Writes nothing.
 *
 * - X1 One answer looks at a bounded number of records, and reads the payloads of settlements alone.
 * - X2 A text has what people read: the words and numbers of an output, the tag and message of a failure, the reason
 *   of an abort; its beginning, if it is long.
 */
import type { SubmissionId } from "../contracts/Identifiers.ts"
import type { OutcomeText } from "../contracts/Outcomes.ts"
import type { Outcome } from "../contracts/Submission.ts"
import type { Sql } from "../platform/ObjectStorage.ts"
import type { Thread } from "./Thread.ts"

/** Records that one answer looks at. */
const looksMax = 1_024

/** Texts and numbers of any JSON, in their order, up to so many characters. */
const wordsOf = (value: unknown, characters: number): string => {
  const words: Array<string> = []
  let length = 0
  const waiting: Array<unknown> = [value]
  while (waiting.length > 0 && length < characters) {
    const next = waiting.pop()
    if (typeof next === "string" || typeof next === "number") {
      const word = String(next).slice(0, characters - length)
      words.push(word)
      length += word.length + 1
    } else if (typeof next === "object" && next !== null) {
      // One by one: what is spread are arguments, of which there can be too many.
      for (const inner of Object.values(next).toReversed()) waiting.push(inner)
    }
  }
  return words.join(" ").toWellFormed()
}

interface Ended {
  readonly outcome: Outcome
  readonly output?: unknown
  readonly failure?: { readonly tag?: unknown; readonly message?: unknown }
  readonly abort?: { readonly reason?: unknown }
}

/** What is searched of a settlement. // X2 */
const textOf = ({ abort, failure, output }: Ended, characters: number): string =>
  wordsOf([output, failure?.tag, failure?.message, abort?.reason], characters)

type Row = {
  readonly sequence: number
  readonly submission: number
  readonly recordedAt: number
  readonly id: string
  readonly payload: string
}

const readEnded = (payload: string): Ended | undefined => {
  try {
    return JSON.parse(payload) as Ended
  } catch {
    return undefined
  }
}

/** The last record that one answer looks at. */
const lastLookedAt = (
  sql: Sql,
  after: number,
): { readonly upTo: number; readonly more: boolean } => {
  const [row] = sql.all<{ last: number | null; seen: number }>(
    `SELECT max(sequence) AS last, count(*) AS seen FROM
      (SELECT sequence FROM journal WHERE sequence > ? ORDER BY sequence LIMIT +?)`,
    after,
    looksMax,
  )
  return { upTo: row?.last ?? after, more: (row?.seen ?? 0) === looksMax }
}

export interface OutcomesQuery {
  readonly after: number
  readonly limit: number
  readonly characters: number
}

/** The settlements behind a record. */
export const readOutcomes = (thread: Thread, { after, characters, limit }: OutcomesQuery) => {
  if (!thread.hasTables) return { outcomes: [], readTo: 0, more: false }
  const { sql } = thread.host.storage
  const { more, upTo } = lastLookedAt(sql, after)
  const rows = sql.all<Row>(
    `SELECT j.sequence, j.submission, j.recordedAt, s.id, j.payload FROM journal j
     JOIN submissions s ON s.sequence = j.submission
     WHERE j.sequence > ? AND j.sequence <= ? AND j.kind = 'Settled' ORDER BY j.sequence LIMIT +?`,
    after,
    upTo,
    limit,
  ) // X1
  const full = rows.length === limit
  const outcomes = rows.flatMap((row): ReadonlyArray<OutcomeText> => {
    const ended = readEnded(row.payload)
    if (ended === undefined) return []
    return [
      {
        submissionId: row.id as SubmissionId,
        sequence: row.submission,
        outcome: ended.outcome,
        settledAt: row.recordedAt,
        text: textOf(ended, characters),
      },
    ]
  })
  return { outcomes, readTo: full ? (rows.at(-1)?.sequence ?? upTo) : upTo, more: more || full }
}

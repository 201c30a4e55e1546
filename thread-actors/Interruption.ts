/**
 * What the journal says of the last attempt of a submission that was lost with its object.
 *
 * - N1 The look is bounded: a record further back than this is of an attempt that got somewhere.
 * - N2 A record that says nothing of it, or that an older version has written, is as good as none.
 */
import { Option, Schema } from "effect"
import type { Sql } from "../platform/ObjectStorage.ts"

const Interruption = Schema.Struct({
  /** Claims so far, the lost one included. */
  attempts: Schema.Finite,
  /** In a row under `codeVersion`. */
  vanished: Schema.Finite,
  /** In a row, whatever the version. */
  lost: Schema.Finite,
  codeVersion: Schema.NullOr(Schema.String),
})

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Interruption))

const recordsLookedAt = 64

/** The last interruption among the newest records, if it is of this submission. */
export const lastInterruption = (
  sql: Sql,
  submission: number,
): typeof Interruption.Type | undefined => {
  const [row] = sql.all<{ payload: string }>(
    `SELECT payload FROM (SELECT * FROM journal ORDER BY sequence DESC LIMIT +?)
     WHERE submission = ? AND kind = 'AttemptInterrupted' ORDER BY sequence DESC LIMIT 1`,
    recordsLookedAt, // N1
    submission,
  )
  return Option.getOrUndefined(decode(row?.payload)) // N2
}

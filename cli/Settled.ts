/** A settlement at a terminal, and the exit code it means. */
import { Effect } from "effect"
import type { Settlement } from "../contracts/Settlement.ts"
import { ExitCode } from "./ExitCode.ts"
import { jsonDocument, plainLines } from "./Plain.ts"
import { fields } from "./Table.ts"
import { Stopped } from "./Stopped.ts"
import { isoOf } from "./Times.ts"

export const settlementText = (settlement: Settlement): string => {
  const { abort, failure, output } = settlement
  const table = fields({
    submission: settlement.submissionId,
    sequence: settlement.sequence,
    outcome: settlement.outcome,
    settled: isoOf(settlement.settledAt),
    attempts: settlement.attempts,
    failure: failure?.tag,
    "aborted by": abort?.author,
    reason: abort?.reason,
    forced: abort?.forced,
  })
  const parts = [
    table,
    ...(failure === undefined ? [] : [plainLines(failure.message)]),
    ...(failure?.error === undefined ? [] : [jsonDocument(failure.error)]),
    ...(output === undefined ? [] : [jsonDocument(output)]),
  ]
  return parts.join("\n")
}

/** Ends the command with the code of the outcome; the settlement has been shown. */
export const endAs = (settlement: Settlement): Effect.Effect<void, Stopped> =>
  settlement.outcome === "completed"
    ? Effect.void
    : Effect.fail(
        new Stopped({
          exitCode: ExitCode.unsuccessful,
          what: `It settled ${settlement.outcome}`,
        }),
      )

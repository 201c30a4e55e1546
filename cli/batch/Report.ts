/** How a batch goes and went: a bar while it runs, then a table, or a line for every line. */
import { Clock, Effect } from "effect"
import { ExitCode } from "../ExitCode.ts"
import { type About, type CallError, stoppedBy } from "../Remedies.ts"
import type { Session } from "../Session.ts"
import { Stopped } from "../Stopped.ts"
import { fields, listTable } from "../Table.ts"
import type { Checkpoint } from "./Checkpoint.ts"
import type { LineOutcome } from "./SubmitBatch.ts"

const barCharacters = 24
const refusalsShown = 20

interface Tally {
  accepted: number
  duplicates: number
  readonly refused: Array<{ readonly line: number; readonly error: CallError }>
}

const bar = (done: number, total: number): string => {
  const filled = Math.floor((done / total) * barCharacters)
  return `[${"#".repeat(filled)}${".".repeat(barCharacters - filled)}] ${done}/${total}`
}

export interface Report {
  readonly onOutcome: (outcome: LineOutcome) => Effect.Effect<void>
  readonly onPause: (error: CallError) => Effect.Effect<void>
  /** Says how it went; fails unless every line was accepted. */
  readonly end: (ended: CallError | Stopped | undefined) => Effect.Effect<void, Stopped>
  /** Says how far it came, and how it goes on. */
  readonly interrupted: Effect.Effect<void>
}

const summary = (total: number, before: number, tally: Tally): string =>
  fields({
    lines: total,
    accepted: tally.accepted,
    "accepted before": before === 0 ? undefined : before,
    "known already": tally.duplicates === 0 ? undefined : tally.duplicates,
    refused: tally.refused.length,
    left: total - before - tally.accepted - tally.refused.length || undefined,
  })

const refusals = (tally: Tally, about: About): string => {
  const rows = [...tally.refused]
    .sort((one, other) => one.line - other.line)
    .slice(0, refusalsShown)
    .map(({ error, line }) => [line, error._tag, stoppedBy(error, about).what])
  const more = tally.refused.length - rows.length
  return `${listTable(["line", "refused", "why"], rows)}${more > 0 ? `\n… and ${more} more` : ""}`
}

const goOn = (checkpointPath: string | undefined): string =>
  checkpointPath === undefined
    ? "Run again, it would submit every line anew: next time, give it a --checkpoint FILE."
    : "Run the same command again: it goes on where it stopped."

/** The report of one run of a batch. */
export const makeReport = Effect.fnUntraced(function* (options: {
  readonly session: Session
  readonly about: About
  readonly total: number
  readonly checkpoint: Checkpoint
  readonly checkpointPath: string | undefined
}): Effect.fn.Return<Report> {
  const { about, checkpoint, checkpointPath, session, total } = options
  const startedAt = yield* Clock.currentTimeMillis
  const tally: Tally = { accepted: 0, duplicates: 0, refused: [] }
  const before = checkpoint.accepted.size
  if (session.json) {
    for (const [line, receipt] of checkpoint.accepted) {
      yield* session.showLine({ line, receipt }, () => "")
    }
  }
  const progress = Effect.fnUntraced(function* (remark: string) {
    const now = yield* Clock.currentTimeMillis
    const done = tally.accepted + tally.refused.length
    const rate = done === 0 ? 0 : Math.round(done / Math.max((now - startedAt) / 1_000, 0.001))
    const refused = tally.refused.length === 0 ? "" : `  ${tally.refused.length} refused`
    yield* session.output.progress(`${bar(before + done, total)}${refused}  ${rate}/s${remark}`)
  })
  return {
    onOutcome: Effect.fnUntraced(function* (outcome) {
      const { line } = outcome
      if (outcome._tag === "Accepted") {
        tally.accepted += 1
        if (outcome.receipt.duplicate) tally.duplicates += 1
        if (session.json) yield* session.showLine({ line, receipt: outcome.receipt }, () => "")
      } else {
        tally.refused.push({ line, error: outcome.error })
        if (session.json) yield* session.showLine({ line, error: outcome.error }, () => "")
      }
      yield* progress("")
    }),
    onPause: (error) => progress(`  waiting: ${stoppedBy(error, about).what}`),
    interrupted: Effect.suspend(() =>
      session.output.note(
        `${before + tally.accepted} of ${total} lines are known to be accepted. ${goOn(checkpointPath)}`,
      ),
    ),
    end: Effect.fnUntraced(function* (ended) {
      if (!session.json) {
        yield* session.output.print(summary(total, before, tally))
        if (tally.refused.length > 0) yield* session.output.print(`\n${refusals(tally, about)}`)
      }
      if (ended !== undefined) {
        const { error, exitCode, next, what } =
          ended._tag === "Stopped" ? ended : stoppedBy(ended, about)
        const steps = [...(next === undefined ? [] : [next]), goOn(checkpointPath)]
        return yield* new Stopped({
          exitCode,
          what,
          next: steps.join("\n"),
          ...(error === undefined ? {} : { error }),
        })
      }
      if (tally.refused.length === 0) return
      return yield* new Stopped({
        exitCode: ExitCode.refused,
        what: `${tally.refused.length} of ${total} lines were refused`,
        next:
          checkpointPath === undefined
            ? "Put them into a file of their own, corrected, and submit that."
            : "Run the same command again to submit those alone, once what refused them is mended.",
      })
    }),
  }
})

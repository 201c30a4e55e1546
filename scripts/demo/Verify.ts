/**
 * The verdict on one thread, from its history. Pure.
 *
 * - V1 Every receipt has exactly one `Settled` record, and none is settled that has no receipt.
 * - V2 Inputs were applied once each and in the order of their sequences, each after its predecessor
 *   had settled.
 * - V3 The receipts' sequences are 1, 2, 3, …; so are the records'.
 * - V4 The settlement that was awaited, the one that `status` tells, and the one that is recorded are
 *   the same.
 */
import { Option, Result, Schema } from "effect"
import { canonicalJson } from "../../contracts/CanonicalJson.ts"
import {
  type JournalRecord,
  type Receipt,
  Settlement,
  type SubmissionId,
  type SubmissionStatus,
  type ThreadId,
} from "../../contracts/index.ts"

export interface ThreadEvidence {
  readonly threadId: ThreadId
  /** Of its document. */
  readonly name: string
  readonly receipts: ReadonlyArray<Receipt>
  /** What `awaitSettlement` answered. */
  readonly settlements: ReadonlyMap<SubmissionId, Settlement>
  /** What `status` answered at the end, in the order of the receipts. */
  readonly statuses: ReadonlyArray<SubmissionStatus>
  /** The whole history, in the order it was paged. */
  readonly records: ReadonlyArray<JournalRecord>
}

export type FindingKind = "duplicate" | "lost" | "reordered" | "gap" | "mismatch"

export interface Finding {
  readonly kind: FindingKind
  readonly threadId: ThreadId
  /** One sentence for people. */
  readonly what: string
}

type Found = Omit<Finding, "threadId">

const countBy = (
  records: ReadonlyArray<JournalRecord>,
  kind: JournalRecord["kind"],
): ReadonlyMap<SubmissionId, number> => {
  const counts = new Map<SubmissionId, number>()
  for (const record of records) {
    if (record.kind !== kind) continue
    counts.set(record.submissionId, (counts.get(record.submissionId) ?? 0) + 1)
  }
  return counts
}

const onceEach = ({ receipts, records }: ThreadEvidence): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  const known = new Set(receipts.map(({ submissionId }) => submissionId))
  for (const kind of ["InputApplied", "Settled"] as const) {
    const counts = countBy(records, kind)
    for (const { submissionId, sequence } of receipts) {
      const count = counts.get(submissionId) ?? 0
      if (count === 0) found.push({ kind: "lost", what: `${sequence} has no ${kind} record` }) // V1 V2
      if (count > 1)
        found.push({ kind: "duplicate", what: `${sequence} has ${count} ${kind} records` })
    }
    for (const submissionId of counts.keys()) {
      if (known.has(submissionId)) continue
      found.push({ kind: "duplicate", what: `${submissionId} has a ${kind} record and no receipt` }) // V1
    }
  }
  return found
}

const inOrder = ({ receipts, records }: ThreadEvidence): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  const sequences = new Map(receipts.map(({ submissionId, sequence }) => [submissionId, sequence]))
  let applied = 0
  let open: number | undefined
  for (const { kind, submissionId } of records) {
    const sequence = sequences.get(submissionId)
    if (sequence === undefined) continue
    if (kind === "InputApplied") {
      if (sequence < applied)
        found.push({ kind: "reordered", what: `${sequence} after ${applied}` }) // V2
      if (open !== undefined) {
        found.push({ kind: "reordered", what: `${sequence} applied before ${open} had settled` }) // V2
      }
      applied = Math.max(applied, sequence)
      open = sequence
    } else if (sequence !== open) {
      found.push({ kind: "reordered", what: `${sequence} has a ${kind} record outside of its run` }) // V2
    } else if (kind === "Settled") open = undefined
  }
  return found
}

const withoutGaps = ({ receipts, records }: ThreadEvidence): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  const check = (what: string, sequences: ReadonlyArray<number>) => {
    const wrong = sequences.findIndex((sequence, index) => sequence !== index + 1)
    if (wrong < 0) return
    found.push({ kind: "gap", what: `${what} ${wrong + 1} has the sequence ${sequences[wrong]}` }) // V3
  }
  check(
    "record",
    records.map(({ sequence }) => sequence),
  )
  check(
    "receipt",
    receipts.map(({ sequence }) => sequence).toSorted((a, b) => a - b),
  )
  return found
}

/** One text for equal settlements, whatever the order of their keys. */
const textOf = (settlement: unknown): string | undefined =>
  Result.getOrUndefined(
    canonicalJson(settlement, { maxBytes: Number.MAX_SAFE_INTEGER, maxNesting: 64 }),
  )?.text

/** What a `Settled` record says of the outcome; the rest of a settlement stands beside it. */
const RecordedOutcome = Schema.Struct({
  outcome: Settlement.fields.outcome,
  output: Settlement.fields.output,
  failure: Settlement.fields.failure,
  abort: Settlement.fields.abort,
})

const decodeOutcome = Schema.decodeUnknownOption(RecordedOutcome)

const outcomeText = (value: unknown): string | undefined =>
  Option.getOrUndefined(Option.map(decodeOutcome(value), textOf))

const agreeing = (evidence: ThreadEvidence): ReadonlyArray<Found> => {
  const found: Array<Found> = []
  const recorded = new Map(
    evidence.records
      .filter(({ kind }) => kind === "Settled")
      .map(({ submissionId, payload }) => [submissionId, outcomeText(payload)]),
  )
  evidence.receipts.forEach(({ submissionId, sequence }, index) => {
    const awaited = evidence.settlements.get(submissionId)
    const told = evidence.statuses[index]?.settlement
    if (awaited === undefined || textOf(awaited) !== textOf(told)) {
      found.push({ kind: "mismatch", what: `${sequence}: awaited and told settlement differ` }) // V4
    }
    if (outcomeText(awaited) === undefined || outcomeText(awaited) !== recorded.get(submissionId)) {
      found.push({ kind: "mismatch", what: `${sequence}: awaited and recorded outcome differ` }) // V4
    }
  })
  return found
}

/** Everything that is wrong with a thread; nothing, if its promise was kept. */
export const verifyThread = (evidence: ThreadEvidence): ReadonlyArray<Finding> =>
  [onceEach, inOrder, withoutGaps, agreeing].flatMap((check) =>
    check(evidence).map((found) => ({ ...found, threadId: evidence.threadId })),
  )

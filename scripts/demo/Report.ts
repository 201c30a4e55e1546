/**
 * The end of a demonstration: counts, the verdict, and the tables that show them. Pure.
 */
import { Option } from "effect"
import { table } from "table"
import type { Settlement, SubmissionId } from "../../contracts/index.ts"
import { describeFailure } from "./Client.ts"
import type { Interruption } from "./Ledger.ts"
import type { DocumentDigest } from "../../examples/digest/DocumentDigest.ts"
import { mostUsedTerms, newestDigest } from "./Terms.ts"
import { type Finding, type FindingKind, type ThreadEvidence, verifyThread } from "./Verify.ts"

export interface FailedDocument {
  readonly name: string
  readonly revision: number
  readonly failure: string
}

export interface Summary {
  readonly documents: number
  readonly submissions: number
  /** Settled by outcome. */
  readonly outcomes: ReadonlyMap<string, number>
  /** Failed by the tag of the failure. */
  readonly failures: ReadonlyMap<string, number>
  readonly attempts: number
  readonly restarts: number
  readonly interruption: Interruption | undefined
  /** Runs that had begun and not ended when the process was killed, as their histories tell. */
  readonly interrupted: number
  /** Runs whose lost attempt was found by recovery, and that have settled since. */
  readonly recovered: number
  /** What settled as failed, with the document's name. */
  readonly failed: ReadonlyArray<FailedDocument>
  /** From the first submit to the last settlement, the outage included. */
  readonly elapsedMillis: number
  readonly findings: ReadonlyArray<Finding>
  /** The newest digest of each document that has one. */
  readonly digests: ReadonlyArray<DocumentDigest>
}

const termsMax = 15

/** Above this many a table of documents is noise. */
const documentsShownMax = 12

const tally = (keys: ReadonlyArray<string>): ReadonlyMap<string, number> => {
  const counts = new Map<string, number>()
  for (const key of keys) counts.set(key, (counts.get(key) ?? 0) + 1)
  return counts
}

const idsOf = ({ receipts }: ThreadEvidence): ReadonlyArray<SubmissionId> =>
  receipts.map(({ submissionId }) => submissionId)

/** Its run was entered, and then again. */
const wasInterrupted =
  ({ records, settlements }: ThreadEvidence) =>
  (submissionId: SubmissionId): boolean =>
    (settlements.get(submissionId)?.attempts ?? 0) > 1 ||
    records.some((one) => one.submissionId === submissionId && one.kind === "AttemptInterrupted")

/** Its history tells first that an attempt of it was lost, and then its settlement. */
const wasRecovered =
  ({ records }: ThreadEvidence) =>
  (submissionId: SubmissionId): boolean => {
    const kinds = records.filter((one) => one.submissionId === submissionId).map(({ kind }) => kind)
    const lostAt = kinds.indexOf("AttemptInterrupted")
    return lostAt >= 0 && kinds.includes("Settled", lostAt)
  }

const failedOf = ({ name, settlements }: ThreadEvidence): ReadonlyArray<FailedDocument> =>
  [...settlements.values()].flatMap(({ sequence, failure }) =>
    failure === undefined
      ? []
      : [
          {
            name,
            revision: sequence,
            failure: describeFailure({ _tag: failure.tag, message: failure.message }),
          },
        ],
  )

/** Judges the evidence and counts what it holds. */
export const summarize = (
  evidence: ReadonlyArray<ThreadEvidence>,
  run: Pick<Summary, "restarts" | "interruption" | "elapsedMillis">,
): Summary => {
  const threads = evidence.filter(({ receipts }) => receipts.length > 0)
  const settlements = threads.flatMap((thread): ReadonlyArray<Settlement> => [
    ...thread.settlements.values(),
  ])
  return {
    ...run,
    documents: threads.length,
    submissions: threads.reduce((sum, { receipts }) => sum + receipts.length, 0),
    interrupted: threads.flatMap((thread) => idsOf(thread).filter(wasInterrupted(thread))).length,
    recovered: threads.flatMap((thread) => idsOf(thread).filter(wasRecovered(thread))).length,
    failed: threads.flatMap(failedOf),
    outcomes: tally(settlements.map(({ outcome }) => outcome)),
    failures: tally(
      settlements.flatMap(({ failure }) => (failure === undefined ? [] : [failure.tag])),
    ),
    attempts: settlements.reduce((sum, { attempts }) => sum + attempts, 0),
    findings: threads.flatMap(verifyThread),
    digests: threads.flatMap((thread) => Option.toArray(newestDigest(thread))),
  }
}

/** Whether everything that was accepted was settled exactly once and in order. */
export const isRight = (summary: Summary): boolean =>
  summary.submissions > 0 && summary.findings.length === 0 && summary.restarts > 0

const countOf = (summary: Summary, kind: FindingKind): number =>
  summary.findings.filter((finding) => finding.kind === kind).length

const failureText = ({ failures }: Summary): string =>
  failures.size === 0
    ? ""
    : ` (${[...failures].map(([tag, count]) => `${count} ${tag}`).join(", ")})`

const rateText = (summary: Summary): string =>
  ((summary.submissions * 1_000) / Math.max(summary.elapsedMillis, 1)).toFixed(1)

/** The table of counts. */
export const summaryTable = (summary: Summary): string => {
  const outcome = (name: string) => summary.outcomes.get(name) ?? 0
  const { interruption } = summary
  const rows: ReadonlyArray<readonly [string, string | number]> = [
    ["documents", summary.documents],
    ["submissions", summary.submissions],
    ["settled completed", outcome("completed")],
    ["settled failed", `${outcome("failed")}${failureText(summary)}`],
    ["settled aborted", outcome("aborted")],
    ["attempts", summary.attempts],
    ["restarts (SIGKILL)", summary.restarts],
    [
      "settled, under way at the kill",
      interruption === undefined
        ? "-"
        : `${interruption.settled}, ${interruption.accepted - interruption.settled}`,
    ],
    ["runs interrupted by it", summary.interrupted],
    ["recovered and settled since", summary.recovered],
    ["submissions per second", rateText(summary)],
    ["duplicates", countOf(summary, "duplicate")],
    ["lost", countOf(summary, "lost")],
    ["out of order", countOf(summary, "reordered")],
    ["gaps in sequences", countOf(summary, "gap")],
    ["settlements told differently", countOf(summary, "mismatch")],
  ]
  return table(
    rows.map((row) => [...row]),
    {
      columns: { 1: { alignment: "right" } },
      drawHorizontalLine: (line, lines) => line === 0 || line === lines,
    },
  )
}

/** A line under the head and around the whole. */
const headAndEdges = (line: number, lines: number) => line < 2 || line === lines

/** The table of the terms that most documents share; empty text if there are none. */
export const termsTable = ({ digests }: Summary): string => {
  const terms = mostUsedTerms(digests, termsMax)
  if (terms.length === 0) return ""
  return table(
    [
      ["most used terms", "documents", "occurrences"],
      ...terms.map(({ term, documents, count }) => [printable(term), documents, count]),
    ],
    {
      columns: { 1: { alignment: "right" }, 2: { alignment: "right" } },
      drawHorizontalLine: headAndEdges,
    },
  )
}

const revisionText = ({ revision }: DocumentDigest): string =>
  revision._tag === "First"
    ? "first"
    : `${revision.number}, ${Math.round(revision.similarity * 100)} % as before`

/** The table of documents; empty text if there are too many to read. */
export const documentsTable = ({ digests }: Summary): string => {
  if (digests.length === 0 || digests.length > documentsShownMax) return ""
  return table(
    [
      ["document", "title", "words", "links", "revision", "about"],
      ...digests.map((digest) => [
        digest.name,
        digest.title,
        digest.words,
        digest.linkCount,
        revisionText(digest),
        digest.keyTerms
          .slice(0, 4)
          .map(({ term }) => term)
          .join(", "),
      ]),
    ].map((row) => row.map((cell) => printable(String(cell)))),
    {
      columns: { 2: { alignment: "right" }, 3: { alignment: "right" } },
      columnDefault: { truncate: 40 },
      drawHorizontalLine: headAndEdges,
    },
  )
}

/** A title may hold what a terminal would obey. */
const printable = (text: string): string => text.replace(/\p{Cc}|\p{Cf}/gu, " ")

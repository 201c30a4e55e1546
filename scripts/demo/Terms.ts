/**
 * The most used terms over all documents: each counts once for a document, by its newest digest.
 */
import { Option, Schema } from "effect"
import { DocumentDigest } from "../../examples/digest/DocumentDigest.ts"
import type { Settlement } from "../../contracts/index.ts"
import type { ThreadEvidence } from "./Verify.ts"

export interface UsedTerm {
  readonly term: string
  readonly documents: number
  /** Occurrences in those documents. */
  readonly count: number
}

const decodeDigest = Schema.decodeUnknownOption(Schema.toCodecJson(DocumentDigest))

/** The digest of a thread's newest completed revision, as the agent's own schema reads it. */
export const newestDigest = (evidence: ThreadEvidence): Option.Option<DocumentDigest> => {
  const newest = [...evidence.settlements.values()]
    .filter((settlement: Settlement) => settlement.outcome === "completed")
    .toSorted((a, b) => b.sequence - a.sequence)[0]
  return newest === undefined ? Option.none() : decodeDigest(newest.output)
}

/** The terms that most documents share, at most `termsMax`. */
export const mostUsedTerms = (
  digests: ReadonlyArray<DocumentDigest>,
  termsMax: number,
): ReadonlyArray<UsedTerm> => {
  const used = new Map<string, UsedTerm>()
  for (const { term, count } of digests.flatMap(({ keyTerms }) => keyTerms)) {
    const before = used.get(term) ?? { term, documents: 0, count: 0 }
    used.set(term, { term, documents: before.documents + 1, count: before.count + count })
  }
  return [...used.values()]
    .sort((a, b) => b.documents - a.documents || b.count - a.count || (a.term < b.term ? -1 : 1))
    .slice(0, termsMax)
}

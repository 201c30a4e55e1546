/**
 * The checks of records by themselves: that none is missing, doubled, changed or without a meaning. Pure.
 *
 * - R1 A broken place is told once: what comes behind it is compared with what stands there, not with what
 *   should.
 * - R2 What was pruned of a settled submission cannot be compared: a check that finds no other fault tells so. The digest
 *   that stands there is covered by the next one.
 */
import { Result } from "effect"
import { canonicalJson } from "../contracts/CanonicalJson.ts"
import { recordKinds } from "../contracts/JournalRecord.ts"
import { bytesOf, chainDigest, type StoredRecord } from "./Journal.ts"
import type { PageRecord, VerifyPage } from "./VerifyPage.ts"

/** What a check came to: the places that fail it, or why it could not look. */
export type Found =
  | { readonly _tag: "Places"; readonly places: ReadonlyArray<string> }
  | { readonly _tag: "Skipped"; readonly why: string }

export const places = (all: ReadonlyArray<string>): Found => ({ _tag: "Places", places: all })

export const skipped = (why: string): Found => ({ _tag: "Skipped", why })

const kinds: ReadonlySet<string> = new Set(recordKinds)

/** The kind of a record, if it is one of ours. Nothing else of a stored text is told. */
export const kindOf = (record: Pick<PageRecord, "kind">): string =>
  kinds.has(record.kind) ? record.kind : "of an unknown kind"

/** Whether what a record said was pruned. // R2 */
const isPruned = (record: PageRecord, { rows }: VerifyPage): boolean =>
  record.payload === "" && record.bytes === 0 && rows.get(record.submission)?.state === "settled"

/** The places, if there are any; else what was not looked at. // R2 */
const besidePruned = (all: ReadonlyArray<string>, page: VerifyPage): Found => {
  const count = page.records.filter((record) => isPruned(record, page)).length
  return all.length > 0 || count === 0
    ? places(all)
    : skipped(`${count} records of this page were pruned; of the others none fails it`)
}

/** The places, if there are any; else that there are more rows than a page looks at, if so. */
export const besideRest = (all: ReadonlyArray<string>, isMore: boolean, limit: number): Found =>
  all.length > 0 || !isMore
    ? places(all)
    : skipped(`only the first ${limit} rows were looked at; of these none fails it`)

/** A place in words. */
export const at = (record: Pick<PageRecord, "sequence" | "kind">, what: string): string =>
  `record ${record.sequence} (${kindOf(record)}): ${what}`

/** The same named fact stands once. */
export const recordIdentity = ({ records, repeated }: VerifyPage): Found => {
  const earlier = new Set(repeated)
  const seen = new Set<string>()
  return places(
    records.flatMap((record) => {
      if (record.name === null) return []
      const key = JSON.stringify([record.submission, record.name, record.part])
      const isSecond = seen.has(key) || earlier.has(record.sequence)
      seen.add(key)
      return isSecond ? [at(record, "the same fact stands on an earlier record")] : []
    }),
  )
}

/** Sequences have no gap. */
export const contiguity = ({ after, earlier, records }: VerifyPage): Found => {
  const before = after === 0 ? 0 : earlier[0]?.sequence
  if (before === undefined) return skipped("nothing stands before this page")
  if (records.length === 0 && before !== after)
    return skipped(`the last record is ${before}, before this page`)
  const gaps: Array<string> = []
  let expected = before + 1
  for (const { sequence } of records) {
    if (sequence !== expected)
      gaps.push(`before record ${sequence}: ${sequence - expected} missing from ${expected} on`)
    expected = sequence + 1 // R1
  }
  return places(gaps)
}

const digestOf = (previous: string, record: PageRecord): string | undefined =>
  record.isSound ? chainDigest(previous, record as unknown as StoredRecord) : undefined

/** Every digest covers its record and the one before. */
export const digestChain = (page: VerifyPage): Found => {
  const { after, earlier, records } = page
  const first = after === 0 ? "" : earlier[0]?.digest
  if (first === undefined) return skipped("nothing stands before this page")
  let previous = String(first)
  const broken: Array<string> = []
  for (const record of records) {
    if (!isPruned(record, page) && digestOf(previous, record) !== record.digest)
      broken.push(at(record, "its digest covers something else"))
    previous = record.isSound ? record.digest : "" // R1
  }
  return besidePruned(broken, page)
}

/** More than any payload that was ever written. */
export const readable = { maxBytes: 8 * 1024 * 1024, maxNesting: 256 }

/** A record that has what its columns and its kind promise, and says the same when it is written again. */
const unmeant = (record: PageRecord, inputBytes: number): string | undefined => {
  if (!record.isSound) return "a column holds what it is not for"
  if (!kinds.has(record.kind)) return "its kind is not known here"
  if (record.value === undefined) return "its payload is no JSON object"
  const again = canonicalJson(record.value, readable)
  if (Result.isFailure(again) || again.success.text !== record.payload)
    return "its payload is not canonical JSON"
  return record.bytes === bytesOf(record.payload) + inputBytes ? undefined : "its size is another"
}

/** Kinds and payloads decode, and mean the same written again. */
export const schemaRoundTrip = (page: VerifyPage): Found =>
  besidePruned(
    page.records.flatMap((record) => {
      if (isPruned(record, page)) return []
      const row = record.kind === "InputApplied" ? page.rows.get(record.submission) : undefined
      const what = unmeant(record, row?.inputBytes ?? 0)
      return what === undefined ? [] : [at(record, what)]
    }),
    page,
  )

/**
 * The ledger against the journal, record by record: rows say what their records say, and the counters that
 * records carry follow from one another. Pure.
 *
 * - G1 A row is compared with every record that is about it, so that pages together compare all rows that
 *   have any.
 * - G2 Every queued submission that a floor has passed has settled by then, was parked or had joined a run; the
 *   one it stands at has not settled.
 * - G3 Nothing is recorded of a run that has settled, but that somebody has had its messages carried again.
 */
import type { EarlierRecord, LedgerRow, PageRecord, RawRecord, VerifyPage } from "./VerifyPage.ts"
import { at, type Found, places, skipped } from "./VerifyRecords.ts"

const applied = (record: PageRecord, row: LedgerRow, page: VerifyPage): string | undefined => {
  const { value } = record
  if (value === undefined) return undefined
  const same =
    value["acceptedAt"] === row.acceptedAt &&
    value["agent"] === row.agent &&
    value["inputDigest"] === row.inputDigest &&
    value["principal"] === row.principal
  if (!same) return "the row tells another admission"
  if (row.attempts < 1) return "the row tells of no attempt"
  return page.changedInputs.has(row.sequence) ? "the input is another than the digest's" : undefined
}

const settled = (record: PageRecord, row: LedgerRow): string | undefined => {
  if (row.state !== "settled") return "the row has not settled"
  if (row.settledSequence !== record.sequence) return "the row names another settlement"
  const { value } = record
  if (value === undefined) return undefined
  if (value["outcome"] !== row.outcome) return "the row has another outcome"
  if (value["attempts"] !== row.attempts) return "the row tells another number of attempts"
  return row.epoch === record.epoch + 1 ? undefined : "the row is in another epoch"
}

const aborted = ({ value }: PageRecord, row: LedgerRow): string | undefined => {
  if (value === undefined) return undefined
  const { author, principal, reason } = value
  return row.abort === JSON.stringify({ author, principal, reason })
    ? undefined
    : "the row tells another abort"
}

const interrupted = ({ value }: PageRecord, row: LedgerRow): string | undefined =>
  value !== undefined && Number(value["attempts"]) > row.attempts
    ? "the row tells of fewer attempts"
    : undefined

/** Another settlement is told by its own check; and messages outlive their run. // G3 */
const mayFollowSettlement = ({ kind, value }: PageRecord): boolean =>
  kind === "Settled" || (kind === "Recovered" && value?.["command"] === "retry")

/** What a record and its row disagree about. */
const disagreement = (record: PageRecord, page: VerifyPage): string | undefined => {
  const row = page.rows.get(record.submission) // G1
  if (row === undefined) return "its submission is not in the ledger"
  if (page.unsound.has(row.sequence)) return "a column of the row holds what it is not for"
  if (record.epoch > row.epoch) return "the row is in an earlier epoch"
  if (row.settledSequence !== null && record.sequence > row.settledSequence)
    if (!mayFollowSettlement(record)) return "the row had settled before"
  switch (record.kind) {
    case "InputApplied":
      return applied(record, row, page)
    case "Settled":
      return settled(record, row)
    case "AbortRequested":
      return aborted(record, row)
    case "AttemptInterrupted":
      return interrupted(record, row)
    default:
      return undefined
  }
}

type Counters = Pick<RawRecord, "open" | "settled" | "floor">

/** What a record does to the counters, but for the floor. */
const countersAfter = (before: Counters, record: PageRecord): Omit<Counters, "floor"> => {
  const closed = before.open === record.submission ? null : before.open
  switch (record.kind) {
    case "InputApplied":
      return { open: record.submission, settled: before.settled }
    case "Settled":
      return { open: closed, settled: before.settled + 1 }
    case "Recovered": {
      const decision = record.value?.["decision"]
      if (decision === "MarkUnknown") return { open: closed, settled: before.settled }
      return decision === "Resume"
        ? { open: record.submission, settled: before.settled }
        : { open: before.open, settled: before.settled }
    }
    default:
      return { open: before.open, settled: before.settled }
  }
}

const opens = (record: PageRecord): boolean =>
  record.kind === "InputApplied" ||
  (record.kind === "Recovered" && record.value?.["decision"] === "Resume")

const movesFloor = (record: PageRecord): boolean =>
  record.kind === "Settled" ||
  (record.kind === "Recovered" && record.value?.["decision"] === "MarkUnknown")

const isSettledBy = (row: LedgerRow | undefined, sequence: number): boolean =>
  row !== undefined && row.settledSequence !== null && row.settledSequence <= sequence

/** What is wrong with the floor of a record. // G2 */
const floorAt = (before: Counters, record: PageRecord, page: VerifyPage): string | undefined => {
  if (!movesFloor(record))
    return record.floor === before.floor ? undefined : "the floor moved without a reason"
  if (record.floor < before.floor) return "the floor went back"
  const end = Math.min(record.floor, before.floor + page.rows.size + 1)
  for (let sequence = before.floor; sequence < end; sequence++) {
    const row = page.rows.get(sequence)
    // What has a time of its own was never in the queue; what was claimed was parked, or open; what joined was taken.
    if (row === undefined || row.notBefore !== null || row.attempts > 0) continue
    if (row.host !== null) continue
    if (!isSettledBy(row, record.sequence)) return `the floor passed submission ${sequence}`
  }
  return isSettledBy(page.rows.get(record.floor), record.sequence)
    ? "the floor stands at a settled submission"
    : undefined
}

const miscounted = (before: Counters, record: PageRecord, page: VerifyPage): string | undefined => {
  if (opens(record) && before.open !== null) return `the run of ${before.open} was open`
  const expected = countersAfter(before, record)
  if (record.open !== expected.open) return "it carries another open run"
  if (record.settled !== expected.settled) return "it carries another number of settlements"
  return floorAt(before, record, page)
}

const atStart: Counters = { open: null, settled: 0, floor: 1 }

/** Counters that do not follow from those of the record before. */
const counterPlaces = (page: VerifyPage, first: Counters): ReadonlyArray<string> => {
  let before = first
  return page.records.flatMap((record) => {
    if (!record.isSound) return []
    const what = miscounted(before, record, page)
    before = record
    return what === undefined ? [] : [at(record, what)]
  })
}

/** What the journal has of calls that the rows of open calls do not, for runs that go on. */
const callPlaces = (page: VerifyPage): ReadonlyArray<string> => {
  const records = new Map(page.records.map((record) => [record.sequence, record]))
  return page.unanswered.flatMap(({ callPart, part, sequence, unknownAt }) => {
    const record = records.get(sequence)
    if (record === undefined || page.rows.get(record.submission)?.state === "settled") return []
    const isOpen = record.kind === "ToolUnknown" || record.value?.["execution"] === "ordinary"
    const isListed = callPart === part && (unknownAt !== null) === (record.kind === "ToolUnknown")
    return isOpen && !isListed ? [at(record, "the open calls do not have it")] : []
  })
}

/** The counters that the page begins with; none where nothing stands before it. */
const countersBefore = (
  after: number,
  earlier: ReadonlyArray<EarlierRecord>,
): Counters | undefined => (after === 0 ? atStart : earlier[0])

/** The ledger says what the records of this page say. `rest` are places of the ledger as a whole. */
export const ledger = (page: VerifyPage, rest: ReadonlyArray<string>): Found => {
  const before = countersBefore(page.after, page.earlier)
  if (before === undefined) return skipped("nothing stands before this page")
  const rows = page.records.flatMap((record) => {
    if (!record.isSound) return []
    const what = disagreement(record, page)
    return what === undefined ? [] : [at(record, what)]
  })
  return places([...rows, ...counterPlaces(page, before), ...callPlaces(page), ...rest])
}

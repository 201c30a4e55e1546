/**
 * The checks of order: one settlement each, and inputs applied in the order of their admission. Pure.
 *
 * - O1 A settlement that stands is the one that its row names, and a row that names one has it.
 * - O2 When an input is applied, none before it may have been applied that was admitted later and could have
 *   waited: one that had no time of its own could always; one that was deferred could from its time on.
 * - O3 A run that was parked and goes on applies no input a second time, so that it cannot be out of order.
 */
import type { LedgerRow, PageRecord, VerifyPage } from "./VerifyPage.ts"
import { at, type Found, places, skipped } from "./VerifyRecords.ts"

/** What stands where a row says that its settlement does. */
const namedBy = (page: VerifyPage, row: LedgerRow) => {
  const sequence = row.settledSequence
  if (sequence === null) return undefined
  return (
    page.records.find((record) => record.sequence === sequence) ?? page.settlements.get(sequence)
  )
}

const standsAlone = (page: VerifyPage, record: PageRecord): string | undefined => {
  const row = page.rows.get(record.submission)
  if (row === undefined || row.settledSequence === record.sequence) return undefined // the ledger's to tell
  const named = namedBy(page, row)
  return named?.kind === "Settled" && named.submission === record.submission
    ? at(record, `another settlement stands on record ${row.settledSequence}`)
    : undefined
}

/** Each submission settles at most once, and has a settlement once it says so. // O1 */
export const oneSettlement = (page: VerifyPage): Found => {
  const found: Array<string> = []
  const settled = new Set<number>()
  for (const record of page.records) {
    if (record.kind !== "Settled") continue
    const second = settled.has(record.submission)
      ? at(record, "an earlier settlement stands on this page")
      : standsAlone(page, record)
    settled.add(record.submission)
    if (second !== undefined) found.push(second)
  }
  for (const row of page.rows.values()) {
    if (row.state !== "settled" && row.settledSequence === null) continue
    const named = namedBy(page, row)
    if (named?.kind !== "Settled" || named.submission !== row.sequence)
      found.push(
        `submission ${row.sequence}: no settlement of it stands on record ${row.settledSequence}`,
      )
  }
  return places(found)
}

interface Applied {
  readonly submission: number
  /** When; before everything where only later records are within reach. */
  readonly at: number
}

/** What was applied before the page, as far as it is within reach; the run that was open then, too. */
const appliedBefore = ({ earlier }: VerifyPage): Array<Applied> => {
  const applied = earlier
    .filter((record) => record.kind === "InputApplied")
    .map((record) => ({ submission: record.submission, at: record.recordedAt }))
  const open = earlier.at(-1)?.open ?? null
  if (open !== null) applied.push({ submission: open, at: Number.NEGATIVE_INFINITY })
  return applied
}

/** What is wrong with an input being applied here. */
const outOfOrder = (
  record: PageRecord,
  row: LedgerRow,
  before: ReadonlyArray<Applied>,
): string | undefined => {
  const { notBefore } = row
  if (notBefore !== null && record.recordedAt < notBefore)
    return at(record, "the submission was deferred to a later time")
  const waited = notBefore ?? Number.NEGATIVE_INFINITY
  const passed = before.find((other) => other.submission > row.sequence && other.at >= waited) // O2
  return passed === undefined
    ? undefined
    : at(record, `submission ${passed.submission} was applied before ${row.sequence}`)
}

/** Whether nothing is known of what was applied before this page. */
const isOutOfReach = ({ after, earlier }: VerifyPage, before: ReadonlyArray<Applied>): boolean =>
  after > 0 && before.length === 0 && earlier.at(-1)?.sequence !== 1

/** Inputs were applied in order. // O3 */
export const fifo = (page: VerifyPage): Found => {
  const applied = page.records.filter((record) => record.kind === "InputApplied")
  const before = appliedBefore(page)
  if (applied.length > 0 && isOutOfReach(page, before))
    return skipped(`no input was applied on the ${page.earlier.length} records before this page`)
  const found: Array<string> = []
  for (const record of applied) {
    const row = page.rows.get(record.submission)
    if (row === undefined) continue
    const what = outOfOrder(record, row, before)
    if (what !== undefined) found.push(what)
    before.push({ submission: record.submission, at: record.recordedAt })
  }
  return places(found)
}

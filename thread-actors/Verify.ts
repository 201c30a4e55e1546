/**
 * `verify`: every check once on one page of a thread's history, and on its last page of the ledger and the
 * rows beside it as a whole.
 *
 * - V1 It only reads. What is broken is a failed check, never a failure of the call.
 * - V2 A detail names sequences and kinds of ours, never what a payload or a name holds.
 */
import { verifyChecks, type VerifyCheck, type VerifyReply } from "../contracts/Verify.ts"
import { children } from "./VerifyChildren.ts"
import { readHeader } from "./Header.ts"
import type { Thread } from "./Thread.ts"
import { ledger } from "./VerifyLedger.ts"
import { fifo, oneSettlement } from "./VerifyOrder.ts"
import { outbox } from "./VerifyOutbox.ts"
import { readVerifyPage, type VerifyPage, type VerifyQuery } from "./VerifyPage.ts"
import {
  contiguity,
  digestChain,
  type Found,
  recordIdentity,
  schemaRoundTrip,
  skipped,
} from "./VerifyRecords.ts"
import { schedules } from "./VerifySchedules.ts"
import { tailPlaces } from "./VerifyTail.ts"

type Name = (typeof verifyChecks)[number]

const toldMax = 1_024

const told = (check: Name, found: Found): VerifyCheck => {
  if (found._tag === "Skipped") return { _tag: "Skipped", check, why: found.why }
  const [first] = found.places
  return first === undefined
    ? { _tag: "Passed", check }
    : { _tag: "Failed", check, detail: first.slice(0, toldMax), places: found.places.length } // V2
}

const checksOf = (thread: Thread, page: VerifyPage): { readonly [N in Name]: Found } => {
  const { sql } = thread.host.storage
  const { historyRecords } = thread.limits
  const header = readHeader(sql)
  return {
    recordIdentity: recordIdentity(page),
    contiguity: contiguity(page),
    digestChain: digestChain(page),
    schemaRoundTrip: schemaRoundTrip(page),
    oneSettlement: oneSettlement(page),
    fifo: fifo(page),
    ledger: ledger(page, page.isLast ? tailPlaces(sql, header, historyRecords) : []),
    outbox: outbox(sql, header.ownerId, page, historyRecords),
    children: children(sql, page, historyRecords),
    schedules: schedules(sql, page, historyRecords),
  }
}

const untouched: VerifyReply = {
  checks: verifyChecks.map((check) => told(check, skipped("nothing was ever stored here"))),
  records: 0,
}

/** Verifies one page. Reads as many rows as the page has, and those it is about. // V1 */
export const verify = (thread: Thread, query: VerifyQuery): VerifyReply => {
  if (!thread.hasTables) return untouched
  const page = readVerifyPage(thread, query)
  const found = checksOf(thread, page)
  const checks = verifyChecks.map((check) => told(check, found[check]))
  const last = page.records.at(-1)
  const reply = { checks, records: page.records.length }
  return page.isLast || last === undefined ? reply : { ...reply, next: last.sequence }
}

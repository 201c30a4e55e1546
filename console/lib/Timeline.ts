/**
 * The records of a thread as people read them: a group for each submission, an item for each thing that was done, with
 * what began it and what answered it together. Pure.
 *
 * - G1 Every record is in exactly one item of one group, in the order of the sequences.
 * - G2 Records are put in whatever order they come, each once: pages from before and frames of a stream meet.
 */
import type { JournalRecord } from "../../client/sdk/index.ts"
import { fieldsOf } from "./RecordWords.ts"

/** One thing of a run: a step, a call, a wait, or a word about it. */
export interface Item {
  /** The sequence of its first record: its place. */
  readonly sequence: number
  readonly name: string | undefined
  readonly records: readonly [JournalRecord, ...ReadonlyArray<JournalRecord>]
  /** How it stands: `open` waits for its answer. */
  readonly standing: "done" | "open" | "failed" | "unknown"
  readonly fromAt: number
  readonly toAt: number
  /** Of the attempt that wrote its first record. */
  readonly epoch: number
}

/** A submission, as far as its records are here. */
export interface Group {
  readonly submissionId: string
  readonly items: ReadonlyArray<Item>
  readonly input: JournalRecord | undefined
  readonly settled: JournalRecord | undefined
  readonly outcome: string | undefined
  readonly fromAt: number
  readonly toAt: number
  /** How many attempts there were, once it has settled. */
  readonly attempts: number | undefined
  /** Whether its beginning is on a page that is not here. */
  readonly cut: boolean
}

/** Puts records among those that are here. // G2 */
export const merged = (
  here: ReadonlyArray<JournalRecord>,
  more: ReadonlyArray<JournalRecord>,
): ReadonlyArray<JournalRecord> => {
  const last = here.at(-1)?.sequence ?? 0
  const isNext = more.every(({ sequence }, index) =>
    index === 0 ? sequence > last : sequence > (more[index - 1]?.sequence ?? 0),
  )
  if (isNext) return [...here, ...more]
  const bySequence = new Map(here.map((record) => [record.sequence, record]))
  for (const record of more) bySequence.set(record.sequence, record)
  return [...bySequence.values()].toSorted((a, b) => a.sequence - b.sequence)
}

/** What the kinds that answer something answer. */
const begins: Readonly<Record<string, ReadonlyArray<string>>> = {
  ToolSettled: ["ToolPrepared"],
  ToolUnknown: ["ToolPrepared"],
  ToolResolved: ["ToolPrepared"],
  ToolPrepared: ["ToolPrepared"],
  ApprovalDecided: ["ApprovalRequested"],
  SignalReceived: ["SignalAwaited"],
  TimerFired: ["TimerSet", "ApprovalRequested", "SignalAwaited"],
  WaitWithdrawn: ["TimerSet", "ApprovalRequested", "SignalAwaited", "ChildRequested"],
  ChildSettled: ["ChildRequested"],
}

const opening = new Set(["ToolPrepared", "ApprovalRequested", "SignalAwaited", "TimerSet"])

const isFailure = (record: JournalRecord): boolean => {
  const fields = fieldsOf(record)
  if (record.kind === "StepFailed" || record.kind === "AttemptInterrupted") return true
  if (record.kind === "ToolSettled") return fields["result"] === undefined && "tag" in fields
  if (record.kind === "ApprovalDecided") return fields["approved"] === false
  const isEnd = record.kind === "Settled" || record.kind === "ChildSettled"
  return isEnd && fields["outcome"] !== "completed"
}

const standingOf = (last: JournalRecord): Item["standing"] => {
  if (last.kind === "ToolUnknown") return "unknown"
  if (opening.has(last.kind) || last.kind === "ChildRequested") return "open"
  return isFailure(last) ? "failed" : "done"
}

type Records = [JournalRecord, ...Array<JournalRecord>]

const itemOf = (records: Records): Item => {
  const [first] = records
  const last = records.at(-1) ?? first
  return {
    sequence: first.sequence,
    name: first.name,
    records,
    standing: standingOf(last),
    fromAt: first.recordedAt,
    toAt: last.recordedAt,
    epoch: first.epoch,
  }
}

/** The items of one submission's records. // G1 */
const itemsOf = (records: ReadonlyArray<JournalRecord>): ReadonlyArray<Item> => {
  const items: Array<Records> = []
  const byName = new Map<string, Records>()
  for (const record of records) {
    const { kind, name } = record
    const begun = name === undefined ? undefined : byName.get(name)
    if (begun !== undefined && begins[kind]?.includes(begun[0].kind) === true) {
      begun.push(record)
      continue
    }
    const own: Records = [record]
    items.push(own)
    if (name !== undefined) byName.set(name, own)
  }
  return items.map(itemOf)
}

const groupOf = (submissionId: string, records: ReadonlyArray<JournalRecord>): Group => {
  const settled = records.findLast(({ kind }) => kind === "Settled")
  const input = records.find(({ kind }) => kind === "InputApplied")
  const { attempts, outcome } = settled === undefined ? {} : fieldsOf(settled)
  const times = records.map(({ recordedAt }) => recordedAt)
  return {
    submissionId,
    items: itemsOf(records),
    input,
    settled,
    outcome: typeof outcome === "string" ? outcome : settled && "settled",
    fromAt: Math.min(...times),
    toAt: Math.max(...times),
    attempts: typeof attempts === "number" ? attempts : undefined,
    // What settles without ever having run has no input of its own on record.
    cut: input === undefined && (records[0]?.sequence ?? 1) > 1,
  }
}

/** The groups of a thread, in the order in which they first appear. */
export const groupsOf = (records: ReadonlyArray<JournalRecord>): ReadonlyArray<Group> => {
  const bySubmission = new Map<string, Array<JournalRecord>>()
  for (const record of records) {
    const own = bySubmission.get(record.submissionId)
    if (own === undefined) bySubmission.set(record.submissionId, [record])
    else own.push(record)
  }
  return [...bySubmission].map(([submissionId, own]) => groupOf(submissionId, own))
}

/** The record that asks for an approval of this name, where it is here: what there is to decide. */
export const approvalOf = (
  records: ReadonlyArray<JournalRecord>,
  asked: { readonly submissionId: string; readonly name: string | undefined },
): JournalRecord | undefined =>
  records.findLast(
    ({ kind, name, submissionId }) =>
      kind === "ApprovalRequested" && name === asked.name && submissionId === asked.submissionId,
  )

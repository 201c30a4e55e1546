import { describe, expect, it } from "vitest"
import {
  type JournalRecord,
  OwnerId,
  type Receipt,
  type Settlement,
  SubmissionId,
  ThreadId,
} from "../../../contracts/index.ts"
import { type ThreadEvidence, verifyThread } from "../../../scripts/demo/Verify.ts"

const threadId = ThreadId.make("thread")
const idOf = (sequence: number) =>
  SubmissionId.make(`00000000-0000-7000-8000-${String(sequence).padStart(12, "0")}`)

const receipt = (sequence: number): Receipt => ({
  ownerId: OwnerId.make("owner"),
  threadId,
  submissionId: idOf(sequence),
  sequence,
  acceptedAt: 1,
  duplicate: false,
})

const settlement = (sequence: number): Settlement => ({
  submissionId: idOf(sequence),
  sequence,
  outcome: "completed",
  output: { words: sequence },
  settledAt: 2,
  attempts: 1,
})

const record = (
  sequence: number,
  kind: JournalRecord["kind"],
  submission: number,
  payload: JournalRecord["payload"] = null,
): JournalRecord => ({
  sequence,
  submissionId: idOf(submission),
  kind,
  epoch: 1,
  recordedAt: 1,
  payload,
})

const settled = (sequence: number, submission: number) =>
  record(sequence, "Settled", submission, { outcome: "completed", output: { words: submission } })

/** Two submissions, as they should be. */
const right: ThreadEvidence = {
  threadId,
  name: "a.md",
  receipts: [receipt(1), receipt(2)],
  settlements: new Map([
    [idOf(1), settlement(1)],
    [idOf(2), settlement(2)],
  ]),
  statuses: [1, 2].map((sequence) => ({
    submissionId: idOf(sequence),
    state: "settled",
    sequence,
    attempts: 1,
    settlement: settlement(sequence),
  })),
  records: [
    record(1, "InputApplied", 1),
    record(2, "StepCompleted", 1),
    settled(3, 1),
    record(4, "InputApplied", 2),
    settled(5, 2),
  ],
}

const findings = (doctored: Partial<ThreadEvidence>) =>
  verifyThread({ ...right, ...doctored }).map(({ kind, what }) => `${kind}: ${what}`)

/** The same records with sequences from 1, so that a test breaks one thing only. */
const renumbered = (records: ReadonlyArray<JournalRecord>) =>
  records.map((one, index) => ({ ...one, sequence: index + 1 }))

const [applied1, step1, settled1, applied2, settled2] = right.records as [
  JournalRecord,
  JournalRecord,
  JournalRecord,
  JournalRecord,
  JournalRecord,
]

describe("the verdict on a thread", () => {
  it("finds nothing where every receipt was settled once and in order", () => {
    expect(findings({})).toEqual([])
  })

  it("finds a submission that was settled twice", () => {
    const records = renumbered([applied1, step1, settled1, settled1, applied2, settled2])
    expect(findings({ records })).toContain("duplicate: 1 has 2 Settled records")
  })

  it("finds an input that was applied twice", () => {
    const records = renumbered([applied1, applied1, step1, settled1, applied2, settled2])
    expect(findings({ records })).toContain("duplicate: 1 has 2 InputApplied records")
  })

  it("finds a settlement that nobody has a receipt for", () => {
    expect(
      findings({
        receipts: [receipt(1)],
        statuses: right.statuses.slice(0, 1),
      }),
    ).toEqual([
      `duplicate: ${idOf(2)} has a InputApplied record and no receipt`,
      `duplicate: ${idOf(2)} has a Settled record and no receipt`,
    ])
  })

  it("finds a receipt without a settlement, and one whose input was never applied", () => {
    expect(findings({ records: right.records.slice(0, 4) })).toContain(
      "lost: 2 has no Settled record",
    )
    expect(findings({ records: right.records.slice(0, 3) })).toContain(
      "lost: 2 has no InputApplied record",
    )
  })

  it("finds an empty history of accepted work", () => {
    expect(findings({ records: [] }).filter((finding) => finding.startsWith("lost"))).toHaveLength(
      4,
    )
  })

  it("finds inputs that were applied out of order", () => {
    const records = renumbered([applied2, settled2, applied1, step1, settled1])
    expect(findings({ records })).toEqual(["reordered: 1 after 2"])
  })

  it("finds an input that was applied before its predecessor had settled", () => {
    const records = renumbered([applied1, step1, applied2, settled1, settled2])
    expect(findings({ records })).toContain("reordered: 2 applied before 1 had settled")
  })

  it("finds a record outside of its submission's run", () => {
    const records = renumbered([applied1, settled1, step1, applied2, settled2])
    expect(findings({ records })).toEqual([
      "reordered: 1 has a StepCompleted record outside of its run",
    ])
  })

  it("finds a gap in the records, a record told twice, and one told out of place", () => {
    expect(findings({ records: right.records.filter((one) => one !== step1) })).toEqual([
      "gap: record 2 has the sequence 3",
    ])
    expect(findings({ records: [applied1, step1, step1, settled1, applied2, settled2] })).toEqual([
      "gap: record 3 has the sequence 2",
    ])
  })

  it("finds a receipt whose sequence is missing or given twice", () => {
    expect(findings({ receipts: [receipt(1), { ...receipt(2), sequence: 3 }] })).toContain(
      "gap: receipt 2 has the sequence 3",
    )
    expect(findings({ receipts: [receipt(1), { ...receipt(2), sequence: 1 }] })).toContain(
      "gap: receipt 2 has the sequence 1",
    )
  })

  it("finds an output that is recorded otherwise than it was awaited", () => {
    const other = record(5, "Settled", 2, { outcome: "completed", output: { words: 3 } })
    const failed = record(5, "Settled", 2, {
      outcome: "failed",
      failure: { tag: "T", message: "" },
    })
    for (const last of [other, failed, record(5, "Settled", 2, "nonsense")]) {
      expect(findings({ records: [...right.records.slice(0, 4), last] })).toEqual([
        "mismatch: 2: awaited and recorded outcome differ",
      ])
    }
  })

  it("finds a status that tells another settlement than was awaited, or none", () => {
    const [first, second] = right.statuses as [
      (typeof right.statuses)[0],
      (typeof right.statuses)[0],
    ]
    const late = { ...second, settlement: { ...settlement(2), settledAt: 9 } }
    const { settlement: _, ...running } = second
    for (const told of [late, { ...running, state: "running" as const }]) {
      expect(findings({ statuses: [first, told] })).toEqual([
        "mismatch: 2: awaited and told settlement differ",
      ])
    }
  })

  it("takes settlements for equal whatever the order of their keys", () => {
    const output = { a: 1, b: [{ c: 2, d: 3 }] }
    const turned = { b: [{ d: 3, c: 2 }], a: 1 }
    const one = { ...settlement(1), output }
    expect(
      verifyThread({
        threadId,
        name: "a.md",
        receipts: [receipt(1)],
        settlements: new Map([[idOf(1), one]]),
        statuses: [
          { submissionId: idOf(1), state: "settled", sequence: 1, attempts: 1, settlement: one },
        ],
        records: [applied1, record(2, "Settled", 1, { output: turned, outcome: "completed" })],
      }),
    ).toEqual([])
  })
})

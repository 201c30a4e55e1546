/** Records as people read them: what was asked and what answered it together, each once and in order. */
import { describe, expect, it } from "vitest"
import type { JournalRecord } from "../../../client/sdk/index.ts"
import {
  leftInDoubt,
  problemOf,
  readResult,
  resolutions,
  wordsOfCommand,
} from "../../../console/lib/Commands.ts"
import { lineOf } from "../../../console/lib/RecordWords.ts"
import { approvalOf, groupsOf, merged } from "../../../console/lib/Timeline.ts"
import { recordKinds } from "../../../contracts/JournalRecord.ts"

let sequence = 0

const record = (kind: string, given: Partial<JournalRecord> = {}): JournalRecord => {
  sequence += 1
  return {
    sequence,
    submissionId: "s-1",
    kind,
    epoch: 1,
    recordedAt: sequence * 1_000,
    payload: {},
    ...given,
  }
}

const shapeOf = (records: ReadonlyArray<JournalRecord>) =>
  groupsOf(records).map(({ items, submissionId }) => [
    submissionId,
    items.map((item) => [item.records.map(({ kind }) => kind).join("+"), item.standing]),
  ])

describe("records", () => {
  it("that come in pages and by a stream, in any order, are there once each", () => {
    const all = Array.from({ length: 50 }, () => record("Progress"))
    const early = merged(all.slice(20, 40), all.slice(0, 25))
    const whole = merged(merged(early, all.slice(35)), all.slice(49))
    expect(whole).toEqual(all)
    expect(merged([], all)).toEqual(all)
    expect(merged(all, [])).toEqual(all)
    expect(merged([], all.toReversed())).toEqual(all)
  })

  it("are grouped by their submission, and by what they answer", () => {
    const records = [
      record("InputApplied", { payload: { input: { cents: 1 } } }),
      record("ToolPrepared", { name: "pay" }),
      record("ApprovalRequested", { name: "refund" }),
      record("Progress", { name: "half" }),
      record("ToolUnknown", { name: "pay" }),
      record("InputApplied", { submissionId: "s-2" }),
      record("ToolResolved", { name: "pay", payload: { resolution: "SafeToRetry" } }),
      record("ToolPrepared", { name: "pay", epoch: 2 }),
      record("ToolSettled", { name: "pay", epoch: 2, payload: { result: 1 } }),
      record("ApprovalDecided", { name: "refund", payload: { approved: false } }),
      record("TimerSet", { name: "later" }),
      record("ChildRequested", { name: "child" }),
      record("ChildSettled", { name: "child", payload: { outcome: "failed" } }),
      record("Settled", { payload: { outcome: "completed", attempts: 2 } }),
    ]
    expect(shapeOf(records)).toEqual([
      [
        "s-1",
        [
          ["InputApplied", "done"],
          ["ToolPrepared+ToolUnknown+ToolResolved+ToolPrepared+ToolSettled", "done"],
          ["ApprovalRequested+ApprovalDecided", "failed"],
          ["Progress", "done"],
          ["TimerSet", "open"],
          ["ChildRequested+ChildSettled", "failed"],
          ["Settled", "done"],
        ],
      ],
      ["s-2", [["InputApplied", "done"]]],
    ])
    const [first] = groupsOf(records)
    expect(first).toMatchObject({ attempts: 2, outcome: "completed", cut: false })
    expect(first?.items.flatMap((item) => item.records).length).toBe(13)
  })

  it("whose beginning is on another page are a group all the same", () => {
    const [group] = groupsOf([record("ToolSettled", { name: "pay", payload: { tag: "Declined" } })])
    expect(group).toMatchObject({ cut: true, outcome: undefined, items: [{ standing: "failed" }] })
  })

  it("say in a line what they hold, whatever an agent has put there", () => {
    const odd = [
      null,
      7,
      "text",
      [],
      {},
      { by: 7, input: null, failure: 3, summary: {}, dueAt: "x" },
    ]
    for (const kind of [...recordKinds, "Dreamt"])
      for (const payload of odd)
        expect(typeof lineOf(record(kind, { payload: payload as never }))).toBe("string")
    const failure = { tag: "Declined", message: "the card is old" }
    const abort = { author: "ann", reason: "sent twice", forced: false }
    expect([
      lineOf(record("Settled", { payload: { outcome: "failed", failure } })),
      lineOf(
        record("Settled", {
          payload: { outcome: "failed", failure: { tag: "Gone", message: "", error: { a: 1 } } },
        }),
      ),
      lineOf(record("Settled", { payload: { outcome: "aborted", abort } })),
      lineOf(
        record("ApprovalDecided", { payload: { approved: true, author: "ann", reason: "seen" } }),
      ),
      lineOf(record("StepCompleted", { payload: {}, pruned: true })),
    ]).toEqual([
      "Declined: the card is old",
      'Gone: {"a":1}',
      "ann: “sent twice”",
      "approved by ann: “seen”",
      "was pruned",
    ])
  })

  it("that ask for an approval are found by who waits for it", () => {
    const asked = record("ApprovalRequested", {
      name: "refund",
      payload: { summary: "Refund it?" },
    })
    const others = [
      record("ApprovalRequested", { name: "other" }),
      record("ApprovalRequested", { name: "refund", submissionId: "s-2" }),
    ]
    expect(approvalOf([asked, ...others], { submissionId: "s-1", name: "refund" })).toBe(asked)
    expect(approvalOf(others, { submissionId: "s-1", name: "refund" })).toBeUndefined()
  })
})

describe("a command", () => {
  it("says what comes of it before it is given", () => {
    for (const kind of [
      "approve",
      "deny",
      "resolve",
      "retry",
      "abort",
      "wake",
      "pause",
      "resume",
    ] as const)
      expect(wordsOfCommand(kind).consequence.length).toBeGreaterThan(40)
    for (const { consequence } of resolutions) expect(consequence).not.toBe("")
  })

  it("says of a pause nothing that stands elsewhere: it is ended from several pages", () => {
    expect(wordsOfCommand("resume").consequence).not.toMatch(/above|below/)
  })

  it("says how many calls are still in doubt, be it one", () => {
    expect([0, 1, 2].map(leftInDoubt)).toEqual([
      "",
      " 1 more call of it is in doubt.",
      " 2 more calls of it are in doubt.",
    ])
  })

  it("is not sent without a name and a reason, or with more than the contract takes", () => {
    const said = { author: "ann", reason: "seen" }
    expect(problemOf(said)).toBeUndefined()
    const bad = [
      { ...said, author: " " },
      { ...said, reason: "" },
      { ...said, author: "a".repeat(257) },
      { ...said, reason: "a".repeat(1_025) },
    ]
    for (const one of bad) expect(problemOf(one)).toEqual(expect.any(String))
  })

  it("takes a result that is JSON, and says what is wrong with another", () => {
    expect(readResult('{"a":1}')).toEqual({ value: { a: 1 } })
    expect(readResult("null")).toEqual({ value: null })
    expect(readResult("{a}")).toEqual({ problem: expect.any(String) })
  })
})

import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { describe, expect, it } from "vitest"
import {
  type JournalRecord,
  OwnerId,
  type Receipt,
  type Settlement,
  SubmissionId,
  ThreadId,
} from "../../../contracts/index.ts"
import type { DocumentDigest } from "../../../examples/digest/DocumentDigest.ts"
import { Ledger } from "../../../scripts/demo/Ledger.ts"
import { planOf } from "../../../scripts/demo/Plan.ts"
import { progressLine, withProgress } from "../../../scripts/demo/Progress.ts"
import {
  documentsTable,
  isRight,
  type Summary,
  summarize,
  summaryTable,
  termsTable,
} from "../../../scripts/demo/Report.ts"
import type { ThreadEvidence } from "../../../scripts/demo/Verify.ts"
import { mostUsedTerms, newestDigest } from "../../../scripts/demo/Terms.ts"

const digest = (name: string, terms: Record<string, number>): DocumentDigest => ({
  name,
  title: `Title of ${name}`,
  outline: [],
  headingCount: 0,
  links: [],
  linkCount: 3,
  codeLanguages: [],
  words: 42,
  sentences: 4,
  readingMillis: 1_000,
  keyTerms: Object.entries(terms).map(([term, count]) => ({ term, count, score: 1 })),
  revision: { _tag: "First", number: 1 },
})

const summary: Summary = {
  documents: 2,
  submissions: 5,
  outcomes: new Map([
    ["completed", 3],
    ["failed", 2],
  ]),
  failures: new Map([["NothingToDigest", 2]]),
  attempts: 6,
  restarts: 1,
  interruption: { settled: 2, accepted: 4 },
  interrupted: 1,
  recovered: 1,
  failed: [],
  elapsedMillis: 2_000,
  findings: [],
  digests: [digest("a.md", { loom: 3, yarn: 1 }), digest("b.md", { loom: 1 })],
}

/** The cells of a table's rows, without its lines. */
const rows = (text: string) =>
  text
    .split("\n")
    .filter((line) => line.startsWith("║"))
    .map((line) =>
      line
        .split(/[║│]/)
        .slice(1, -1)
        .map((cell) => cell.trim())
        .join(" | "),
    )

describe("the report", () => {
  it("counts documents, outcomes, attempts, restarts, speed, duplicates and losses", () => {
    expect(rows(summaryTable(summary))).toEqual([
      "documents | 2",
      "submissions | 5",
      "settled completed | 3",
      "settled failed | 2 (2 NothingToDigest)",
      "settled aborted | 0",
      "attempts | 6",
      "restarts (SIGKILL) | 1",
      "settled, under way at the kill | 2, 2",
      "runs interrupted by it | 1",
      "recovered and settled since | 1",
      "submissions per second | 2.5",
      "duplicates | 0",
      "lost | 0",
      "out of order | 0",
      "gaps in sequences | 0",
      "settlements told differently | 0",
    ])
  })

  it("shows each finding under its kind, and is not right with any", () => {
    const threadId = ThreadId.make("a")
    const kinds = ["duplicate", "lost", "reordered", "gap", "mismatch"] as const
    expect(isRight(summary)).toBe(true)
    for (const kind of kinds) {
      const wrong = { ...summary, findings: [{ kind, threadId, what: "" }] }
      expect(isRight(wrong)).toBe(false)
      expect(
        rows(summaryTable(wrong))
          .slice(11)
          .filter((row) => row.endsWith(" 1")),
      ).toHaveLength(1)
    }
    expect(isRight({ ...summary, restarts: 0 })).toBe(false)
    expect(isRight({ ...summary, submissions: 0 })).toBe(false)
  })

  it("lists the terms that most documents share first", () => {
    expect(rows(termsTable(summary))).toEqual([
      "most used terms | documents | occurrences",
      "loom | 2 | 4",
      "yarn | 1 | 1",
    ])
    expect(termsTable({ ...summary, digests: [] })).toBe("")
    const shared = [digest("a", { rare: 50, shared: 1 }), digest("b", { shared: 1 })]
    expect(mostUsedTerms(shared, 2).map(({ term }) => term)).toEqual(["shared", "rare"])
    expect(mostUsedTerms([digest("a", { b: 1, a: 1, c: 2 })], 2).map(({ term }) => term)).toEqual([
      "c",
      "a",
    ])
  })

  it("lists a few documents with what they are about, and no more than can be read", () => {
    expect(rows(documentsTable(summary))[1]).toBe(
      "a.md | Title of a.md | 42 | 3 | first | loom, yarn",
    )
    const hostile = {
      ...summary,
      digests: [{ ...digest("a", {}), title: "\u0007bell \u202Eturned" }],
    }
    expect(rows(documentsTable(hostile))[1]).toContain("| bell  turned |")
    expect(
      documentsTable({ ...summary, digests: Array.from({ length: 13 }, () => digest("a", {})) }),
    ).toBe("")
  })

  it("takes a document's newest completed digest", () => {
    const id = (sequence: number) =>
      SubmissionId.make(`00000000-0000-7000-8000-00000000000${sequence}`)
    const settled = (sequence: number, output: DocumentDigest): Settlement => ({
      submissionId: id(sequence),
      sequence,
      outcome: "completed",
      output,
      settledAt: 0,
      attempts: 2,
    })
    const failed: Settlement = {
      submissionId: id(3),
      sequence: 3,
      outcome: "failed",
      failure: { tag: "NothingToDigest", message: "" },
      settledAt: 0,
      attempts: 1,
    }
    const evidence = {
      threadId: ThreadId.make("a"),
      name: "a.md",
      receipts: [],
      statuses: [],
      records: [],
      settlements: new Map([
        [id(2), settled(2, digest("newer", {}))],
        [id(1), settled(1, digest("older", {}))],
        [id(3), failed],
      ]),
    }
    expect(newestDigest(evidence)).toMatchObject({ value: { name: "newer" } })
    const counted = summarize([{ ...evidence, receipts: [] }], {
      restarts: 1,
      interruption: undefined,
      elapsedMillis: 1,
    })
    expect(counted).toMatchObject({ documents: 0, submissions: 0 })
  })
})

describe("the ledger", () => {
  it("is half-way when half has settled and something accepted has not", () => {
    const ledger = new Ledger(planOf([{ name: "a.md", text: "Text." }]))
    const halfWayWith = (counts: { readonly settled: number; readonly accepted: number }) =>
      Object.assign(ledger, counts).isHalfWay
    expect(halfWayWith({ settled: 0, accepted: 3 })).toBe(false)
    expect(halfWayWith({ settled: 1, accepted: 1 })).toBe(false)
    expect(halfWayWith({ settled: 1, accepted: 2 })).toBe(true)
  })
})

describe("progress", () => {
  it("tells what has settled, what is under way, and the repeated calls", () => {
    const ledger = new Ledger(planOf([{ name: "a.md", text: "Text." }]))
    expect(progressLine(ledger)).toBe("0 of 3 settled · 0 under way")
    ledger.accepted = 2
    ledger.settled = 1
    ledger.retries = 4
    expect(progressLine(ledger)).toBe("1 of 3 settled · 1 under way · 4 calls repeated")
  })

  for (const isTTY of [false, true]) {
    it(`shows each news once, ${isTTY ? "above the line of a terminal" : "in a log"}`, async () => {
      const news = ["killed"]
      let done = 0
      const line = () => `${done} done`
      const move = Effect.andThen(
        Effect.sync(() => {
          done += 1
          if (done === 2) news.push("started again")
        }),
        Effect.sleep("10 seconds"),
      )
      let written = ""
      const output = { isTTY, columns: 80, write: (text: string) => void (written += text) }
      await Effect.runPromise(
        Effect.gen(function* () {
          const work = Effect.repeat(move, { times: 2 })
          const fiber = yield* Effect.forkChild(withProgress(work, output, { line, news }))
          yield* TestClock.adjust("1 minute")
          yield* Fiber.join(fiber)
        }).pipe(Effect.provide(TestClock.layer())),
      )
      const clear = "\r\u001B[2K"
      expect(written).toBe(
        isTTY
          ? `${clear}  killed\n${clear}  1 done${clear}  started again\n` +
              `${clear}  2 done${clear}  3 done${clear}`
          : "  killed\n  1 done\n  started again\n  2 done\n  3 done\n",
      )
    })
  }
})

describe("the evidence of a kill", () => {
  const id = SubmissionId.make("00000000-0000-7000-8000-000000000001")
  const settlement: Settlement = {
    submissionId: id,
    sequence: 1,
    outcome: "completed",
    output: 1,
    settledAt: 0,
    attempts: 1,
  }
  const summaryOf = (settled: Settlement, kinds: ReadonlyArray<JournalRecord["kind"]>) => {
    const receipt: Receipt = {
      ownerId: OwnerId.make("demo"),
      threadId: ThreadId.make("a"),
      submissionId: id,
      sequence: 1,
      acceptedAt: 0,
      duplicate: false,
    }
    const records = kinds.map((kind, index): JournalRecord => ({
      sequence: index + 1,
      submissionId: id,
      kind,
      epoch: 1,
      recordedAt: 0,
      payload: null,
    }))
    const settlements = new Map([[id, settled]])
    const statuses: ThreadEvidence["statuses"] = []
    const thread = { threadId: receipt.threadId, name: "a.md", receipts: [receipt] }
    return summarize([{ ...thread, settlements, statuses, records }], {
      restarts: 1,
      interruption: undefined,
      elapsedMillis: 1,
    })
  }

  it("is a run that was entered again, or whose attempt was found lost; else there is none", () => {
    expect(summaryOf(settlement, ["InputApplied", "Settled"]).interrupted).toBe(0)
    const lost = ["InputApplied", "AttemptInterrupted", "Settled"] as const
    expect(summaryOf(settlement, lost).interrupted).toBe(1)
    expect(summaryOf({ ...settlement, attempts: 2 }, lost).interrupted).toBe(1)
    expect(summaryOf({ ...settlement, attempts: 2 }, ["InputApplied"]).interrupted).toBe(1)
  })

  it("is a recovery where a run whose attempt was found lost has settled since", () => {
    expect(summaryOf(settlement, ["InputApplied", "Settled"]).recovered).toBe(0)
    expect(summaryOf({ ...settlement, attempts: 2 }, ["InputApplied", "Settled"]).recovered).toBe(0)
    expect(summaryOf(settlement, ["InputApplied", "AttemptInterrupted"]).recovered).toBe(0)
    const twice = ["InputApplied", "AttemptInterrupted", "AttemptInterrupted", "Settled"] as const
    expect(summaryOf(settlement, twice).recovered).toBe(1)
    const afterwards = ["InputApplied", "Settled", "AttemptInterrupted"] as const
    expect(summaryOf(settlement, afterwards).recovered).toBe(0)
  })

  it("names a document that failed with its failure", () => {
    const { output: _, ...rest } = settlement
    const failure = { tag: "UnreadableMarkdown", message: "nested deeper than 100" }
    expect(summaryOf({ ...rest, outcome: "failed", failure }, []).failed).toEqual([
      { name: "a.md", revision: 1, failure: "UnreadableMarkdown: nested deeper than 100" },
    ])
    const bare = { tag: "NothingToDigest", message: "" }
    expect(summaryOf({ ...rest, outcome: "failed", failure: bare }, []).failed).toEqual([
      { name: "a.md", revision: 1, failure: "NothingToDigest" },
    ])
    expect(summaryOf(settlement, []).failed).toEqual([])
  })
})

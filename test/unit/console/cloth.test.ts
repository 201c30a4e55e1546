/** Where lanes stand in the picture of an owner. */
import { describe, expect, it } from "vitest"
import type { LaneStatus, Obligation, RecoveryExplanation } from "../../../client/sdk/index.ts"
import {
  begin,
  type Cloth,
  drawnOf,
  emptyCloth,
  placeOf,
  presentOf,
  rowsMax,
  weave,
  weaveLane,
} from "../../../console/lib/Cloth.ts"
import { askOf, conditionOf, isHuman, wordsOf } from "../../../console/lib/Condition.ts"
import { owedOf } from "../../../console/lib/Owed.ts"
import { standingOf } from "../../../console/lib/Standing.ts"

const head = (state: string) => ({
  submissionId: "s",
  sequence: 1,
  state,
  agent: "a",
  attempted: true,
})

const laneOf = (given: Partial<LaneStatus> = {}): LaneStatus => ({
  threadId: "a",
  known: true,
  mustVisit: false,
  suspect: false,
  paused: false,
  running: false,
  nonterminal: 0,
  unchangedTurns: 0,
  ...given,
})

const fault = {
  schemaVersion: 1,
  threadId: "a",
  firstFailedAt: 1,
  lastFailedAt: 2,
  retryAt: 3,
  attempts: 1,
  failure: { phase: "call", operation: "recover", reason: "failure", tag: "T", message: "" },
} as const

describe("a lane", () => {
  it("stands as the list of threads would say, what most wants a person first", () => {
    const condemned = { author: "a", reason: "b", abort: false, sinceAt: 1 }
    const all = { nonterminal: 1, head: head("unknown"), paused: true, fault, condemned }
    const standing = [
      laneOf({ ...all }),
      laneOf({ ...all, condemned: undefined as never }),
      laneOf({ nonterminal: 1, paused: true, head: head("unknown") }),
      laneOf({ nonterminal: 1, head: head("unknown") }),
      laneOf({ nonterminal: 1, running: true, head: head("running") }),
      laneOf({ nonterminal: 1, head: head("suspended") }),
      laneOf({ nonterminal: 1, head: head("ready") }),
      laneOf({ nonterminal: 1 }),
      laneOf(),
    ].map(conditionOf)
    expect(standing).toEqual([
      "condemned",
      "faulted",
      "paused",
      "unknown",
      "running",
      "suspended",
      "ready",
      "ready",
      "idle",
    ])
  })

  it("of a condition, or held by something, that is newer than the console is called by its name", () => {
    expect([wordsOf("dreaming").label, askOf("dreaming"), isHuman("dreaming")]).toEqual([
      "dreaming",
      "dreaming",
      false,
    ])
  })
})

const told = (cloth: Cloth, threadId: string, condition: string, at: number) =>
  weave(cloth, { threadId, condition, at })

const threadIds = ({ rows }: Cloth) => rows.map((row) => row.threadId)

describe("the cloth", () => {
  it("has a stretch for each condition, and a mark for each word", () => {
    let cloth = told(emptyCloth, "a", "ready", 100)
    cloth = told(cloth, "a", "running", 200)
    cloth = told(cloth, "a", "running", 250)
    cloth = told(cloth, "a", "idle", 300)
    expect(cloth.rows).toMatchObject([
      {
        stretches: [
          { condition: "ready", fromAt: 100 },
          { condition: "running", fromAt: 200 },
          { condition: "idle", fromAt: 300 },
        ],
        told: [100, 200, 250, 300],
      },
    ])
  })

  it("has no mark where a lane was found as it stood, and is at rest where it is no more", () => {
    const early = told(emptyCloth, "b", "running", 2)
    const found = ["a", "b"].map((threadId) => ({ threadId, condition: "paused", at: 1 }))
    const cloth = begin(early, { lanes: found, isWhole: true, at: 1 })
    expect(cloth.rows.map((row) => [row.threadId, row.told, presentOf(row).condition])).toEqual([
      ["a", [], "paused"],
      ["b", [2], "running"],
    ])
    const gone = weaveLane(cloth, laneOf({ known: false, nonterminal: 1 }), 2)
    expect(presentOf(gone.rows[0] as never)).toEqual({ condition: "idle", fromAt: 2 })
  })

  it("that was found again stands as it is now: at rest where it is in no list, not known where a list was cut", () => {
    let cloth = told(emptyCloth, "changed", "running", 10)
    cloth = told(cloth, "gone", "running", 11)
    cloth = told(cloth, "same", "faulted", 12)
    cloth = told(cloth, "newer", "running", 30)
    const lanes = [
      { threadId: "changed", condition: "paused", at: 15 },
      { threadId: "same", condition: "faulted", at: 12 },
      { threadId: "newer", condition: "ready", at: 16 },
      { threadId: "more", condition: "ready", at: 17 },
    ]
    const standing = (isWhole: boolean) =>
      begin(cloth, { lanes, isWhole, at: 20 }).rows.map((row) => {
        const { condition, fromAt } = presentOf(row)
        return `${row.threadId} ${condition} ${fromAt} ${row.told.length}`
      })
    const others = ["same faulted 12 1", "newer running 30 1"]
    const before = ["more ready 17 0", "changed paused 20 1"]
    expect(standing(true)).toEqual([...before, "gone idle 20 1", ...others])
    expect(standing(false)).toEqual([...before, "gone untold 20 1", ...others])
  })

  it("takes the place of one at rest where all are taken, and of no other, when it is found", () => {
    let cloth = emptyCloth
    for (let nth = 0; nth < rowsMax; nth++) cloth = told(cloth, `lane-${nth}`, "running", nth)
    cloth = told(cloth, "lane-3", "idle", 100)
    const running = { isWhole: false, at: 0 }
    const lanes = ["a", "b"].map((threadId) => ({ threadId, condition: "running", at: 200 }))
    const found = begin(cloth, { ...running, lanes })
    expect(threadIds(found)).toEqual(threadIds(cloth).with(3, "a"))
  })

  it("is bounded, and lanes keep their places in it: who is at rest gives way, and who wants a person stays", () => {
    let cloth = emptyCloth
    for (let nth = 0; nth < rowsMax; nth++) cloth = told(cloth, `lane-${nth}`, "faulted", nth)
    cloth = told(cloth, "lane-3", "idle", 1_000)
    cloth = told(cloth, "lane-7", "idle", 900)
    const before = threadIds(cloth)
    cloth = told(cloth, "new-1", "ready", 2_000)
    expect(threadIds(cloth)).toEqual(before.with(7, "new-1"))
    cloth = told(cloth, "new-2", "faulted", 2_001)
    cloth = told(cloth, "new-3", "faulted", 2_002)
    expect(threadIds(cloth)).toEqual(before.with(7, "new-3").with(3, "new-2"))
    const full = told(told(cloth, "new-4", "running", 2_003), "new-4", "running", 2_004)
    expect([threadIds(full), full.unseen]).toEqual([threadIds(cloth), 2])
    const fuller = told(full, "new-5", "faulted", 2_005)
    expect([threadIds(fuller), fuller.unseen]).toEqual([threadIds(cloth), 3])
  })

  it("of a lane that changes without end stays bounded", () => {
    let cloth = emptyCloth
    for (let at = 0; at < 1_000; at++) cloth = told(cloth, "a", at % 2 === 0 ? "ready" : "idle", at)
    expect(cloth.rows[0]?.stretches.length).toBeLessThan(100)
    expect(cloth.rows[0]?.told.length).toBeLessThan(200)
  })

  it("is drawn from the beginning of the window to now", () => {
    let cloth = told(emptyCloth, "a", "ready", 0)
    cloth = told(cloth, "a", "running", 600)
    cloth = told(cloth, "a", "idle", 900)
    const drawnAt = (now: number) =>
      cloth.rows.flatMap((row) => drawnOf(row, { now, windowMillis: 500 }))
    expect(drawnAt(1_000)).toEqual([
      { condition: "ready", from: 0, to: 0.2 },
      { condition: "running", from: 0.2, to: 0.8 },
      { condition: "idle", from: 0.8, to: 1 },
    ])
    expect(drawnAt(5_000)).toEqual([{ condition: "idle", from: 0, to: 1 }])
    expect(placeOf(750, { now: 1_000, windowMillis: 500 })).toBe(0.5)
  })
})

describe("what an owner owes", () => {
  const one = (blocker: string, sinceAt: number, severity = "ok"): Obligation => ({
    threadId: "a",
    blocker,
    sinceAt,
    ageMillis: 0,
    severity,
    nonterminal: 1,
  })

  it("is counted over pages, what somebody can end first, with the age of the oldest", () => {
    const first = owedOf([one("timer", 9), one("timer", 5), one("approval", 7, "overdue")], false)
    const owed = owedOf([one("timer", 8), one("unknown", 2)], true, first)
    expect(owed).toEqual({
      kinds: [
        { blocker: "approval", count: 1, oldestAt: 7, overdue: 1 },
        { blocker: "unknown", count: 1, oldestAt: 2, overdue: 0 },
        { blocker: "timer", count: 3, oldestAt: 5, overdue: 0 },
      ],
      count: 5,
      isComplete: true,
    })
  })
})

describe("a thread", () => {
  const open = (state: string, ...blockers: ReadonlyArray<string>): RecoveryExplanation => ({
    submissionId: "s",
    sequence: 1,
    agent: "a",
    state,
    acceptedAt: 1,
    attempts: 0,
    decision: "NoAction",
    disposition: "none",
    evidence: [],
    wouldDo: "",
    waits: [],
    heldBy: blockers.map((blocker) => ({ blocker, whoCanAct: "operator", message: "" })),
  })

  it("stands as what holds it, or as its open run, whatever waits behind that", () => {
    expect([
      standingOf([open("ready", "fault"), open("running", "paused")], undefined),
      standingOf([open("ready", "paused")], undefined),
      standingOf([open("ready"), open("running")], undefined),
      standingOf([open("ready"), open("suspended")], undefined),
      standingOf([open("ready", "held")], undefined),
      standingOf([], undefined),
    ]).toEqual(["faulted", "paused", "running", "suspended", "ready", "idle"])
  })

  it("of which nothing is open stands as its owner says", () => {
    expect(standingOf([], laneOf({ paused: true }))).toBe("paused")
    expect(standingOf([], laneOf({ running: true, nonterminal: 3 }))).toBe("idle")
  })
})

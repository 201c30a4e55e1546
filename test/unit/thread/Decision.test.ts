import { describe, expect, it } from "@effect/vitest"
import { decide, type Evidence, type Wait } from "../../../thread-actors/Decision.ts"
import type { StoredState } from "../../../thread-actors/Ledger.ts"
import type { OpenCall } from "../../../thread-actors/OpenCalls.ts"

const now = 5

const call = (change: Partial<OpenCall> = {}): OpenCall => ({
  submission: 1,
  name: "pay",
  tool: "payment",
  part: 0,
  preparedAt: 1,
  deadlineAt: 9,
  tries: 0,
  unknownAt: null,
  declared: true,
  ...change,
})

const underWay = call()
const over = call({ deadlineAt: now })
const foreign = call({ deadlineAt: now, declared: false })
const doubted = call({ unknownAt: 2 })

const attempt = { sequence: 1, epoch: 1 }

type Change = Omit<Partial<Evidence>, "row"> & { readonly row?: Partial<Evidence["row"]> }

const evidence = ({ row, ...rest }: Change): Evidence => ({
  row: {
    sequence: 1,
    epoch: 1,
    state: "ready",
    abort: null,
    dueAt: null,
    notBefore: null,
    ...row,
  },
  live: undefined,
  calls: [],
  hostSettled: false,
  childrenOpen: false,
  wait: undefined,
  now,
  ...rest,
})

const waits = (kind: Wait["kind"], there = false): Change => ({
  row: { state: "suspended" },
  wait: { kind, there },
})

/** The table of the design, top to bottom. */
const table: ReadonlyArray<readonly [string, Change, string, string]> = [
  ["settled", { row: { state: "settled" } }, "NoAction", "none"],
  ["settled, an abort came later", { row: { state: "settled", abort: "x" } }, "NoAction", "none"],
  ["running here", { row: { state: "running" }, live: attempt }, "AwaitAttempt", "deferred"],
  [
    "running here, to be aborted: its attempt acts on it",
    { row: { state: "running", abort: "x" }, live: attempt },
    "AwaitAttempt",
    "deferred",
  ],
  [
    "running here, a call under way",
    { row: { state: "running" }, live: attempt, calls: [over] },
    "AwaitAttempt",
    "deferred",
  ],
  [
    "joined, its host settled",
    { row: { state: "joined" }, hostSettled: true },
    "SettleWithHost",
    "repaired",
  ],
  ["joined", { row: { state: "joined" } }, "AwaitHost", "deferred"],
  ["joined, an abort came", { row: { state: "joined", abort: "x" } }, "AwaitHost", "deferred"],
  [
    "to be aborted, children open",
    { row: { state: "suspended", abort: "x" }, childrenOpen: true },
    "AwaitChild",
    "deferred",
  ],
  ["ready, to be aborted", { row: { abort: "x" } }, "SettleAborted", "repaired"],
  ["lost, to be aborted", { row: { state: "running", abort: "x" } }, "SettleAborted", "repaired"],
  [
    "to be aborted, a call under way",
    { row: { state: "running", abort: "x" }, calls: [underWay] },
    "SettleAborted",
    "repaired",
  ],
  [
    "unknown, to be aborted",
    { row: { state: "unknown", abort: "x" }, calls: [doubted] },
    "SettleAborted",
    "repaired",
  ],
  [
    "lost, a call may be under way",
    { row: { state: "running" }, calls: [underWay] },
    "AwaitCall",
    "deferred",
  ],
  [
    "suspended, a call may be under way",
    { ...waits("call"), calls: [underWay] },
    "AwaitCall",
    "deferred",
  ],
  [
    "a call is over whose tool this deployment lacks",
    { row: { state: "running" }, calls: [foreign] },
    "AwaitCall",
    "deferred",
  ],
  [
    "one call is over, another is not",
    { row: { state: "running" }, calls: [underWay, over] },
    "Reconcile",
    "repaired",
  ],
  ["lost, a call is over", { row: { state: "running" }, calls: [over] }, "Reconcile", "repaired"],
  ["suspended, a call is over", { ...waits("call"), calls: [over] }, "Reconcile", "repaired"],
  [
    "one call is unknown, another is under way",
    { row: { state: "running" }, calls: [doubted, underWay] },
    "AwaitCall",
    "deferred",
  ],
  [
    "all calls are unknown, not parked yet",
    { row: { state: "running" }, calls: [doubted] },
    "MarkUnknown",
    "unknown",
  ],
  ["parked", { row: { state: "unknown" }, calls: [doubted] }, "AwaitResolution", "unknown"],
  ["parked, every call decided", { row: { state: "unknown" } }, "Resume", "repaired"],
  ["suspended for calls, none open", waits("call", true), "Resume", "repaired"],
  ["suspended for an approval", waits("approval"), "AwaitApproval", "deferred"],
  ["suspended for an approval that came", waits("approval", true), "Resume", "repaired"],
  ["suspended for a signal", waits("signal"), "AwaitSignal", "deferred"],
  ["suspended for a timer", waits("timer"), "AwaitTimer", "deferred"],
  ["suspended for a timer that is over", waits("timer", true), "Resume", "repaired"],
  ["suspended for a child", waits("child"), "AwaitChild", "deferred"],
  ["lost", { row: { state: "running" } }, "ResumeRun", "repaired"],
  [
    "of an older epoch than the attempt here",
    { row: { state: "running", epoch: 2 }, live: attempt },
    "ResumeRun",
    "repaired",
  ],
  [
    "another one's attempt runs here",
    { row: { state: "running", sequence: 2 }, live: attempt },
    "ResumeRun",
    "repaired",
  ],
  ["ready, resting", { row: { dueAt: 6 } }, "AwaitDue", "deferred"],
  ["ready, deferred", { row: { notBefore: 6 } }, "AwaitDue", "deferred"],
  ["ready, its rest is over", { row: { dueAt: 5 } }, "ApplyInput", "deferred"],
  ["ready", {}, "ApplyInput", "deferred"],
]

describe("the recovery decision", () => {
  it.each(table)("of one that is %s is %#", (_what, change, decision, disposition) => {
    expect(decide(evidence(change))).toEqual({ decision, disposition })
  })

  const states: ReadonlyArray<StoredState> = [
    "ready",
    "running",
    "suspended",
    "unknown",
    "joined",
    "settled",
  ]
  const kinds: ReadonlyArray<Wait["kind"]> = ["approval", "signal", "timer", "child", "call"]
  const choices = {
    state: states,
    abort: [null, "x"],
    dueAt: [null, now, now + 1],
    notBefore: [null, now, now + 1],
    live: [undefined, attempt, { sequence: 1, epoch: 0 }, { sequence: 7, epoch: 1 }],
    calls: [[], [underWay], [over], [foreign], [doubted], [doubted, underWay], [doubted, over]],
    hostSettled: [false, true],
    childrenOpen: [false, true],
    wait: [undefined, ...kinds.flatMap((kind) => [true, false].map((there) => ({ kind, there })))],
  } as const

  /** Every combination there is: reachable ones are among them. */
  function* everything(): Generator<Evidence> {
    const { abort, calls, childrenOpen, dueAt, hostSettled, live, notBefore, state, wait } = choices
    for (const s of state)
      for (const a of abort)
        for (const d of dueAt)
          for (const n of notBefore)
            for (const l of live)
              for (const c of calls)
                for (const h of hostSettled)
                  for (const k of childrenOpen)
                    for (const w of wait)
                      yield evidence({
                        row: { state: s, abort: a, dueAt: d, notBefore: n },
                        live: l,
                        calls: c,
                        hostSettled: h,
                        childrenOpen: k,
                        wait: w,
                      })
  }

  const decisions: ReadonlyArray<string> = [
    "NoAction",
    "AwaitAttempt",
    "SettleWithHost",
    "AwaitHost",
    "AwaitChild",
    "SettleAborted",
    "AwaitCall",
    "Reconcile",
    "MarkUnknown",
    "AwaitResolution",
    "Resume",
    "AwaitApproval",
    "AwaitSignal",
    "AwaitTimer",
    "ResumeRun",
    "AwaitDue",
    "ApplyInput",
  ]

  it("is one of the seventeen for whatever evidence, and each of them is some evidence's", () => {
    const seen = new Set<string>()
    let combinations = 0
    for (const one of everything()) {
      combinations += 1
      seen.add(decide(one).decision)
    }
    expect(combinations).toBeGreaterThan(100_000)
    expect([...seen].toSorted()).toEqual([...decisions].toSorted())
  })

  it("never goes past an open call, never touches what runs here, and settles nothing twice", () => {
    const wrong: Array<unknown> = []
    for (const one of everything()) {
      const { decision, disposition } = decide(one)
      const { calls, live, row } = one
      const runs = row.state === "running" && live === attempt
      const open = calls.length > 0 && row.state !== "settled" && row.state !== "joined"
      const goesOn = ["Resume", "ResumeRun", "ApplyInput"].includes(decision)
      const changes = disposition === "repaired"
      if (open && !runs && row.abort === null && goesOn) wrong.push(one)
      if (runs && changes) wrong.push(one)
      if (row.state === "settled" && decision !== "NoAction") wrong.push(one)
      if (decision === "Reconcile" && calls.every((c) => c.deadlineAt > now)) wrong.push(one)
      // A lost attempt with open children is taken out of their way: its block tells them to end, and waits for them.
      if (decision === "SettleAborted" && one.childrenOpen && row.state !== "running")
        wrong.push(one)
    }
    expect(wrong).toEqual([])
  })
})

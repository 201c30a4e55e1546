import { Schema } from "effect"
import { describe, expect, it } from "vitest"
import { heldBy } from "../../../client/HeldBy.ts"
import { ExplainedWait } from "../../../contracts/Explain.ts"
import type { LaneStatus } from "../../../contracts/Maintenance.ts"
import { lane, threadId } from "./fakes.ts"

const fault: NonNullable<LaneStatus["fault"]> = {
  schemaVersion: 1,
  threadId,
  firstFailedAt: 1_000,
  lastFailedAt: 2_000,
  retryAt: 7_000,
  attempts: 3,
  failure: {
    phase: "history",
    operation: "recover",
    reason: "failure",
    tag: "ThreadUnreadable",
    message: "rows or records of the thread do not decode",
  },
}

const condemned = { author: "ann", reason: "asked to", abort: true, sinceAt: 1_000 }

/** What an owner may know, and what is told of it. */
const views: ReadonlyArray<
  readonly [string, Partial<LaneStatus>, Partial<ExplainedWait>, ReadonlyArray<string>]
> = [
  [
    "a fault",
    { fault, suspect: true, work: "recover" },
    {
      blocker: "fault",
      name: "ThreadUnreadable",
      sinceAt: 1_000,
      untilAt: 7_000,
      whoCanAct: "operator",
    },
    ["recover", "3 times", "do not decode", "retry"],
  ],
  [
    "a missing agent",
    { binding: { attempts: 1, notBefore: 9_000, name: "refund" } },
    { blocker: "binding", name: "refund", untilAt: 9_000, whoCanAct: "deployer" },
    ["refund", "once", "deployment"],
  ],
  [
    "a stall",
    { stalledUntilAt: 9_000 },
    { blocker: "stalled", untilAt: 9_000, whoCanAct: "operator" },
    ["wake"],
  ],
  [
    "a backoff",
    { backoffUntilAt: 9_000, suspect: true },
    { blocker: "backoff", untilAt: 9_000, whoCanAct: "nobody" },
    ["without an answer", "wake"],
  ],
  ["a call without an answer", { suspect: true }, { blocker: "backoff" }, ["without an answer"]],
  ["a full house", { work: "held" }, { blocker: "held", whoCanAct: "nobody" }, ["ends"]],
  [
    "a condemned thread",
    { condemned, work: "forget" },
    { blocker: "condemned", sinceAt: 1_000, whoCanAct: "nobody" },
    ["ann", "asked to", "aborted first"],
  ],
]

describe("what an owner knows of why a thread does not run", () => {
  it.each(views)("is told in words and times: %s", (_, status, expected, said) => {
    const waits = heldBy({ ...lane, ...status })
    expect(waits).toHaveLength(1)
    expect(waits[0]).toMatchObject(expected)
    for (const words of said) expect(waits[0]?.message).toContain(words)
    for (const wait of waits) expect(Schema.encodeUnknownSync(ExplainedWait)(wait)).toEqual(wait)
  })

  it("is nothing of a lane that only runs, waits or is paused", () => {
    for (const status of [
      {},
      { running: true, work: "dispatch" as const },
      { paused: true },
      { unchangedTurns: 3 },
    ]) {
      expect(heldBy({ ...lane, ...status })).toEqual([])
    }
  })

  it("names all that is in the way, the strongest first", () => {
    const all = Object.assign({}, lane, ...views.map(([, status]) => status)) as LaneStatus
    const blockers = heldBy({ ...all, work: "held" }).map(({ blocker }) => blocker)
    expect(blockers).toEqual(["condemned", "fault", "binding", "stalled", "held"])
  })

  it("stays within what a message may hold, whatever was said", () => {
    const long = {
      author: "a".repeat(256),
      reason: "\u{1F9F5}".repeat(512),
      abort: false,
      sinceAt: 1,
    }
    const [wait] = heldBy({ ...lane, condemned: long })
    expect(wait?.message.length).toBeLessThanOrEqual(1_024)
    expect(wait?.message.isWellFormed()).toBe(true)
    expect(wait?.message).toContain("refused if the thread still owes work")
  })
})

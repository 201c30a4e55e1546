import { describe, expect, it } from "vitest"
import type { HeadAnswer } from "../../../contracts/ThreadRpc.ts"
import { AgentId } from "../../../contracts/Identifiers.ts"
import { afterRecovery, afterSilence, afterTurn } from "../../../owner-object/Answer.ts"
import type { Lane } from "../../../owner-object/Lane.ts"
import { laneOf, limits, now, ready, running, submissionId } from "./lanes.ts"

const moment = { now, random: 0, limits, codeVersion: "v1", agentsDigest: "agents" }

const turn = (before: Lane, lane: Lane, heads: ReadonlyArray<HeadAnswer> = [], yieldAt = now + 1) =>
  afterTurn({ sentUnder: before.report, lane, heads, yieldAt, moment })

const agent = AgentId.make("gone")

describe("a call without an answer", () => {
  it("makes its lane suspect and to be visited, in backoff", () => {
    const lane = afterSilence(laneOf({ report: ready() }), moment, true)
    expect(lane).toMatchObject({ mustVisit: true, suspect: true, marks: { failures: 1 } })
    expect(lane.marks.backoffUntilAt).toBe(now + 50)
  })

  it("backs off to a minute on transport failures, to five seconds on others, and never stalls", () => {
    let transport = laneOf({ report: ready() })
    let other = transport
    for (let index = 0; index < 40; index++) {
      transport = afterSilence(transport, moment, true)
      other = afterSilence(other, moment, false)
    }
    expect(transport.marks.backoffUntilAt).toBe(now + 30_000)
    expect(other.marks.backoffUntilAt).toBe(now + 2_500)
    expect(transport.marks.stalledUntilAt).toBeUndefined()
  })
})

describe("an answered turn", () => {
  it("that changed something ends backoff, stall and suspicion", () => {
    const before = laneOf({
      report: ready(),
      suspect: true,
      marks: { failures: 3, unchanged: 2, backoffUntilAt: now, stalls: 1, stalledUntilAt: now },
    })
    const after = turn(before, { ...before, report: ready({ revision: 2 }) })
    expect(after).toMatchObject({ suspect: false, marks: {} })
  })

  it("that changed nothing backs off, and the eighth in a row stalls the lane", () => {
    let lane = laneOf({ report: ready() })
    for (let index = 0; index < 7; index++) lane = turn(lane, lane)
    expect(lane.marks).toMatchObject({ unchanged: 7 })
    lane = turn(lane, lane)
    expect(lane.marks).toEqual({ stalls: 1, stalledSinceAt: now, stalledUntilAt: now + 60_000 })
  })

  it("that settled something is no unchanged turn, although a newer report was there first", () => {
    const lane = laneOf({ report: ready({ revision: 9 }) })
    const settled = turn(lane, lane, [{ _tag: "Settled", submissionId, outcome: "completed" }])
    expect(settled.marks).toEqual({})
  })

  it("that a newer report overtook is no unchanged turn", () => {
    const sent = laneOf({ report: ready({ revision: 1 }) })
    const overtaken = { ...sent, report: ready({ revision: 2 }) }
    expect(turn(sent, overtaken).marks).toEqual({})
  })

  it("of another code version never stalls", () => {
    let lane = laneOf({ report: ready({ codeVersion: "v2" }) })
    for (let index = 0; index < 20; index++) lane = turn(lane, lane)
    expect(lane.marks.stalledUntilAt).toBeUndefined()
    expect(lane.marks.unchanged).toBe(20)
  })

  it("of a run that goes on is watched after 30 s, doubling to 2 min, and is no unchanged turn", () => {
    let lane = laneOf({ report: running() })
    const waits = []
    for (let index = 0; index < 5; index++) {
      lane = turn(lane, lane, [{ _tag: "Running", submissionId }])
      waits.push((lane.marks.watchAt ?? 0) - now)
    }
    expect(waits).toEqual([30_000, 60_000, 120_000, 120_000, 120_000])
    expect(lane.marks.unchanged).toBeUndefined()
  })

  it("is no unchanged turn when its timer is not due, or it came after the yield time", () => {
    const waiting = laneOf({ report: ready({ dueAt: now + 5 }) })
    expect(turn(waiting, waiting).marks).toEqual({})
    const late = laneOf({ report: ready() })
    expect(turn(late, late, [], now).marks).toEqual({})
  })

  it("without the head's agent waits 5, 10, 20, 40, 60 s, and another head ends the wait", () => {
    let lane = laneOf({ report: ready() })
    const waits = []
    for (let index = 0; index < 6; index++) {
      lane = turn(lane, lane, [{ _tag: "BindingUnavailable", submissionId, agent }])
      waits.push((lane.marks.binding?.notBefore ?? 0) - now)
    }
    expect(waits).toEqual([5_000, 10_000, 20_000, 40_000, 60_000, 60_000])
    const next = { ...lane, report: ready({ revision: 2 }) }
    expect(turn(lane, next).marks).toEqual({})
  })
})

describe("a recovery", () => {
  it("that changed nothing backs off like an unchanged turn", () => {
    const lane = laneOf({ report: running({ recoverAt: 0 }) })
    expect(afterRecovery(lane.report, lane, moment).marks).toMatchObject({ unchanged: 1 })
  })

  it("that repaired something ends the backoff", () => {
    const before = laneOf({ report: running({ recoverAt: 0 }), marks: { unchanged: 3 } })
    const after = afterRecovery(
      before.report,
      { ...before, report: ready({ revision: 2 }) },
      moment,
    )
    expect(after.marks).toEqual({})
  })
})

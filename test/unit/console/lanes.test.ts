/** The list of threads, as lanes are told and as they are not. */
import { afterEach, describe, expect, it } from "vitest"
import type { LaneStatus, ThreadSummary } from "../../../client/sdk/index.ts"
import { toldOf } from "../../../console/lib/ThreadRow.ts"
import { closePage, feed, openPage } from "./consolePage.ts"

afterEach(closePage)

const opened = { _tag: "Opened", faultedLanes: 0 }
const head = { submissionId: "s", sequence: 1, state: "running", agent: "tally", attempted: true }

const rowOf = (threadId: string): ThreadSummary => ({
  threadId,
  title: "Slow",
  state: "running",
  activeAt: 10,
  nonterminal: 2,
  parked: 1,
  paused: false,
  tailSequence: 4,
  head,
})

const laneOf = (threadId: string, given: Partial<LaneStatus> = {}): LaneStatus => ({
  threadId,
  known: true,
  mustVisit: false,
  suspect: false,
  paused: false,
  running: false,
  nonterminal: 0,
  unchangedTurns: 0,
  ...given,
})

describe("a row", () => {
  it("agrees with itself: what the lane tells of it changes together", () => {
    const { head: _, ...rest } = rowOf("a")
    const idle = { ...rest, state: "idle", nonterminal: 0, parked: 0, activeAt: 99 }
    expect(toldOf(rowOf("a"), laneOf("a"), 99)).toEqual(idle)
    expect(toldOf(rowOf("a"), laneOf("a", { known: false }), 99)).toEqual(idle)
    const held = laneOf("a", { paused: true, nonterminal: 2, head })
    expect(toldOf(rowOf("a"), held, 99)).toEqual({ ...rowOf("a"), state: "paused", paused: true })
  })
})

describe("a list", () => {
  const openLanes = async () => {
    const streams = [feed(), feed()]
    let nth = 0
    const page = await openPage({ watch: () => streams[nth++]?.told() })
    const { elsewhereMax, watchLanes } = await import("../../../console/state/Lanes.ts")
    let rows: ReadonlyArray<ThreadSummary> = [rowOf("a"), rowOf("b")]
    let refreshes = 0
    const lanes = watchLanes("shop", () => ({
      rows,
      change: (changed) => void (rows = rows.map(changed)),
      refresh: async () => void (refreshes += 1),
    }))
    streams[0]?.tell(opened)
    await page.pass(10)
    return { ...page, ...lanes, elsewhereMax, streams, state: () => ({ rows, refreshes }) }
  }

  it("is read again where it was not told of everything, and not because its stream stands at last", async () => {
    const { live, pass, state, streams } = await openLanes()
    expect(state().refreshes).toBe(0)
    streams[0]?.tell({ _tag: "Gap", dropped: 1 })
    await pass(10_000)
    expect(state().refreshes).toBe(1)
    streams[0]?.lose()
    streams[1]?.tell(opened)
    await pass(10_000)
    expect([live.state.value._tag, state().refreshes]).toEqual(["Live", 2])
    live.stop()
  })

  it("has its rows changed, and counts the others up to a bound, until it is read again", async () => {
    const { elsewhere, elsewhereMax, live, pass, state, streams } = await openLanes()
    const lanes = Array.from({ length: 1_500 }, (_, nth) => laneOf(`other-${nth}`))
    for (const lane of [laneOf("b"), ...lanes]) streams[0]?.tell({ _tag: "Lane", lane })
    await pass(2_000)
    expect(state().rows.map((row) => row.state)).toEqual(["running", "idle"])
    expect(elsewhere.value.size).toBe(elsewhereMax)
    streams[0]?.tell({ _tag: "Gap", dropped: 1 })
    await pass(10)
    expect(elsewhere.value.size).toBe(0)
    live.stop()
  })
})

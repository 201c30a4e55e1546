/** The page of an owner: what it says of what could not be asked, and of lanes that nobody told it of. */
import { afterEach, describe, expect, it } from "vitest"
import type { LaneStatus } from "../../../client/sdk/index.ts"
import { presentOf } from "../../../console/lib/Cloth.ts"
import { type Answers, closePage, denied, feed, openPage } from "./consolePage.ts"

afterEach(closePage)

const opened = { _tag: "Opened", faultedLanes: 0 }
const fault = { threadId: "sick", attempts: 1 }

const laneOf = (threadId: string, given: Partial<Record<keyof LaneStatus, unknown>> = {}) => ({
  _tag: "Lane",
  lane: { threadId, known: true, paused: false, running: true, nonterminal: 1, ...given },
})

const well: Answers = {
  maintenanceStatus: () => ({ nonterminal: 1 }),
  listThreads: () => ({ threads: [] }),
  obligations: () => ({ obligations: [] }),
}

const openOverview = async (answers: Answers) => {
  const page = await openPage({ ...well, ...answers })
  const { openOwner } = await import("../../../console/state/OwnerView.ts")
  const view = openOwner("shop")
  await page.pass(100)
  const failing = () =>
    Object.entries(view.failures).flatMap(([asked, { value }]) =>
      value === undefined ? [] : [asked],
    )
  const standing = () =>
    view.cloth.value.rows.map((row) => `${row.threadId} ${presentOf(row).condition}`)
  return { ...page, view, failing, standing }
}

describe("what an owner's page could not ask", () => {
  it("stands where it belongs, until that was answered: no other answer clears it", async () => {
    let isAllowed = false
    const watched = feed()
    watched.tell(opened)
    const { failing, pass, view } = await openOverview({
      watch: watched.told,
      obligations: () => {
        if (isAllowed) return { obligations: [] }
        throw denied("obligations")
      },
    })
    expect(failing()).toEqual(["owed"])
    watched.tell(laneOf("a"))
    await pass(20_000)
    expect(failing()).toEqual(["owed"])
    expect(view.running.value).toEqual([])
    isAllowed = true
    view.again.owed()
    await pass(10_000)
    expect(failing()).toEqual([])
    view.stop()
  })

  it("is asked again with another token", async () => {
    let isAllowed = false
    const watched = feed()
    watched.tell(opened)
    const { failing, pass, renew, view } = await openOverview({
      watch: watched.told,
      listThreads: () => {
        if (isAllowed) return { threads: [] }
        throw denied("listThreads")
      },
    })
    expect(failing()).toEqual(["running", "found"])
    isAllowed = true
    renew()
    await pass(10_000)
    expect([failing(), view.isFound.value]).toEqual([[], true])
    view.stop()
  })
})

describe("lanes that changed while nobody was told", () => {
  it("stand as they are once the stream stands again, and behind a gap in it", async () => {
    const streams = [feed(), feed()]
    let nth = 0
    let paused: ReadonlyArray<unknown> = []
    const { pass, standing, view } = await openOverview({
      watch: () => streams[nth++]?.told(),
      listThreads: ({ state }) => ({ threads: state === "paused" ? paused : [] }),
    })
    streams[0]?.tell(opened, laneOf("a"), laneOf("b"), laneOf("sick", { fault }))
    await pass(100)
    expect(standing()).toEqual(["a running", "b running", "sick faulted"])
    expect([...view.faults.value.keys()]).toEqual(["sick"])
    paused = [{ threadId: "a", state: "paused" }]
    streams[0]?.tell({ _tag: "Gap", dropped: 3 })
    await pass(10_000)
    expect(standing()).toEqual(["a paused", "b idle", "sick idle"])
    expect(view.faults.value.size).toBe(0)
    paused = [{ threadId: "b", state: "paused" }]
    streams[0]?.lose()
    streams[1]?.tell(opened)
    await pass(10_000)
    expect(view.live.state.value._tag).toBe("Live")
    expect(standing()).toEqual(["a idle", "b paused", "sick idle"])
    view.stop()
  })
})

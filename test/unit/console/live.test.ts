/** The stream of a page: when it is opened again, when it rests, and what the page hears of it. */
import { afterEach, describe, expect, it, vi } from "vitest"
import type { WatchFrame } from "../../../client/sdk/index.ts"
import { type Answers, closePage, denied, feed, openPage, Refused } from "./consolePage.ts"

afterEach(closePage)

const opened = { _tag: "Opened", faultedLanes: 0 }

/** The stream of an owner over these answers. */
const watching = async (answers: Answers, anyNews?: () => Promise<boolean>) => {
  const page = await openPage(answers)
  const { startLive } = await import("../../../console/state/Live.ts")
  const { heddle } = await import("../../../console/state/Deployment.ts")
  const frames: Array<string> = []
  const live = startLive<WatchFrame>({
    open: (signal) => heddle.watch({ ownerId: "shop" }, { signal }),
    take: (frame) => void frames.push(frame._tag),
    regained: () => void frames.push("regained"),
    ...(anyNews === undefined ? {} : { anyNews }),
  })
  await page.pass(10)
  return { ...page, live, frames, stateOf: () => live.state.value._tag }
}

describe("a stream that fails", () => {
  it("is opened again where its cause may be over by itself, and says meanwhile what it was", async () => {
    const causes = [
      { _tag: "StorageUnavailable", operation: "watch" },
      { _tag: "ThreadUnreadable", threadId: "a", what: "a record" },
      { _tag: "SomethingNewer" },
    ]
    for (const cause of causes) {
      let isWell = false
      const watched = feed()
      const { frames, live, pass, stateOf } = await watching({
        watch: () => {
          if (!isWell) throw new Refused(cause)
          return watched.told()
        },
      })
      expect(stateOf()).toBe("Waiting")
      expect(live.failure.value).toBeInstanceOf(Error)
      isWell = true
      watched.tell(opened)
      await pass(1_000)
      expect([stateOf(), live.failure.value]).toEqual(["Live", undefined])
      expect(frames).toEqual(["regained", "Opened"])
      live.stop()
      closePage()
    }
  })

  it("is not opened again where it is denied, until another token comes or the reader says so", async () => {
    const { count, live, pass, renew, stateOf } = await watching({
      watch: () => {
        throw denied("watch")
      },
    })
    await pass(600_000)
    expect([count("watch"), stateOf()]).toEqual([1, "Refused"])
    live.again()
    await pass(10)
    expect([count("watch"), stateOf()]).toEqual([2, "Refused"])
    renew()
    await pass(10)
    expect([count("watch"), stateOf()]).toEqual([3, "Refused"])
    live.stop()
  })

  it("is asked less and less often where each connection fails right behind its first frame", async () => {
    const { count, live, pass } = await watching({
      watch: async function* () {
        yield opened
        throw new Refused({ _tag: "ThreadUnreadable", threadId: "a", what: "a record" })
      },
    })
    await pass(120_000)
    expect(count("watch")).toBeLessThan(15)
    live.stop()
  })
})

describe("a page", () => {
  it("hears that it was not told of everything, each time but the first that its stream stands", async () => {
    const streams = [feed(), feed(), feed()]
    let nth = 0
    const { frames, live, look, pass } = await watching({ watch: () => streams[nth++]?.told() })
    streams[0]?.tell(opened, { _tag: "Gap", dropped: 1 })
    await pass(10)
    expect(frames).toEqual(["Opened", "Gap"])
    streams[0]?.lose()
    streams[1]?.tell(opened)
    await pass(1_000)
    expect(frames).toEqual(["Opened", "Gap", "regained", "Opened"])
    look(false)
    await pass(30_000)
    streams[2]?.tell(opened)
    look(true)
    await pass(10)
    expect(frames.slice(4)).toEqual(["regained", "Opened"])
    live.stop()
  })
})

describe("a stream that ends for want of news", () => {
  it("is rested from: a thread's, too, which the SDK alone would open again for ever", async () => {
    const later = feed()
    let nth = 0
    const page = await openPage({
      observe: async function* () {
        nth += 1
        if (nth > 1) return yield* later.told()
        yield { _tag: "Opened", tailSequence: 3 }
        yield { _tag: "Cursor", after: 3 }
      },
      history: () => ({ records: [] }),
      explain: () => [],
    })
    const { openThread } = await import("../../../console/state/ThreadView.ts")
    const view = openThread({ ownerId: "shop", threadId: "a" })
    await page.pass(1_000)
    expect(view.live.state.value._tag).toBe("Resting")
    expect(page.count("observe")).toBe(1)
    view.stop()
  })
})

describe("an owner that is looked at", () => {
  it("has news at the first look, and then when something has changed since the last one", async () => {
    let nonterminal = 1
    await openPage({ maintenanceStatus: () => ({ nonterminal }) })
    const { ownerNews } = await import("../../../console/state/OwnerNews.ts")
    const anyNews = ownerNews("shop")
    const look = () => anyNews(new AbortController().signal)
    expect([await look(), await look()]).toEqual([true, false])
    nonterminal = 2
    expect([await look(), await look()]).toEqual([true, false])
  })
})

describe("what is asked at a pace", () => {
  it("leaves nothing behind that listens, however often it was asked", async () => {
    const { look, pass } = await openPage({})
    const { visible } = await import("../../../console/state/Now.ts")
    const { until, untilVisible } = await import("../../../console/state/Until.ts")
    const subscribed = vi.fn<() => boolean>(() => visible.value)
    await until(subscribed)
    expect(subscribed).toHaveBeenCalledTimes(1)
    look(false)
    const before = subscribed.mock.calls.length
    expect(before).toBe(1)
    const waiting = until(subscribed)
    const asked = subscribed.mock.calls.length
    look(true)
    await waiting
    for (const isSeen of [false, true, false]) look(isSeen)
    expect(subscribed.mock.calls.length).toBe(asked + 1)
    const leaving = new AbortController()
    const left = untilVisible(leaving.signal)
    leaving.abort()
    await left
    await untilVisible(leaving.signal)
    await pass(0)
  })
})

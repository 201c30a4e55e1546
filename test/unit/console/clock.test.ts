/** The time of the page, in a browser of a few lines. */
import { beforeEach, describe, expect, it, vi } from "vitest"

interface Clock {
  readonly now: { readonly value: number }
  readonly present: () => number
  readonly timing: () => (date: string | null) => void
}

/** Of the console's own types, which have a browser and are checked with it, this one knows nothing. */
const load = async (file: string): Promise<Clock> =>
  (await import(`../../../console/state/${file}.ts`)) as Clock

beforeEach(() => {
  vi.resetModules()
  vi.useFakeTimers({ now: 1_000_000 })
  vi.stubGlobal("document", { visibilityState: "visible", addEventListener: () => undefined })
  return () => {
    vi.unstubAllGlobals()
    vi.useRealTimers()
  }
})

describe("the time on the page", () => {
  it("is the deployment's as soon as it has answered, and goes on from there", async () => {
    const { now, present, timing } = await load("Now")
    expect(now.value).toBe(1_000_000)
    const hear = timing()
    vi.setSystemTime(1_000_040)
    hear(new Date(400_000).toUTCString())
    expect(Math.abs(now.value - 400_500)).toBeLessThanOrEqual(540)
    const before = now.value
    vi.advanceTimersByTime(1_000)
    expect(now.value).toBe(before + 1_000)
    expect(present()).toBe(now.value)
  })

  it("is the reader's where no answer says another", async () => {
    const { now, timing } = await load("Now")
    timing()(null)
    timing()(new Date(1_000_000).toUTCString())
    expect(now.value).toBe(1_000_000)
  })
})

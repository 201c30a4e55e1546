import { describe, expect, it } from "vitest"
import { delayMillis, jitteredMillis } from "../../contracts/Backoff.ts"

const curve = { baseMillis: 100, maxMillis: 5_000 }

describe("the retry curve", () => {
  it("doubles from its base up to its maximum", () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => delayMillis(curve, attempt))
    expect(delays).toEqual([100, 200, 400, 800, 1_600, 3_200, 5_000, 5_000])
  })

  it("counts attempts from 1 and takes anything lower for the first", () => {
    expect([-3, 0, 1].map((attempt) => delayMillis(curve, attempt))).toEqual([100, 100, 100])
  })

  it("stays at its maximum for any number of attempts", () => {
    for (const attempt of [50, 1_000, 2 ** 31 - 1, Number.MAX_SAFE_INTEGER])
      expect(delayMillis(curve, attempt)).toBe(5_000)
  })

  it("never exceeds a maximum below its base", () => {
    expect(delayMillis({ baseMillis: 100, maxMillis: 30 }, 1)).toBe(30)
  })
})

describe("jitter", () => {
  it("spreads a delay over its upper half, in whole milliseconds", () => {
    expect(jitteredMillis(curve, 3, 0)).toBe(200)
    expect(jitteredMillis(curve, 3, 0.5)).toBe(300)
    for (const random of [0, 0.123, 0.5, 0.999_999]) {
      for (let attempt = 1; attempt < 12; attempt++) {
        const jittered = jitteredMillis(curve, attempt, random)
        const delay = delayMillis(curve, attempt)
        expect(Number.isInteger(jittered)).toBe(true)
        expect(jittered).toBeGreaterThanOrEqual(delay / 2)
        expect(jittered).toBeLessThanOrEqual(delay)
      }
    }
  })
})

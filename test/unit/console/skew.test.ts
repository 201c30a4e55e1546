/** How the deployment's clock is found from answers that name whole seconds and take their time. */
import { describe, expect, it } from "vitest"
import { skewOf } from "../../../console/lib/Skew.ts"

/** An answer of a deployment whose clock is so far from ours. */
const answerOf = (skew: number, { sentAt, millis }: { sentAt: number; millis: number }) => ({
  sentAt,
  cameAt: sentAt + millis,
  dateMillis: Math.floor((sentAt + millis / 2 + skew) / 1_000) * 1_000,
})

describe("the reader's clock", () => {
  it("is taken as it is while no answer contradicts it", () => {
    for (const sentAt of [10_000, 10_400, 10_999])
      expect(skewOf(0, answerOf(0, { sentAt, millis: 300 }))).toBe(0)
  })

  it.each([600_000, -600_000])("is known to be off by %i ms, to a second and less", (skew) => {
    let known = 0
    for (const sentAt of [10_000, 20_300, 30_650, 40_900])
      known = skewOf(known, answerOf(skew, { sentAt, millis: 40 }))
    expect(Math.abs(known - skew)).toBeLessThan(500)
  })

  it("is left as it was by an answer without a date, and by one during which it was set", () => {
    expect(skewOf(7, { dateMillis: Number.NaN, sentAt: 0, cameAt: 1 })).toBe(7)
    expect(skewOf(7, { dateMillis: 0, sentAt: 90_000, cameAt: 1 })).toBe(7)
  })
})

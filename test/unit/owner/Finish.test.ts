import { describe, expect, it } from "vitest"
import { clears, vanishes } from "../../../owner-object/Finish.ts"
import { condemnedBy, generation, laneOf, ready, reportOf } from "./lanes.ts"

const overlap = { cleanAtFirst: true, allAnswered: true, newest: generation(2) }

describe("the end of an overlap", () => {
  it("clears the enrolment when it accounts for everything enrolled", () => {
    expect(clears(overlap, generation(2))).toBe(true)
  })

  it("leaves it when an older mutation of unknown fate was enrolled before", () => {
    expect(clears({ ...overlap, cleanAtFirst: false }, generation(2))).toBe(false)
  })

  it("leaves it when one of the mutations had no answer", () => {
    expect(clears({ ...overlap, allAnswered: false }, generation(2))).toBe(false)
  })

  it("leaves it when something newer is enrolled", () => {
    expect(clears(overlap, generation(3))).toBe(false)
  })
})

describe("a row that refused mutations made", () => {
  const refused = { madeRow: true, allRefused: true }

  it("goes when the thread holds nothing", () => {
    expect(vanishes(refused, laneOf({ report: reportOf() }))).toBe(true)
  })

  it("stays when its thread is to be forgotten", () => {
    const lane = laneOf({ report: reportOf(), marks: { condemned: condemnedBy() } })
    expect(vanishes(refused, lane)).toBe(false)
  })

  it("stays when the thread holds work, owes messages, was not heard, or is to be looked at", () => {
    for (const lane of [
      laneOf({ report: ready() }),
      laneOf({ report: reportOf({ outboxAt: 0 }) }),
      laneOf(),
      laneOf({ report: reportOf(), enrolled: generation(1) }),
      laneOf({ report: reportOf(), mustVisit: true }),
    ]) {
      expect(vanishes(refused, lane)).toBe(false)
    }
  })

  it("stays when it was there before, or when one was not refused", () => {
    const lane = laneOf({ report: reportOf() })
    expect(vanishes({ ...refused, madeRow: false }, lane)).toBe(false)
    expect(vanishes({ ...refused, allRefused: false }, lane)).toBe(false)
  })
})

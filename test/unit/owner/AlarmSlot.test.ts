import { describe, expect, it } from "vitest"
import { millisMax, OwnerId } from "../../../contracts/Identifiers.ts"
import {
  armEarliest,
  armNow,
  armRetry,
  lower,
  needsRepair,
  rang,
  ringAt,
} from "../../../owner-object/AlarmSlot.ts"
import { beginLife } from "../../../owner-object/Life.ts"
import { makeNodeHost, openNodeStorage } from "../../../platform/NodeStorage.ts"
import { limits, now } from "./lanes.ts"

const nothing = {
  held: true,
  freeTicket: undefined,
  entryAt: undefined,
  projectAt: undefined,
  hostAt: undefined,
  goesOn: false,
  rideMillis: 0,
}

const begin = () => {
  const storage = openNodeStorage()
  const host = makeNodeHost({ name: "tenant", storage, now: () => now })
  const life = beginLife(host, OwnerId.make("tenant"), null)
  const lowerTo = (atMillis: number, at = now) =>
    lower(storage.alarm, storage.sql, life, {
      atMillis,
      now: at,
      limits,
      ...nothing,
    })
  return { storage, life, lowerTo }
}

describe("the alarm slot", () => {
  it("is lowered by an earlier deadline, and left alone by a later one", () => {
    const { storage, life, lowerTo } = begin()
    armRetry(storage.alarm, life, now + 500, now)
    lowerTo(now + 900)
    expect(storage.alarmAt()).toBe(now + 500)
    lowerTo(now + 100)
    expect(storage.alarmAt()).toBe(now + 100)
  })

  it("is never written again once it is due, however many deadlines have come", () => {
    const { storage, life, lowerTo } = begin()
    armRetry(storage.alarm, life, now, now)
    const before = storage.counts().alarmWrites
    for (const late of [0, 1, 2, 50, 59_000]) lowerTo(now - 5, now + late)
    expect(storage.counts().alarmWrites).toBe(before)
    expect(storage.alarmAt()).toBe(now + 1)
  })

  it("is not put off by those who ask for a pass at once, again and again", () => {
    const { storage, life } = begin()
    armRetry(storage.alarm, life, now + 500, now)
    armNow(storage.alarm, life, now, limits)
    expect(storage.alarmAt()).toBe(now + 1)
    for (const late of [0, 1, 2, 50]) armNow(storage.alarm, life, now + late, limits)
    expect(storage.alarmAt()).toBe(now + 1)
  })

  it("is in the future when it is set", () => {
    const { storage, life } = begin()
    armRetry(storage.alarm, life, now - 1_000, now)
    expect(storage.alarmAt()).toBe(now + 1)
  })

  it("is never later than is counted", () => {
    const { life, storage } = begin()
    armRetry(storage.alarm, life, Number.MAX_SAFE_INTEGER, now)
    expect(storage.alarmAt()).toBe(millisMax)
  })

  it("counts until it is 60 s overdue, and needs repair from then on", () => {
    const { life } = begin()
    life.quiet = false
    life.armedAt = now - 59_999
    expect(needsRepair(life, now, limits)).toBe(false)
    life.armedAt = now - 60_000
    expect(needsRepair(life, now, limits)).toBe(true)
    life.armedAt = undefined
    expect(needsRepair(life, now, limits)).toBe(true)
  })

  it("is set as much later as it rang early, so that it does not ring for the same time over and over", () => {
    const { storage, life, lowerTo } = begin()
    armRetry(storage.alarm, life, now + 1_000, now)
    rang(life, now, limits)
    armRetry(storage.alarm, life, now + 1_000, now)
    expect(storage.alarmAt()).toBe(now + 2_000)
    lowerTo(now + 1_000)
    expect(storage.alarmAt()).toBe(now + 2_000)
    lowerTo(now + 900)
    expect(storage.alarmAt()).toBe(now + 1_900)
    rang(life, now + 900, limits)
    armRetry(storage.alarm, life, now + 9_000, now + 900)
    expect(storage.alarmAt()).toBe(now + 10_000)
    rang(life, now + 10_000, limits)
    armRetry(storage.alarm, life, now + 11_000, now + 10_000)
    expect(storage.alarmAt()).toBe(now + 11_000)
  })

  it("is set at most 5 s later after one ring that came early, and never later than half of what it counts overdue", () => {
    const { storage, life } = begin()
    const at = now + 3_600_000
    for (const later of [5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 30_000]) {
      armRetry(storage.alarm, life, at, now)
      rang(life, now, limits)
      armRetry(storage.alarm, life, at, now)
      expect(storage.alarmAt()).toBe(at + later)
    }
  })

  it("rings within the minute of its time for a clock that was an hour behind and is right again", () => {
    const { storage, life, lowerTo } = begin()
    const right = now + 3_600_000
    // An hour behind: whatever is set for the next hour rings at once.
    for (let ring = 0; ring < 1_000; ring++) {
      armRetry(storage.alarm, life, right, now)
      rang(life, now, limits)
    }
    armRetry(storage.alarm, life, right, now)
    const rings = (at: number) => (storage.alarmAt() ?? Infinity) <= at
    let late = 0
    for (; late < 300_000 && !rings(right + late); late += 1_000)
      lowerTo(right + late + 5_000, right + late)
    expect(late).toBeLessThan(60_000)
  })

  it("is deleted when no lane needs anything, and needs no repair then", () => {
    const { storage, life } = begin()
    armRetry(storage.alarm, life, now + 5, now)
    expect(
      armEarliest(storage.alarm, storage.sql, life, {
        ...nothing,
        now,
      }),
    ).toBe("cleared")
    expect(storage.alarmAt()).toBeNull()
    expect(needsRepair(life, now, limits)).toBe(false)
  })

  it("has what is only shown ride on a ring for what is owed, and rings for it where none comes in time", () => {
    const { storage, life } = begin()
    const armed = (entryAt: number | undefined, projectAt: number | undefined) => {
      armEarliest(storage.alarm, storage.sql, life, {
        ...nothing,
        now,
        entryAt,
        projectAt,
        goesOn: false,
        rideMillis: 1_000,
      })
      return storage.alarmAt()
    }
    expect(armed(now + 900, now + 100)).toBe(now + 900)
    expect(armed(now + 1_100, now + 100)).toBe(now + 1_100)
    expect(armed(now + 1_101, now + 100)).toBe(now + 100)
    expect(armed(undefined, now + 100)).toBe(now + 100)
    expect(armed(now + 50, now + 100)).toBe(now + 50)
    expect(armed(undefined, undefined)).toBeNull()
  })

  it("rings in time for what is owed, and no more than its ride late for what is shown", () => {
    const times = [0, 1, 999, 1_000, 1_001, 5_000, Infinity]
    for (const owedAt of times)
      for (const showAt of times)
        for (const rideMillis of [0, 1, 1_000]) {
          const at = ringAt({ owedAt, showAt }, rideMillis)
          expect([owedAt, showAt]).toContain(at)
          expect(at).toBeLessThanOrEqual(owedAt)
          expect(at).toBeLessThanOrEqual(showAt + rideMillis)
        }
  })
})

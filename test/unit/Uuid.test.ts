import { describe, expect, it } from "vitest"
import { makeUuidGenerator } from "../../platform/Uuid.ts"

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/

/** A generator on a clock that the test moves, with a random source of one repeated byte. */
const onClock = (startAt: number, byte = 0xff) => {
  const clock = { now: startAt }
  const next = makeUuidGenerator({
    now: () => clock.now,
    randomBytes: (length) => new Uint8Array(length).fill(byte),
  })
  return { clock, next, take: (length: number) => Array.from({ length }, next) }
}

const millisOf = (id: string): number => Number.parseInt(id.replace("-", "").slice(0, 12), 16)

const expectRising = (ids: ReadonlyArray<string>): void => {
  expect(new Set(ids).size).toBe(ids.length)
  expect(ids.toSorted()).toEqual(ids)
}

describe("an id", () => {
  it("has the shape of a UUIDv7, whatever the random bytes", () => {
    for (const byte of [0x00, 0x3f, 0x80, 0xc0, 0xff])
      expect(onClock(1_790_000_000_000, byte).next()).toMatch(shape)
  })

  it("carries its millisecond", () => {
    expect(millisOf(onClock(1_790_000_000_123).next())).toBe(1_790_000_000_123)
  })

  it("takes its last 62 bits from the random source", () => {
    expect(onClock(1, 0x00).next().slice(19)).toBe("8000-000000000000")
    expect(onClock(1, 0xff).next().slice(19)).toBe("bfff-ffffffffffff")
  })
})

describe("ids of one source", () => {
  it("rise as text while the clock stands still, also beyond 4,096 in a millisecond", () => {
    const source = onClock(1_790_000_000_000)
    const ids = source.take(10_000)
    expectRising(ids)
    expect(millisOf(ids.at(-1) ?? "")).toBe(1_790_000_000_002)
  })

  it("rise as text when the clock goes back, and when it comes forward again", () => {
    const source = onClock(1_790_000_000_000)
    const ids = source.take(3)
    source.clock.now -= 60_000
    ids.push(...source.take(3))
    source.clock.now += 60_001
    ids.push(...source.take(3))
    expectRising(ids)
  })

  it("stay in order when the clock passes from a borrowed millisecond into a real one", () => {
    const source = onClock(1_790_000_000_000)
    const ids = source.take(4_097)
    source.clock.now += 1
    ids.push(...source.take(2))
    expectRising(ids)
  })
})

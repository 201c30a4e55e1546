import { Deferred } from "effect"
import { describe, expect, it } from "vitest"
import { makeBell } from "../../platform/Bell.ts"

const rung = (ring: Deferred.Deferred<void>): boolean => Deferred.isDoneUnsafe(ring)

describe("a bell", () => {
  it("rings who waits, once", () => {
    const bell = makeBell()
    const first = bell.next()
    expect(rung(first)).toBe(false)
    bell.ring()
    expect(rung(first)).toBe(true)
  })

  it("has rung already for who comes after a ring that nobody took", () => {
    const bell = makeBell()
    bell.ring()
    bell.ring()
    expect(rung(bell.next())).toBe(true)
    expect(rung(bell.next())).toBe(false)
  })

  it("misses nothing between taking the ring and waiting for it", () => {
    const bell = makeBell()
    const ring = bell.next()
    bell.ring()
    expect(rung(ring)).toBe(true)
  })
})

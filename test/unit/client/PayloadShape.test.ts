import { describe, expect, it } from "vitest"
import { shapeFault } from "../../../client/PayloadShape.ts"
import { defaultLimits } from "../../../contracts/Limits.ts"
import { nested } from "./httpWorld.ts"

const faultOf = (payload: unknown) => shapeFault(payload, defaultLimits)?.reason

/** So many objects, each twice in the next: as JSON it would have twice as many values each time. */
const doubled = (levels: number): unknown => {
  let value: unknown = 1
  for (let level = 0; level < levels; level++) value = [value, value]
  return value
}

describe("the shape of a payload", () => {
  it("may hold what has 64 levels of its own, an input or a result, and little more", () => {
    expect(faultOf({ input: JSON.parse(nested(64)) })).toBeUndefined()
    expect(faultOf({ resolution: { result: JSON.parse(nested(64)) } })).toBeUndefined()
    expect(faultOf({ input: JSON.parse(nested(67)) })).toBe("nested deeper than 64")
    expect(faultOf({ resolution: { result: JSON.parse(nested(66)) } })).toBe(
      "nested deeper than 64",
    )
    const named = `{"a":`.repeat(67) + "1" + "}".repeat(67)
    expect(faultOf({ input: JSON.parse(named) })).toBe("nested deeper than 64")
  })

  it("is found out at any depth, also behind what is flat", () => {
    for (const levels of [3_000, 5_000, 2_000_000]) {
      const input = [1, {}, "x", JSON.parse(nested(levels)), null]
      expect(faultOf({ input })).toBe("nested deeper than 64")
    }
  })

  it("may be as wide as a body", () => {
    const input = JSON.parse(`[${"1,".repeat(2 * 1024 * 1024 - 16)}1]`) as unknown
    expect(faultOf({ input })).toBeUndefined()
  })

  it("has no more lists and objects than an isolate of the platform can hold", () => {
    const input = (containers: number) =>
      JSON.parse(`[${"{},".repeat(containers)}1]`) as ReadonlyArray<unknown>
    expect(faultOf({ input: input(400_000) })).toBeUndefined()
    const tooMany = "more than 524288 lists and objects"
    expect(faultOf({ input: input(600_000) })).toBe(tooMany)
    expect(faultOf({ a: input(300_000), b: [input(300_000)] })).toBe(tooMany)
  })

  it("has no more text than a body and half, also where a binding would carry more", () => {
    const tooLong = "more than 6291456 characters"
    const text = "x".repeat(3 * 1024 * 1024)
    expect(faultOf({ input: text, title: text.slice(16) })).toBeUndefined()
    expect(faultOf({ input: [text, text], title: "x" })).toBe(tooLong)
    expect(faultOf({ input: [[text], { [text]: 1, a: 1 }] })).toBe(tooLong)
    const shared = [text]
    expect(faultOf({ input: [shared, shared, shared] })).toBe(tooLong)
    expect(faultOf(text.repeat(3))).toBe(tooLong)
  })

  it("is found out in a value that contains itself", () => {
    const knot: Array<unknown> = []
    knot.push({ knot })
    expect(faultOf({ input: knot })).toBe("nested deeper than 64")
  })

  it("counts what is shared as often as it would be written", () => {
    expect(faultOf({ input: doubled(10) })).toBeUndefined()
    expect(faultOf({ input: doubled(60) })).toBe("more than 2097152 values")
  })

  it("counts the holes of an array", () => {
    const sparse: Array<unknown> = []
    sparse.length = 4_000_000_000
    expect(faultOf({ input: sparse })).toBe("more than 2097152 values")
  })

  it("is that of plain JSON, whatever the caller made of it", () => {
    const trap = Object.defineProperty({}, "a", {
      enumerable: true,
      get: () => {
        throw new Error("trap")
      },
    })
    for (const input of [new Map(), new Date(0), new Uint8Array(32), trap]) {
      expect(faultOf({ input })).toBe("not a plain JSON value")
    }
    for (const payload of [undefined, null, 7, "text", [], Object.create(null)]) {
      expect(faultOf(payload)).toBeUndefined()
    }
  })
})

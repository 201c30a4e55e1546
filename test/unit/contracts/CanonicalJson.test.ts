import { Result } from "effect"
import { describe, expect, it } from "vitest"
import { canonicalJson } from "../../../contracts/CanonicalJson.ts"

const limits = { maxBytes: 1_000, maxNesting: 64 }

const textOf = (value: unknown) =>
  Result.match(canonicalJson(value, limits), {
    onSuccess: ({ text }) => text,
    onFailure: (refusal) => {
      throw new Error(JSON.stringify(refusal))
    },
  })

const refusalOf = (value: unknown, overrides: Partial<typeof limits> = {}) => {
  const result = canonicalJson(value, { ...limits, ...overrides })
  if (Result.isSuccess(result)) throw new Error(`accepted: ${result.success.text}`)
  return result.failure
}

const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])

const thrower = {
  get b(): never {
    throw new Error("no")
  },
}
const angry = new Proxy(
  {},
  {
    getPrototypeOf: () => {
      throw new Error("no")
    },
  },
)

describe("canonical JSON", () => {
  it("orders keys by their UTF-16 units and writes numbers in shortest form", () => {
    expect(
      textOf({ b: 1, a: { "\u20ac": 2, "\r": 3, "\ud83d\ude00": 4, "1": 5, "\ufb33": 6 } }),
    ).toBe('{"a":{"\\r":3,"1":5,"\u20ac":2,"\ud83d\ude00":4,"\ufb33":6},"b":1}')
    expect(textOf([1e21, 1.0, -0, 0.000001, 1e-7, 333333333.3333333])).toBe(
      "[1e+21,1,0,0.000001,1e-7,333333333.3333333]",
    )
  })

  it("gives equal values equal text whatever the order of their keys", () => {
    expect(textOf({ x: [null, true, "é"], y: {} })).toBe(textOf({ y: {}, x: [null, true, "é"] }))
    expect(textOf({ kept: 1, absent: undefined })).toBe('{"kept":1}')
  })

  it("keeps a key named __proto__ as data", () => {
    expect(textOf(JSON.parse('{"__proto__":{"a":1}}'))).toBe('{"__proto__":{"a":1}}')
  })

  it.each([
    ["NUL", { a: ["x", "b\0"] }, "a[1]", /NUL/],
    ["a lone surrogate", { a: { b: "\ud800" } }, "a.b", /surrogate/],
    ["NUL in a key", { "k\0": 1 }, "k\ufffd", /key/],
    ["a getter that throws", { a: [thrower] }, "a[0].b", /cannot be read/],
    ["a proxy that throws", { a: angry }, "a", /cannot be read/],
    ["a number that is not finite", [1, Number.NaN], "[1]", /finite/],
    ["infinity", { n: Number.POSITIVE_INFINITY }, "n", /finite/],
    ["a bigint", [1n], "[0]", /plain/],
    ["a date", { at: new Date(0) }, "at", /plain/],
    ["undefined in an array", [undefined], "[0]", /plain/],
    ["undefined", undefined, "", /plain/],
  ])("refuses %s and tells where", (_what, value, path, reason) => {
    const refusal = refusalOf(value)
    expect(refusal).toMatchObject({ _tag: "InvalidInput", path })
    expect((refusal as { reason: string }).reason).toMatch(reason)
  })

  it("tells the place of a lone surrogate in a key as well-formed text", () => {
    const refusal = refusalOf({ ["\udc00"]: 1 })
    expect(refusal).toMatchObject({ _tag: "InvalidInput", path: "\ufffd" })
  })

  it("accepts 64 levels of nesting and refuses 65", () => {
    expect(textOf(nested(64))).toHaveLength(129)
    expect(refusalOf(nested(65))).toMatchObject({ _tag: "InvalidInput" })
  })

  it("counts bytes, not characters, against the limit", () => {
    expect(Result.isSuccess(canonicalJson("é".repeat(4), { ...limits, maxBytes: 10 }))).toBe(true)
    expect(refusalOf("é".repeat(5), { maxBytes: 10 })).toMatchObject({
      _tag: "AdmissionLimitExceeded",
      limit: "inputBytes",
      actual: 12,
      maximum: 10,
    })
  })

  it("refuses values that share or contain themselves with bounded work", () => {
    let shared: unknown = ["x"]
    for (let level = 0; level < 60; level++) shared = [shared, shared]
    expect(refusalOf(shared)).toMatchObject({ _tag: "AdmissionLimitExceeded" })
    const cycle: Array<unknown> = []
    cycle.push(cycle)
    expect(refusalOf(cycle)).toMatchObject({ _tag: "InvalidInput" })
  })
})

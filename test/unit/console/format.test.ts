/** Numbers, times and values as the console shows them. */
import { describe, expect, it } from "vitest"
import { lookMillis, pauseMillis, restMillis } from "../../../console/lib/Backoff.ts"
import {
  agoOf,
  clip,
  countOf,
  durationOf,
  plural,
  previewOf,
  shortId,
  straight,
} from "../../../console/lib/Format.ts"
import { piecesOf } from "../../../console/lib/Snippet.ts"
import { isSameReader, onlyOwner, tidyToken, wordsOfToken } from "../../../console/lib/Token.ts"

const second = 1_000
const minute = 60 * second
const hour = 60 * minute

describe("a text that turns the one behind it", () => {
  it("has its marks shown, and keeps those that only say where a word belongs", () => {
    expect(straight("7\u202e00\u2069\u200f")).toBe("7\\u202e00\\u2069\u200f")
    expect(previewOf({ order: "\u202d7" })).toBe('{"order":"\\u202d7"}')
  })
})

describe("a length of time", () => {
  it.each([
    [-5, "0 ms"],
    [0, "0 ms"],
    [999, "999 ms"],
    [1_240, "1.2 s"],
    [9_999, "9.9 s"],
    [10 * second, "10 s"],
    [59_999, "59 s"],
    [minute, "1 min"],
    [3 * minute + 20 * second, "3 min 20 s"],
    [2 * hour + 5 * minute, "2 h 5 min"],
    [24 * hour, "1 d"],
    [75 * hour, "3 d 3 h"],
  ])("of %d ms is told in its largest two units", (millis, told) => {
    expect(durationOf(millis)).toBe(told)
  })

  it("is told from now, before and after", () => {
    expect([agoOf(100, 100), agoOf(0, 999), agoOf(0, 5_400), agoOf(65_400, 0)]).toEqual([
      "now",
      "now",
      "5 s ago",
      "in 1 min 5 s",
    ])
  })
})

describe("a text of any length", () => {
  it("is cut where a row ends, never within a character", () => {
    expect(clip("abcdef", 6)).toBe("abcdef")
    expect(clip("abcdefg", 6)).toBe("abcde…")
    expect(clip("abcd\u{1f9f5}fg", 6).isWellFormed()).toBe(true)
    expect(previewOf({ a: "b\n\nc" })).toBe('{"a":"b\\n\\nc"}')
    expect(previewOf("one\n  two")).toBe("one two")
    expect(previewOf("x".repeat(1_000_000)).length).toBe(160)
    expect(previewOf(undefined)).toBe("")
  })

  it("is counted for people", () => {
    expect([countOf(999), countOf(12_345), plural(1, "thread"), plural(2, "thread")]).toEqual([
      "999",
      "12\u2009345",
      "1 thread",
      "2 threads",
    ])
    expect(shortId("018f0000-0000-7000-8000-0000000000ff")).toBe("…000000ff")
  })
})

describe("what a search found", () => {
  it("has its found words apart, and loses nothing of a text with brackets of its own", () => {
    expect(piecesOf("a [heron] in [reeds]")).toEqual([
      { text: "a ", isFound: false },
      { text: "heron", isFound: true },
      { text: " in ", isFound: false },
      { text: "reeds", isFound: true },
    ])
    const odd = "]] [[a] b] [ <b>"
    const whole = piecesOf(odd).map(({ isFound, text }) => (isFound ? `[${text}]` : text))
    expect(whole.join("")).toBe(odd)
  })
})

describe("a token", () => {
  const tokenOf = (claims: unknown) => {
    const bytes = new TextEncoder().encode(JSON.stringify(claims))
    const signs = { "+": "-", "/": "_", "=": "" } as const
    const text = btoa(String.fromCharCode(...bytes))
    return `x.${text.replaceAll(/[+/=]/g, (sign) => signs[sign as keyof typeof signs])}.y`
  }

  it("says who it is, for which owners and until when", () => {
    const words = wordsOfToken(tokenOf({ sub: "zoë", owners: ["shop-7"], exp: 1_796_000_000 }))
    expect(words).toEqual({ principal: "zoë", owners: ["shop-7"], expiresAt: 1_796_000_000_000 })
    expect(onlyOwner(words)).toBe("shop-7")
  })

  it("that names a pattern, several owners or none leads to none of them", () => {
    for (const owners of [["shop-*"], ["a", "b"], [], undefined])
      expect(onlyOwner(wordsOfToken(tokenOf({ owners })))).toBeUndefined()
  })

  it("is of the same reader where it is of one principal, who may see all the same owners", () => {
    const ada = { principal: "ada", owners: ["shop-7"] }
    const same = [
      { ...ada, expiresAt: 1 },
      { ...ada, owners: ["shop-8", "shop-7"] },
      { ...ada, owners: ["*"] },
    ]
    for (const one of same) expect(isSameReader(ada, one)).toBe(true)
    const others = [{ ...ada, owners: ["shop-8"] }, { ...ada, principal: "eve" }, {}]
    for (const other of others) expect(isSameReader(ada, other)).toBe(false)
    expect(isSameReader({}, ada)).toBe(true)
  })

  it("that cannot be read is one of which nothing is known", () => {
    const odd = [
      "",
      "none",
      "a.b.c",
      "..",
      "\u0000",
      tokenOf(null),
      tokenOf({ owners: 7, exp: "1" }),
    ]
    for (const token of odd) expect(wordsOfToken(token)).toEqual({})
    expect(tidyToken("  Bearer abc\n")).toBe("abc")
  })
})

describe("what was lost", () => {
  it("is asked for again later and later, up to half a minute, and never by all at once", () => {
    const least = [1, 2, 3, 20].map((nth) => pauseMillis(nth, 0))
    const most = [1, 2, 3, 20].map((nth) => pauseMillis(nth, 1))
    expect(least).toEqual([250, 500, 1_000, 15_000])
    expect(most).toEqual([500, 1_000, 2_000, 30_000])
    expect([1, 2, 3, 4, 9].map(restMillis)).toEqual([15_000, 30_000, 60_000, 120_000, 120_000])
  })
  it("of what is tried at a time comes soon after it, and later each time where nothing has come of it", () => {
    expect(lookMillis({ untilMillis: 9_000, looks: 0 })).toBe(10_500)
    const late = [0, 1, 2, 20].map((looks) => lookMillis({ untilMillis: -600_000, looks }))
    expect(late).toEqual([1_500, 3_000, 6_000, 60_000])
  })
})

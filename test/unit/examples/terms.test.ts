import { Effect, Option } from "effect"
import { describe, expect, it } from "vitest"
import { carriesMeaning, keyTermsOf } from "../../../examples/digest/KeyTerms.ts"
import { parse } from "../../../examples/digest/Markdown.ts"
import { measure } from "../../../examples/digest/Prose.ts"
import { added, nextRevision } from "../../../examples/digest/Revisions.ts"
import { similarity, sketchWords } from "../../../examples/digest/Sketch.ts"

const tree = (text: string) => Effect.runSync(parse({ name: "test", text }))
const terms = (text: string, termsMax = 12) =>
  keyTermsOf(tree(text), termsMax).map(({ term }) => term)

describe("key terms", () => {
  it("ranks a word of the headings above one that is as frequent in running text", () => {
    expect(terms("# Weaving\n\nThe loom is old.\n\n## Weaving\n\nA loom stands here.")[0]).toBe(
      "weaving",
    )
  })

  it("ranks a word used throughout above one repeated in a single section", () => {
    const text = "## A\n\nyarn spindle spindle spindle\n\n## B\n\nyarn\n\n## C\n\nyarn"
    expect(terms(text).indexOf("yarn")).toBeLessThan(terms(text).indexOf("spindle"))
  })

  it("joins two words that keep each other's company, and drops the words alone", () => {
    const found = terms("The event loop turns. An event loop blocks. Watch the event loop.")
    expect(found).toContain("event loop")
    expect(found).not.toContain("event")
    expect(found).not.toContain("loop")
  })

  it("joins nothing across punctuation or a common word", () => {
    const found = terms("Wool, silk. Wool, silk. Linen of hemp. Linen of hemp.")
    expect(found).toEqual(["hemp", "linen", "silk", "wool"])
  })

  it("counts a plural with its singular where both occur", () => {
    const [first] = keyTermsOf(tree("A worker. Two workers. One worker."), 1)
    expect(first).toMatchObject({ term: "worker", count: 3 })
    expect(terms("Bias stays bias.")).toContain("bias")
  })

  it("names no common words, numbers or single letters, but words of any script", () => {
    expect(["the", "42nd", "x", "js", "é", "日本", "heddle"].filter(carriesMeaning)).toEqual([
      "é",
      "日本",
      "heddle",
    ])
  })

  it("gives the same list every time, at most as long as asked", () => {
    const text = "alpha beta gamma delta epsilon zeta eta theta"
    expect(terms(text, 3)).toEqual(terms(text, 3))
    expect(terms(text, 3)).toHaveLength(3)
  })
})

describe("measure", () => {
  it("counts words of prose, tables and headings, but none of code", () => {
    expect(
      measure(
        tree(
          "# Two words\n\nIt's three `inline()` words.\n\n|a|b|\n|-|-|\n|c|d|\n\n```\nnot counted\n```",
        ),
      ).words,
    ).toBe(10)
  })

  it("counts words of a language without spaces", () => {
    expect(measure(tree("私は毎日本を読みます。")).words).toBeGreaterThan(3)
  })

  it("counts nothing in a document without words", () => {
    expect(measure(tree("---\n\n![](a.png)\n\n<br>"))).toEqual({
      words: 0,
      sentences: 0,
      readingMillis: 0,
    })
  })
})

describe("revisions", () => {
  const snapshot = {
    headings: ["A", "B"],
    links: ["#a"],
    words: 10,
    sketch: sketchWords(["one", "two", "three"]),
  }

  it("counts a repeated heading as often as it stands", () => {
    expect(added(["A"], ["A", "A", "B"])).toEqual(["A", "B"])
    expect(added(["A", "A"], ["A"])).toEqual([])
  })

  it("finds nothing changed in the same text", () => {
    const first = nextRevision(Option.none(), snapshot)
    expect(nextRevision(Option.some(first), snapshot).revision).toEqual({
      _tag: "Changed",
      number: 2,
      addedHeadings: [],
      removedHeadings: [],
      addedLinks: [],
      removedLinks: [],
      wordsDelta: 0,
      similarity: 1,
    })
  })

  it("estimates the share of a long text that stayed, and is exact on a short one", () => {
    const words = Array.from({ length: 20_000 }, (_, n) => `w${n}`)
    const half = words.slice(0, 10_000)
    expect(similarity(sketchWords(words), sketchWords(words))).toBe(1)
    expect(Math.abs(similarity(sketchWords(words), sketchWords(half)) - 0.5)).toBeLessThan(0.12)
    expect(similarity(sketchWords(words.slice(0, 102)), sketchWords(words.slice(0, 52)))).toBe(0.5)
    expect(similarity(sketchWords(half), sketchWords(words.slice(10_000)))).toBe(0)
    expect(similarity([], [])).toBe(1)
    expect(similarity(sketchWords(["a"]), [])).toBe(0)
  })
})

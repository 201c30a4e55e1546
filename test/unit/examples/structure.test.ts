import { Effect, Exit } from "effect"
import { describe, expect, it } from "vitest"
import { clip } from "../../../examples/digest/Clip.ts"
import { parse, refusal } from "../../../examples/digest/Markdown.ts"
import { linkKind, structureOf } from "../../../examples/digest/Structure.ts"

const structure = (text: string, name = "name") =>
  structureOf(name, Effect.runSync(parse({ name, text })))

describe("structure", () => {
  it("takes the first top-level heading for the title, else any heading, else the name", () => {
    expect(structure("## Low\n\n# High").title).toBe("High")
    expect(structure("## Low\n\ntext").title).toBe("Low")
    expect(structure("text", "notes.md").title).toBe("notes.md")
  })

  it("reads headings and targets that are written as HTML", () => {
    const found = structure(
      '<h1 align="center">\n  <img src="a.png"> Fast &amp; small\n</h1>\n\nSee <a class="x" href="https://a.example">it</a>.',
    )
    expect(found.title).toBe("Fast & small")
    expect(found.links).toEqual([{ url: "https://a.example", text: "", kind: "web" }])
  })

  it("resolves references, counts a target once, and leaves out what has none", () => {
    const found = structure(
      "[One][a] [two][A] [three](#x) [four][none] <me@b.example>\n\n[a]: ./doc.md\n[a]: ./late.md",
    )
    expect(found.links).toEqual([
      { url: "./doc.md", text: "One", kind: "relative" },
      { url: "#x", text: "three", kind: "anchor" },
      { url: "mailto:me@b.example", text: "me@b.example", kind: "mail" },
    ])
    expect(found.linkCount).toBe(3)
  })

  it("tells web, relative, anchor and mail targets apart", () => {
    expect(
      ["HTTPS://a.example", "//cdn.example", "docs/a.md", "#a", "mailto:a@b"].map(linkKind),
    ).toEqual(["web", "web", "relative", "anchor", "mail"])
  })

  it("counts code by language, under one name for its aliases, the most used first", () => {
    const found = structure(
      "```sh\na\nb\n```\n\n```ts {1}\nx\n```\n\n```bash\nc\n```\n\n    indented",
    )
    expect(found.codeLanguages).toEqual([
      { language: "shell", blocks: 2, lines: 3 },
      { language: "plain", blocks: 1, lines: 1 },
      { language: "typescript", blocks: 1, lines: 1 },
    ])
  })

  it("keeps front matter out of the document", () => {
    expect(structure("---\ntitle: hidden\n---\n\n# Shown").outline).toEqual([
      { depth: 1, text: "Shown" },
    ])
  })
})

describe("reading Markdown", () => {
  it("refuses nesting that would hold the parser up, and takes long rules and deep lists", () => {
    expect(refusal(">".repeat(101))).toMatch(/nested deeper than 100/)
    expect(refusal("- ".repeat(101) + "a")).toMatch(/nested deeper than 100/)
    expect(refusal(">".repeat(100))).toBeUndefined()
    expect(refusal("-".repeat(500))).toBeUndefined()
    expect(refusal(`${"a".repeat(32_768)}\n\n${"b".repeat(32_768)}`)).toBeUndefined()
  })

  it("walks a deep tree without a deep stack", () => {
    const text = Array.from(
      { length: 90 },
      (_, depth) => `${"  ".repeat(depth)}- level ${depth}`,
    ).join("\n")
    expect(Exit.isSuccess(Effect.runSyncExit(parse({ name: "deep", text })))).toBe(true)
    expect(structure(`# Deep\n\n${text}\n`).title).toBe("Deep")
  })
})

describe("clip", () => {
  it("leaves short text alone and ends long text in an ellipsis within its bound", () => {
    expect(clip("four", 4)).toBe("four")
    expect(clip("fives", 4)).toBe("fiv…")
  })

  it("never cuts through a surrogate pair", () => {
    for (let bound = 2; bound < 8; bound += 1) {
      const cut = clip("a😀😀😀😀", bound)
      expect(cut.isWellFormed()).toBe(true)
      expect(cut.length).toBeLessThanOrEqual(bound)
    }
  })
})

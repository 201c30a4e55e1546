import { Exit, Cause, Schema } from "effect"
import { readFileSync } from "node:fs"
import { describe, expect, it, vi } from "vitest"
import { Digest, DigestLive } from "../../../examples/01-digest.ts"
import { type Document, DocumentDigest } from "../../../examples/digest/DocumentDigest.ts"
import { attempt, memory, type Memory } from "./RecordingRun.ts"

// The package root joins the objects too, whose classes the platform brings.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object, WorkerEntrypoint: Object }))

const recipe: Document = {
  name: "recipe.md",
  text: [
    "# Sourdough bread",
    "",
    "Sourdough bread needs a lively starter. Feed the starter before you [bake](https://bake.example).",
    "",
    "## Starter",
    "",
    "A starter is flour and water. The starter is ready when it [floats](#floats).",
    "",
    "```js",
    "const hydration = water / flour",
    "```",
  ].join("\n"),
}

const digest = (input: Document, kept: Memory, dieAfter?: number) =>
  attempt(Digest, DigestLive.handle, {
    input,
    memory: kept,
    ...(dieAfter === undefined ? {} : { dieAfter }),
  })

const succeeded = (exit: Exit.Exit<DocumentDigest, unknown>): DocumentDigest => {
  if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
  return exit.value
}

const failure = (exit: Exit.Exit<unknown, unknown>): unknown =>
  Exit.isFailure(exit) ? Cause.squash(exit.cause) : "succeeded"

describe("the digest agent", () => {
  it("tells title, outline, links, code, length and terms of a document", async () => {
    const result = succeeded(await digest(recipe, memory()))
    expect(result).toMatchObject({
      name: "recipe.md",
      title: "Sourdough bread",
      outline: [
        { depth: 1, text: "Sourdough bread" },
        { depth: 2, text: "Starter" },
      ],
      links: [
        { url: "https://bake.example", text: "bake", kind: "web" },
        { url: "#floats", text: "floats", kind: "anchor" },
      ],
      codeLanguages: [{ language: "javascript", blocks: 1, lines: 1 }],
      words: 28,
      sentences: 4,
      revision: { _tag: "First", number: 1 },
    })
    expect(result.keyTerms.slice(0, 2).map(({ term }) => term)).toEqual([
      "sourdough bread",
      "starter",
    ])
    expect(result.readingMillis).toBe(Math.round((28 / 230) * 60_000 + 2_000))
  })

  it("compares a revision with the one before it in the same thread", async () => {
    const first = memory()
    await digest(recipe, first)
    const second = memory(first.state)
    const text = recipe.text.replace("## Starter", "## Leaven").replace("#floats", "#sinks")
    const result = succeeded(await digest({ ...recipe, text: `${text}\n\nOne more line.` }, second))
    expect(result.revision).toMatchObject({
      _tag: "Changed",
      number: 2,
      addedHeadings: ["Leaven"],
      removedHeadings: ["Starter"],
      addedLinks: ["#sinks"],
      removedLinks: ["#floats"],
      wordsDelta: 3,
    })
    const third = succeeded(await digest(recipe, memory(second.state)))
    expect(third.revision).toMatchObject({ number: 3, wordsDelta: -3, addedHeadings: ["Starter"] })
  })

  it("gives the same digest wherever an attempt is lost, and runs no recorded step again", async () => {
    const undisturbed = memory()
    const expected = succeeded(await digest(recipe, undisturbed))
    expect([...undisturbed.records.keys()]).toEqual([
      "structure",
      "outlined",
      "prose",
      "key-terms",
      "measured",
      "sketch",
      "revision",
    ])
    for (let dieAfter = 1; dieAfter <= undisturbed.records.size; dieAfter += 1) {
      const kept = memory()
      expect(failure(await digest(recipe, kept, dieAfter))).toEqual("crash")
      expect(succeeded(await digest(recipe, kept))).toEqual(expected)
      expect(kept.ran).toEqual(undisturbed.ran)
      expect(kept.state).toEqual(undisturbed.state)
      expect(kept.progress).toEqual(undisturbed.progress)
    }
  })

  it("fails a document without prose as NothingToDigest, again on every attempt", async () => {
    const kept = memory()
    const code = { name: "code.md", text: "```js\nlet words = 1\n```\n" }
    for (let entry = 1; entry <= 2; entry += 1) {
      expect(failure(await digest(code, kept))).toMatchObject({
        _tag: "NothingToDigest",
        name: "code.md",
      })
    }
    expect(kept.ran.filter((step) => step === "prose")).toHaveLength(1)
    expect(kept.state).toBeUndefined()
  })

  it("fails a block that would hold the parser up as UnreadableMarkdown, at once", async () => {
    const dense = { name: "dense.md", text: "a**b".repeat(50_000) }
    expect(failure(await digest(dense, memory()))).toMatchObject({
      _tag: "UnreadableMarkdown",
      name: "dense.md",
      reason: "a block of 200000 characters; at most 32768",
    })
  })

  it("records nothing near the size of a long document, and no broken text", async () => {
    const section = (n: number) =>
      `## ${"𝔭".repeat(200)} ${n}\n\n[to](https://x.example/${n}) ${"ä".repeat(50)}.\n`
    const text = Array.from({ length: 400 }, (_, n) => section(n)).join("\n")
    const kept = memory()
    const result = succeeded(await digest({ name: "long.md", text }, kept))
    expect(result).toMatchObject({ headingCount: 400, linkCount: 400 })
    expect(result.outline).toHaveLength(100)
    expect(result.links).toHaveLength(100)
    for (const recorded of [...kept.records.values(), JSON.stringify(result)]) {
      expect(recorded.length).toBeLessThan(64 * 1024)
      expect(recorded.isWellFormed()).toBe(true)
      expect(recorded).not.toMatch(/\\ud[89a-f]/i)
    }
  })

  it("digests a real README into an output that its schema carries", async () => {
    const text = readFileSync("node_modules/undici/README.md", "utf8")
    const result = succeeded(await digest({ name: "undici", text }, memory()))
    const json = Schema.toCodecJson(DocumentDigest)
    expect(
      Schema.decodeUnknownSync(json)(JSON.parse(JSON.stringify(Schema.encodeSync(json)(result)))),
    ).toEqual(result)
    expect(result.title).toBe("undici")
    expect(result.keyTerms.map(({ term }) => term)).toContain("undici")
    expect(result.words).toBeGreaterThan(1_000)
  })
})

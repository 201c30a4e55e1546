/** The guides for authors show code that is type-checked, and name what exists. */
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const root = join(import.meta.dirname, "../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

const blocksOf = (guide: string): ReadonlyArray<string> =>
  [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text]) => text ?? "")

describe.each([
  { path: "docs/write-an-agent.md", example: "examples/authoring/operations.ts", blocks: 3 },
  { path: "docs/evolve-an-agent.md", example: "examples/authoring/evolved.ts", blocks: 1 },
])("$path", ({ blocks, example, path }) => {
  const guide = read(path)

  it("shows code of its example", () => {
    const shown = blocksOf(guide)
    expect(shown).toHaveLength(blocks)
    for (const block of shown) expect(read(example)).toContain(block)
    expect(guide).toContain(example)
  })

  it("names only files that exist", () => {
    const named = [...guide.matchAll(/`((?:docs|examples)\/[\w./-]+)`/g)].map(([, file]) => file)
    expect(named.length).toBeGreaterThan(1)
    expect(named.filter((file) => !existsSync(join(root, file ?? "")))).toEqual([])
  })

  it("names only operations that a run has", () => {
    const agent = read("thread-actors/Agent.ts")
    for (const [, operation] of guide.matchAll(/`run\.(\w+)/g))
      expect(agent).toMatch(new RegExp(`readonly ${operation}: `))
  })
})

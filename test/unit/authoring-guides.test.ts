/** The guides for authors show code that is type-checked, and name what exists. */
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it, vi } from "vitest"

// The package root joins the objects too, whose classes the platform brings.
vi.mock("cloudflare:workers", () => ({ DurableObject: Object, WorkerEntrypoint: Object }))

const root = join(import.meta.dirname, "../..")
const read = (path: string): string => readFileSync(join(root, path), "utf8")

const blocksOf = (guide: string): ReadonlyArray<string> =>
  [...guide.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, text]) => text ?? "")

describe.each([
  { path: "docs/write-an-agent.md", examples: ["examples/authoring/operations.ts"], blocks: 3 },
  { path: "docs/evolve-an-agent.md", examples: ["examples/authoring/evolved.ts"], blocks: 1 },
  {
    path: "docs/talk-between-threads.md",
    examples: ["examples/authoring/talking.ts", "examples/04-order-saga.ts"],
    blocks: 7,
  },
  { path: "docs/publish.md", examples: ["examples/authoring/publishing.ts"], blocks: 1 },
  { path: "docs/host-lanes.md", examples: ["examples/authoring/hostLane.ts"], blocks: 1 },
  { path: "docs/retention.md", examples: ["examples/authoring/retaining.ts"], blocks: 1 },
  { path: "docs/find-threads.md", examples: ["examples/authoring/searching.ts"], blocks: 1 },
  {
    path: "docs/hold-a-conversation.md",
    examples: [
      "examples/03-conversation.ts",
      "examples/13-converse.ts",
      "examples/authoring/conversing.ts",
    ],
    blocks: 8,
  },
])("$path", ({ blocks, examples, path }) => {
  const guide = read(path)

  it("shows code of its examples, which are type-checked and run", () => {
    const shown = blocksOf(guide)
    expect(shown).toHaveLength(blocks)
    const sources = examples.map(read)
    for (const block of shown) {
      const shownBy = sources.filter((source) => source.includes(block)).length
      expect({ block, shownBy }).toEqual({ block, shownBy: 1 })
    }
    for (const source of sources) expect(shown.some((block) => source.includes(block))).toBe(true)
    for (const example of examples) expect(guide).toContain(example)
  })

  it("names only files that exist", () => {
    const named = [
      ...[...guide.matchAll(/`((?:docs|examples)\/[\w./-]+)`/g)].map(([, file]) => file ?? ""),
      ...[...guide.matchAll(/\]\(([\w-]+\.md)\)/g)].map(([, file]) => `docs/${file}`),
    ]
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })

  it("names only operations that a run has", () => {
    for (const [, operation = ""] of guide.matchAll(/`run\.(\w+)/g))
      expect(operationsOfARun()).toContain(operation)
  })
})

/** The names of what a run offers, from its interface. */
function operationsOfARun(): ReadonlyArray<string> {
  const agent = read("thread-actors/Agent.ts")
  const [, body = ""] = /export interface Run<[^{]*\{\n([\s\S]*?)\n\}\n/.exec(agent) ?? []
  return [...body.matchAll(/^ {2}readonly (\w+): /gm)].map(([, name]) => name ?? "")
}

it("what the guides to deployments show is taken by one", async () => {
  for (const name of ["publishing", "hostLane", "retaining", "searching"]) {
    const shown = (await import(`../../examples/authoring/${name}.ts`)) as {
      readonly heddle: object
    }
    expect(shown.heddle).toHaveProperty("OwnerObject")
  }
})

it("the guide to agents has every operation of a run in its table", () => {
  const rows = read("docs/write-an-agent.md")
    .split("\n")
    .filter((row) => row.startsWith("| `run."))
  const operations = operationsOfARun().filter((name) => name !== "info")
  expect(operations.length).toBeGreaterThan(15)
  const untold = operations.filter(
    (name) => !rows.some((row) => new RegExp(`\`run\\.${name}[(.]`).test(row)),
  )
  expect(untold).toEqual([])
})

describe("the guide to what may overlap", () => {
  const guide = read("docs/what-may-overlap.md")
  const rows = guide.split("\n").filter((row) => /^\| (?!what |never |---)/.test(row))

  it("names for each thing what guards it: tests that exist, or invariants that are judged", () => {
    expect(rows.length).toBeGreaterThan(35)
    const judges = readdirSync(join(root, "testing/invariants"))
      .map((file) => read(`testing/invariants/${file}`))
      .join("\n")
    for (const row of rows) {
      const guards = row.split("|").at(-2) ?? ""
      const invariants = [...guards.matchAll(/\bI\d+\b/g)].map(([name]) => name)
      const tests = [...guards.matchAll(/`(test\/[\w./-]+\.test\.ts)`/g)].map(
        ([, path = ""]) => path,
      )
      expect({ row, guards: invariants.length + tests.length }).not.toEqual({ row, guards: 0 })
      for (const path of tests)
        expect({ path, stands: existsSync(join(root, path)) }).toEqual({ path, stands: true })
      for (const name of invariants) expect(judges).toContain(`"${name}"`)
    }
  })

  it("names only documents that exist", () => {
    for (const [, path = ""] of guide.matchAll(/`(docs\/[\w./-]+)`/g))
      expect(existsSync(join(root, path))).toBe(true)
  })
})

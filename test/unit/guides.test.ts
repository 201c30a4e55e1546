import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { Blocker } from "../../contracts/LaneReport.ts"

const read = (path: string): string =>
  readFileSync(join(import.meta.dirname, "../..", path), "utf8")

/** The code of a file as a user of the package would write it. */
const asUsersWrite = (path: string): string =>
  read(path)
    .replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
    .replaceAll('"../../thread-actors/Agent.ts"', '"heddle/agent"')
    .replaceAll('"../../testing/index.ts"', '"heddle/testing"')
    .replaceAll('"../../heddle.ts"', '"heddle"')
    .replaceAll(/"(?:\.\.\/)+client\/sdk\/index\.ts"/g, '"heddle/sdk"')
    .replaceAll(/"(?:\.\.\/)+client\/index\.ts"/g, '"heddle/client"')
    .trim()

describe("the guide to tests", () => {
  const guide = read("docs/test-an-agent.md")

  it("shows the agent and the tests that the examples are", () => {
    expect(guide).toContain(asUsersWrite("examples/testing/checkout.ts"))
    expect(guide).toContain(asUsersWrite("examples/testing/checkout.test.ts"))
    expect(guide).toContain(asUsersWrite("examples/testing/reminders.test.ts"))
  })

  it("names only files that exist", () => {
    const files = [...guide.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|md))`/g)]
    expect(files.length).toBeGreaterThan(2)
    for (const [, path] of files) expect(() => read(path ?? "")).not.toThrow()
  })
})

const filesNamedIn = (guide: string): ReadonlyArray<string> =>
  [...guide.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|md|toml))`/g)].map(([, path]) => path ?? "")

const blocksOf = (guide: string, language: string): ReadonlyArray<string> =>
  [...guide.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, "g"))].map(([, text]) =>
    (text ?? "").trim(),
  )

describe.each([
  {
    path: "docs/call-from-a-worker.md",
    examples: ["09-caller.ts", "caller/withEffect.ts", "caller/withSdk.ts"],
    blocks: 5,
  },
  { path: "docs/call-from-node.md", examples: ["11-from-node.ts"], blocks: 2 },
  {
    path: "docs/wait-for-people-and-webhooks.md",
    examples: ["02-approval.ts", "07-webhook.ts", "12-answer.ts"],
    blocks: 4,
  },
])("$path", ({ path, examples, blocks }) => {
  const guide = read(path)

  it("shows code of the examples, which are type-checked and run", () => {
    const sources = examples.map((name) => asUsersWrite(`examples/${name}`))
    const shown = blocksOf(guide, "ts")
    expect(shown.length).toBe(blocks)
    for (const block of shown) {
      const shownBy = sources.filter((source) => source.includes(block)).length
      expect({ block, shownBy }).toEqual({ block, shownBy: 1 })
    }
    for (const source of sources) {
      expect(shown.some((block) => source.includes(block))).toBe(true)
    }
  })

  it("shows configuration of the examples", () => {
    const caller = read("examples/caller/wrangler.toml")
    for (const block of blocksOf(guide, "toml")) expect(caller).toContain(block)
  })
})

describe("the guides", () => {
  it.each([
    "docs/call-from-a-worker.md",
    "docs/call-from-node.md",
    "docs/call-without-effect.md",
    "docs/deploy.md",
    "docs/errors.md",
    "docs/try-the-examples.md",
    "docs/upgrade.md",
    "docs/wait-for-people-and-webhooks.md",
  ])("%s names only files that exist", (path) => {
    const named = filesNamedIn(read(path)).filter((file) => !file.startsWith("src/"))
    expect(named.length).toBeGreaterThan(0)
    for (const file of named) expect(() => read(file)).not.toThrow()
  })

  it("name only commands of this repository, and of its starter", () => {
    const scriptsOf = (path: string) =>
      Object.keys((JSON.parse(read(path)) as { readonly scripts: object }).scripts)
    const known = ["package.json", "examples/starter/package.json"].flatMap(scriptsOf)
    const guides = ["call-from-a-worker", "call-from-node", "cli", "deploy", "upgrade"]
    const texts = [...guides, "try-the-examples"].map((name) => read(`docs/${name}.md`))
    const run = texts.flatMap((text) => [...text.matchAll(/npm run (?:--silent )?([\w:-]+)/g)])
    expect(run.length).toBeGreaterThan(4)
    for (const [, name = ""] of run) expect(known).toContain(name)
  })
})

describe("the operator's guide", () => {
  it("says of each blocker what it means and what to do", () => {
    const rows = read("docs/operate.md").split("\n")
    const [known] = Blocker.members
    const untold = known.literals.filter(
      (blocker) => !rows.some((row) => row.startsWith("| `") && row.includes(`\`${blocker}\``)),
    )
    expect(untold).toEqual([])
  })
})

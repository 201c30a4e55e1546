import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"

const read = (path: string): string =>
  readFileSync(join(import.meta.dirname, "../..", path), "utf8")

/** The code of a file as a user of the package would write it. */
const asUsersWrite = (path: string): string =>
  read(path)
    .replace(/^\/\*\*[\s\S]*?\*\/\n/, "")
    .replaceAll('"../../thread-actors/Agent.ts"', '"heddle/agent"')
    .replaceAll('"../../testing/index.ts"', '"heddle/testing"')
    .trim()

describe("the guide to tests", () => {
  const guide = read("docs/test-an-agent.md")

  it("shows the agent and the tests that the examples are", () => {
    expect(guide).toContain(asUsersWrite("examples/testing/checkout.ts"))
    expect(guide).toContain(asUsersWrite("examples/testing/checkout.test.ts"))
  })

  it("names only files that exist", () => {
    const files = [...guide.matchAll(/`((?:[\w.-]+\/)+[\w.-]+\.(?:ts|md))`/g)]
    expect(files.length).toBeGreaterThan(2)
    for (const [, path] of files) expect(() => read(path ?? "")).not.toThrow()
  })
})

import { readFileSync } from "node:fs"
import { join } from "node:path"
import { expect, it } from "vitest"
import { nodeNotice } from "../../../scripts/newProject.ts"

const { engines } = JSON.parse(
  readFileSync(join(import.meta.dirname, "../../../examples/starter/package.json"), "utf8"),
) as { readonly engines: { readonly node: string } }

const npmWith = (version: string): string =>
  `npm/11.19.1 node/v${version} linux x64 workspaces/false`

it.each(["20.20.2", "22.18.0", "18.0.0"])(
  "a new project says that Node %s is too old for it, and which one it needs",
  (version) => {
    const notice = nodeNotice(npmWith(version), engines.node)
    expect(notice).toContain("Node 22.19 or newer")
    expect(notice).toContain(version)
  },
)

it.each(["22.19.0", "24.1.0", "26.0.0"])("a new project says nothing of Node %s", (version) => {
  expect(nodeNotice(npmWith(version), engines.node)).toBeUndefined()
})

it("a new project says nothing of a Node that it is not told of", () => {
  expect(nodeNotice("", engines.node)).toBeUndefined()
})

import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { repositoryRoot } from "../../../scripts/workerBuild.ts"
import { bundled } from "../bundled.ts"

/** The code of a bundle, and the modules of ours of which something is in it. */
const bundle = async (code: string): Promise<{ code: string; ours: ReadonlyArray<string> }> => {
  const chunks = await bundled(code)
  // Those of which something is left.
  const modules = chunks.flatMap((chunk) =>
    Object.entries(chunk.modules).flatMap(([id, { renderedLength }]) =>
      renderedLength > 0 ? [id] : [],
    ),
  )
  return {
    code: chunks.map((chunk) => chunk.code).join("\n"),
    ours: modules
      .filter((id) => id.startsWith(repositoryRoot) && !id.includes("node_modules"))
      .map((id) => id.slice(repositoryRoot.length + 1)),
  }
}

const from = (...path: ReadonlyArray<string>) => JSON.stringify(join(repositoryRoot, ...path))
const foldersOf = (ours: ReadonlyArray<string>) =>
  [...new Set(ours.map((path) => path.replace(/\/.*/, "")))].toSorted((a, b) => (a < b ? -1 : 1))

describe("the client in a bundle", () => {
  it("holds no object, no edge and nothing of Node or the platform", async () => {
    const { code, ours } = await bundle(
      `export { HeddleClient } from ${from("client", "index.ts")}`,
    )
    expect(ours).toContain("client/HeddleClient.ts")
    expect(foldersOf(ours)).toEqual(["client", "contracts"])
    const edges = /client\/(Auth|Edge|EdgeGate|Entrypoint|Http|KeySet|Cors|Scheduled|sdk\/.*)\.ts$/
    expect(ours.filter((path) => edges.test(path))).toEqual([])
    expect(code).not.toMatch(/from"(node|cloudflare):/)
    // jose is for those who check tokens.
    expect(code).not.toContain("JWSSignatureVerificationFailed")
  })

  it("leaves nearly nothing of itself to who takes an identifier alone", async () => {
    const whole = await bundle(`export * from ${from("client", "index.ts")}`)
    const one = await bundle(`export { OwnerId } from ${from("client", "index.ts")}`)
    expect(one.ours).toEqual(["contracts/Identifiers.ts"])
    expect(one.code.length).toBeLessThan(whole.code.length / 2)
  })
})

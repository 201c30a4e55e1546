import { join } from "node:path"
import type { Rollup } from "vite"
import { beforeAll, describe, expect, it } from "vitest"
import { repositoryRoot } from "../../../scripts/workerBuild.ts"
import { bundled } from "../bundled.ts"

const bundle = async (code: string): Promise<Rollup.OutputChunk> => {
  const [chunk] = await bundled(code)
  if (chunk === undefined) throw new Error("nothing was built")
  return chunk
}

const sdk = join(repositoryRoot, "client", "sdk", "index.ts")

describe("the SDK in a bundle", () => {
  let whole: Rollup.OutputChunk
  beforeAll(async () => {
    whole = await bundle(`export * from ${JSON.stringify(sdk)}`)
  })

  it("holds no other package, and imports none", () => {
    expect([...whole.imports, ...whole.dynamicImports]).toEqual([])
    const modules = whole.moduleIds.filter((id) => !id.startsWith("\0"))
    expect(modules.length).toBeGreaterThan(10)
    const foreign = modules.filter(
      (id) => !id.startsWith(repositoryRoot) || id.includes("node_modules"),
    )
    expect(foreign).toEqual([])
  })

  it("is small, and smaller for who takes less of it", async () => {
    const errors = await bundle(`export { isHeddleError } from ${JSON.stringify(sdk)}`)
    expect(whole.code.length).toBeLessThan(24 * 1024)
    expect(errors.code.length).toBeLessThan(whole.code.length / 4)
  })
})

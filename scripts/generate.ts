/**
 * `npm run generate` writes what is made from the contracts: `client/generated/`, `openrpc.json` and
 * `docs/errors.md`. With `--check` it writes nothing, and fails when a file is not what would be written.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises"
import { dirname, join } from "node:path"
import { generatedFiles } from "./generate/files.ts"
import { repositoryRoot } from "./workerBuild.ts"

const check = process.argv.includes("--check")

const present = (path: string): Promise<string> =>
  readFile(path, "utf8").catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return ""
    throw error
  })

let stale = 0
for (const [name, text] of Object.entries(await generatedFiles())) {
  const path = join(repositoryRoot, name)
  if ((await present(path)) === text) continue
  stale += 1
  if (check) {
    console.error(`${name} is stale: npm run generate`)
    continue
  }
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, text)
  console.log(`wrote ${name}`)
}
if (check && stale > 0) process.exitCode = 1

/** On what, and of what, was measured. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { cpus, totalmem } from "node:os"
import { join } from "node:path"
import { repositoryRoot } from "../scripts/workerBuild.ts"
import type { Machine } from "./Table.ts"

const require = createRequire(import.meta.url)

const versionOf = (name: string): string => {
  const wrangler = createRequire(require.resolve("wrangler/package.json"))
  const path = name === "workerd" ? wrangler.resolve("workerd/package.json") : ""
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly version: string }).version
}

export const thisMachine = (): Machine => ({
  cpu: cpus()[0]?.model ?? "unknown",
  cores: cpus().length,
  memoryGiB: Math.round(totalmem() / 2 ** 30),
  platform: `${process.platform} ${process.arch}`,
  node: process.version,
  workerd: versionOf("workerd"),
})

/** The commit of this tree, with a mark where it has changes; `unknown` outside of git. */
export const thisCommit = (): string => {
  const git = (...args: ReadonlyArray<string>): string =>
    execFileSync("git", args, { cwd: repositoryRoot, encoding: "utf8", stdio: "pipe" }).trim()
  try {
    const changed = git("status", "--porcelain", "--untracked-files=no") !== ""
    return `${git("rev-parse", "--short", "HEAD")}${changed ? "+" : ""}`
  } catch {
    return "unknown"
  }
}

/** A file beside the results. */
export const benchFile = (...path: ReadonlyArray<string>): string =>
  join(repositoryRoot, "bench", ...path)

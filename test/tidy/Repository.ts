/**
 * The working tree as the tidy rules see it: every text file that belongs to the repository, by its
 * path from the root, and every TypeScript file parsed.
 */
import { readdirSync, readFileSync } from "node:fs"
import { join, relative } from "node:path"
import { parseSource, type SourceFile } from "./SourceFile.ts"

export interface Repository {
  /** Text of every file, by path with forward slashes. */
  readonly texts: ReadonlyMap<string, string>
  readonly sources: ReadonlyArray<SourceFile>
}

/** Where a rule is broken, and how. */
export type Violation = string

const ignoredFolders = new Set(["node_modules", "dist", "coverage", ".git", ".wrangler"])

const textNames = /(\.(ts|tsx|mjs|md|toml|json|jsonc|sh|html|css)|\/run|^LICENSE|rc|ignore)$/

const paths = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return ignoredFolders.has(entry.name) ? [] : paths(path)
    return entry.isFile() ? [path] : []
  })

/** A repository of these texts: the real one, or a small bad one to try a rule on. */
export const repositoryOf = (texts: Readonly<Record<string, string>>): Repository => ({
  texts: new Map(Object.entries(texts)),
  sources: Object.entries(texts)
    .filter(([path]) => /\.tsx?$/.test(path))
    .map(([path, text]) => parseSource(path, text)),
})

/** Reads the working tree. */
export const readRepository = (root: string): Repository => {
  const texts: Record<string, string> = {}
  for (const path of paths(root)) {
    const name = relative(root, path).replaceAll("\\", "/")
    if (textNames.test(name)) texts[name] = readFileSync(path, "utf8")
  }
  return repositoryOf(texts)
}

/** The top-level folder of a path; the file itself at the root. */
export const folderOf = (path: string): string => path.split("/")[0] ?? path

/** Code that users get; the rest of the repository is about it. */
export const isProduct = (path: string): boolean =>
  /^(contracts|platform|thread-actors|owner-object|client|testing)\/|^heddle\.ts$/.test(path)

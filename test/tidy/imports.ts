/**
 * Rules about imports.
 *
 * - N1 Arrows between folders point one way.
 * - N2 No file imports itself, over whatever detour, also not for types.
 * - N3 A relative import names its file with the extension, and the file is there.
 * - N4 Product code imports only packages that its users get, and contracts only what runs anywhere.
 * - N5 The console knows the product as any caller does: of it the SDK alone, and of packages those that are built into it.
 */
import { posix } from "node:path"
import { folderOf, isProduct, type Repository, type Violation } from "./Repository.ts"
import type { SourceFile } from "./SourceFile.ts"

const objects = ["thread-actors", "owner-object"]
const product = ["contracts", "platform", ...objects, "client", "heddle.ts"]
const everything = [...product, "testing", "cli", "examples", "scripts"]

/** What a folder (or a file at the root) may import besides itself. */
const arrows: Readonly<Record<string, ReadonlyArray<string>>> = {
  contracts: [],
  platform: [],
  "thread-actors": ["contracts", "platform"],
  "owner-object": ["contracts", "platform"],
  client: ["contracts"],
  cli: ["contracts", "client"],
  console: ["client"],
  "heddle.ts": product,
  testing: product,
  examples: [...product, "testing"],
  scripts: everything,
  bench: everything,
  test: [...everything, "bench", "console"],
  "vitest.config.ts": ["test"],
}

const isRelative = (specifier: string): boolean => specifier.startsWith(".")

const targetOf = (file: SourceFile, specifier: string): string =>
  posix.join(posix.dirname(file.path), specifier)

/** N1 */
export const arrowsPointOneWay = ({ sources }: Repository): ReadonlyArray<Violation> =>
  sources.flatMap((file) => {
    const from = folderOf(file.path)
    const allowed = arrows[from]
    if (allowed === undefined) return [`${file.path}: no arrows are declared for ${from}`]
    return file.imports
      .filter((one) => isRelative(one.from))
      .map((one) => ({ line: one.line, to: folderOf(targetOf(file, one.from)) }))
      .filter(({ to }) => to !== from && !allowed.includes(to)) // N1
      .map(({ line, to }) => `${file.path}:${line}: ${from} may not import ${to}`)
  })

/** N2 */
export const importsHaveNoCycles = ({ sources }: Repository): ReadonlyArray<Violation> => {
  const byPath = new Map(sources.map((file) => [file.path, file]))
  const done = new Set<string>()
  const violations: Array<Violation> = []
  const visit = (file: SourceFile, way: ReadonlyArray<string>): void => {
    const start = way.indexOf(file.path)
    if (start >= 0) {
      violations.push(`imports go in a circle: ${[...way.slice(start), file.path].join(" → ")}`) // N2
      return
    }
    if (done.has(file.path)) return
    for (const one of file.imports) {
      const next = isRelative(one.from) ? byPath.get(targetOf(file, one.from)) : undefined
      if (next !== undefined) visit(next, [...way, file.path])
    }
    done.add(file.path)
  }
  for (const file of sources) visit(file, [])
  return violations
}

/** N3 */
export const relativeImportsNameTheirFile = ({ sources, texts }: Repository) =>
  sources.flatMap((file) =>
    file.imports
      .filter((one) => isRelative(one.from))
      .filter((one) => !/\.tsx?$/.test(one.from) || !texts.has(targetOf(file, one.from))) // N3
      .map((one): Violation => `${file.path}:${one.line}: ${one.from} names no .ts file`),
  )

const packageOf = (specifier: string): string =>
  specifier
    .split("/")
    .slice(0, specifier.startsWith("@") ? 2 : 1)
    .join("/")

/** N4 */
export const productImportsWhatUsersGet = ({ sources, texts }: Repository) => {
  const manifest = JSON.parse(texts.get("package.json") ?? "{}") as {
    readonly dependencies?: Readonly<Record<string, string>>
  }
  const dependencies = Object.keys(manifest.dependencies ?? {})
  const allowed = (file: SourceFile, specifier: string): boolean =>
    dependencies.includes(packageOf(specifier)) ||
    (folderOf(file.path) !== "contracts" && /^(node|cloudflare):/.test(specifier))
  return sources
    .filter((file) => isProduct(file.path))
    .flatMap((file) =>
      file.imports
        .filter((one) => !isRelative(one.from) && !allowed(file, one.from)) // N4
        .map((one): Violation => `${file.path}:${one.line}: ${one.from} may not be used here`),
    )
}

/** What is built into the console. */
const consolePackages = ["preact", "@preact/signals", "@tanstack/virtual-core"]

/** N5 */
export const consoleImportsTheSdkAlone = ({ sources }: Repository): ReadonlyArray<Violation> => {
  const allowed = (file: SourceFile, specifier: string): boolean => {
    if (!isRelative(specifier)) return consolePackages.includes(packageOf(specifier))
    const target = targetOf(file, specifier)
    return folderOf(target) === "console" || target === "client/sdk/index.ts"
  }
  return sources
    .filter((file) => folderOf(file.path) === "console")
    .flatMap((file) =>
      file.imports
        .filter((one) => !allowed(file, one.from)) // N5
        .map((one): Violation => `${file.path}:${one.line}: ${one.from} may not be used here`),
    )
}

/**
 * Rules about what gets installed.
 *
 * - K1 One workerd in the tree: what the tests run on is what the demo and the bundler run on.
 * - K2 One vite, the pinned one: another version in the tree has broken a clean install before.
 * - K3 The lockfile names no registry but the public one.
 */
import type { Repository, Violation } from "./Repository.ts"

interface Lockfile {
  readonly packages?: Readonly<Record<string, { version?: string; resolved?: string }>>
}

interface Manifest {
  readonly devDependencies?: Readonly<Record<string, string>>
}

const publicRegistry = "https://registry.npmjs.org/"

/** The versions of a package anywhere in the tree. */
const versionsOf = (lockfile: Lockfile, name: string): ReadonlyArray<string> => {
  const entries = Object.entries(lockfile.packages ?? {})
  const found = entries.filter(([path]) => path.endsWith(`node_modules/${name}`))
  return [...new Set(found.map(([, entry]) => entry.version ?? "?"))]
}

/** K1 to K3 */
export const lockfileIsSound = ({ texts }: Repository): ReadonlyArray<Violation> => {
  const lockfile = JSON.parse(texts.get("package-lock.json") ?? "{}") as Lockfile
  const manifest = JSON.parse(texts.get("package.json") ?? "{}") as Manifest
  const workerd = versionsOf(lockfile, "workerd")
  const vite = versionsOf(lockfile, "vite")
  const pinned = manifest.devDependencies?.["vite"]
  return [
    ...(workerd.length === 1 ? [] : [`workerd is locked as [${workerd.join(", ")}]`]), // K1
    ...(vite.join() === pinned ? [] : [`vite is locked as [${vite.join(", ")}], not ${pinned}`]), // K2
    ...Object.entries(lockfile.packages ?? {})
      .filter(([, { resolved }]) => resolved !== undefined && !resolved.startsWith(publicRegistry)) // K3
      .map(([path, { resolved }]) => `${path} is resolved from ${resolved}`),
  ]
}

/**
 * The lockfile of a fresh project, cut out of the repository's own: its install takes what `npm ci` of the repository
 * has left in npm's cache, by the same hashes, and asks no registry for what there is.
 */
import { readFile, writeFile } from "node:fs/promises"
import { join } from "node:path"
import { repositoryRoot } from "../../scripts/workerBuild.ts"

type Names = Readonly<Record<string, string>>

interface Locked {
  readonly version?: string
  readonly integrity?: string
  readonly resolved?: string
  readonly dependencies?: Names
  readonly devDependencies?: Names
  readonly optionalDependencies?: Names
  readonly peerDependencies?: Names
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

type Packages = Readonly<Record<string, Locked>>

const readJson = async <A>(path: string): Promise<A> =>
  JSON.parse(await readFile(path, "utf8")) as A

/** Where Node would find a package that is asked for in the folder `from`, if it is there. */
const resolve = (packages: Packages, from: string, name: string): string | undefined => {
  for (let folder = from; ; folder = folder.slice(0, Math.max(0, folder.lastIndexOf("/")))) {
    const path = folder === "" ? `node_modules/${name}` : `${folder}/node_modules/${name}`
    if (packages[path] !== undefined) return path
    if (folder === "") return undefined
  }
}

const needsOf = ({
  dependencies,
  optionalDependencies,
  ...rest
}: Locked): ReadonlyArray<string> => {
  const peers = Object.keys(rest.peerDependencies ?? {})
  const wanted = peers.filter((name) => rest.peerDependenciesMeta?.[name]?.optional !== true)
  return [...Object.keys({ ...dependencies, ...optionalDependencies }), ...wanted]
}

/** Where the registry keeps it; npm puts the registry of its settings in the place of this one. */
const addressOf = (path: string, { version }: Locked): string => {
  const name = path.slice(path.lastIndexOf("node_modules/") + "node_modules/".length)
  return `https://registry.npmjs.org/${name}/-/${name.split("/").at(-1)}-${version}.tgz`
}

/** All that is needed from these names on, with what it needs. */
const closureOf = (packages: Packages, names: ReadonlyArray<string>): Packages => {
  const taken = new Map<string, Locked>()
  const take = (from: string, name: string): void => {
    const path = resolve(packages, from, name)
    const entry = path === undefined ? undefined : packages[path]
    if (path === undefined || entry === undefined || taken.has(path)) return
    taken.set(path, { ...entry, resolved: addressOf(path, entry) })
    for (const need of needsOf(entry)) take(path, need)
  }
  for (const name of names) take("", name)
  return Object.fromEntries(taken)
}

/** Writes the lockfile of the project in `folder`, whose `heddle` is the archive that its manifest names. */
export const lockProject = async (folder: string): Promise<void> => {
  const { packages } = await readJson<{ packages: Packages }>(
    join(repositoryRoot, "package-lock.json"),
  )
  const project = await readJson<Locked & { readonly name: string }>(join(folder, "package.json"))
  const own = await readJson<Locked>(join(repositoryRoot, "package.json"))
  const wanted = Object.keys({ ...project.dependencies, ...project.devDependencies })
  const { dependencies = {}, version = "" } = own
  const lock = {
    name: project.name,
    lockfileVersion: 3,
    requires: true,
    packages: {
      "": project,
      ...closureOf(packages, [...wanted, ...Object.keys(dependencies)]),
      "node_modules/heddle": {
        ...own,
        version,
        resolved: project.dependencies?.["heddle"],
        devDependencies: undefined,
        scripts: undefined,
      },
    },
  }
  await writeFile(join(folder, "package-lock.json"), JSON.stringify(lock, undefined, 2))
}

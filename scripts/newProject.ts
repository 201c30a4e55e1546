/**
 * `npm run new -- FOLDER`: a project of your own, with this version of Heddle in it. Packs the repository as it would
 * be published, and copies `examples/starter` around the archive.
 *
 * - P1 A folder that holds anything is not touched; one that could not be finished is gone again.
 */
import { execFile } from "node:child_process"
import { cp, mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { basename, join, relative, resolve } from "node:path"
import { promisify } from "node:util"
import { callersFolder, runScript, UsageError } from "./flags.ts"
import { stopOnSignals } from "./stopOnSignals.ts"
import { repositoryRoot } from "./workerBuild.ts"

const usage = `Usage: npm run new -- FOLDER

Makes a project in FOLDER: an agent, its test, a Worker to run and deploy, and Heddle packed from this repository.`

const starter = join(repositoryRoot, "examples", "starter")

/** What use of the starter has left beside its files. */
const leftBehind = /^(node_modules|\.wrangler|\.dev\..*|package-lock\.json|.*\.tgz)$/

const failureOf = (error: unknown): Error => {
  const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string }
  return new Error(`Heddle cannot be packed:\n${stdout}${stderr}`, { cause: error })
}

/** Builds and packs the repository into a folder, and gives the archive's name. */
export const packInto = async (folder: string, signal?: AbortSignal): Promise<string> => {
  const options = { cwd: repositoryRoot, maxBuffer: 16 * 1024 * 1024, ...(signal && { signal }) }
  await promisify(execFile)("npm", ["pack", "--pack-destination", folder], options).catch(
    (error: unknown) => {
      throw signal?.aborted === true ? signal.reason : failureOf(error)
    },
  )
  const archive = (await readdir(folder)).find((name) => name.endsWith(".tgz"))
  if (archive === undefined) throw new Error("npm pack wrote no archive")
  return archive
}

interface Manifest {
  readonly dependencies: Readonly<Record<string, string>>
}

const nameOf = (folder: string): string =>
  basename(folder)
    .toLowerCase()
    .replaceAll(/[^a-z0-9-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "") || "my-agents"

/** Gives the copy its name, and the archive as its dependency. */
const adopt = async (folder: string, archive: string): Promise<void> => {
  const name = nameOf(folder)
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as Manifest
  const dependencies = { ...manifest.dependencies, heddle: `file:${archive}` }
  const adopted = { ...manifest, name, dependencies }
  await writeFile(join(folder, "package.json"), `${JSON.stringify(adopted, undefined, 2)}\n`)
  const wrangler = await readFile(join(folder, "wrangler.toml"), "utf8")
  await writeFile(
    join(folder, "wrangler.toml"),
    wrangler.replace(/^name = .*$/m, `name = "${name}"`),
  )
}

/** Makes the project; the folder is new or empty. */
export const newProject = async (folder: string, signal?: AbortSignal): Promise<void> => {
  await mkdir(folder, { recursive: true })
  if ((await readdir(folder)).length > 0) throw new Error(`${folder} is not empty`) // P1
  try {
    const archive = await packInto(folder, signal)
    await cp(starter, folder, {
      recursive: true,
      filter: (path) => path === starter || !leftBehind.test(basename(path)),
    })
    await adopt(folder, archive)
  } catch (error) {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 }) // P1
    throw error
  }
}

const numbersOf = (version: string): readonly [number, number] => {
  const [, major = "0", minor = "0"] = /(\d+)(?:\.(\d+))?/.exec(version) ?? []
  return [Number(major), Number(minor)]
}

/**
 * What is to be said before the project is used, if the Node that npm runs with is older than the project asks for.
 * This repository brings a Node of its own; the project does not.
 */
export const nodeNotice = (userAgent: string, required: string): string | undefined => {
  const [, version] = /\bnode\/v([\d.]+)/.exec(userAgent) ?? []
  if (version === undefined) return undefined
  const [major, minor] = numbersOf(version)
  const [leastMajor, leastMinor] = numbersOf(required)
  const isOld = major < leastMajor || (major === leastMajor && minor < leastMinor)
  return isOld
    ? `Mind: it needs Node ${leastMajor}.${leastMinor} or newer, and your npm runs with ${version}. Change that first.`
    : undefined
}

const requiredBy = async (folder: string): Promise<string> => {
  const manifest = JSON.parse(await readFile(join(folder, "package.json"), "utf8")) as {
    readonly engines: { readonly node: string }
  }
  return manifest.engines.node
}

if (import.meta.main) {
  await runScript(usage, async () => {
    const [name, ...more] = process.argv.slice(2)
    if (name === undefined || name.startsWith("-") || more.length > 0) {
      throw new UsageError("Name one folder")
    }
    const folder = resolve(callersFolder(), name)
    console.log("Packing…")
    await newProject(folder, stopOnSignals())
    const there = relative(callersFolder(), folder) || "."
    console.log(`\nThere it is. Its README.md goes on from here:\n
  cd ${there}
  npm install
  npm test
  npm run dev`)
    const notice = nodeNotice(process.env["npm_config_user_agent"] ?? "", await requiredBy(folder))
    if (notice !== undefined) console.log(`\n${notice}`)
  })
}

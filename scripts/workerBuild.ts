/**
 * Builds the Worker of a wrangler configuration once, so that workerd can be started, killed and
 * started again within a fraction of a second.
 *
 * wrangler bundles it exactly as a deploy would (`deploy --dry-run`), and tells the configuration;
 * nothing here knows esbuild. No account and no network are needed.
 */
import { spawn } from "node:child_process"
import { createHash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { withTemporaryFolder } from "./temporaryFolder.ts"

export const repositoryRoot = dirname(dirname(fileURLToPath(import.meta.url)))

/** A binding to an entrypoint of another Worker, and what it tells there about its holder. */
export interface ServiceBinding {
  readonly binding: string
  readonly service: string
  readonly entrypoint?: string
  readonly props?: Readonly<Record<string, unknown>>
}

/** A static file, by the path of its request. */
export interface AssetFile {
  readonly path: string
  readonly content: Uint8Array
}

/** The static assets of a Worker, and the binding by which it has them. */
export interface BoundAssets {
  readonly binding: string
  readonly files: ReadonlyArray<AssetFile>
}

/** A bundled Worker with what workerd must know about it. */
export interface WorkerBuild {
  /** As other Workers' bindings name it. */
  readonly name: string
  /** The text of the one ES module. */
  readonly module: string
  /** Of the module's text: what the platform's version id is for a deploy. */
  readonly version: string
  readonly compatibilityDate: string
  readonly compatibilityFlags: ReadonlyArray<string>
  readonly objects: ReadonlyArray<{ readonly binding: string; readonly className: string }>
  readonly services: ReadonlyArray<ServiceBinding>
  /** The name of the binding that tells the version, if the Worker asks for one. */
  readonly versionBinding: string | undefined
  readonly vars: Readonly<Record<string, string>>
  /** The console, where the configuration has assets. */
  readonly assets?: BoundAssets | undefined
}

const require = createRequire(import.meta.url)

const quiet = {
  ...process.env,
  WRANGLER_SEND_METRICS: "false",
  CI: "true",
  NO_COLOR: "1",
  // They are given: the configuration's own build of them would write beside those of others.
  HEDDLE_ASSETS: "given",
}

const insistAfterMillis = 2_000

/** wrangler starts processes of its own; its group has them all. */
const endGroup = (pid: number | undefined, signal: NodeJS.Signals): void => {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error
  }
}

/** Runs wrangler to its end; a signal ends it early, and it rejects once all of it is gone. */
const runWrangler = (args: ReadonlyArray<string>, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const cli = join(dirname(require.resolve("wrangler/package.json")), "bin", "wrangler.js")
    const child = spawn(process.execPath, [cli, ...args], {
      cwd: repositoryRoot,
      env: quiet,
      detached: true,
    })
    const output: Array<Buffer> = []
    child.stdout.on("data", (chunk: Buffer) => output.push(chunk))
    child.stderr.on("data", (chunk: Buffer) => output.push(chunk))
    let insist: NodeJS.Timeout | undefined
    const end = () => {
      endGroup(child.pid, "SIGTERM")
      insist = setTimeout(() => endGroup(child.pid, "SIGKILL"), insistAfterMillis)
    }
    signal?.addEventListener("abort", end, { once: true })
    if (signal?.aborted === true) end()
    child.once("error", reject)
    // All of it has closed its ends of the pipes.
    child.once("close", (code) => {
      signal?.removeEventListener("abort", end)
      clearTimeout(insist)
      if (signal?.aborted === true) reject(signal.reason)
      else if (code === 0) resolve()
      else reject(new Error(`The Worker does not build:\n${Buffer.concat(output).toString()}`))
    })
  })

const textVars = (vars: Record<string, unknown>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(vars).map(([name, value]) => [
      name,
      typeof value === "string" ? value : JSON.stringify(value),
    ]),
  )

/** As a wrangler configuration has it. */
interface ObjectBinding {
  readonly name: string
  readonly class_name: string
}

/** Our compatibility date turns it on; workerd prints a notice at each start that names it besides. */
const onByDate = "nodejs_compat"

const readConfig = async (configPath: string) => {
  const { unstable_readConfig } = await import("wrangler")
  return unstable_readConfig({ config: configPath })
}

type Config = Awaited<ReturnType<typeof readConfig>>

/** Reads what wrangler has bundled, and what else workerd must know. */
const readBuild = async (
  config: Config,
  configPath: string,
  outdir: string,
): Promise<WorkerBuild> => {
  if (config.main === undefined || config.compatibility_date === undefined) {
    throw new Error(`${configPath} names no main module or no compatibility date`)
  }
  const entry = basename(config.main).replace(/\.[^.]+$/, ".js")
  const module = await readFile(join(outdir, entry), "utf8")
  return {
    name: config.name ?? "",
    module,
    version: createHash("sha256").update(module).digest("hex").slice(0, 32),
    compatibilityDate: config.compatibility_date,
    compatibilityFlags: config.compatibility_flags.filter((flag: string) => flag !== onByDate),
    objects: (config.durable_objects.bindings as ReadonlyArray<ObjectBinding>).map((object) => ({
      binding: object.name,
      className: object.class_name,
    })),
    services: (config.services ?? []) as ReadonlyArray<ServiceBinding>,
    versionBinding: config.version_metadata?.binding,
    vars: textVars(config.vars),
  }
}

/**
 * The console as it is now, whatever a folder holds of an earlier one. wrangler must find the assets in a folder, though
 * it uploads nothing.
 */
const builtAssets = async (config: Config, folder: string): Promise<BoundAssets | undefined> => {
  const binding = config.assets?.binding
  if (binding === undefined) return undefined
  const { buildConsole, writeConsole } = await import("./buildConsole.ts")
  const files = await buildConsole()
  await writeConsole(folder, files)
  return { binding, files }
}

/**
 * Bundles the Worker of a `wrangler.toml`; the one at the root unless another is named. With a signal
 * it can be given up: it rejects when its process and its folder are gone.
 */
export const buildWorker = async (
  configPath = join(repositoryRoot, "wrangler.toml"),
  signal?: AbortSignal,
  minified = false,
): Promise<WorkerBuild> => {
  process.env["WRANGLER_SEND_METRICS"] = "false"
  return withTemporaryFolder("heddle-build-", async (folder) => {
    const outdir = join(folder, "worker")
    const config = await readConfig(configPath)
    const assets = await builtAssets(config, join(folder, "assets"))
    const asDeployed = ["deploy", "--dry-run", "--outdir", outdir, "--config", configPath]
    const given = assets === undefined ? [] : ["--assets", join(folder, "assets")]
    await runWrangler([...asDeployed, ...given, ...(minified ? ["--minify"] : [])], signal)
    return { ...(await readBuild(config, configPath, outdir)), assets }
  })
}

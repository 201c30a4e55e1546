/**
 * Starts, kills and stops the real workerd process, which holds the SQLite files. The development
 * server, the demonstration and the restart tests share it.
 *
 * - W1 No two of them ever run on one folder.
 * - W2 A start that fails or is given up leaves no process, no folder and no claim behind.
 * - W3 `kill` and `stop` resolve only when the process is gone, so that its port and its files are
 *   free for the next one.
 */
import { writeFile } from "node:fs/promises"
import { join, resolve as resolvePath } from "node:path"
import { assetsWorker } from "./assetsWorker.ts"
import { claimFolder, type FolderClaim } from "./folderClaim.ts"
import { type LaunchedWorkerd, launchWorkerd } from "./launchWorkerd.ts"
import { withTemporaryFolder } from "./temporaryFolder.ts"
import { buildWorker, type WorkerBuild } from "./workerBuild.ts"
import { type PlacedAssets, workerdConfig } from "./workerdConfig.ts"

export interface WorkerdOptions {
  /** Of `buildWorker`; built now when absent. A restart should pass the one it started with. */
  readonly build?: WorkerBuild
  /** Another Worker, which the port serves instead; its service bindings lead to this one. */
  readonly front?: WorkerBuild
  /** 0 or absent takes a free one, which `url` tells. */
  readonly port?: number
  /** Where the objects' databases live; made when missing. A restart must name the same one. */
  readonly persistDir: string
  /** Bound as `HEDDLE_JWT_SECRET`; absent leaves HTTPS without keys. */
  readonly secret?: string
  /** More text bindings. */
  readonly vars?: Readonly<Record<string, string>>
  /**
   * A file that is appended with what workerd and the Worker print, or `inherit` to print it here;
   * discarded when absent.
   */
  readonly logFile?: string
  /** Flags of its JavaScript engine, for measurements. */
  readonly v8Flags?: ReadonlyArray<string>
  /** Where that engine may be looked into, for measurements. */
  readonly inspectorPort?: number | undefined
  /** Gives up a start that is under way: it rejects once nothing is left of it. */
  readonly signal?: AbortSignal
}

export interface RunningWorkerd {
  readonly url: string
  readonly port: number
  readonly pid: number
  readonly build: WorkerBuild
  /** Resolves when the process is gone, however it ended. */
  readonly exited: Promise<void>
  /** Sends a signal (SIGKILL unless another is named) and waits until the process is gone. */
  readonly kill: (signal?: NodeJS.Signals) => Promise<void>
  /** Asks it to end, insists after two seconds, and waits until it is gone. */
  readonly stop: () => Promise<void>
}

const startTimeoutMillis = 30_000
const insistAfterMillis = 2_000

/** The port, as workerd tells it on its control channel once it listens. */
const listeningPort = (
  { child, control }: LaunchedWorkerd,
  signal: AbortSignal | undefined,
): Promise<number> =>
  new Promise((resolve, reject) => {
    let buffer = ""
    const settle = (act: () => void) => {
      clearTimeout(timer)
      signal?.removeEventListener("abort", giveUp)
      act()
    }
    const fail = (reason: string) => settle(() => reject(new Error(reason)))
    const giveUp = () => settle(() => reject(signal?.reason))
    const timer = setTimeout(
      () => fail(`workerd does not listen after ${startTimeoutMillis} ms`),
      startTimeoutMillis,
    )
    signal?.addEventListener("abort", giveUp)
    if (signal?.aborted === true) giveUp()
    control.on("data", (chunk: Buffer) => {
      buffer += chunk.toString()
      for (const line of buffer.split("\n").slice(0, -1)) {
        const message = JSON.parse(line) as { event: string; port?: number }
        if (message.event === "listen" && message.port !== undefined) {
          const { port } = message
          settle(() => resolve(port))
        }
      }
      buffer = buffer.slice(buffer.lastIndexOf("\n") + 1)
    })
    child.once("error", (error) => settle(() => reject(error)))
    child.once("exit", (code, endedBy) =>
      fail(`workerd ended before it listened (${endedBy ?? `code ${code}`}): is its port taken?`),
    )
  })

type BuiltOptions = WorkerdOptions & { readonly build: WorkerBuild }

/** Writes the Worker of the static assets into a folder. */
const placeAssets = async (
  { assets }: WorkerBuild,
  folder: string,
): Promise<PlacedAssets | undefined> => {
  if (assets === undefined) return undefined
  const { modules, script } = assetsWorker(assets.files)
  await writeFile(join(folder, "assets.js"), script)
  for (const { content, name } of modules) await writeFile(join(folder, name), content)
  return {
    binding: assets.binding,
    scriptFile: "assets.js",
    modules: modules.map(({ name }) => ({ name, file: name })),
  }
}

/** Writes what workerd reads at its start into a folder. */
const writeConfig = async (options: BuiltOptions, folder: string): Promise<string> => {
  const secret = options.secret === undefined ? {} : { HEDDLE_JWT_SECRET: options.secret }
  const configFile = join(folder, "config.capnp")
  const { build, front } = options
  await writeFile(join(folder, "worker.js"), build.module)
  if (front !== undefined) await writeFile(join(folder, "front.js"), front.module)
  const text = workerdConfig({
    build,
    moduleFile: "worker.js",
    front: front && { build: front, moduleFile: "front.js" },
    assets: await placeAssets(build, folder),
    persistDir: options.persistDir,
    port: options.port ?? 0,
    vars: { ...options.vars, ...secret },
    v8Flags: options.v8Flags,
  })
  await writeFile(configFile, text, { mode: 0o600 })
  return configFile
}

const handleOf = ({ child, exited }: LaunchedWorkerd): Pick<RunningWorkerd, "kill" | "stop"> => {
  const kill = async (signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
    child.kill(signal)
    await exited // W3
  }
  const stop = async (): Promise<void> => {
    const timer = setTimeout(() => child.kill("SIGKILL"), insistAfterMillis)
    await kill("SIGTERM").finally(() => clearTimeout(timer))
  }
  return { kill, stop }
}

/** Starts it on a folder that is claimed; from then on its end releases the claim. */
const serve = (options: BuiltOptions, claim: FolderClaim): Promise<RunningWorkerd> =>
  // The configuration holds the secret: it is gone again once workerd has read it.
  withTemporaryFolder("heddle-workerd-", async (folder) => {
    const configFile = await writeConfig(options, folder)
    options.signal?.throwIfAborted()
    const { inspectorPort, logFile } = options
    const launched = await launchWorkerd({
      configFile,
      logFile,
      inspectorPort,
      onExit: claim.release,
    })
    const { child, exited } = launched
    const pid = child.pid ?? 0
    if (pid > 0) claim.passTo(pid)
    const handle = handleOf(launched)
    try {
      const port = await listeningPort(launched, options.signal)
      const url = `http://127.0.0.1:${port}`
      return { url, port, pid, build: options.build, exited, ...handle }
    } catch (error) {
      await handle.kill() // W2
      throw error
    }
  })

/**
 * Starts workerd and resolves when it serves. Rejects with a sentence for people when it cannot: the
 * folder is another one's, the Worker does not build, the port is taken.
 */
export const startWorkerd = async (options: WorkerdOptions): Promise<RunningWorkerd> => {
  const { signal } = options
  const persistDir = resolvePath(options.persistDir)
  signal?.throwIfAborted()
  const claim = claimFolder(persistDir) // W1
  try {
    const build = options.build ?? (await buildWorker(undefined, signal))
    return await serve({ ...options, persistDir, build }, claim)
  } catch (error) {
    claim.release() // W2
    throw error
  }
}

/**
 * Starts, kills and stops the real workerd process: one process, which holds the SQLite files, with
 * no helper beside it. The development server, the demonstration and the restart tests share it.
 *
 * - W1 `pid` is workerd itself (the shell that raises the limit of open files becomes it), so a
 *   SIGKILL of it is what a lost machine looks like to the disk.
 * - W2 What ends this Node process ends workerd too: its exit, an error nobody caught, and a signal
 *   that the script itself does not handle. (Nothing can be done about a SIGKILL of Node.)
 * - W3 `kill` and `stop` resolve only when the process is gone, so that its port and its files are
 *   free for the next one.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { open, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { devNull, tmpdir } from "node:os"
import { dirname, join, resolve as resolvePath } from "node:path"
import type { Readable } from "node:stream"
import { buildWorker, type WorkerBuild } from "./workerBuild.ts"
import { workerdConfig } from "./workerdConfig.ts"

export interface WorkerdOptions {
  /** Of `buildWorker`; built now when absent. A restart should pass the one it started with. */
  readonly build?: WorkerBuild
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

const require = createRequire(import.meta.url)

/** The native executable of the workerd that wrangler brings. */
const workerdPath = (): string => {
  const fromWrangler = createRequire(require.resolve("wrangler/package.json"))
  const exported = fromWrangler("workerd") as { readonly default: string }
  return exported.default
}

const startTimeoutMillis = 30_000
const insistAfterMillis = 2_000

/** The port, as workerd tells it on its control channel once it listens. */
const listeningPort = (child: ChildProcess): Promise<number> =>
  new Promise((resolve, reject) => {
    const control = child.stdio[3] as Readable
    let buffer = ""
    const timer = setTimeout(
      () => reject(new Error(`workerd does not listen after ${startTimeoutMillis} ms`)),
      startTimeoutMillis,
    )
    const settle = (act: () => void) => {
      clearTimeout(timer)
      act()
    }
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
    child.once("exit", (code, signal) =>
      settle(() =>
        reject(
          new Error(
            `workerd ended before it listened (${signal ?? `code ${code}`}): is its port taken?`,
          ),
        ),
      ),
    )
  })

/** Raises the soft limit of open files (an object holds several) and becomes workerd. */
const raiseAndExecute = 'ulimit -S -n "$(ulimit -H -n)" 2>/dev/null; exec "$0" "$@"' // W1

const launchTo = (output: number | "inherit", flags: ReadonlyArray<string>): ChildProcess =>
  spawn("/bin/sh", ["-c", raiseAndExecute, workerdPath(), ...flags], {
    stdio: ["ignore", output, output, "pipe"],
    // A Ctrl-C at a terminal reaches whole process groups; the script decides the order here.
    detached: true,
  })

const launch = async (flags: ReadonlyArray<string>, logFile: string): Promise<ChildProcess> => {
  if (logFile === "inherit") return launchTo("inherit", flags)
  await mkdir(dirname(resolvePath(logFile)), { recursive: true })
  const log = await open(logFile, "a")
  try {
    return launchTo(log.fd, flags)
  } finally {
    await log.close()
  }
}

const running = new Set<ChildProcess>()
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const

const endAll = (): void => {
  for (const child of running) child.kill("SIGKILL")
}

/** A script that listens to the signal itself decides the order; else all end here. */
const endBySignal = (signal: NodeJS.Signals): void => {
  if (process.listenerCount(signal) > 1) return
  endAll()
  process.off(signal, endBySignal)
  process.kill(process.pid, signal)
}

/** W2 */
const bindToThisProcess = (child: ChildProcess, exited: Promise<void>): void => {
  if (running.size === 0) {
    process.on("exit", endAll) // W2
    for (const signal of signals) process.on(signal, endBySignal) // W2
  }
  running.add(child)
  void exited.then(() => {
    running.delete(child)
    if (running.size > 0) return
    process.off("exit", endAll)
    for (const signal of signals) process.off(signal, endBySignal)
  })
}

/** Writes what workerd reads at its start into a folder of its own; gone again once it listens. */
const withConfigFolder = async <A>(
  options: WorkerdOptions & { readonly build: WorkerBuild },
  use: (configFile: string) => Promise<A>,
): Promise<A> => {
  const folder = await mkdtemp(join(tmpdir(), "heddle-workerd-"))
  try {
    const secret = options.secret === undefined ? {} : { HEDDLE_JWT_SECRET: options.secret }
    const configFile = join(folder, "config.capnp")
    await writeFile(join(folder, "worker.js"), options.build.module)
    await writeFile(
      configFile,
      workerdConfig({
        build: options.build,
        moduleFile: "worker.js",
        persistDir: resolvePath(options.persistDir),
        port: options.port ?? 0,
        vars: { ...options.vars, ...secret },
      }),
      { mode: 0o600 },
    )
    return await use(configFile)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Starts workerd and resolves when it serves. Rejects when it cannot (a taken port, for one). */
export const startWorkerd = async (options: WorkerdOptions): Promise<RunningWorkerd> => {
  const build = options.build ?? (await buildWorker())
  await mkdir(options.persistDir, { recursive: true })
  return withConfigFolder({ ...options, build }, async (configFile) => {
    const child = await launch(
      ["serve", "--experimental", "--control-fd=3", configFile],
      options.logFile ?? devNull,
    )
    const exited = new Promise<void>((resolve) => {
      child.once("exit", () => resolve())
      child.once("error", () => resolve())
    })
    bindToThisProcess(child, exited)
    const kill = async (signal: NodeJS.Signals = "SIGKILL"): Promise<void> => {
      child.kill(signal)
      await exited // W3
    }
    const stop = async (): Promise<void> => {
      const timer = setTimeout(() => child.kill("SIGKILL"), insistAfterMillis)
      await kill("SIGTERM").finally(() => clearTimeout(timer))
    }
    try {
      const port = await listeningPort(child)
      // The channel stays open for the life of the process and must not hold this one.
      ;(child.stdio[3] as Readable).on("error", () => undefined)
      const url = `http://127.0.0.1:${port}`
      return { url, port, pid: child.pid ?? 0, build, exited, kill, stop }
    } catch (error) {
      await kill()
      throw error
    }
  })
}

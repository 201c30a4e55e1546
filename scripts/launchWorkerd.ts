/**
 * The process of one workerd, tied to the life of this one.
 *
 * - L1 `pid` is workerd itself (the shell that raises the limit of open files becomes it), so a
 *   SIGKILL of it is what a lost machine looks like to the disk.
 * - L2 What ends this Node process ends workerd too. Its exit, an error nobody caught, and a signal
 *   that the script itself does not handle end it at once; a SIGKILL of Node closes the pipe that a
 *   watcher beside workerd reads from, and the watcher ends workerd.
 * - L3 The watcher ends with workerd, and kills nothing that ended before.
 */
import { type ChildProcess, spawn } from "node:child_process"
import { mkdir, open } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, resolve } from "node:path"
import type { Duplex, Readable } from "node:stream"

const require = createRequire(import.meta.url)

/** The native executable of the workerd that wrangler brings. */
const workerdPath = (): string => {
  const fromWrangler = createRequire(require.resolve("wrangler/package.json"))
  const exported = fromWrangler("workerd") as { readonly default: string }
  return exported.default
}

/**
 * Raises the soft limit of open files (an object holds several), leaves a watcher, and becomes
 * workerd. The watcher holds nothing of workerd's but its number: a line is a good end, and the end
 * of the pipe without a line is the death of Node.
 */
const script = `
ulimit -S -n "$(ulimit -H -n)" 2>/dev/null
(trap "" HUP INT TERM; read -r _ <&4 || kill -KILL $$) 3>&- >/dev/null 2>&1 &
exec "$0" "$@" 4<&-`

const controlFd = 3
const lifelineFd = 4

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

const bindToThisProcess = (child: ChildProcess): void => {
  if (running.size === 0) {
    process.on("exit", endAll) // L2
    for (const signal of signals) process.on(signal, endBySignal) // L2
  }
  running.add(child)
}

const unbind = (child: ChildProcess): void => {
  running.delete(child)
  if (running.size > 0) return
  process.off("exit", endAll)
  for (const signal of signals) process.off(signal, endBySignal)
}

export interface LaunchedWorkerd {
  readonly child: ChildProcess
  /** Where workerd tells what it does, a JSON text a line. */
  readonly control: Readable
  /** Resolves when the process is gone, however it ended; `onExit` has been called. */
  readonly exited: Promise<void>
}

interface LaunchOptions {
  readonly configFile: string
  readonly logFile: string | undefined
  /** Where its JavaScript engine may be looked into; nowhere when absent. */
  readonly inspectorPort?: number | undefined
  readonly onExit: () => void
}

const spawnTo = (
  output: number | "inherit" | "ignore",
  { configFile, inspectorPort, onExit }: LaunchOptions,
): LaunchedWorkerd => {
  const inspector =
    inspectorPort === undefined ? [] : [`--inspector-addr=127.0.0.1:${inspectorPort}`]
  const flags = ["serve", "--experimental", `--control-fd=${controlFd}`, ...inspector, configFile]
  const child = spawn(
    "/bin/sh",
    ["-c", script, workerdPath(), ...flags],
    /* L1 */ {
      stdio: ["ignore", output, output, "pipe", "pipe"],
      // A Ctrl-C at a terminal reaches whole process groups; the script decides the order here.
      detached: true,
    },
  )
  const control = child.stdio[controlFd] as Readable
  const lifeline = child.stdio[lifelineFd] as Duplex
  // They stay open for the life of the process, and must not end this one.
  control.on("error", () => undefined)
  lifeline.on("error", () => undefined)
  bindToThisProcess(child)
  const exited = new Promise<void>((resolved) => {
    const ended = () => {
      lifeline.end("gone\n") // L3
      unbind(child)
      onExit()
      resolved()
    }
    child.once("exit", ended)
    child.once("error", ended)
  })
  return { child, control, exited }
}

/**
 * Starts workerd on a configuration. What it prints goes to the end of a file, or here (`inherit`), or
 * nowhere.
 */
export const launchWorkerd = async (options: LaunchOptions): Promise<LaunchedWorkerd> => {
  const { logFile } = options
  if (logFile === undefined) return spawnTo("ignore", options)
  if (logFile === "inherit") return spawnTo("inherit", options)
  await mkdir(dirname(resolve(logFile)), { recursive: true })
  const log = await open(logFile, "a")
  try {
    return spawnTo(log.fd, options)
  } finally {
    await log.close()
  }
}

/** The built command as a process: started with nothing of this one's environment, in a folder of its own. */
import { type ChildProcess, spawn } from "node:child_process"
import { closeSync, openSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Effect, type Scope } from "effect"
import { buildCli } from "../../../scripts/buildCli.ts"

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly child: ChildProcess
  /** Until it has ended; never rejects. */
  readonly ended: Promise<Ended>
  /** Until standard output holds this. */
  readonly says: (text: string) => Promise<void>
}

export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
  readonly stdin?: string
  /** A file that standard output goes to instead. */
  readonly stdoutTo?: string
  /** A text of sh that starts it, as "$0" "$@". */
  readonly shell?: string
}

export interface Command {
  /** A folder without settings, where it is started unless another is named. */
  readonly folder: string
  readonly start: (args: ReadonlyArray<string>, options?: StartOptions) => Running
  readonly run: (args: ReadonlyArray<string>, options?: StartOptions) => Promise<Ended>
}

let built: Promise<string> | undefined

/** Builds it once a file of tests. The folder is the system's to clean: all tests of a file share it. */
const builtOnce = (): Promise<string> =>
  (built ??= mkdtemp(join(tmpdir(), "heddle-cli-built-")).then((folder) => {
    process.once("exit", () => void rm(folder, { recursive: true, force: true }))
    return buildCli(folder)
  }))

/** It tells where compiled code is kept, and nothing to the command. */
const compileCache =
  process.env["NODE_COMPILE_CACHE"] === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env["NODE_COMPILE_CACHE"] }

const start = (
  path: string,
  args: ReadonlyArray<string>,
  { cwd, env, shell, stdin, stdoutTo }: StartOptions & { readonly cwd: string },
): Running => {
  const command = [process.execPath, path, ...args]
  const [program = "", ...rest] = shell === undefined ? command : ["sh", "-c", shell, ...command]
  const file = stdoutTo === undefined ? undefined : openSync(stdoutTo, "w")
  const child: ChildProcess = spawn(program, rest, {
    cwd,
    env: { PATH: process.env["PATH"] ?? "", HOME: cwd, ...compileCache, ...env },
    stdio: ["pipe", file ?? "pipe", "pipe"],
  })
  if (file !== undefined) closeSync(file)
  let stdout = ""
  let stderr = ""
  const listeners = new Set<() => void>()
  child.stdout?.on("data", (chunk: Buffer) => {
    stdout += chunk.toString("utf8")
    for (const listener of listeners) listener()
  })
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString("utf8")))
  child.stdin?.on("error", () => undefined)
  child.stdin?.end(stdin ?? "")
  const ended = new Promise<Ended>((resolve) => {
    child.on("close", (code) => resolve({ code, stdout, stderr }))
  })
  return {
    child,
    ended,
    says: (text) =>
      new Promise((resolve, reject) => {
        const look = () => {
          if (!stdout.includes(text)) return
          listeners.delete(look)
          resolve()
        }
        listeners.add(look)
        look()
        void ended.then(({ code }) =>
          reject(new Error(`It ended with ${code} and never said ${text}\n${stdout}\n${stderr}`)),
        )
      }),
  }
}

/** The command, in a folder that the end of the scope removes. */
export const makeCommand: Effect.Effect<Command, never, Scope.Scope> = Effect.gen(function* () {
  const path = yield* Effect.promise(builtOnce)
  const folder = yield* Effect.acquireRelease(
    Effect.promise(() => mkdtemp(join(tmpdir(), "heddle-cli-test-"))),
    (made) => Effect.promise(() => rm(made, { recursive: true, force: true })),
  )
  const running = new Set<ChildProcess>()
  yield* Effect.addFinalizer(() =>
    Effect.sync(() => {
      for (const child of running) child.kill("SIGKILL")
    }),
  )
  const begin = (args: ReadonlyArray<string>, options: StartOptions = {}) => {
    const one = start(path, args, { cwd: folder, ...options })
    running.add(one.child)
    void one.ended.then(() => running.delete(one.child))
    return one
  }
  return { folder, start: begin, run: (args, options) => begin(args, options).ended }
})

/** The demonstration of two Workers as a process: what it says, how it ends, and that nothing of it is left. */
import { execFile, spawn } from "node:child_process"
import { mkdtempSync } from "node:fs"
import { readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, describe, expect, it } from "vitest"
import { repositoryRoot } from "../../scripts/workerBuild.ts"

// Of this file alone: all that it starts names a path in it.
const temporary = mkdtempSync(join(tmpdir(), "heddle-caller-test-"))
afterAll(() => rm(temporary, { recursive: true, force: true, maxRetries: 3 }))

/** What is there yet; the watcher beside workerd ends a moment after it. */
const left = async (): Promise<{ folders: Array<string>; processes: Array<string> }> => {
  const { stdout } = await promisify(execFile)("ps", ["-eo", "pid,args"])
  return {
    folders: (await readdir(temporary)).filter((name) => name.startsWith("heddle-")),
    processes: stdout.split("\n").filter((line) => line.includes(temporary)),
  }
}

/** Runs it to its end, and sends it a signal as soon as `when` holds for what it has printed. */
const run = (signal?: NodeJS.Signals, when: (printed: string) => boolean = () => false) => {
  const child = spawn(process.execPath, ["scripts/demoCaller.ts"], {
    cwd: repositoryRoot,
    env: { ...process.env, TMPDIR: temporary, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
    timeout: 50_000,
    killSignal: "SIGKILL",
  })
  let printed = ""
  let told = false
  const tell = () => {
    if (told || signal === undefined || !when(printed)) return
    told = true
    child.kill(signal)
  }
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      printed += chunk.toString()
      tell()
    })
  }
  const looking = setInterval(() => {
    void readdir(temporary).then((names) => {
      printed += names.some((name) => name.startsWith("heddle-workerd-")) ? "\u0000" : ""
      tell()
    })
  }, 20)
  return new Promise<{ readonly code: number | null; readonly printed: string }>((resolve) => {
    child.once("close", (code) => {
      clearInterval(looking)
      resolve({ code, printed: printed.replaceAll("\u0000", "") })
    })
  })
}

const nothing = { folders: [], processes: [] }

describe("npm run demo:caller", () => {
  it("shows what both halves of the caller see, and leaves nothing", async () => {
    const { code, printed } = await run()
    expect(printed).toContain("Both halves saw what they should.")
    expect(code).toBe(0)
    const [, effect = "", sdk = ""] = printed.split(/With (?:Effect|the SDK):\n/)
    for (const half of [effect, sdk]) {
      expect(half).toContain(`an order, and its settlement  {"ordersSoFar":1`)
      expect([...half.matchAll(/a thread, live +(\w+)/g)].map(([, kind]) => kind)).toEqual([
        "InputApplied",
        "StepCompleted",
        "Progress",
        "StateChanged",
        "Settled",
      ])
      expect(half).toMatch(/one key for two orders +IdempotencyConflict/)
      expect(half).toMatch(/an owner that is not its own +OperationDenied: submit/)
      expect(half).toMatch(/20 orders in one call +19 completed, refused: AgentNotRegistered/)
    }
    expect(printed).not.toContain("✗")
    await expect.poll(left).toEqual(nothing)
  })

  it.each([
    ["while it builds", "SIGINT", "Building"],
    ["while it starts", "SIGTERM", "\u0000"],
    ["while a thread is followed", "SIGHUP", "a thread, live"],
  ] as const)("ends %s when it is told to (%s), and leaves nothing", async (_, signal, mark) => {
    const { code, printed } = await run(signal, (text) => text.includes(mark))
    expect({ code, printed }).toMatchObject({ code: 130 })
    expect(printed).not.toContain("Both halves saw")
    await expect.poll(left).toEqual(nothing)
  })
})

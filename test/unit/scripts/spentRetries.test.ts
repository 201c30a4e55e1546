/** `npm run spent-retries`, as far as it goes in a second: how it is interrupted, and what it refuses. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readdir, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { repositoryRoot } from "../../../scripts/workerBuild.ts"

let temporary: string
beforeAll(async () => {
  temporary = await mkdtemp(join(tmpdir(), "heddle-test-"))
})
afterAll(() => rm(temporary, { recursive: true, force: true }))

const script = (...flags: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, ["scripts/spentRetries.ts", ...flags], {
    cwd: repositoryRoot,
    env: { ...process.env, TMPDIR: temporary },
    stdio: ["ignore", "pipe", "pipe"],
  })
  let printed = ""
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => (printed += chunk.toString()))
  }
  const ended = once(child, "close").then(([code]) => ({ code: code as number, printed }))
  return { child, ended }
}

const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + 15_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe("npm run spent-retries", () => {
  it("leaves no folder when it is interrupted, and does not say that the promise held", async () => {
    const { child, ended } = script()
    await until("it builds", async () => (await readdir(temporary)).length > 0)
    child.kill("SIGINT")
    const { code, printed } = await ended
    expect(code).toBe(130)
    expect(printed).toBe("1 Building and starting a Worker; an owner gets work.\n")
    expect(await readdir(temporary)).toEqual([])
  })

  it("refuses flags that it does not have", async () => {
    const { code, printed } = await script("--quick").ended
    expect(code).toBe(2)
    expect(printed).toContain("Usage: npm run spent-retries")
  })
})

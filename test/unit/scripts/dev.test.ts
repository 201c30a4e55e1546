/** `npm run dev`, as far as it goes without a server: what it refuses, and how it is interrupted. */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdir, mkdtemp, readdir, realpath, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { claimFolder } from "../../../scripts/folderClaim.ts"
import { repositoryRoot } from "../../../scripts/workerBuild.ts"

let root: string
let temporary: string
beforeAll(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "heddle-test-")))
  temporary = join(root, "temporary")
  await mkdir(temporary)
  await writeFile(join(root, "file"), "")
})
afterAll(() => rm(root, { recursive: true, force: true }))

/** The script as npm runs it for somebody in another folder, and all that it prints. */
const dev = (...flags: ReadonlyArray<string>) => {
  const child = spawn(process.execPath, ["scripts/dev.ts", "--port", "0", ...flags], {
    cwd: repositoryRoot,
    env: {
      ...process.env,
      INIT_CWD: root,
      TMPDIR: temporary,
      HEDDLE_JWT_SECRET: "a secret of the thirty-two bytes",
    },
    stdio: ["ignore", "pipe", "pipe"],
  })
  const printed = { out: "", err: "" }
  child.stdout.on("data", (chunk: Buffer) => (printed.out += chunk.toString()))
  child.stderr.on("data", (chunk: Buffer) => (printed.err += chunk.toString()))
  const ended = once(child, "close").then(([code]) => ({ code: code as number, ...printed }))
  return { child, printed, ended }
}

const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + 15_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe("npm run dev", () => {
  it("leaves no folder and no claim when it is interrupted while it builds", async () => {
    const { child, ended, printed } = dev("--persist", "objects")
    await until("it builds", async () => (await readdir(temporary)).length > 0)
    expect(printed.out).toBe("Building…\n")
    child.kill("SIGINT")
    expect(await ended).toEqual({ code: 130, out: "Building…\n", err: "" })
    expect(await readdir(temporary)).toEqual([])
    expect(await readdir(join(root, "objects"))).toEqual([])
  })

  it("takes the folder from where the person is, and says who uses it", async () => {
    const claim = claimFolder(join(root, "mine"))
    const { code, err } = await dev("--persist", "mine").ended
    claim.release()
    expect(code).toBe(1)
    expect(err).toBe(
      `${join(root, "mine")} is in use by process ${process.pid}: end that, or name another folder\n`,
    )
  })

  it("says in a sentence that a file cannot hold the databases", async () => {
    const { code, err } = await dev("--persist", "file").ended
    expect(code).toBe(1)
    expect(err).toBe(`${join(root, "file")} cannot hold the databases: a file is in its place\n`)
  })
})

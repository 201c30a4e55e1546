import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { claimFolder } from "../../../scripts/folderClaim.ts"
import { birthOf } from "../../../scripts/processBirth.ts"

let root: string
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "heddle-test-"))
})
afterAll(() => rm(root, { recursive: true, force: true }))

const freshFolder = () => mkdtemp(join(root, "claim-"))
const birth = birthOf(process.pid) ?? ""

/** The pid of a process that has ended. */
const deadPid = async (): Promise<number> => {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" })
  await once(child, "exit")
  return child.pid ?? 0
}

/** A process that lives until it is told to end. */
const livingProcess = () => {
  const child = spawn(process.execPath, ["--eval", "process.stdin.resume()"], {
    stdio: ["pipe", "ignore", "ignore"],
  })
  const end = async () => {
    const exited = once(child, "exit")
    child.stdin.end()
    await exited
  }
  return { pid: child.pid ?? 0, end }
}

describe("the claim to a folder", () => {
  it("is refused while another process has it, and free after its release", async () => {
    const folder = join(await freshFolder(), "made", "when", "missing")
    const first = claimFolder(folder)
    expect(() => claimFolder(folder)).toThrow(`in use by process ${process.pid}:`)
    first.release()
    claimFolder(folder).release()
    expect(await readdir(folder)).toEqual([])
  })

  it("is that of the process it was passed to, for as long as that lives", async () => {
    const folder = await freshFolder()
    const other = livingProcess()
    claimFolder(folder).passTo(other.pid)
    expect(() => claimFolder(folder)).toThrow(`${folder} is in use by process ${other.pid}: end`)
    expect(await readdir(folder)).toHaveLength(1)
    await other.end()
    claimFolder(folder).release()
    expect(await readdir(folder)).toEqual([])
  })

  it("counts for nothing when its process is gone, or its number is another's by now", async () => {
    const folder = await freshFolder()
    const other = livingProcess()
    await writeFile(join(folder, `heddle-${await deadPid()}-1.pid`), "")
    await writeFile(join(folder, `heddle-${other.pid}-1.pid`), "")
    await writeFile(join(folder, "heddle-notes.pid"), "somebody's own")
    claimFolder(folder).release()
    expect(await readdir(folder)).toEqual(["heddle-notes.pid"])
    await other.end()
  })

  it("counts when nobody can tell when its process started", async () => {
    const folder = await freshFolder()
    const other = livingProcess()
    await writeFile(join(folder, `heddle-${other.pid}-0.pid`), "")
    expect(() => claimFolder(folder)).toThrow(`in use by process ${other.pid}:`)
    await other.end()
  })

  it("says in a sentence that a file is in the folder's place", async () => {
    const file = join(await freshFolder(), "file")
    await writeFile(file, "")
    for (const path of [file, join(file, "below")]) {
      expect(() => claimFolder(path)).toThrow(
        `${path} cannot hold the databases: a file is in its place`,
      )
    }
  })
})

describe("the birth of a process", () => {
  it("is the same whenever it is asked for, and absent for one that has ended", async () => {
    expect(birth).toMatch(/^[1-9]\d*$/)
    expect(birthOf(process.pid)).toBe(birth)
    expect(birthOf(await deadPid())).toBeUndefined()
  })

  it("is absent for a process that has ended and was not asked about", async () => {
    // The inner shell ends when told to; the outer one has become another program by then, which
    // does not know of it. That is no shell: after a command of its own a shell asks about whoever ended meanwhile.
    const waits = 'console.log("ready"); setTimeout(() => undefined, 60_000)'
    const script = `exec 3<&0; (read -r _ <&3) & echo $!; exec "$0" -e '${waits}'`
    const parent = spawn("/bin/sh", ["-c", script, process.execPath], {
      stdio: ["pipe", "pipe", "ignore"],
    })
    let printed = ""
    for await (const chunk of parent.stdout) {
      printed += String(chunk)
      if (printed.endsWith("ready\n")) break
    }
    const pid = Number(printed.split("\n")[0])
    expect(birthOf(pid)).toBeDefined()
    parent.stdin.end("end\n")
    while (birthOf(pid) !== undefined) await new Promise((resolve) => setImmediate(resolve))
    expect(process.kill(pid, 0)).toBe(true)
    parent.kill("SIGKILL")
    await once(parent, "exit")
  })
})

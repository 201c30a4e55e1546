/**
 * The real workerd process, as the development server, the demonstration and the restart tests have
 * it: started, killed, started again on the same disk, and ended with whoever started it.
 */
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync } from "node:fs"
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest"
import { mintToken } from "../../../scripts/mintToken.ts"
import { buildWorker, type WorkerBuild } from "../../../scripts/workerBuild.ts"
import { type RunningWorkerd, startWorkerd, type WorkerdOptions } from "../../../scripts/workerd.ts"
import { grants, ownerId, threadId } from "../client/fakes.ts"
import { line } from "../client/httpWorld.ts"

const secret = `a secret, "quoted", \\ and é\n, of some length`

let build: WorkerBuild
let folder = ""
// Of this file alone, so that others' starts are not seen here.
const temporary = mkdtempSync(join(tmpdir(), "heddle-test-temporary-"))
const started: Array<RunningWorkerd> = []

beforeAll(async () => {
  vi.stubEnv("TMPDIR", temporary)
  build = await buildWorker(join(import.meta.dirname, "fixture", "wrangler.toml"))
}, 60_000)

afterEach(async () => {
  await Promise.all(started.splice(0).map((workerd) => workerd.kill()))
})

afterAll(async () => {
  await Promise.all([folder, temporary].map((one) => rm(one, { recursive: true, force: true })))
  vi.unstubAllEnvs()
})

const freshFolder = async () => {
  folder ||= await mkdtemp(join(tmpdir(), "heddle-test-"))
  return mkdtemp(join(folder, "disk-"))
}

const start = async (options: Partial<WorkerdOptions> = {}): Promise<RunningWorkerd> => {
  const persistDir = options.persistDir ?? (await freshFolder())
  const workerd = await startWorkerd({ build, ...options, persistDir })
  started.push(workerd)
  return workerd
}

const get = async (workerd: RunningWorkerd, path: string): Promise<unknown> =>
  (await fetch(`${workerd.url}${path}`)).json()

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

/** Whether no member of a process group does anything any more; nobody may ask about the dead ones. */
const groupHasEnded = async (group: number): Promise<boolean> => {
  if (!isAlive(-group)) return true
  const stats = await Promise.all(
    (await readdir("/proc").catch(() => []))
      .filter((name) => /^\d+$/.test(name))
      .map((pid) => readFile(`/proc/${pid}/stat`, "latin1").catch(() => "")),
  )
  const members = stats
    .map((stat) => stat.slice(stat.lastIndexOf(")") + 2).split(" "))
    .filter(([, , memberOf]) => Number(memberOf) === group)
  return members.length > 0 && members.every(([state]) => state === "Z")
}

/** Of this process's kind: what a start makes beside the folder of its databases. */
const temporaryFolders = async () =>
  (await readdir(temporary)).filter((name) => /^heddle-(?:build|workerd)-/.test(name))

/** Asks until it holds; each asking waits for an answer of another process. */
const until = async (what: string, holds: () => Promise<boolean>): Promise<void> => {
  const end = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > end) throw new Error(`waited in vain until ${what}`)
    await new Promise((resolve) => setImmediate(resolve))
  }
}

describe("a workerd process", () => {
  it("is gone when its kill is done, and its port is free", async () => {
    const first = await start()
    expect(await get(first, "/keeper?word=one")).toEqual(["one"])
    await first.kill()
    expect(isAlive(first.pid)).toBe(false)
    await expect(fetch(first.url)).rejects.toThrow("fetch failed")
    const second = await start({ port: first.port })
    expect(await get(second, "/keeper")).toEqual([])
  })

  it("finds on its disk what the killed one wrote, and rings its alarm untouched", async () => {
    const persistDir = await freshFolder()
    const logFile = join(await freshFolder(), "logs", "workerd.log")
    const first = await start({ persistDir, logFile })
    await get(first, "/keeper?word=one&ring=300")
    await first.kill("SIGKILL")
    const second = await start({ persistDir, logFile, port: first.port })
    expect(second.url).toBe(first.url)
    await until("the alarm rings", async () =>
      (await readFile(logFile, "utf8")).includes("the keeper rang"),
    )
    expect(await get(second, "/keeper")).toEqual(["one", "rang"])
  })

  it("is given its secret, its version and its variables as they are", async () => {
    const workerd = await start({ secret, vars: { EXTRA: "$`\\x41\"'" } })
    expect(await get(workerd, "/vars")).toEqual({
      GREETING: `says "hé"\\n`,
      EXTRA: "$`\\x41\"'",
      HEDDLE_JWT_SECRET: secret,
      id: build.version,
    })
  })

  it("refuses a port that is taken, and leaves nothing behind", async () => {
    const first = await start()
    await expect(start({ port: first.port })).rejects.toThrow("is its port taken?")
    expect(await get(first, "/keeper")).toEqual([])
  })

  it("stops when asked to", async () => {
    const workerd = await start()
    await workerd.stop()
    expect(isAlive(workerd.pid)).toBe(false)
  })

  it("refuses a folder that another one uses, and names that one's process", async () => {
    const persistDir = await freshFolder()
    const first = await start({ persistDir })
    const refused = `${persistDir} is in use by process ${first.pid}: end that, or name another folder`
    await expect(start({ persistDir })).rejects.toThrow(refused)
    expect(await get(first, "/keeper?word=mine")).toEqual(["mine"])
    await first.stop()
    const second = await start({ persistDir })
    expect(await get(second, "/keeper")).toEqual(["mine"])
  })

  it("lets one of two that start at one time have the folder at most", async () => {
    const persistDir = await freshFolder()
    const both = await Promise.allSettled([start({ persistDir }), start({ persistDir })])
    expect(both.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"])
  })

  it("leaves nothing beside it when it is killed from outside", async () => {
    const persistDir = await freshFolder()
    const workerd = await start({ persistDir })
    process.kill(workerd.pid, "SIGKILL")
    await workerd.exited
    expect((await readdir(persistDir)).filter((name) => name.endsWith(".pid"))).toEqual([])
    // Its group is it and what watches over it.
    await until("its group is empty", () => groupHasEnded(workerd.pid))
  })

  it("leaves nothing of a start that is given up, whenever that is", async () => {
    const persistDir = await freshFolder()
    const before = await temporaryFolders()
    for (const moment of ["at once", "building", "built"] as const) {
      const stop = new AbortController()
      if (moment === "at once") stop.abort()
      const options = moment === "built" ? { build } : {}
      const starting = startWorkerd({ ...options, persistDir, signal: stop.signal })
      const ended = starting.then(
        () => "started",
        (error: Error) => error.name,
      )
      if (moment === "building")
        await until("it builds", async () => (await temporaryFolders()).length > before.length)
      stop.abort()
      expect(await ended).toBe("AbortError")
      expect(await temporaryFolders()).toEqual(before)
      expect((await readdir(persistDir)).filter((name) => name.endsWith(".pid"))).toEqual([])
    }
  })

  for (const [title, ending] of [
    ["exits", "process.exit(3)"],
    ["fails", "throw new Error('nobody catches this')"],
    ["is ended by SIGTERM", "process.kill(process.pid, 'SIGTERM')"],
    ["is ended by SIGKILL", "process.kill(process.pid, 'SIGKILL')"],
  ] as const) {
    it(`ends with the script that started it, when that ${title}`, async () => {
      const module = new URL("../../../scripts/workerd.ts", import.meta.url).href
      const code = `
        import { startWorkerd } from ${JSON.stringify(module)}
        let text = ""
        for await (const chunk of process.stdin) text += chunk
        const workerd = await startWorkerd(JSON.parse(text))
        process.stdout.write(String(workerd.pid), () => { ${ending} })`
      const script = spawn(process.execPath, ["--input-type=module", "--eval", code], {
        stdio: ["pipe", "pipe", "ignore"],
      })
      const persistDir = await freshFolder()
      script.stdin.end(JSON.stringify({ build, persistDir }))
      let printed = ""
      script.stdout.on("data", (chunk: Buffer) => (printed += chunk.toString()))
      await once(script, "close")
      expect(Number(printed)).toBeGreaterThan(0)
      await until("workerd and its watcher are gone", () => groupHasEnded(Number(printed)))
      // Whatever claim it has left, the folder is free.
      expect(await get(await start({ persistDir }), "/keeper")).toEqual([])
    })
  }
})

describe("a build", () => {
  it("is given up when told to, and leaves no folder", async () => {
    const before = await temporaryFolders()
    const stop = new AbortController()
    const building = buildWorker(undefined, stop.signal).catch((error: Error) => error.name)
    await until("it has a folder", async () => (await temporaryFolders()).length > before.length)
    stop.abort()
    expect(await building).toBe("AbortError")
    expect(await temporaryFolders()).toEqual(before)
  })
})

describe("HTTPS over a real connection", () => {
  it("frees the thread of a stream whose reader hangs up", async () => {
    const workerd = await start({ secret })
    const token = await mintToken({ grants: grants(), secret, expiresInSeconds: 60 })
    const controller = new AbortController()
    const response = await fetch(`${workerd.url}/rpc`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/x-ndjson" },
      body: line("observe", { ownerId, threadId }),
      signal: controller.signal,
    })
    const reader = response.body?.getReader()
    let first = ""
    // Until there is something to tell, empty lines say that it is still there.
    while (first.trim() === "") first += new TextDecoder().decode((await reader?.read())?.value)
    expect(first).toContain(`"Opened"`)
    const name = encodeURIComponent(`${ownerId}/${threadId}`)
    let idle = false
    const told = fetch(`${workerd.url}/idle?name=${name}`).then(() => (idle = true))
    expect(await get(workerd, "/keeper")).toEqual([])
    expect(idle).toBe(false)
    controller.abort()
    await told
    expect(idle).toBe(true)
  })
})

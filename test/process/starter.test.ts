/**
 * The package and the starter as a stranger gets them: `npm run new` into a fresh folder, an install by npm, and then
 * what the starter's README tells to do. The lockfile is cut from this repository's, so that no network is needed.
 */
import { execFile, spawn } from "node:child_process"
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { delimiter, dirname, join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { newProject } from "../../scripts/newProject.ts"
import { repositoryRoot } from "../../scripts/workerBuild.ts"
import { lockProject } from "./lockedProject.ts"

const env = {
  ...process.env,
  // As a stranger's: a new Node, and nothing of this repository or this test.
  PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
  VITEST: undefined,
  NODE_ENV: undefined,
  NO_COLOR: "1",
  WRANGLER_SEND_METRICS: "false",
}

let folder = ""
let project = ""

/** Runs a program in the project to its end, at most two minutes; its output is part of the error when it fails. */
const run = async (program: string, ...args: ReadonlyArray<string>): Promise<string> => {
  try {
    const options = { cwd: project, env, maxBuffer: 16 * 1024 * 1024, timeout: 120_000 }
    return (await promisify(execFile)(program, args, options)).stdout
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(" ")} failed\n${stdout}${stderr}`, { cause: error })
  }
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-starter-"))
  project = join(folder, "first-agents")
  await newProject(project)
  await lockProject(project)
  await run("npm", "ci", "--prefer-offline", "--no-audit", "--no-fund", "--ignore-scripts")
}, 240_000)

afterAll(() => rm(folder, { recursive: true, force: true, maxRetries: 3 }))

const bin = (name: string) => join(repositoryRoot, "node_modules", ".bin", name)

const archive = async (): Promise<string> => {
  const { dependencies } = JSON.parse(await readFile(join(project, "package.json"), "utf8")) as {
    readonly dependencies: Readonly<Record<string, string>>
  }
  return join(project, dependencies["heddle"]?.replace("file:", "") ?? "")
}

/** A port that nobody has now. */
const freePort = (): Promise<number> =>
  new Promise((resolve, reject) => {
    const server = createServer()
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0))
    })
  })

/** Has `wrangler dev` serve the project, as long as `use` takes; nothing of it is left then. */
const whileServed = async <A>(use: (url: string) => Promise<A>): Promise<A> => {
  const port = await freePort()
  const child = spawn("npm", ["run", "dev", "--", "--port", String(port)], {
    cwd: project,
    env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  })
  const exited = new Promise<void>((resolve) => child.once("close", () => resolve()))
  let output = ""
  const serves = new Promise<void>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString()
      if (/Ready on http/.test(output)) resolve()
    }
    child.stdout.on("data", read)
    child.stderr.on("data", read)
    child.once("error", reject)
    child.once("exit", () => reject(new Error(`wrangler dev ended:\n${output}`)))
  })
  const timer = setTimeout(() => child.pid && process.kill(-child.pid, "SIGKILL"), 60_000)
  try {
    await serves
    return await use(`http://127.0.0.1:${port}`)
  } catch (error) {
    throw new Error(`${String(error)}\nwrangler dev printed:\n${output}`, { cause: error })
  } finally {
    // npm, a shell, wrangler and workerd: one group.
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, "SIGTERM")
    await exited
    clearTimeout(timer)
  }
}

/** The files that a module and its declarations import, and those that these import. */
const reachedFrom = async (entries: ReadonlyArray<string>): Promise<ReadonlySet<string>> => {
  const reached = new Set<string>()
  const visit = async (file: string): Promise<void> => {
    if (reached.has(file)) return
    reached.add(file)
    const text = await readFile(file, "utf8")
    const named = [...text.matchAll(/(?:from|import)\s*\(?"(\.[^"]+)"/g)]
    for (const [, path = ""] of named) {
      // Declarations name their neighbours as the source does.
      const target = join(dirname(file), path).replace(/\.[jt]s$/, "")
      await visit(`${target}.js`)
      await visit(`${target}.d.ts`)
    }
  }
  for (const entry of entries) await visit(entry)
  return reached
}

describe("the package", () => {
  it("holds nothing but what its exports and its command need", async () => {
    const installed = join(project, "node_modules", "heddle")
    const { bin: commands, exports } = JSON.parse(
      await readFile(join(installed, "package.json"), "utf8"),
    ) as {
      readonly bin: Readonly<Record<string, string>>
      readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>
    }
    const entries = [...Object.values(commands), ...Object.values(exports).flatMap(Object.values)]
    const reached = await reachedFrom(entries.map((path) => join(installed, path)))
    const files = await readdir(installed, { recursive: true })
    // The console is built into files that know each other.
    const isConsole = (path: string) => path.startsWith(join("dist", "console"))
    const code = files.filter((path) => /\.(js|ts|json)$/.test(path) && !isConsole(path))
    expect(code.length).toBeGreaterThan(100)
    expect(code.filter((path) => !reached.has(join(installed, path))).toSorted()).toEqual([
      "openrpc.json",
      "package.json",
    ])
  })

  it("is found without fault by publint and attw", async () => {
    const packed = await archive()
    expect(await run(bin("publint"), packed, "--strict")).toContain("All good!")
    const told = await run(bin("attw"), packed, "--profile", "esm-only", "--format", "json")
    const { analysis, problems } = JSON.parse(told) as {
      readonly analysis: { readonly entrypoints: object }
      readonly problems: object
    }
    const entries = [".", "./agent", "./client", "./contracts", "./sdk", "./testing"]
    expect(Object.keys(analysis.entrypoints).toSorted()).toEqual(entries)
    // Who asks for it with `require` or by the rules before `exports` is told so; for the others nothing is wrong.
    expect(Object.keys(problems).toSorted()).toEqual(["CJSResolvesToESM", "NoResolution"])
  }, 60_000)

  it("type-checks a Worker of another project, and refuses a wrong one", async () => {
    const worker = (input: string) => `import { createHeddle, type HeddleBinding } from "heddle/sdk"
      import { HeddleClient, OwnerId, type NativeStub } from "heddle/client"
      import { Effect } from "effect"
      export default {
        fetch: async (_: Request, env: { HEDDLE: HeddleBinding & NativeStub }): Promise<Response> => {
          const status = Effect.flatMap(HeddleClient, ({ rpc }) =>
            rpc.maintenanceStatus({ ownerId: OwnerId.make("me") }))
          const layer = HeddleClient.layerServiceBinding(env.HEDDLE)
          await Effect.runPromise(Effect.provide(status, layer))
          const heddle = createHeddle({ binding: env.HEDDLE })
          return Response.json(await heddle.submit({ ownerId: "me", threadId: "t", agent: "greet", ${input} }))
        },
      } satisfies ExportedHandler<{ HEDDLE: HeddleBinding & NativeStub }>`
    const file = join(project, "src", "caller.ts")
    await writeFile(file, worker(`input: { name: "Ada" }`))
    await run("npm", "run", "types")
    await writeFile(file, worker(`inputs: { name: "Ada" }`))
    await expect(run("npm", "run", "types")).rejects.toThrow("src/caller.ts")
    await rm(file)
  }, 60_000)
})

describe("the starter", () => {
  it("has its own name, and its tests hold", async () => {
    expect(await readFile(join(project, "wrangler.toml"), "utf8")).toContain(
      `name = "first-agents"`,
    )
    expect(await run("npm", "test")).toMatch(/Tests\s+2 passed/)
  }, 60_000)

  it("is not written over what is there", async () => {
    await expect(newProject(project)).rejects.toThrow("is not empty")
    expect(await readFile(join(project, "README.md"), "utf8")).toContain("npm run dev")
  })

  it("has a test that fails when its agent is wrong", async () => {
    const file = join(project, "src", "agent.ts")
    const agent = await readFile(file, "utf8")
    await writeFile(file, agent.replace("=> 0) + 1", "=> 0) + 2"))
    await expect(run("npm", "test")).rejects.toThrow("2 failed")
    await writeFile(file, agent)
  }, 60_000)

  it("is served by wrangler dev, takes a submission from the command and the SDK, and settles both", async () => {
    await whileServed(async (url) => {
      const visit = ["submit", "visitor-1", "--agent", "greet", "--input", `{"name":"Ada"}`]
      const console = await fetch(`${url}/console/`)
      expect(await console.text()).toContain("/console/assets/")
      expect(console.headers.get("content-security-policy")).toContain("default-src 'none'")
      const command = join(project, "node_modules", ".bin", "heddle")
      const told = await run(command, ...visit, "--wait", "--json", "--url", url)
      expect(told).toContain("Welcome, Ada")
      const file = join(project, "use-sdk.js")
      await writeFile(
        file,
        `import { readFileSync } from "node:fs"
        import { createHeddle, isHeddleError } from "heddle/sdk"
        const heddle = createHeddle({ url: "${url}", token: readFileSync(".dev.token", "utf8").trim() })
        const place = { ownerId: "me", threadId: "visitor-1" }
        const again = await heddle.submitAndWait({ ...place, agent: "greet", input: { name: "Ada" } })
        const refusal = await heddle.submit({ ...place, agent: "gret", input: {} }).catch((error) => error)
        console.log(JSON.stringify([again.output, isHeddleError(refusal) && refusal.tag]))`,
      )
      expect(JSON.parse(await run(process.execPath, file))).toEqual([
        { greeting: "Welcome, Ada", visits: 2 },
        "AgentNotRegistered",
      ])
    })
  }, 120_000)
})

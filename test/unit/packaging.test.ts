/**
 * The package as users get it: built, packed, unpacked into another project's node_modules, then
 * imported by Node and type-checked by that project's compiler.
 */
import { execFile } from "node:child_process"
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { promisify } from "node:util"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { buildCli } from "../../scripts/buildCli.ts"
import { buildConsole, writeConsole } from "../../scripts/buildConsole.ts"

const root = join(import.meta.dirname, "..", "..")
const bin = (name: string) => join(root, "node_modules", ".bin", name)

/** Runs a program to its end; its output is part of the error when it fails. */
const run = async (program: string, args: ReadonlyArray<string>, cwd: string): Promise<string> => {
  try {
    return (await promisify(execFile)(program, args, { cwd, maxBuffer: 16 * 1024 * 1024 })).stdout
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string }
    throw new Error(`${program} ${args.join(" ")} failed\n${stdout}${stderr}`, { cause: error })
  }
}

interface Manifest {
  readonly exports: Readonly<Record<string, { readonly types: string; readonly default: string }>>
  readonly dependencies: Readonly<Record<string, string>>
  readonly bin: Readonly<Record<string, string>>
  readonly version: string
}

const readManifest = async (): Promise<Manifest> =>
  JSON.parse(await readFile(join(root, "package.json"), "utf8")) as Manifest

/** Builds and packs the working tree into `folder`; gives the paths in the archive. */
const pack = async (folder: string): Promise<{ archive: string; paths: ReadonlyArray<string> }> => {
  const staged = join(folder, "staged")
  await mkdir(staged)
  await cp(join(root, "package.json"), join(staged, "package.json"))
  await cp(join(root, "LICENSE"), join(staged, "LICENSE"))
  await run(bin("tsc"), ["-p", "tsconfig.build.json", "--outDir", join(staged, "dist")], root)
  await buildCli(join(staged, "dist", "cli"))
  await writeConsole(join(staged, "dist", "console"), await buildConsole())
  const packed = await run("npm", ["pack", "--json", "--ignore-scripts"], staged)
  const answer = JSON.parse(packed) as unknown
  const [entry] = (Array.isArray(answer) ? answer : Object.values(answer as object)) as Array<{
    filename: string
    files: Array<{ path: string }>
  }>
  if (entry === undefined) throw new Error(`npm pack answered ${packed}`)
  return { archive: join(staged, entry.filename), paths: entry.files.map((file) => file.path) }
}

/** A project that has the archive installed, and what the package depends on. */
const install = async (folder: string, archive: string, manifest: Manifest): Promise<string> => {
  const project = join(folder, "project")
  const modules = join(project, "node_modules")
  await mkdir(join(modules, "heddle"), { recursive: true })
  await run(
    "tar",
    ["xzf", archive, "-C", join(modules, "heddle"), "--strip-components", "1"],
    folder,
  )
  for (const name of Object.keys(manifest.dependencies))
    await symlink(join(root, "node_modules", name), join(modules, name))
  await writeFile(join(project, "package.json"), `{ "type": "module", "private": true }`)
  return project
}

/** Type-checks a file of the project; the errors are thrown. */
const compile = async (source: string): Promise<string> => {
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024"]
  await writeFile(join(project, "use.ts"), source)
  return run(bin("tsc"), [...options, "--skipLibCheck", "use.ts"], project)
}

let folder = ""
let project = ""
let paths: ReadonlyArray<string> = []
let manifest: Manifest

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "heddle-pack-"))
  manifest = await readManifest()
  const packed = await pack(folder)
  paths = packed.paths
  project = await install(folder, packed.archive, manifest)
}, 120_000)

afterAll(() => rm(folder, { recursive: true, force: true }))

describe("the packed package", () => {
  it("contains the code and the types of every export", () => {
    const targets = Object.values(manifest.exports).flatMap((entry) => [entry.types, entry.default])
    expect(targets.length).toBeGreaterThan(0)
    expect(paths).toEqual(expect.arrayContaining(targets.map((path) => path.replace("./", ""))))
  })

  it("contains the licence and no test, script or example", () => {
    expect(paths).toContain("LICENSE")
    expect(paths.filter((path) => /(^|\/)(test|scripts|examples|bench)\//.test(path))).toEqual([])
  })

  it("contains the console, with what it needs beside it and its terms", async () => {
    const served = paths.filter((path) => path.startsWith("dist/console/"))
    expect(served).toEqual(
      expect.arrayContaining([
        "dist/console/_headers",
        "dist/console/console/index.html",
        "dist/console/console/licenses.md",
        "dist/console/console/fonts-licenses.md",
      ]),
    )
    const assets = join(project, "node_modules", "heddle", "dist", "console", "console")
    const page = await readFile(join(assets, "index.html"), "utf8")
    const named = [...page.matchAll(/(?:src|href)="\/console\/([^"]+)"/g)].map(([, path]) => path)
    expect(named.length).toBeGreaterThanOrEqual(3)
    for (const path of named) expect(served).toContain(`dist/console/console/${path}`)
    const licenses = await readFile(join(assets, "licenses.md"), "utf8")
    for (const name of ["preact", "@preact/signals", "@tanstack/virtual-core"])
      expect(licenses).toContain(name)
  })

  it("gives its contracts to Node", async () => {
    const code = `const { HeddleRpc, OwnerId } = await import("heddle/contracts")
      console.log(JSON.stringify([[...HeddleRpc.requests.keys()].includes("submit"), OwnerId.make("shop")]))`
    const printed = await run(process.execPath, ["--input-type=module", "--eval", code], project)
    expect(JSON.parse(printed)).toEqual([true, "shop"])
  })

  it("gives what defines agents to Node, where the package root cannot be loaded", async () => {
    const code = `const Agent = await import("heddle/agent")
      const { Schema } = await import("effect")
      const order = Agent.make("order", { input: Schema.String, output: Schema.String })
      console.log(JSON.stringify(order.name))`
    const printed = await run(process.execPath, ["--input-type=module", "--eval", code], project)
    expect(JSON.parse(printed)).toBe("order")
  })

  it("brings a command that needs nothing but Node", async () => {
    const command = join(project, "node_modules", "heddle", manifest.bin["heddle"] ?? "")
    const alone = join(folder, "alone", "dist", "cli", "heddle.js")
    await cp(
      join(project, "node_modules", "heddle", "package.json"),
      join(folder, "alone", "package.json"),
    )
    await cp(command, alone)
    for (const path of [command, alone]) {
      expect((await run(path, ["--version"], folder)).trim()).toBe(manifest.version)
    }
    const terms = await readFile(join(command, "..", "licenses.md"), "utf8")
    for (const name of ["effect", "smol-toml", "table"]) expect(terms).toContain(`## ${name} `)
    const imported = [...(await readFile(alone, "utf8")).matchAll(/\bfrom"([^"]+)"/g)]
    expect(imported.length).toBeGreaterThan(3)
    expect(imported.map(([, name]) => name).filter((name) => !name?.startsWith("node:"))).toEqual(
      [],
    )
  })

  it("gives its client to Node", async () => {
    // Over a real socket, against a deployment that answers every call with a declared error.
    await writeFile(
      join(project, "submit.js"),
      `import { createServer } from "node:http"
      import { Effect } from "effect"
      import { AgentId, HeddleClient, IdempotencyConflict } from "heddle/client"
      import { OwnerId, SubmissionId, ThreadId } from "heddle/client"
      const submissionId = SubmissionId.make("018f0000-0000-7000-8000-000000000001")
      const server = createServer(async (request, response) => {
        let text = ""
        for await (const chunk of request) text += chunk
        const { id, payload } = JSON.parse(text)
        const { idempotencyKey } = payload
        const error = { _tag: "IdempotencyConflict", idempotencyKey, submissionId }
        const exit = { _tag: "Failure", cause: [{ _tag: "Fail", error }] }
        response.end(JSON.stringify({ _tag: "Exit", requestId: id, exit }) + "\\n")
      })
      await new Promise((listening) => server.listen(0, "127.0.0.1", listening))
      const url = "http://127.0.0.1:" + server.address().port
      const submit = Effect.flatMap(HeddleClient, (client) =>
        client.submit({
          ownerId: OwnerId.make("shop"),
          threadId: ThreadId.make("order-7"),
          agent: AgentId.make("refund"),
          input: {},
        }),
      )
      const layer = HeddleClient.layerHttp({ url, token: "t" })
      const failure = await Effect.runPromise(Effect.flip(Effect.provide(submit, layer)))
      server.close()
      console.log(JSON.stringify([failure instanceof IdempotencyConflict, failure.submissionId]))`,
    )
    const printed = await run(process.execPath, ["submit.js"], project)
    expect(JSON.parse(printed)).toEqual([true, "018f0000-0000-7000-8000-000000000001"])
  })

  describe("its SDK", () => {
    let alone = ""

    // A project with nothing but the package itself: no dependency of it is there to be found.
    beforeAll(async () => {
      alone = join(folder, "alone")
      const modules = join(alone, "node_modules")
      await mkdir(modules, { recursive: true })
      await cp(join(project, "node_modules", "heddle"), join(modules, "heddle"), {
        recursive: true,
      })
      await writeFile(join(alone, "package.json"), `{ "type": "module", "private": true }`)
    })

    it("is loaded by Node without any other package, and calls", async () => {
      const code = `const { createHeddle, IdempotencyConflict } = await import("heddle/sdk")
        const submissionId = "018f0000-0000-7000-8000-000000000001"
        const error = { _tag: "IdempotencyConflict", idempotencyKey: "key-1", submissionId }
        const call = async () => ({ _tag: "Failure", cause: [{ _tag: "Fail", error }] })
        const heddle = createHeddle({ binding: { call } })
        const failure = await heddle.submit({}).catch((one) => one)
        console.log(JSON.stringify([failure instanceof IdempotencyConflict, failure.submissionId]))`
      const printed = await run(process.execPath, ["--input-type=module", "--eval", code], alone)
      expect(JSON.parse(printed)).toEqual([true, "018f0000-0000-7000-8000-000000000001"])
    })

    it("is known to a strict compiler that has no other package, and checks them, too", async () => {
      const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2024"]
      const use = (input: string) => `import { createHeddle, type Receipt } from "heddle/sdk"
        const heddle = createHeddle({ url: "https://heddle.test", token: () => "t" })
        export const receipt: Promise<Receipt> = heddle.submit({
          ownerId: "shop", threadId: "order-7", agent: "refund", input: ${input},
        })`
      const check = async (input: string) => {
        await writeFile(join(alone, "use.ts"), use(input))
        const strict = [...options, "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess"]
        // Without skipLibCheck: what the declarations refer to is there.
        return run(bin("tsc"), [...strict, "--lib", "es2024,esnext,dom", "use.ts"], alone)
      }
      await check(`{ order: 7 }`)
      await expect(check("() => 7")).rejects.toThrow("TS2322")
    }, 60_000)
  })

  it("gives its testing kit to Node, where the package root cannot be loaded", async () => {
    await writeFile(
      join(project, "kit.js"),
      `import { Effect, Schema } from "effect"
      import * as Agent from "heddle/agent"
      import { TestDeployment } from "heddle/testing"
      const agent = Agent.make("greet", { input: Schema.String, output: Schema.String })
      const live = agent.handler((name, run) =>
        run.step("greet", Schema.String, Effect.as(Effect.sleep("1 minute"), "hello " + name)),
      )
      const heddle = TestDeployment.make({ agents: [live] })
      heddle.crashAt("step:before")
      const receipt = await heddle.submit({ agent, input: "ada", threadId: "t" })
      const { attempts, output } = await heddle.settled(receipt)
      console.log(JSON.stringify([output, attempts]))`,
    )
    const printed = await run(process.execPath, ["kit.js"], project)
    expect(JSON.parse(printed)).toEqual(["hello ada", 2])
  })

  it("gives its contracts to a strict compiler, with types that refuse a wrong use", async () => {
    const names = `import { makeLimits, OwnerId } from "heddle/contracts"`
    await compile(`${names}
      export const owner: OwnerId = OwnerId.make("shop")
      export const limits = makeLimits({ headsPerTurn: 4 })`)
    await expect(compile(`${names}; export const bare: OwnerId = "shop"`)).rejects.toThrow("TS2322")
    await expect(compile(`${names}; makeLimits({ nonsense: OwnerId.make("a") })`)).rejects.toThrow(
      "TS2353",
    )
  }, 60_000)

  it("gives its testing kit to a strict compiler, which knows each agent's input", async () => {
    const submitting = (input: string) => `import { Effect, Schema } from "effect"
      import * as Agent from "heddle/agent"
      import { TestDeployment } from "heddle/testing"
      const agent = Agent.make("greet", { input: Schema.String, output: Schema.String })
      const live = agent.handler((name) => Effect.succeed(name))
      const heddle = TestDeployment.make({ agents: [live] })
      export const receipt = heddle.submit({ agent, input: ${input}, threadId: "t" })`
    await compile(submitting(`"ada"`))
    await expect(compile(submitting("7"))).rejects.toThrow("TS2322")
  }, 60_000)
})

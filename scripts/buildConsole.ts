/**
 * Builds the console into static files. `node scripts/buildConsole.ts [FOLDER]` (default dist/console) writes them there,
 * laid out as a deployment's assets are asked for: by the path of the request. wrangler runs it before it deploys, but where
 * somebody has built the assets already and says so with `HEDDLE_ASSETS`.
 */
import { mkdir, readFile, rm, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname, join, resolve } from "node:path"
import type { Rolldown } from "vite"
import { securityHeaders } from "../client/Console.ts"
import { callersFolder } from "./flags.ts"

/** A file of the console; its path is that of the request, as in `/console/index.html`. */
export interface ConsoleFile {
  readonly path: string
  readonly content: Uint8Array
}

const root = join(import.meta.dirname, "..")

const base = "/console/"

const bytes = (content: string | Uint8Array): Uint8Array =>
  typeof content === "string" ? new TextEncoder().encode(content) : content

/** What the platform adds itself where somebody has it serve these files without asking the Worker. */
const headersFile = (): string =>
  [
    `${base}*`,
    ...Object.entries(securityHeaders).map(([name, value]) => `  ${name}: ${value}`),
  ].join("\n")

const fonts = ["@fontsource-variable/inter", "@fontsource-variable/jetbrains-mono"]

const require = createRequire(import.meta.url)

/** The terms of the fonts, which are no modules that the builder knows. */
const fontLicenses = async (): Promise<string> => {
  const texts = fonts.map(async (name) => {
    const folder = dirname(require.resolve(`${name}/package.json`))
    return `\n## ${name}\n\n${await readFile(join(folder, "LICENSE"), "utf8")}`
  })
  return (await Promise.all(texts)).join("")
}

/** Builds it in memory; nothing is written. */
export const buildConsole = async (): Promise<ReadonlyArray<ConsoleFile>> => {
  const { build } = await import("vite")
  const built = (await build({
    configFile: false,
    root: join(root, "console"),
    base,
    logLevel: "warn",
    oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
    build: {
      write: false,
      target: "es2022",
      // Nothing is written into the page: its policy takes no text as code or style.
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      license: { fileName: "licenses.md" },
      rollupOptions: { output: { codeSplitting: false } },
    },
  })) as Rolldown.RolldownOutput
  const files = built.output.map((file) => ({
    path: `${base}${file.fileName}`,
    content: bytes(file.type === "chunk" ? file.code : file.source),
  }))
  return [
    ...files,
    { path: `${base}fonts-licenses.md`, content: bytes(await fontLicenses()) },
    { path: "/_headers", content: bytes(`${headersFile()}\n`) },
  ]
}

/** Writes the files below a folder, which holds nothing else afterwards. */
export const writeConsole = async (
  folder: string,
  files: ReadonlyArray<ConsoleFile>,
): Promise<void> => {
  await rm(folder, { recursive: true, force: true })
  for (const { path, content } of files) {
    const file = join(folder, path)
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, content)
  }
}

if (import.meta.main && process.env["HEDDLE_ASSETS"] === undefined) {
  const [folder] = process.argv.slice(2)
  await writeConsole(
    folder === undefined ? join(root, "dist", "console") : resolve(callersFolder(), folder),
    await buildConsole(),
  )
}
